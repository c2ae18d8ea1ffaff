/**
 * Several pipelines in one table of mode `sync` (docs/contract.md, "Pipelines that share a table or a topic"): each
 * deletes what came from its own slice, and nothing else.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClickHouseDestinationOptions } from '../../../connectors/clickhouse/destination.ts';
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import type { SliceScope } from '../../../src/types/index.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

interface Step {
  readonly table: string;
  readonly key: string;
  readonly date: string;
  readonly domains: Readonly<Record<string, string>>;
  readonly scope?: SliceScope;
  readonly options?: Partial<ClickHouseDestinationOptions>;
}

/** Loads a file of a slice: domains, with the registrar of each. */
function load({ table, key, date, domains, scope = 'tld', options = {} }: Step): Promise<RunOutcome> {
  const lines = Object.entries(domains).map(
    ([domain, registrar]) => `${JSON.stringify({ Domain: domain, Registrar: registrar })}\n`,
  );
  const pipeline = `${table}-${key}`;
  const target = { dataset: 'dns', slice: { scope, key } };
  const to = lab.destination(pipeline, { table, target, shared: true, ...options });
  return lab.load(to, pipeline, { name: `${key}-${date}.jsonl`, date, bytes: Buffer.from(lines.join('')) });
}

async function rows(table: string): Promise<string[]> {
  const found = await lab.query<{ row: string }>(
    `SELECT concat(domain, ' ', registrar) AS row FROM lab.${table}_live ORDER BY row`,
  );
  return found.map(({ row }) => row);
}

async function changes(table: string): Promise<string[]> {
  const found = await lab.query<{ row: string }>(
    `SELECT concat(domain, ' ', op, ' ', toString(previous_file_date), ' ', toString(file_date)) AS row
FROM lab.${table}_changes ORDER BY row`,
  );
  return found.map(({ row }) => row);
}

test('first loads at once, then each slice for itself', async () => {
  const first = await Promise.all(
    ['de', 'fr', 'at'].map((key) =>
      load({ table: 'slices', key, date: '2026-01-01', domains: { [`a.${key}`]: 'one', [`b.${key}`]: 'one' } }),
    ),
  );
  for (const outcome of first) expect(outcome).toMatchObject({ kind: 'loaded', result: { inserted: 2, deleted: 0 } });
  expect(await rows('slices')).toHaveLength(6);
  expect(await changes('slices')).toEqual([]);
  const later = await load({
    table: 'slices',
    key: 'de',
    date: '2026-01-03',
    domains: { 'a.de': 'two', 'c.de': 'one' },
  });
  expect(later).toMatchObject({ result: { inserted: 1, updated: 1, deleted: 1, unchanged: 0 } });
  // Older than that of the other slice, and newer than its own.
  await load({ table: 'slices', key: 'fr', date: '2026-01-02', domains: { 'a.fr': 'one' } });
  expect(await rows('slices')).toEqual(['a.at one', 'a.de two', 'a.fr one', 'b.at one', 'c.de one']);
  expect(await changes('slices')).toEqual([
    'a.de update 2026-01-01 2026-01-03',
    'b.de delete 2026-01-01 2026-01-03',
    'b.fr delete 2026-01-01 2026-01-02',
    'c.de insert 2026-01-01 2026-01-03',
  ]);
  for (const key of ['de', 'fr', 'at']) {
    const repeated = await load({
      table: 'slices',
      key,
      date: { de: '2026-01-03', fr: '2026-01-02', at: '2026-01-01' }[key] ?? '',
      domains:
        { de: { 'a.de': 'two', 'c.de': 'one' }, fr: { 'a.fr': 'one' }, at: { 'a.at': 'one', 'b.at': 'one' } }[key] ??
        {},
    });
    expect(repeated.kind, key).toBe('current');
  }
});

test('later files of all slices at once: each is held, and none is lost', async () => {
  const keys = ['a', 'b', 'c', 'd'];
  for (let day = 1; day <= 4; day += 1) {
    const date = `2026-02-0${day}`;
    const outcomes = await Promise.all(
      keys.map((key) =>
        load({ table: 'busy', key, date, domains: { [`kept.${key}`]: 'r', [`day${day}.${key}`]: date } }),
      ),
    );
    for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'loaded', file: { date } });
    expect(await rows('busy')).toEqual(keys.flatMap((key) => [`day${day}.${key} ${date}`, `kept.${key} r`]).sort());
  }
  expect(await changes('busy')).toHaveLength(keys.length * 3 * 2);
});

test('slices that overlap, with deletes: false: rows stay, and of two files the later one counts', async () => {
  const options = { deletes: false };
  const country = (key: string, date: string, domains: Readonly<Record<string, string>>) =>
    load({ table: 'lands', key, date, domains, scope: 'country', options });
  await country('de', '2026-01-02', { 'both.com': 'de 2', 'de.com': 'de 2' });
  // Older: what both have stays as the newer file has it, and is no change.
  expect(await country('fr', '2026-01-01', { 'both.com': 'fr 1', 'fr.com': 'fr 1' })).toMatchObject({
    result: { inserted: 1, updated: 0, deleted: 0, unchanged: 1 },
  });
  expect(await rows('lands')).toEqual(['both.com de 2', 'de.com de 2', 'fr.com fr 1']);
  expect(await country('fr', '2026-01-03', { 'both.com': 'fr 3' })).toMatchObject({
    result: { inserted: 0, updated: 1, deleted: 0 },
  });
  expect(await rows('lands')).toEqual(['both.com fr 3', 'de.com de 2', 'fr.com fr 1']);
  expect(await changes('lands')).toEqual(['both.com update 2026-01-01 2026-01-03']);
});

test('a table that one pipeline had alone is shared from now on, and alone again', async () => {
  const alone = { shared: false };
  await load({ table: 'joined', key: 'de', date: '2026-01-01', domains: { 'a.de': '1' }, options: alone });
  await load({ table: 'joined', key: 'de', date: '2026-01-02', domains: { 'b.de': '1' }, options: alone });
  await load({ table: 'joined', key: 'fr', date: '2026-01-01', domains: { 'a.fr': '1' } });
  await load({ table: 'joined', key: 'de', date: '2026-01-03', domains: { 'c.de': '1' } });
  expect(await rows('joined')).toEqual(['a.fr 1', 'c.de 1']);
  await load({ table: 'joined', key: 'fr', date: '2026-01-04', domains: { 'b.fr': '1' }, options: alone });
  expect(await rows('joined')).toEqual(['b.fr 1', 'c.de 1']);
});
