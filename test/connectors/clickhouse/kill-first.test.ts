/** A run killed between any two of its statements, and the run after it: the end is that of an undisturbed run. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killedAfter } from '../../support/kill.ts';
import { type Lab, type LabFile, openLab } from '../../support/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

/** Rows of three blocks, with a duplicate across blocks and three rejected lines. */
function fileOf(marker: string, date: string): LabFile {
  const lines: string[] = [];
  for (let n = 0; n < 240; n += 1) {
    // Of 240 domains each of two files lacks forty, has forty with values of its own, and one only rechecked.
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

interface TableState {
  readonly live: readonly unknown[];
  readonly own: readonly unknown[];
  readonly changes: readonly unknown[];
  readonly runs: readonly unknown[];
  readonly rejects: readonly unknown[];
  readonly left: readonly unknown[];
}

/** All that a run may change, but for times and versions. */
async function stateOf(pipeline: string, date: string): Promise<TableState> {
  const [live, own, changes, runs, rejects, left] = await Promise.all([
    lab.query(`SELECT * FROM lab.${pipeline}_live ORDER BY domain`),
    lab.query(`SELECT domain, _file_date = '${date}' AS newest, _deleted FROM lab.${pipeline} FINAL ORDER BY domain`),
    lab.query(`SELECT domain, op, columns FROM lab.${pipeline}_changes WHERE file_date = '${date}' ORDER BY ALL`),
    lab.query(`SELECT outcome, rows_read, rows_written, inserted, updated, deleted, unchanged, rejected, bytes, error_code
FROM lab.domainsync_runs WHERE pipeline = '${pipeline}' AND file_date = '${date}' ORDER BY ALL`),
    lab.query(`SELECT line, reason, raw FROM lab.domainsync_rejects
WHERE pipeline = '${pipeline}' AND file_date = '${date}' ORDER BY ALL`),
    lab.query(`SELECT name FROM system.tables WHERE database = 'lab' AND name LIKE '%staging_${pipeline}\\_%'`),
  ]);
  return { live, own, changes, runs, rejects, left };
}

/** Dates that follow one another. */
function dateOf(n: number): string {
  return new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10);
}

test('a first load killed after each of its statements, then run again', async () => {
  const file = fileOf('a', dateOf(0));
  await lab.load(lab.destination('calm'), 'calm', file);
  const undisturbed = await stateOf('calm', file.date);
  expect(undisturbed.left).toEqual([]);
  expect(undisturbed.live).toHaveLength(200);
  let killed = true;
  for (let survive = 0; killed; survive += 1) {
    const pipeline = `first${survive}`;
    const killing = await killedAfter(survive, () => lab.load(lab.destination(pipeline), pipeline, file));
    killed = killing.killed;
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    const again = await killedAfter(Infinity, () => lab.load(lab.destination(pipeline), pipeline, file));
    expect(await stateOf(pipeline, file.date), when).toEqual(undisturbed);
    expectNoBlockTwice(killing.done, again.done, when);
    const third = await lab.load(lab.destination(pipeline), pipeline, file);
    expect(third.kind, when).toBe('current');
    await Promise.all(['', '_live', '_changes'].map((name) => lab.command(`DROP TABLE lab.${pipeline}${name}`)));
  }
});

/** A block of which the record has landed is not sent again (contract 4). */
function expectNoBlockTwice(before: readonly string[], after: readonly string[], when: string): void {
  const inserts = (done: readonly string[], part: string): number =>
    done.filter((sql) => new RegExp(`^INSERT INTO \\S+_${part}\` `).test(sql)).length;
  const blocks = 3;
  expect(inserts(before, 'blocks') + inserts(after, 'blocks'), when).toBe(blocks);
  expect(inserts(after, 'rows'), when).toBe(blocks - inserts(before, 'blocks'));
}

test('a later load killed after each of its statements, then run again', async () => {
  const files = [fileOf('a', dateOf(0)), fileOf('b', dateOf(1)), fileOf('a', dateOf(2))];
  const undisturbed: TableState[] = [];
  for (const file of files) {
    await lab.load(lab.destination('calm2'), 'calm2', file);
    undisturbed.push(await stateOf('calm2', file.date));
  }
  const [, toB, toA] = undisturbed;
  expect(toB?.changes).not.toEqual(toA?.changes);
  await lab.load(lab.destination('later'), 'later', fileOf('a', dateOf(0)));
  let killed = true;
  for (let survive = 0; killed; survive += 1) {
    const date = dateOf(survive + 1);
    const file = fileOf(survive % 2 === 0 ? 'b' : 'a', date);
    const readers = await lab.query('SELECT * FROM lab.later_live ORDER BY domain');
    const killing = await killedAfter(survive, () => lab.load(lab.destination('later'), 'later', file));
    killed = killing.killed;
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    const expected = survive % 2 === 0 ? toB : toA;
    const between = await lab.query('SELECT * FROM lab.later_live ORDER BY domain');
    const attached = killing.done.some((sql) => /^ALTER TABLE `lab`.`later` ATTACH/.test(sql));
    expect(withoutChecked(between), when).toEqual(withoutChecked(attached ? (expected?.live ?? []) : readers));
    const again = await killedAfter(Infinity, () => lab.load(lab.destination('later'), 'later', file));
    expect(comparable(await stateOf('later', date)), when).toEqual(comparable(expected));
    expectNoBlockTwice(killing.done, again.done, when);
  }
});

/** The date stands in the rows as well; it is another one in each round. */
function withoutChecked(rows: readonly unknown[]): unknown[] {
  return rows.map((row) => ({ ...(row as object), dns_checked_at: null }));
}

function comparable(state: TableState | undefined): unknown {
  return { ...state, live: withoutChecked(state?.live ?? []) };
}
