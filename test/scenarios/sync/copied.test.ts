/** A table that was copied or restored brings along what the other one's comment said: that is not true of it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClickHouseDestinationOptions } from '../../../connectors/clickhouse/destination.ts';
import { literal } from '../../../connectors/clickhouse/sql/names.ts';
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import { type Lab, type LabFile, type LoadOptions, NEVER, openLab } from '../../support/clickhouse/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

type Options = Partial<ClickHouseDestinationOptions>;

/** `registrar` tells the file that a row is of. */
function file(date: string, domains: readonly string[]): LabFile {
  const lines = domains.map((domain) => `${JSON.stringify({ Domain: domain, Registrar: date })}\n`);
  return { name: `f-${date}.jsonl`, date, bytes: Buffer.from(lines.join('')), etag: `"${date}"` };
}

function load(table: string, of: LabFile, options: Options = {}, how: LoadOptions = {}): Promise<RunOutcome> {
  return lab.load(lab.destination(table, options), table, of, how);
}

async function rows(table: string): Promise<string[]> {
  const found = await lab.query<{ row: string }>(
    `SELECT concat(domain, ' ', registrar) AS row FROM lab.${table} ORDER BY row`,
  );
  return found.map(({ row }) => row);
}

async function commentOf(table: string): Promise<Record<string, unknown>> {
  const [row] = await lab.query<{ comment: string }>(
    `SELECT comment FROM system.tables WHERE database = 'lab' AND name = '${table}'`,
  );
  return JSON.parse(row?.comment ?? '{}') as Record<string, unknown>;
}

async function setComment(table: string, comment: unknown): Promise<void> {
  await lab.command(`ALTER TABLE lab.${table} MODIFY COMMENT ${literal(JSON.stringify(comment))}`);
}

const FIRST = file('2026-01-01', ['a.de', 'b.de', 'c.de']);
const SECOND = file('2026-01-02', ['b.de', 'c.de', 'd.de']);
const SECOND_ROWS = ['b.de 2026-01-02', 'c.de 2026-01-02', 'd.de 2026-01-02'];
const COPIED = {
  code: 'DESTINATION_REFUSED',
  message: expect.stringMatching(/^lab\.\w+ was copied or restored from another table/),
  hint: expect.stringContaining('--force'),
};

const MODES: readonly [string, Options][] = [
  ['sync', {}],
  ['sync, without deletions', { deletes: false }],
  ['replace', { mode: 'replace', changes: false }],
  ['append', { mode: 'append', changes: false }],
];

test.each(MODES)('yesterday’s rows put back are not taken for today’s file: mode %s', async (name, options) => {
  const table = `back_${name.replace(/\W+/g, '_')}`;
  await load(table, FIRST, options);
  await lab.command(`CREATE TABLE lab.${table}_kept AS lab.${table}`);
  await lab.command(`INSERT INTO lab.${table}_kept SELECT * FROM lab.${table}`);
  await load(table, SECOND, options);
  await lab.command(`EXCHANGE TABLES lab.${table} AND lab.${table}_kept`);
  const before = await rows(table);
  expect(before).toEqual(['a.de 2026-01-01', 'b.de 2026-01-01', 'c.de 2026-01-01']);

  await expect(load(table, SECOND, options)).rejects.toMatchObject(COPIED);
  const destination = lab.destination(table, options);
  await expect(destination.loadedSnapshot(NEVER)).rejects.toMatchObject(COPIED);
  await expect(destination.status(NEVER)).rejects.toMatchObject(COPIED);
  expect(await rows(table)).toEqual(before);

  expect(await load(table, SECOND, options, { force: true })).toMatchObject({ kind: 'loaded' });
  const stays = options.deletes === false ? ['a.de 2026-01-01'] : [];
  expect(await rows(`${table}_live`)).toEqual([...stays, ...SECOND_ROWS]);
  expect(await load(table, SECOND, options)).toMatchObject({ kind: 'current' });
});

test('a table made AS another one holds nothing of what that one loads', async () => {
  await load('model', FIRST);
  await lab.command('CREATE TABLE lab.twin AS lab.model');
  await load('model', SECOND);
  await expect(load('twin', SECOND)).rejects.toMatchObject(COPIED);
  expect(await load('twin', SECOND, {}, { force: true })).toMatchObject({ kind: 'loaded', result: { inserted: 3 } });
  expect(await rows('twin_live')).toEqual(SECOND_ROWS);
  expect(await load('model', SECOND)).toMatchObject({ kind: 'current' });
});

test('a table that was renamed, and the one that EXCHANGE put in its place, keep what they hold', async () => {
  await load('moved', FIRST, { mode: 'replace' });
  await load('moved', SECOND, { mode: 'replace' });
  await lab.command('RENAME TABLE lab.moved TO lab.elsewhere');
  expect(await load('elsewhere', SECOND, { mode: 'replace' })).toMatchObject({ kind: 'current' });
});

test('the record of a version before is tied to its table once', async () => {
  await load('old', FIRST);
  const { uuid, ...before } = await commentOf('old');
  expect(uuid).toMatch(/^[0-9a-f-]{36}$/);
  await setComment('old', before);
  await lab.command('CREATE TABLE lab.old_copy AS lab.old');
  expect(await load('old', FIRST)).toMatchObject({ kind: 'current' });
  expect(await commentOf('old')).toMatchObject({ ...before, uuid });
  await expect(load('old_copy', FIRST)).rejects.toMatchObject(COPIED);
});

test('slices in one table, restored: each is compared with the rows that are there, and wins over them', async () => {
  const slice = (key: string): Options => ({
    table: 'slices',
    target: { dataset: 'all-data', slice: { scope: 'tld', key } },
    shared: true,
  });
  const at = (key: string, of: LabFile, how: LoadOptions = {}) =>
    lab.load(lab.destination(`slice-${key}`, slice(key)), `slice-${key}`, of, how);
  await at('de', FIRST);
  await at('fr', file('2026-01-01', ['x.fr', 'y.fr']));
  await lab.command('CREATE TABLE lab.slices_kept AS lab.slices');
  await lab.command('INSERT INTO lab.slices_kept SELECT * FROM lab.slices');
  await lab.command('EXCHANGE TABLES lab.slices AND lab.slices_kept');
  // Another edition of the date that is there, with other values.
  const other = file('2026-01-01', ['a.de', 'd.de']);
  const changed = { ...other, bytes: Buffer.from(String(other.bytes).replaceAll('"2026-01-01"', '"other"')) };
  await expect(at('de', changed)).rejects.toMatchObject(COPIED);
  expect(await at('de', changed, { force: true })).toMatchObject({ kind: 'loaded' });
  expect(await rows('slices_live')).toEqual(['a.de other', 'd.de other', 'x.fr 2026-01-01', 'y.fr 2026-01-01']);
});
