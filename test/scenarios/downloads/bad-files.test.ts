/** Files that are damaged, no files, or not credible: nothing changes, the user is told, and the next good file loads. */
import { readdir, readFile } from 'node:fs/promises';
import { zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { type Finished, type Project, withProject } from '../../support/project.ts';
import { contentsOf, runsOf, stagingTables } from '../../support/tables.ts';

const ROWS = 3_000;

interface Damage {
  readonly what: string;
  readonly make: (good: Buffer) => Buffer;
  readonly code: string;
  /** Found by the first request already: no load was begun, so none is on record. */
  readonly early?: true;
}

const DAMAGES: readonly Damage[] = [
  { what: 'truncated', make: (good) => good.subarray(0, good.length - 1000), code: 'FILE_CORRUPT' },
  { what: 'cut within the header', make: (good) => good.subarray(0, 5), code: 'FILE_CORRUPT' },
  { what: 'a byte in the middle flipped', make: flipped, code: 'FILE_CORRUPT' },
  { what: 'empty', make: () => Buffer.alloc(0), code: 'FILE_CORRUPT', early: true },
  { what: 'not zstd', make: () => Buffer.from('{"Domain":"a.com"}\n'.repeat(5000)), code: 'FILE_CORRUPT' },
  { what: 'garbage after the end', make: (good) => Buffer.concat([good, Buffer.alloc(500, 7)]), code: 'FILE_CORRUPT' },
  {
    what: 'a page of HTML under the name of a file',
    make: () => Buffer.from('<!doctype html><title>Sign in</title>'),
    code: 'FILE_CORRUPT',
  },
  { what: 'no rows', make: () => zstdCompressSync('\n'), code: 'FILE_TOO_FEW_ROWS' },
  {
    what: 'too many lines that are none',
    make: () => zstdCompressSync(`${'{"Domain":"a.com"}\n'.repeat(90)}${'nonsense\n'.repeat(10)}`),
    code: 'FILE_TOO_MANY_REJECTED',
  },
];

function flipped(good: Buffer): Buffer {
  const bytes = Buffer.from(good);
  const middle = bytes.length >> 1;
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 0xff, middle);
  return bytes;
}

const NAME = 'sandbox-dns-2027-01-01.jsonl.zst';

function publishDamaged({ sandbox }: Project, bytes: Buffer): Promise<unknown> {
  return sandbox.publishFile({ target: 'dns', date: '2027-01-01', content: { bytes } });
}

function expectTold(result: Finished, code: string): void {
  expect(result.code).toBe(7);
  const errors = shownErrors(result);
  expect(errors.map((error) => error.code)).toEqual([code]);
  expect(errors[0]?.message).toMatch(/\w{3,} \w/);
  expect(errors[0]?.hint).toMatch(/\w{3,} \w/);
}

async function goodFile({ sandbox }: Project): Promise<Buffer> {
  return readFile((await sandbox.file({ dataset: 'dns' }))?.path ?? '');
}

test('a damaged file changes nothing, is removed, is on record, and the next good one loads', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    expect((await project.run('sync')).code).toBe(0);
    const before = await contentsOf(project);
    const good = await goodFile(project);
    const expected = ['loaded'];
    for (const { what, make, code, early = false } of DAMAGES) {
      await publishDamaged(project, make(good));
      expectTold(await project.run('sync'), code);
      const runs = await runsOf(project);
      if (!early) expected.push(code);
      expect(runs.map(({ outcome, error_code }) => (outcome === 'failed' ? error_code : outcome))).toEqual(expected);
      expect(runs.at(-1)?.file).toBe(NAME);
      expect(await contentsOf(project), what).toEqual(before);
      expect(await stagingTables(project), what).toEqual([]);
      const left = (await readdir(project.dataDir)).filter((name) => name.startsWith(NAME)).sort();
      // A file that is whole, but not credible, is kept: a person may want to look at it, or pass it with --force.
      expect(left, what).toEqual(code === 'FILE_CORRUPT' ? [] : [NAME, `${NAME}.json`]);
    }
    await project.sandbox.publish();
    expect((await project.run('sync')).code).toBe(0);
    expect(Number((await contentsOf(project)).changes)).toBeGreaterThan(0);
  });
});

test('a first file that is damaged leaves no rows', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    await publishDamaged(project, flipped(await goodFile(project)));
    const result = await project.run('sync', '--json');
    expect(result.code).toBe(7);
    const { pipelines } = jsonDocument<{ pipelines: { outcome: string; error: { code: string } }[] }>(result);
    expect(pipelines.map(({ outcome, error }) => [outcome, error.code])).toEqual([['failed', 'FILE_CORRUPT']]);
    expect(await contentsOf(project)).toMatchObject({ rows: '0', changes: '0' });
    expect(await stagingTables(project)).toEqual([]);
  });
});

test('damage on the way, and not at the service: the next run downloads the file anew', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    const size = (await goodFile(project)).length;
    project.sandbox.misbehave({ fault: { kind: 'corrupt', atByte: size >> 1 }, probe: false, times: 1 });
    expectTold(await project.run('sync'), 'FILE_CORRUPT');
    expect((await project.run('sync')).code).toBe(0);
    expect(project.sandbox.bodyBytes('/')).toBe(2 * size + 2);
    expect((await contentsOf(project)).rows).toBe(String(ROWS));
  });
});

test('rejected lines of a file that failed can be looked at', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    await publishDamaged(project, zstdCompressSync('{"Domain":"a.com"}\nnonsense\n{"Domain":" "}\n'));
    expectTold(await project.run('sync'), 'FILE_TOO_MANY_REJECTED');
    const { rejects } = jsonDocument<{ rejects: Record<string, unknown>[] }>(await project.run('rejects', '--json'));
    expect(rejects.map(({ line, reason, raw, file }) => [line, reason, raw, file])).toEqual([
      [3, 'missing-domain', '{"Domain":" "}', NAME],
      [2, 'invalid-json', 'nonsense', NAME],
    ]);
    const shown = await project.run('rejects', 'dns');
    expect(shown.stdout.split('\n').filter((line) => line.startsWith('dns'))).toHaveLength(2);
  });
});

test('of a file with very many rejected lines the first are on record, and all once it is let in', async () => {
  await withProject({ rows: 1 }, async (project) => {
    const lines = 100_300;
    await publishDamaged(project, zstdCompressSync(`{"Domain":"a.com"}\n${'nonsense\n'.repeat(lines)}`));
    const recorded = async () => {
      const [row] = await project.query(
        'SELECT count() AS n, min(line) AS first, max(line) AS last FROM domainsync_rejects',
      );
      return row;
    };
    for (let time = 0; time < 2; time += 1) {
      const failed = await project.run('sync');
      expectTold(failed, 'FILE_TOO_MANY_REJECTED');
      expect(shownErrors(failed)[0]?.message).toBe(
        '100300 of 100301 lines were rejected, more than maxRejected (0.001) allows; the first 100000 are on record',
      );
      expect(await recorded()).toEqual({ n: '100000', first: '2', last: '100001' });
    }
    const counts = await project.query('SELECT DISTINCT rejected FROM domainsync_runs');
    expect(counts).toEqual([{ rejected: String(lines) }]);
    await project.configure('  dns: { dataset: dns, maxRejected: 1, to: { clickhouse: { table: dns } } }');
    expect(await project.run('sync')).toMatchObject({ code: 0 });
    expect(await recorded()).toEqual({ n: String(lines), first: '2', last: String(lines + 1) });
  });
});
