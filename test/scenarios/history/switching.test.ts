/** `history` switched on for a table that holds rows, off, and on again. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../../src/pipeline/run.ts';
import { type Lab, NEVER, openLab } from '../../support/clickhouse/lab.ts';
import { fileOf, HistoryTable, type Options } from '../../support/history/tables.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

const OFF: Options = { history: false };
const FIRST = fileOf('2026-01-01', { a: '1', b: '1', c: '1' });
const SECOND = fileOf('2026-01-03', { a: '2', c: '1', d: '1' });
const THIRD = fileOf('2026-01-05', { a: '2', c: '2', e: '1' });

async function exists(name: string): Promise<boolean> {
  const [row] = await lab.query<{ n: number }>(
    `SELECT toUInt8(count()) AS n FROM system.tables WHERE database = 'lab' AND name = '${name}'`,
  );
  return row?.n === 1;
}

/** Rows that were replaced and deleted lie beside those that took their place. */
async function unmerged(name: string): Promise<HistoryTable> {
  const table = new HistoryTable(lab, name);
  await table.load(FIRST, OFF);
  await table.command('SYSTEM STOP MERGES {t}');
  await table.load(SECOND, OFF);
  const [row] = await table.query<{ all: string }>('SELECT count() AS all FROM {t}');
  // Three of the first file; a new version of a, one of d, and a mark of b.
  expect(row?.all).toBe('6');
  return table;
}

const BEGINNING = ['2026-01-01 c 1', '2026-01-03 a 2', '2026-01-03 d 1'];

test('switched on with a new file: history begins with what the view showed', async () => {
  const table = await unmerged('on');
  expect(await exists('on_history')).toBe(false);
  await table.load(THIRD);
  expect(await table.history()).toEqual([...BEGINNING, '2026-01-05 c 2', '2026-01-05 d gone', '2026-01-05 e 1']);
  expect(await table.versions()).toEqual([
    'a 2 2026-01-03 now',
    'c 1 2026-01-01 2026-01-05',
    'c 2 2026-01-05 now',
    'd 1 2026-01-03 2026-01-05',
    'e 1 2026-01-05 now',
  ]);
  for (const date of ['2026-01-03', '2026-01-04']) expect(await table.asof(date)).toEqual(['a 2', 'c 1', 'd 1']);
  expect(await table.asof('2026-01-05')).toEqual(['a 2', 'c 2', 'e 1']);
  await expect(table.asof('2026-01-02')).rejects.toThrow('2026-01-03');
});

test('switched on where nothing is new: what there is is known before the next file', async () => {
  const table = await unmerged('on_current');
  expect(await table.load(SECOND)).toMatchObject({ kind: 'current' });
  expect(await table.history()).toEqual(BEGINNING);
  expect(await table.asof('2026-01-03')).toEqual(await table.live());
  await table.load(THIRD);
  expect(await table.asof('2026-01-03')).toEqual(['a 2', 'c 1', 'd 1']);
  expect(await table.asof('2026-01-05')).toEqual(await table.live());
});

test('switched on with a revision of what is held', async () => {
  const table = await unmerged('on_revision');
  await table.load(fileOf('2026-01-03', { a: '3', b: '1', c: '1' }, 'again'));
  expect(await table.asof('2026-01-03')).toEqual(['a 3', 'b 1', 'c 1']);
  expect(await table.asof('2026-01-03')).toEqual(await table.live());
  expect(await table.versions()).toEqual(['a 3 2026-01-03 now', 'b 1 2026-01-03 now', 'c 1 2026-01-01 now']);
});

test('switched on with the same file by force', async () => {
  const table = await unmerged('on_force');
  await table.load(SECOND, {}, { force: true });
  expect(await table.history()).toEqual(BEGINNING);
  expect(await table.asof('2026-01-03')).toEqual(await table.live());
});

test('switched off it is left alone, and goes on where no file was missed', async () => {
  const table = new HistoryTable(lab, 'off_on');
  for (const file of [FIRST, SECOND]) await table.load(file);
  const before = await table.history();
  expect(await table.load(SECOND, OFF)).toMatchObject({ kind: 'current' });
  expect(await table.history()).toEqual(before);
  expect(await table.load(THIRD)).toMatchObject({ kind: 'loaded' });
  expect(await table.asof('2026-01-01')).toEqual(['a 1', 'b 1', 'c 1']);
  expect(await table.asof('2026-01-05')).toEqual(await table.live());
  expect(await table.history()).toHaveLength(before.length + 3);
});

/** Loads a file from a source that gives nothing. */
function loadNothing(name: string, date: string): Promise<unknown> {
  const file = { name: `f-${date}.jsonl`, date, size: 100, etag: null, lastModified: null };
  const open = async (): Promise<never> => {
    throw new Error('downloaded');
  };
  const job = {
    pipeline: name,
    target: { dataset: 'all-data' },
    source: { newest: async () => file, open, prune: async () => {} },
    destination: lab.destination(name, { history: true }),
    force: false,
    settings: { maxWindowLog: 27, blockBytes: 6000, threads: 1 },
    progress: { start: () => ({ update: () => {}, stop: () => {} }) },
  };
  return run(job, NEVER);
}

test.each([
  ['RENAME TABLE {t}_history TO {t}_of_before', 'renamed'],
  ['DROP TABLE {t}_history', 'dropped'],
])(
  'on again after a file was missed: refused before the download, until it is out of the way: %s',
  async (way, name) => {
    const table = new HistoryTable(lab, name);
    await table.load(FIRST);
    const before = await table.history();
    await table.load(SECOND, OFF);
    expect(await table.history()).toEqual(before);
    const refused = await loadNothing(name, THIRD.date).then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({
      code: 'DESTINATION_REFUSED',
      hint: expect.stringMatching(/rename.* or drop|drop.* or rename/i),
    });
    expect(JSON.stringify(refused) + String(refused)).toContain(`${name}_history`);
    await expect(table.load(SECOND)).rejects.toMatchObject({ code: 'DESTINATION_REFUSED' });
    expect(await table.history()).toEqual(before);
    // Without history it goes on.
    expect(await table.load(THIRD, OFF)).toMatchObject({ kind: 'loaded' });
    await table.command(way);
    const fourth = fileOf('2026-01-07', { a: '3', e: '1' });
    expect(await table.load(fourth)).toMatchObject({ kind: 'loaded' });
    expect(await table.asof('2026-01-06')).toEqual(['a 2', 'c 2', 'e 1']);
    expect(await table.asof('2026-01-07')).toEqual(await table.live());
    await expect(table.asof('2026-01-04')).rejects.toThrow('2026-01-05');
    expect(await table.versions()).toEqual([
      'a 2 2026-01-03 2026-01-07',
      'a 3 2026-01-07 now',
      'c 2 2026-01-05 2026-01-07',
      'e 1 2026-01-05 now',
    ]);
    if (name === 'renamed') expect(await table.query('SELECT count() AS n FROM {t}_of_before')).toEqual([{ n: '3' }]);
  },
);

test('a file of one slice that was missed is missed, also where the other slice is what is loaded', async () => {
  const load = (key: string, date: string, history: boolean) => {
    const target = { dataset: 'dns', slice: { scope: 'tld', key } } as const;
    const to = lab.destination(`missed-${key}`, { table: 'missed', target, shared: true, history });
    return lab.load(to, `missed-${key}`, fileOf(date, { [`a.${key}`]: date }));
  };
  for (const key of ['de', 'fr']) await load(key, '2026-01-01', true);
  await load('de', '2026-01-02', false);
  await expect(load('fr', '2026-01-02', true)).rejects.toMatchObject({ code: 'DESTINATION_REFUSED' });
});

test('off for a table that a user dropped and that was loaded anew: on again is refused', async () => {
  const table = new HistoryTable(lab, 'anew');
  await table.load(FIRST);
  await table.command('DROP TABLE {t}');
  await table.load(SECOND, OFF);
  await expect(table.load(THIRD)).rejects.toMatchObject({ code: 'DESTINATION_REFUSED' });
});
