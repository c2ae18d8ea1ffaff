import { expect, test } from 'vitest';
import { faultsIn } from './tools.ts';

interface Given {
  readonly dataset?: string;
  /** `tld de` */
  readonly slice?: string;
  readonly columns?: string;
  /** After `table: t` or `topic: t`. */
  readonly rest?: string;
}

function pipeline(name: string, destination: string, given: Given): string {
  const [scope, key] = given.slice?.split(' ') ?? [];
  const slice = scope === undefined ? '' : `slice: { scope: ${scope}, key: ${key} }, `;
  const columns = given.columns === undefined ? '' : `columns: [${given.columns}], `;
  const rest = given.rest === undefined ? '' : `, ${given.rest}`;
  return `  ${name}: { dataset: ${given.dataset ?? 'dns'}, ${slice}${columns}to: { ${destination}${rest} } } }\n`;
}

function tableFaults(...given: Given[]): readonly string[] {
  return faultsIn(`pipelines:\n${given.map((one, n) => pipeline(`p${n}`, 'clickhouse: { table: t', one)).join('')}`);
}

function topicFaults(...given: Given[]): readonly string[] {
  return faultsIn(`pipelines:\n${given.map((one, n) => pipeline(`p${n}`, 'kafka: { topic: t', one)).join('')}`);
}

const SLICES = 'each has a slice of scope tld, or each of scope tld_suffix, with another key';
const KEEP = { rest: 'deletes: false' };
const APPEND = { rest: 'mode: append' };

test.each<[string, Given[]]>([
  ['tlds', [{ slice: 'tld de' }, { slice: 'tld at' }, { slice: 'tld ch' }]],
  ['suffixes', [{ slice: 'tld_suffix co.uk' }, { slice: 'tld_suffix org.uk' }]],
  ['tlds of which one keeps rows', [{ slice: 'tld de' }, { slice: 'tld at', ...KEEP }]],
  [
    'tlds in mode append',
    [
      { slice: 'tld de', ...APPEND },
      { slice: 'tld at', ...APPEND },
    ],
  ],
  ['any slices, where nothing is deleted', [{ slice: 'tld de', ...KEEP }, { slice: 'country at', ...KEEP }, KEEP]],
  [
    'the same columns in another order',
    [
      { slice: 'tld de', columns: 'tld, country' },
      { slice: 'tld at', columns: 'country, domain, tld' },
    ],
  ],
])('may share a table: %s', (_name, given) => {
  expect(tableFaults(...given)).toEqual([]);
});

test.each<[string, Given[], string]>([
  ['no slices', [{}, {}], 'they must not load the same slice into it twice'],
  [
    'the same slice in other letters',
    [{ slice: 'tld de' }, { slice: 'tld DE' }],
    'they must not load the same slice into it twice',
  ],
  ['the same slice, nothing deleted', [KEEP, KEEP], 'they must not load the same slice into it twice'],
  [
    'a slice and the whole',
    [{ slice: 'tld de' }, {}],
    `this is allowed only where ${SLICES}, or where all have deletes: false`,
  ],
  [
    'a tld and a suffix',
    [{ slice: 'tld uk' }, { slice: 'tld_suffix co.uk' }],
    `this is allowed only where ${SLICES}, or where all have deletes: false`,
  ],
  [
    'countries',
    [{ slice: 'country de' }, { slice: 'country at' }],
    `this is allowed only where ${SLICES}, or where all have deletes: false`,
  ],
  [
    'technologies, of which one deletes',
    [{ slice: 'technology php', ...KEEP }, { slice: 'technology go' }],
    `this is allowed only where ${SLICES}, or where all have deletes: false`,
  ],
  [
    'countries in mode append',
    [
      { slice: 'country de', ...APPEND },
      { slice: 'country at', ...APPEND },
    ],
    `this is allowed only where ${SLICES}`,
  ],
  ['datasets', [{ slice: 'tld de' }, { slice: 'tld at', dataset: 'technologies' }], 'they must load the same dataset'],
  ['columns', [{ slice: 'tld de' }, { slice: 'tld at', columns: 'tld' }], 'they must have the same columns'],
  ['changes', [{ slice: 'tld de' }, { slice: 'tld at', rest: 'changes: false' }], 'they must agree in changes'],
  ['modes', [{ slice: 'tld de' }, { slice: 'tld at', ...APPEND }], 'they must have the same mode'],
  [
    'mode replace',
    [
      { slice: 'tld de', rest: 'mode: replace' },
      { slice: 'tld at', rest: 'mode: replace' },
    ],
    'a table of mode replace can have only one pipeline; modes sync and append may share',
  ],
])('may not share a table: %s', (_name, given, reason) => {
  expect(tableFaults(...given)).toEqual([
    `pipelines.p1.to.clickhouse.table: pipelines 'p0' and 'p1' share the table t: ${reason}`,
  ]);
});

test('each later pipeline is told once', () => {
  const faults = tableFaults({ slice: 'tld de' }, { slice: 'tld at' }, { slice: 'country de' }, { slice: 'tld de' });
  expect(faults).toEqual([
    `pipelines.p2.to.clickhouse.table: pipelines 'p0' and 'p2' share the table t: this is allowed only where ${SLICES}, or where all have deletes: false`,
    "pipelines.p3.to.clickhouse.table: pipelines 'p0' and 'p3' share the table t: they must not load the same slice into it twice",
  ]);
});

test('a topic is shared by disjoint slices only', () => {
  expect(topicFaults({ slice: 'tld de' }, { slice: 'tld at' })).toEqual([]);
  const shared = "pipelines.p1.to.kafka.topic: pipelines 'p0' and 'p1' share the topic t";
  expect(topicFaults({}, {})).toEqual([`${shared}: this is allowed only where ${SLICES}`]);
  expect(topicFaults({ slice: 'country de' }, { slice: 'country at' })).toEqual([
    `${shared}: this is allowed only where ${SLICES}`,
  ]);
  expect(topicFaults({ slice: 'tld de' }, { slice: 'tld at', dataset: 'x' })).toEqual([
    `${shared}: they must load the same dataset`,
  ]);
  expect(topicFaults({ slice: 'tld de' }, { slice: 'tld at', columns: 'tld' })).toEqual([
    `${shared}: they must have the same columns`,
  ]);
});

test('overlaps are told beside the faults of other pipelines', () => {
  const text = `pipelines:
  a: { dataset: dns, to: { clickhouse: { table: t } } }
  b: { dataset: dns, minRows: 2, to: { clickhouse: { table: u } } }
  c: { dataset: dns, to: { clickhouse: { table: t } } }
`;
  expect(faultsIn(text)).toEqual([
    'pipelines.b.minRows: must be a share from 0 to 1',
    "pipelines.c.to.clickhouse.table: pipelines 'a' and 'c' share the table t: they must not load the same slice into it twice",
  ]);
});
