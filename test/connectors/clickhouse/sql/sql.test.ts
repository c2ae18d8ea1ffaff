/** The statements that are built, and the names and states that they carry. What is built is in test/golden/clickhouse. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  createBeforeTable,
  createDiffTable,
  type DifferenceContext,
  insertBefore,
  insertChanges,
  insertDelta,
  insertDiff,
  keyRanges,
  selectRangeStarts,
} from '../../../../connectors/clickhouse/sql/difference.ts';
import {
  identifier,
  literal,
  parseStagingTable,
  STAGING_PARTS,
  stagingPrefix,
  stagingTable,
} from '../../../../connectors/clickhouse/sql/names.ts';
import {
  columnType,
  createChangesTable,
  createClaimsTable,
  createHeldTable,
  createLiveTable,
  createLiveView,
  createRejectsTable,
  createRunsTable,
  hashOf,
  type Placing,
} from '../../../../connectors/clickhouse/sql/schema.ts';
import {
  commentOf,
  emptyLiveState,
  fileKey,
  type LoadedInto,
  loadKey,
  parseComment,
} from '../../../../connectors/clickhouse/state/table-comment.ts';
import { COLUMNS, selectColumns } from '../../../../src/rows/columns.ts';
import type { LoadRequest } from '../../../../src/types/index.ts';

function golden(name: string): string {
  return fileURLToPath(new URL(`../../../golden/clickhouse/${name}.sql`, import.meta.url));
}

const CONTEXT: DifferenceContext = {
  columns: selectColumns(['dns_status', 'dns_checked_at', 'country', 'unparsed']),
  deletes: true,
  comparable: true,
  unique: true,
  source: "dns/tld/d'e",
  fileDate: '2026-01-02',
  previousDate: '2026-01-01',
  revision: 3,
  deleteVersion: 42n,
};

const TABLES = {
  live: 'db.live',
  next: 'db.next',
  diff: 'db.diff',
  delta: 'db.delta',
  before: 'db.before',
  changes: 'db.changes',
};

test('tables and views of a cluster', async () => {
  const few = selectColumns([]);
  const on: Placing = { onCluster: ' ON CLUSTER `c`', replicated: true, namesUuid: true };
  const inDatabase: Placing = { onCluster: '', replicated: true, namesUuid: false };
  const uuid = '11111111-2222-4333-8444-555555555555';
  for (const [kind, placing] of [
    ['on-cluster', on],
    ['replicated-database', inDatabase],
  ] as const) {
    const definitions = [
      createLiveTable('`db`.`few`', 'sync', few, 'state', uuid, placing),
      createLiveTable('`db`.`few`', 'append', few, 'state', uuid, placing),
      createLiveView('`db`.`few_live`', '`db`.`few`', 'sync', few, placing),
      createChangesTable('`db`.`few_changes`', 'changes', placing),
      createHeldTable('`db`.`domainsync_held`', placing),
      createRunsTable('`db`.`domainsync_runs`', 31_536_000, placing),
      createRejectsTable('`db`.`domainsync_rejects`', 2_592_000, placing),
      createClaimsTable('`db`.`domainsync_claims`', placing),
    ];
    await expect(definitions.join(';\n\n')).toMatchFileSnapshot(golden(`schema/${kind}`));
  }
});

test('tables and views', async () => {
  const uuid = '11111111-2222-4333-8444-555555555555';
  const state = commentOf({ ...emptyLiveState('sync', COLUMNS, uuid), id: 'an id' });
  const live = createLiveTable('`db`.`dns`', 'sync', COLUMNS, state, uuid);
  await expect(live).toMatchFileSnapshot(golden('schema/live-table'));
  const few = selectColumns([]);
  await expect(createLiveTable('`db`.`few`', 'sync', few, '')).toMatchFileSnapshot(
    golden('schema/live-table-of-a-key'),
  );
  for (const mode of ['replace', 'append'] as const) {
    await expect(createLiveTable('`db`.`few`', mode, few, '')).toMatchFileSnapshot(golden(`schema/live-table-${mode}`));
    await expect(createLiveView('`db`.`few_live`', '`db`.`few`', mode, few)).toMatchFileSnapshot(
      golden(`schema/live-view-${mode}`),
    );
  }
  await expect(createLiveView('`db`.`dns_live`', '`db`.`dns`', 'sync', COLUMNS)).toMatchFileSnapshot(
    golden('schema/live-view'),
  );
  await expect(createHeldTable('`db`.`domainsync_held`')).toMatchFileSnapshot(golden('schema/held-table'));
  await expect(createChangesTable('`db`.`dns_changes`', 'changes')).toMatchFileSnapshot(golden('schema/changes-table'));
  await expect(createRunsTable('`db`.`domainsync_runs`', 31_536_000)).toMatchFileSnapshot(golden('schema/runs-table'));
  await expect(createRejectsTable('`db`.`domainsync_rejects`', 2_592_000)).toMatchFileSnapshot(
    golden('schema/rejects-table'),
  );
});

test('the difference of two files', async () => {
  const [first = '', second = ''] = keyRanges(['a.example', "it's.example"]);
  const statements = {
    'create-diff': createDiffTable(TABLES.diff),
    'insert-diff': insertDiff(TABLES, CONTEXT),
    'select-range-starts': selectRangeStarts(TABLES.diff),
    'insert-delta': insertDelta(TABLES, CONTEXT, first),
    'insert-delta-twice': insertDelta(TABLES, { ...CONTEXT, unique: false, deletes: false }, first),
    'insert-diff-twice': insertDiff(TABLES, { ...CONTEXT, unique: false, deletes: false, comparable: false }),
    'create-before': createBeforeTable(TABLES.before),
    'insert-before': insertBefore(TABLES, CONTEXT, second),
    'insert-changes': insertChanges(TABLES, CONTEXT, second),
  };
  for (const [name, sql] of Object.entries(statements))
    await expect(sql).toMatchFileSnapshot(golden(`difference/${name}`));
});

test('ranges of keys follow one another without gap or overlap', () => {
  expect(keyRanges([])).toEqual([]);
  expect(keyRanges(['a'])).toEqual([`domain >= 'a'`]);
  expect(keyRanges(['a', 'm\\', "z'"])).toEqual([
    `domain >= 'a' AND domain < 'm\\\\'`,
    `domain >= 'm\\\\' AND domain < 'z\\''`,
    `domain >= 'z\\''`,
  ]);
});

test('every column has the type that the contract gives it', () => {
  const low = 'LowCardinality(String)';
  const time = "Nullable(DateTime64(3, 'UTC'))";
  const lists = `Map(${low}, Array(String))`;
  expect(Object.fromEntries(COLUMNS.map((column) => [column.name, columnType(column)]))).toEqual({
    domain: 'String',
    tld_suffix: low,
    tld: low,
    domain_type: low,
    country: low,
    registrar: low,
    registration_method: low,
    registration_status: low,
    ip_address: 'String',
    http_status: 'Nullable(UInt16)',
    pr_value: 'Nullable(Float64)',
    harmonic_value: 'Nullable(Float64)',
    dns_status: 'Nullable(Bool)',
    technologies_checked_at: time,
    dns_checked_at: time,
    registration_checked_at: time,
    created_at: time,
    expires_at: time,
    changed_at: time,
    technologies: `Map(${low}, String)`,
    dns_records: lists,
    social_networks: lists,
    registration_record: 'String',
    unparsed: `Map(${low}, String)`,
  });
});

test('names and literals are quoted so that nothing in them ends them', () => {
  expect(identifier('dns')).toBe('`dns`');
  expect(identifier('a`b\\')).toBe('`a\\`b\\\\`');
  expect(literal("it's \\ and \n")).toBe("'it\\'s \\\\ and \n'");
  expect(hashOf([])).toBe('toUInt64(0)');
  expect(hashOf(['a', 'b`c'])).toBe('cityHash64(tuple(`a`, `b\\`c`))');
});

test('a staging table is told by its name, and belongs to one pipeline only', () => {
  for (const part of STAGING_PARTS) {
    expect(parseStagingTable('dns', stagingTable('dns', 12, part))).toEqual({ epoch: 12, part });
  }
  expect(stagingPrefix('dns-de')).toBe('domainsync_staging_dns-de_');
  const others = ['dns', 'dns_live', 'domainsync_staging_dns_1', 'domainsync_staging_dns_1_other', 'domainsync_runs'];
  for (const name of [...others, 'domainsync_staging_dns_x_rows', 'domainsync_staging_dns_1_rows_2', '']) {
    expect(parseStagingTable('dns', name), name).toBeNull();
  }
  expect(parseStagingTable('dns', stagingTable('dns-de', 1, 'rows'))).toBeNull();
  expect(parseStagingTable('dns-1', stagingTable('dns', 1, 'rows'))).toBeNull();
});

test('a comment is ours when it says so', () => {
  const state = emptyLiveState('sync', COLUMNS);
  expect(parseComment(JSON.stringify(state))).toEqual(state);
  for (const foreign of [
    '',
    'text',
    'null',
    '1',
    '[]',
    '{}',
    '{"domainsync":2}',
    '{"domainsync":"1"}',
    '{"domainsync":1',
  ]) {
    expect(parseComment(foreign), foreign).toBeNull();
  }
});

test('whatever makes a load another one gives it another key', () => {
  const file = { name: 'f', date: '2026-01-01', size: 5, etag: '"a"', lastModified: 'then' };
  const request: LoadRequest = {
    pipeline: 'p',
    target: { dataset: 'dns' },
    file,
    force: false,
    blockBytes: 1,
    blockLines: 1,
  };
  const [domain, tld] = COLUMNS;
  if (domain === undefined || tld === undefined) throw new Error('there are columns');
  const into: LoadedInto = {
    table: 't',
    mode: 'sync',
    columns: [domain],
    where: [{ column: 'country', values: ['de'] }],
  };
  const keys = [
    loadKey(request, into),
    loadKey({ ...request, target: { dataset: 'dns', slice: { scope: 'tld', key: 'de' } } }, into),
    ...[{ name: 'g' }, { date: '2026-01-02' }, { size: 6 }, { size: null }, { etag: '"b"' }, { etag: null }].map(
      (other) => loadKey({ ...request, file: { ...file, ...other } }, into),
    ),
    loadKey({ ...request, blockBytes: 2 }, into),
    loadKey({ ...request, blockLines: 2 }, into),
    loadKey(request, { ...into, columns: [domain, tld] }),
    loadKey(request, { ...into, where: [] }),
    loadKey(request, { ...into, table: 'u' }),
    loadKey(request, { ...into, mode: 'replace' }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  expect(loadKey({ ...request }, { ...into })).toBe(keys[0]);
  expect(fileKey(file)).not.toBe(fileKey({ ...file, etag: '"b"' }));
});
