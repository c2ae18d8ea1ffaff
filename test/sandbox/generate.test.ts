import { expect, test } from 'vitest';
import { fileOrder, generateLines, generateRows } from '../../src/sandbox/data/generate.ts';
import { rowOf, type SandboxRow } from '../../src/sandbox/data/row.ts';
import { countRows, createWorld, dateOf, indexCount } from '../../src/sandbox/data/world.ts';
import { DATASET_SLUGS, DATASETS } from '../../src/sandbox/datasets.ts';

const world = createWorld({ rows: 20_000, seed: 7 });

function textOf(options: Parameters<typeof generateLines>[0]): string {
  return Buffer.concat([...generateLines(options)]).toString('utf8');
}

function byDomain(snapshot: number): Map<unknown, SandboxRow> {
  return new Map([...generateRows({ world, snapshot, dataset: 'all-data' })].map((row) => [row['Domain'], row]));
}

test('the same seed gives the same bytes, another seed gives others', () => {
  const small = { rows: 500, seed: 3 };
  const first = textOf({ world: createWorld(small), snapshot: 2, dataset: 'all-data' });
  expect(textOf({ world: createWorld(small), snapshot: 2, dataset: 'all-data' })).toBe(first);
  expect(textOf({ world: createWorld({ ...small, seed: 4 }), snapshot: 2, dataset: 'all-data' })).not.toBe(first);
});

test('lines are the rows of rowOf, in the order of the file, whatever the size of chunks', () => {
  const small = createWorld({ rows: 300 });
  const expected = [...fileOrder(small, 1)].map((i) => rowOf(small, i, 1, 'all-data')).filter((row) => row !== null);
  for (const chunkBytes of [1, 4000, 1 << 20]) {
    const chunks = [...generateLines({ world: small, snapshot: 1, dataset: 'all-data', chunkBytes })];
    for (const chunk of chunks) expect(chunk.at(-1)).toBe(0x0a);
    const lines = Buffer.concat(chunks).toString('utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(expected);
  }
});

test('each dataset has exactly its columns, in order', () => {
  expect(DATASETS['all-active'].columns).toEqual(['Domain', 'TLD suffix', 'TLD', 'Domain type']);
  expect(DATASETS['all-data'].columns).toHaveLength(23);
  expect(DATASETS['dns'].columns.slice(4)).toEqual(['DNS last data checked', 'DNS Status', 'DNS records']);
  expect(DATASETS['rdap-whois'].columns).not.toContain('Domain type');
  expect(DATASETS['domain-investor'].columns).not.toContain('RDAP/WHOIS Record');
  for (const dataset of DATASET_SLUGS) {
    const { columns } = DATASETS[dataset];
    const full = [...generateRows({ world, snapshot: 0, dataset, limit: 2000 })].map((row) => Object.keys(row));
    const longest = full.reduce((a, b) => (b.length > a.length ? b : a));
    expect(longest).toEqual(columns);
    for (const keys of full) expect(columns.filter((column) => keys.includes(column))).toEqual(keys);
  }
});

test('all-data leaves the conditional columns out where there is no registration', () => {
  const { conditional } = DATASETS['all-data'];
  expect(conditional).toEqual([
    'RDAP/WHOIS last date checked',
    'RDAP/WHOIS method',
    'Domain last changed',
    'RDAP/WHOIS Record',
    'Response Status RDAP/WHOIS',
  ]);
  const rows = [...generateRows({ world, snapshot: 0, dataset: 'all-data' })];
  const without = rows.filter((row) => !('RDAP/WHOIS method' in row));
  expect(without.length).toBeGreaterThan(rows.length / 5);
  expect(without.length).toBeLessThan(rows.length / 2);
  for (const row of without) for (const column of conditional) expect(column in row).toBe(false);
  expect(rows.filter((row) => row['Domain type'] === 'PRIVATE' && 'RDAP/WHOIS method' in row)).toEqual([]);
});

test('the data has the forms that the specification names', () => {
  const rows = [...generateRows({ world, snapshot: 0, dataset: 'all-data' })];
  const share = (test: (row: SandboxRow) => boolean): number => rows.filter(test).length / rows.length;
  expect(share((row) => row['TLD suffix'] === 'com')).toBeCloseTo(0.5, 1);
  expect(share((row) => row['TLD suffix'] === 'co.uk' && row['TLD'] === 'uk')).toBeGreaterThan(0.01);
  expect(share((row) => row['TLD suffix'] === 'github.io' && row['Domain type'] === 'PRIVATE')).toBeGreaterThan(0.001);
  expect(share((row) => Array.isArray(row['Technologies']))).toBeGreaterThan(0.2);
  expect(share((row) => row['Technologies'] === null)).toBeGreaterThan(0.1);
  expect(share((row) => !('Technologies' in row))).toBeGreaterThan(0.001);
  expect(share((row) => row['PR value'] === 0)).toBeGreaterThan(0.1);
  expect(share((row) => Number(row['PR value']) > 0 && Number(row['PR value']) < 1e-9)).toBeGreaterThan(0.1);
  const dates = rows.map((row) => String(row['Domain creation date']));
  for (const form of [/^\d{4}-\d\d-\d\d$/, /T\d\d:\d\d:\d\d$/, /T\d\d:\d\d:\d\d\.\d{3}$/]) {
    expect(dates.filter((date) => form.test(date)).length).toBeGreaterThan(1000);
  }
  const text = textOf({ world, snapshot: 0, dataset: 'all-data' });
  for (const part of [
    'Köln',
    'K\\u00f6ln',
    '株式会社',
    '"MX":[{"host":"',
    '👋',
    '\\ud83d\\udc4b',
    '"xn--',
    '.e',
    'e-',
  ]) {
    expect(text).toContain(part);
  }
  const bytes = Buffer.byteLength(text) / rows.length;
  expect(bytes).toBeGreaterThan(1000);
  expect(bytes).toBeLessThan(1250);
});

test('domains are unique for each index, also beyond the first names, and a file is not sorted', () => {
  const domains = [...generateRows({ world, snapshot: 0, dataset: 'all-active' })].map((row) => String(row['Domain']));
  expect(new Set(domains).size).toBe(20_000);
  expect(domains.toSorted()).not.toEqual(domains);
  const large = createWorld({ rows: 40_000_000 });
  const labels = [5, 5 + 2 ** 24, 5 + 2 ** 25].map((i) => rowOf(large, i, 0, 'all-active')?.['Domain']);
  expect(new Set(labels.map((domain) => String(domain).split('.')[0])).size).toBe(3);
});

test('from one snapshot to the next: 3 % changed, 1 % gone, 1 % new, some only checked again', () => {
  const [before, after] = [byDomain(0), byDomain(1)];
  let gone = 0;
  let changed = 0;
  let rechecked = 0;
  for (const [domain, row] of before) {
    const now = after.get(domain);
    if (now === undefined) {
      gone += 1;
      continue;
    }
    const names = new Set([...Object.keys(row), ...Object.keys(now)]);
    const differ = [...names].filter((name) => JSON.stringify(row[name]) !== JSON.stringify(now[name]));
    if (differ.some((name) => !name.includes('checked'))) changed += 1;
    else if (differ.length > 0) rechecked += 1;
  }
  const added = [...after.keys()].filter((domain) => !before.has(domain)).length;
  expect(added).toBe(200);
  expect(gone / 20_000).toBeCloseTo(0.01, 2);
  expect(changed / 20_000).toBeGreaterThan(0.025);
  expect(changed / 20_000).toBeLessThan(0.035);
  expect(rechecked / 20_000).toBeGreaterThan(0.04);
  expect(rechecked / 20_000).toBeLessThan(0.06);
  expect(after.size).toBe(20_000 - gone + added);
});

test('every change of the world shows in all-data, over many snapshots, and rates can be set', () => {
  const lively = createWorld({ rows: 300, rates: { changed: 1, gone: 0, added: 0, rechecked: 0 } });
  for (let snapshot = 1; snapshot <= 6; snapshot++) {
    for (let index = 0; index < 300; index++) {
      const counting = (at: number): string =>
        JSON.stringify(
          Object.entries(rowOf(lively, index, at, 'all-data') ?? {}).filter(([name]) => !name.includes('checked')),
        );
      expect(counting(snapshot)).not.toBe(counting(snapshot - 1));
    }
  }
  const still = createWorld({ rows: 300, rates: { changed: 0, gone: 0, added: 0, rechecked: 0 } });
  expect(rowOf(still, 5, 9, 'all-data')).toEqual(rowOf(still, 5, 0, 'all-data'));
});

test('counts, dates and shares', () => {
  expect(dateOf(world, 3)).toBe('2026-01-18');
  expect(dateOf(createWorld({ firstDate: '2026-02-27', intervalDays: 7 }), 1)).toBe('2026-03-06');
  expect(indexCount(world, 2)).toBe(20_400);
  const counts = countRows(world, 1);
  for (const dataset of DATASET_SLUGS) {
    expect(counts[dataset]).toBe([...generateRows({ world, snapshot: 1, dataset })].length);
  }
  const half = createWorld({ rows: 10_000, shares: { dns: 0.5 } });
  expect(countRows(half, 0).dns / 10_000).toBeCloseTo(0.5, 1);
  expect(() => createWorld({ rows: -1 })).toThrow('rows must be a whole number');
  expect(() => createWorld({ firstDate: 'soon' })).toThrow('firstDate');
});

test('slices hold the rows of their entity, and nothing where the dataset lacks the column', () => {
  const all = [...generateRows({ world, snapshot: 0, dataset: 'all-data' })];
  const slice = (scope: 'tld' | 'tld_suffix' | 'country' | 'technology', key: string): SandboxRow[] => [
    ...generateRows({ world, snapshot: 0, dataset: 'all-data', slice: { scope, key } }),
  ];
  expect(slice('tld', 'uk')).toEqual(all.filter((row) => row['TLD'] === 'uk'));
  expect(slice('tld_suffix', 'co.uk')).toEqual(all.filter((row) => row['TLD suffix'] === 'co.uk'));
  expect(slice('country', 'de')).toEqual(all.filter((row) => row['Country by IP'] === 'DE'));
  const uses = ({ Technologies: value }: SandboxRow): boolean =>
    Array.isArray(value) ? value.includes('WordPress') : Object.hasOwn(value ?? {}, 'WordPress');
  expect(slice('technology', 'wordpress')).toEqual(all.filter(uses));
  expect(slice('technology', 'wordpress').length).toBeGreaterThan(100);
  expect(slice('tld', 'nowhere')).toEqual([]);
  const dns = generateRows({ world, snapshot: 0, dataset: 'dns', slice: { scope: 'country', key: 'de' } });
  expect([...dns]).toEqual([]);
});
