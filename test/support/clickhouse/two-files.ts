/** Two files that differ in every way, and everything that a run of them leaves, to compare runs with undisturbed ones. */
import { expect } from 'vitest';
import type { Lab, LabFile } from './lab.ts';

/** Rows of three blocks, with a duplicate across blocks and rejected lines. */
export function fileOf(marker: 'a' | 'b', date: string): LabFile {
  const lines: string[] = [];
  for (let n = 0; n < 240; n += 1) {
    // Each of the two lacks forty of the domains, has values of its own in some, and in others only a check of its own.
    if (marker === 'a' ? n < 40 : n >= 200) continue;
    const row: Record<string, unknown> = { Domain: `host-${n}.example`, TLD: 'example', 'HTTP status': 200 };
    if (n % 5 === 0) row['Registrar'] = `${marker} Registrar`;
    if (n % 7 === 0) row['DNS last data checked'] = date;
    lines.push(JSON.stringify(row));
    if (n % 80 === 79) lines.push(`{"Domain":"host-${n}"`);
  }
  lines.push(JSON.stringify({ Domain: 'host-100.example', Registrar: `${marker} later`, Unknown: [1] }));
  return { name: `odd-${date}.jsonl`, date, bytes: Buffer.from(`${lines.join('\n')}\n`) };
}

/** Dates that follow one another. */
export function dateOf(n: number): string {
  return new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10);
}

export interface TableState {
  readonly live: readonly unknown[];
  readonly own: readonly unknown[];
  readonly changes: readonly unknown[];
  readonly runs: readonly unknown[];
  readonly rejects: readonly unknown[];
  readonly left: readonly unknown[];
}

/** All that a run of a file of this date may change, but for times and versions. */
export async function stateOf(lab: Lab, pipeline: string, date: string): Promise<TableState> {
  const mine = `pipeline = '${pipeline}' AND file_date = '${date}'`;
  const [live, own, changes, runs, rejects, left] = await Promise.all([
    lab.query(
      `SELECT * REPLACE (toDate(dns_checked_at) = '${date}' AS dns_checked_at) FROM lab.${pipeline}_live ORDER BY domain`,
    ),
    lab.query(`SELECT domain, _file_date = '${date}' AS newest, _deleted FROM lab.${pipeline} FINAL ORDER BY domain`),
    lab.query(`SELECT domain, op, columns, file_date - previous_file_date AS days FROM lab.${pipeline}_changes
WHERE file_date = '${date}' ORDER BY ALL`),
    lab.query(`SELECT outcome, rows_read, rows_written, inserted, updated, deleted, unchanged, rejected, bytes, error_code
FROM lab.domainsync_runs WHERE ${mine} ORDER BY ALL`),
    lab.query(`SELECT line, reason, raw FROM lab.domainsync_rejects WHERE ${mine} ORDER BY ALL`),
    lab.query(`SELECT name FROM system.tables WHERE database = 'lab' AND name LIKE '%staging_${pipeline}\\_%'`),
  ]);
  return { live, own, changes, runs, rejects, left };
}

/** The states after each of three undisturbed runs: a first load, then to the other file and back. */
export async function undisturbed(lab: Lab, pipeline: string): Promise<[TableState, TableState, TableState]> {
  const states: TableState[] = [];
  for (const [day, marker] of (['a', 'b', 'a'] as const).entries()) {
    await lab.load(lab.destination(pipeline), pipeline, fileOf(marker, dateOf(day)));
    states.push(await stateOf(lab, pipeline, dateOf(day)));
  }
  const [first, toB, toA] = states as [TableState, TableState, TableState];
  expect(first).toMatchObject({ changes: [], left: [] });
  expect(first.live).toHaveLength(200);
  // Forty are new, forty gone; of the 160 in both every fifth has another registrar.
  expect([toB.changes.length, toA.changes.length]).toEqual([112, 112]);
  return [first, toB, toA];
}

/** A block of which the record has landed is not sent again (docs/contract.md, "Guarantees"). */
export function expectNoBlockTwice(before: readonly string[], after: readonly string[], when: string): void {
  const blocks = 3;
  expect(inserts(before, 'blocks') + inserts(after, 'blocks'), when).toBe(blocks);
  expect(inserts(after, 'rows'), when).toBe(blocks - inserts(before, 'blocks'));
}

function inserts(done: readonly string[], part: string): number {
  return done.filter((sql) => new RegExp(`^INSERT INTO \\S+_${part}\` `).test(sql)).length;
}
