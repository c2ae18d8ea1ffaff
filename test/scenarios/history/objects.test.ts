/** What users made: columns, indexes and projections of a table with history, and objects that have a name domainsync would use. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { fileOf, HistoryTable } from '../../support/history/tables.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

const FIRST = fileOf('2026-01-01', { a: '1', b: '1', c: '1' });
const SECOND = fileOf('2026-01-02', { a: '2', c: '1' });
const THIRD = fileOf('2026-01-03', { a: '2', b: '2', c: '2' });
/** As ClickHouse asks for where rows replace one another. */
const REBUILD = "MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild'";

const ALTERATIONS: readonly string[] = [
  "ADD COLUMN note String DEFAULT concat('of ', domain)",
  'ADD COLUMN upper String MATERIALIZED upper(domain)',
  'ADD COLUMN alias String ALIAS upper(domain)',
  "ADD COLUMN note String DEFAULT 'n' FIRST",
  'ADD INDEX by_registrar registrar TYPE bloom_filter',
  'ADD PROJECTION p (SELECT registrar, count() GROUP BY registrar)',
  'ADD CONSTRAINT some CHECK length(domain) > 0',
  'MODIFY COLUMN registrar CODEC(ZSTD(9))',
  'MODIFY TTL _file_date + toIntervalYear(90)',
];

async function expectWhole(table: HistoryTable): Promise<void> {
  expect(await table.asof('2026-01-01')).toEqual(['a 1', 'b 1', 'c 1']);
  expect(await table.asof('2026-01-02')).toEqual(['a 2', 'c 1']);
  expect(await table.asof('2026-01-03')).toEqual(await table.live());
  expect(await table.versions()).toEqual([
    'a 1 2026-01-01 2026-01-02',
    'a 2 2026-01-02 now',
    'b 1 2026-01-01 2026-01-02',
    'b 2 2026-01-03 now',
    'c 1 2026-01-01 2026-01-03',
    'c 2 2026-01-03 now',
  ]);
  expect(await table.history()).toHaveLength(3 + 2 + 2);
}

test.each([...ALTERATIONS.entries()])('%i: %s between two files', async (n, alteration) => {
  const table = new HistoryTable(lab, `between_${n}`);
  await table.load(FIRST);
  if (alteration.includes('PROJECTION')) await table.command(`ALTER TABLE {t} ${REBUILD}`);
  await table.command(`ALTER TABLE {t} ${alteration}`);
  for (const file of [SECOND, THIRD]) expect(await table.load(file)).toMatchObject({ kind: 'loaded' });
  await expectWhole(table);
});

test.each([...ALTERATIONS.entries()])('%i: %s before history is switched on', async (n, alteration) => {
  const table = new HistoryTable(lab, `before_${n}`);
  await table.load(FIRST, { history: false });
  if (alteration.includes('PROJECTION')) await table.command(`ALTER TABLE {t} ${REBUILD}`);
  await table.command(`ALTER TABLE {t} ${alteration}`);
  for (const file of [SECOND, THIRD]) expect(await table.load(file)).toMatchObject({ kind: 'loaded' });
  await expectWhole(table);
});

/** Does something once, before the first statement or block that is meant, while the body runs. */
async function before(meant: RegExp, action: () => Promise<void>, body: () => Promise<unknown>): Promise<void> {
  const { command, insertBlock } = lab.server;
  let done = false;
  const act = async (text: string): Promise<void> => {
    if (done || !meant.test(text)) return;
    done = true;
    await action();
  };
  lab.server.command = async (sql, ...rest) => {
    await act(sql);
    return command.call(lab.server, sql, ...rest);
  };
  lab.server.insertBlock = async (sql, payload, token, signal) => {
    await act(token);
    return insertBlock.call(lab.server, sql, payload, token, signal);
  };
  try {
    await body();
  } finally {
    lab.server.command = command;
    lab.server.insertBlock = insertBlock;
    expect(done, `${meant} came by`).toBe(true);
  }
}

const MOMENTS: readonly [string, RegExp][] = [
  ['while a block lands', /^rows\/0$/],
  ['before rows become visible', /ATTACH PARTITION tuple\(\) FROM .*_delta`/],
  ['before the changes become visible', /REPLACE PARTITION .* FROM .*_changes`/],
];
const NOTE = "ADD COLUMN note String DEFAULT concat('of ', domain)";

test.each(MOMENTS)('a column that is added amid a load, %s', async (when, meant) => {
  const table = new HistoryTable(lab, `amid_${when.replaceAll(' ', '_')}`);
  await table.load(FIRST);
  await before(
    meant,
    () => table.command(`ALTER TABLE {t} ${NOTE}`),
    () => table.load(SECOND),
  );
  await table.load(THIRD);
  await expectWhole(table);
});

test.each(MOMENTS)('a column that the history is given amid a load, %s', async (when, meant) => {
  const table = new HistoryTable(lab, `amid_history_${when.replaceAll(' ', '_')}`);
  await table.load(FIRST);
  await before(
    meant,
    () => table.command(`ALTER TABLE {t}_history ${NOTE}`),
    () => table.load(SECOND),
  );
  await table.load(THIRD);
  await expectWhole(table);
});

test('an index and a projection that the history is given are kept', async () => {
  const table = new HistoryTable(lab, 'own');
  await table.load(FIRST);
  await table.command(
    'ALTER TABLE {t}_history ADD INDEX mine registrar TYPE bloom_filter, MODIFY COLUMN registrar CODEC(ZSTD(9))',
  );
  for (const file of [SECOND, THIRD]) await table.load(file);
  await expectWhole(table);
  const [made] = await lab.query<{ sql: string }>(
    `SELECT create_table_query AS sql FROM system.tables WHERE database = 'lab' AND name = 'own_history'`,
  );
  expect(made?.sql).toMatch(/ZSTD\(9\).*INDEX mine/s);
});

test.each(['_history', '_asof', '_versions', '_changes_values'])(
  'a table called <table>%s that is none of ours',
  async (ending) => {
    const table = new HistoryTable(lab, `foreign${ending}_of`);
    const foreign = `lab.${table.name}${ending}`;
    await lab.command(`CREATE TABLE ${foreign} (x UInt8) ENGINE = MergeTree ORDER BY x`);
    await lab.command(`INSERT INTO ${foreign} VALUES (7)`);
    await expect(table.load(FIRST)).rejects.toMatchObject({
      code: 'DESTINATION_FOREIGN_TABLE',
      message: expect.stringContaining(`${table.name}${ending}`),
    });
    // Without history nobody is in the way.
    expect(await table.load(FIRST, { history: false })).toMatchObject({ kind: 'loaded' });
    expect(await table.load(SECOND, { history: false })).toMatchObject({ kind: 'loaded' });
    expect(await lab.query(`SELECT * FROM ${foreign}`)).toEqual([{ x: 7 }]);
  },
);

test('a pipeline whose own table is called x_history, beside one of x', async () => {
  const [plain, own] = [new HistoryTable(lab, 'x'), new HistoryTable(lab, 'x_history')];
  for (const file of [FIRST, SECOND]) {
    await own.load(file, { history: false });
    await plain.load(file, { history: false });
  }
  expect(await plain.live()).toEqual(['a 2', 'c 1']);
  expect(await own.live()).toEqual(['a 2', 'c 1']);
  // Its table is not taken for a history of the other.
  await expect(plain.load(THIRD)).rejects.toMatchObject({ code: 'DESTINATION_FOREIGN_TABLE' });
  await own.load(THIRD, { history: false });
  expect(await own.live()).toEqual(['a 2', 'b 2', 'c 2']);
  expect(await plain.live()).toEqual(['a 2', 'c 1']);
});

test('a table called x_history with a history of its own', async () => {
  const table = new HistoryTable(lab, 'y_history');
  for (const file of [FIRST, SECOND, THIRD]) await table.load(file);
  await expectWhole(table);
});

test('views that a user dropped are made again by the next run', async () => {
  const table = new HistoryTable(lab, 'views');
  for (const file of [FIRST, SECOND]) await table.load(file);
  for (const ending of ['_asof', '_versions', '_changes_values']) await table.command(`DROP TABLE {t}${ending}`);
  expect(await table.load(SECOND)).toMatchObject({ kind: 'current' });
  await table.load(THIRD);
  await expectWhole(table);
  expect(await table.query('SELECT count() AS n FROM {t}_changes_values')).toEqual([{ n: '2' }]);
});
