/**
 * 20,000 rows with every odd shape that docs/contract.md, "Rows", allows for, through the command line and in blocks of several
 * sizes: the table holds exactly what the oracle says, rejects and changes too.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CompressOptions, compressTo } from '../../../src/sandbox/data/compress.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { mismatches } from '../../support/oracle/compare.ts';
import { differenceOf } from '../../support/oracle/difference.ts';
import { oddFile } from '../../support/oracle/odd-file.ts';
import { type ExpectedFile, expectedOf } from '../../support/oracle/oracle.ts';
import { type Project, withProject } from '../../support/project.ts';

const SIZE = { ordinary: 15_500, mixed: 3_000 };
const DATES = ['2026-03-01', '2026-03-02', '2026-03-05'] as const;

/** The ways in which a file may be compressed; the first is what the service is thought to do. */
const WAYS: Readonly<Record<string, CompressOptions>> = {
  one: {},
  many: { frameBytes: 1 << 20 },
  cut: { frameBytes: 10_007 },
  skip: { frameBytes: 777_777, skippable: true },
  bare: { checksum: false },
  long: { windowLog: 27 },
  stored: { encoder: 'stored' },
  shot: { encoder: 'one-shot', frameBytes: 3_000_000 },
  mix: { encoder: 'stored', frameBytes: 65_536, skippable: true },
};

let lab: Lab;
let files: readonly Buffer[];
let expected: readonly ExpectedFile[];

beforeAll(async () => {
  lab = await openLab();
  files = DATES.map((_, snapshot) => oddFile({ ...SIZE, snapshot }));
  expected = files.map(expectedOf);
});

afterAll(() => lab.close());

/** The expected outcome of one snapshot. */
function expectedAt(snapshot: number): ExpectedFile {
  const file = expected[snapshot];
  if (file === undefined) throw new RangeError(`there is no snapshot ${snapshot}`);
  return file;
}

/** A fingerprint of all that users see of a table, in whatever order the rows lie. */
async function fingerprint(query: Project['query'], table: string): Promise<unknown> {
  const [row] = await query(
    `SELECT count() AS rows, sum(cityHash64(formatRow('JSONCompactEachRow', *))) AS hash FROM ${table}_live`,
  );
  return row;
}

async function rejectsOf(query: Project['query'], pipeline: string, date: string): Promise<unknown[]> {
  const rows = await query<{ line: string; reason: string; raw: string }>(
    `SELECT line, reason, base64Encode(raw) AS raw FROM domainsync_rejects
WHERE pipeline = '${pipeline}' AND file_date = '${date}' ORDER BY line`,
  );
  return rows.map(({ line, reason, raw }) => ({ line: Number(line), reason, raw: Buffer.from(raw, 'base64') }));
}

test('the files of this test have what they are for', () => {
  for (const { read, rows, rejects } of expected) {
    expect(read).toBeGreaterThan(20_000);
    expect(rows.size).toBeGreaterThan(19_000);
    expect(new Set(rejects.map(({ reason }) => reason))).toEqual(
      new Set(['invalid-utf8', 'invalid-json', 'not-an-object', 'missing-domain', 'invalid-domain']),
    );
  }
  const [first, second, third] = expected;
  if (first === undefined || second === undefined || third === undefined) throw new RangeError('three files');
  for (const [before, after] of [
    [first, second],
    [second, third],
  ] as const) {
    const { inserted, updated, deleted, changes } = differenceOf(before, after);
    expect(Math.min(inserted, updated, deleted)).toBeGreaterThan(100);
    expect(new Set(changes.flatMap(({ columns }) => columns)).size).toBe(24 - 1);
  }
});

test('compressed in every way, a file gives the same table, and it is the right one', async () => {
  const keys = Object.keys(WAYS);
  await withProject({ rows: 1, clickhouse: lab.clickhouse }, async (project) => {
    const { sandbox, query } = project;
    const pipelines = [...keys, 'plain'].map(
      (key) =>
        `  ${key}: { dataset: all-data, slice: { scope: tld, key: ${key} }, maxRejected: 0.02, to: { clickhouse: { table: ${key} } } }`,
    );
    await project.configure(pipelines.join('\n'), 'download: { keep: 0 }');
    const content = [files[0] ?? Buffer.alloc(0)];
    for (const [key, options] of Object.entries(WAYS)) {
      const path = join(project.folder, `${key}.zst`);
      await compressTo(path, content, options);
      await sandbox.publishFile({ target: `all-data/tld/${key}`, date: DATES[0], content: { path } });
    }
    const synced = await project.run('sync', ...keys);
    expect(synced.stderr, synced.stdout).not.toMatch(/error/i);
    expect(synced.code).toBe(0);
    const plain = join(project.folder, `local-${DATES[0]}.jsonl`);
    await writeFile(plain, content[0] ?? '');
    expect((await project.run('sync', 'plain', '--from-file', plain)).code).toBe(0);

    expect(await mismatches(query, 'one_live', expectedAt(0))).toEqual([]);
    const right = await fingerprint(query, 'one');
    for (const key of [...keys, 'plain']) {
      expect(await fingerprint(query, key), key).toEqual(right);
      expect(await rejectsOf(query, key, DATES[0]), key).toEqual(expectedAt(0).rejects);
    }
    const listed = await project.run('--json', 'rejects', 'cut');
    expect(listed.code).toBe(0);
    const { rejects } = JSON.parse(listed.stdout) as { rejects: { line: number; reason: string; raw: string }[] };
    const ofLines = expectedAt(0).rejects.map(({ line, reason, raw }) => ({ line, reason, raw: raw.toString() }));
    expect(rejects.map(({ line, reason, raw }) => ({ line, reason, raw })).sort((a, b) => a.line - b.line)).toEqual(
      ofLines,
    );
  });
});

test('two later files change, add and delete exactly the right rows, whatever the size of blocks', async () => {
  const query: Project['query'] = (sql) =>
    lab.query(sql.replaceAll(/ (\w+_live|domainsync_\w+|\w+_changes)/g, ' lab.$1'));
  const sizes = { whole: 32 << 20, large: 1_000_003, small: 200_000 };
  for (const [snapshot, date] of DATES.entries()) {
    const before = snapshot === 0 ? null : expectedAt(snapshot - 1);
    const after = expectedAt(snapshot);
    const bytes = files[snapshot] ?? Buffer.alloc(0);
    for (const [pipeline, blockBytes] of Object.entries(sizes)) {
      // Small blocks take long: one file is enough to show that they change nothing.
      if (pipeline === 'small' && snapshot > 0) continue;
      const file = { name: `all-data-${date}.jsonl`, date, bytes };
      const outcome = await lab.load(lab.destination(pipeline), pipeline, file, { blockBytes, threads: 2 });
      const difference = before === null ? null : differenceOf(before, after);
      expect(outcome, pipeline).toMatchObject({
        kind: 'loaded',
        result: {
          rowsRead: after.read,
          rowsWritten: after.accepted,
          rejected: after.rejects.length,
          inserted: difference?.inserted ?? after.rows.size,
          updated: difference?.updated ?? 0,
          deleted: difference?.deleted ?? 0,
          unchanged: difference?.unchanged ?? 0,
        },
      });
      expect(await rejectsOf(query, pipeline, date), pipeline).toEqual(after.rejects);
      const changes = await query<{ domain: string }>(
        `SELECT domain, op, arraySort(columns) AS columns FROM ${pipeline}_changes WHERE file_date = '${date}'`,
      );
      changes.sort((a, b) => (a.domain < b.domain ? -1 : 1));
      expect(changes, pipeline).toEqual(difference?.changes ?? []);
      if (pipeline === 'whole') expect(await mismatches(query, 'whole_live', after)).toEqual([]);
      else expect(await fingerprint(query, pipeline), pipeline).toEqual(await fingerprint(query, 'whole'));
    }
  }
  const dates = await query(
    'SELECT DISTINCT toString(file_date) AS date, toString(previous_file_date) AS previous FROM whole_changes ORDER BY ALL',
  );
  expect(dates).toEqual([
    { date: DATES[1], previous: DATES[0] },
    { date: DATES[2], previous: DATES[1] },
  ]);
});
