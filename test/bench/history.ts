/**
 * `npm run bench:history [-- --rows n --rounds n --lookup-rows n --disk-rows n --only loads|lookups|disk]`: what `history: true` costs.
 * - loads: a first file and a second one of which 3 % changed, with history and without, in turns
 * - lookups: one domain that has twenty versions, in `_versions` and `_asof` against `_live`, merged; the other rows are copies, made in
 *   ClickHouse, of 10,000 that were loaded as twenty files
 * - disk: twenty files, each with 3 % changes; the table and its history, merged
 * Machines are shared and drift: medians of the ratios within a round.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import { compressTo } from '../../src/sandbox/data/compress.ts';
import { generateLines } from '../../src/sandbox/data/generate.ts';
import { createWorld, dateOf } from '../../src/sandbox/data/world.ts';
import { type Bench, type Measured, type SnapshotFile, snapshotFile, withBench } from './harness.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '9' },
    'lookup-rows': { type: 'string', default: '10000000' },
    'disk-rows': { type: 'string', default: '100000' },
    only: { type: 'string' },
  },
});
const dataset = 'all-data';
const changedOnly = { changed: 0.03, gone: 0, added: 0, rechecked: 0 };
const FILES = 20;

function changed(rows: number, snapshot: number): Promise<SnapshotFile> {
  return snapshotFile(dataset, rows, snapshot, { name: 'changed', rates: changedOnly });
}

/** Both loads of one kind, in one round. */
type Pair = readonly [first: Measured, second: Measured];

async function pair(bench: Bench, files: readonly [SnapshotFile, SnapshotFile], history: boolean): Promise<Pair> {
  await bench.reset();
  await bench.publish(dataset, files[0]);
  const first = await bench.sync(dataset, { history });
  // A day passes between two files.
  await bench.settled();
  await bench.publish(dataset, files[1]);
  const second = await bench.sync(dataset, { history });
  await bench.settled();
  return [first, second];
}

async function loads(bench: Bench): Promise<void> {
  const rows = Number(values.rows);
  const files = [await changed(rows, 0), await changed(rows, 1)] as const;
  const rounds: { readonly without: Pair; readonly with: Pair }[] = [];
  for (let n = 0; n < Number(values.rounds); n += 1) {
    // Who goes first takes turns too.
    const found = new Map<boolean, Pair>();
    for (const history of n % 2 === 0 ? [false, true] : [true, false])
      found.set(history, await pair(bench, files, history));
    rounds.push({ without: found.get(false) as Pair, with: found.get(true) as Pair });
  }
  const row = (what: string, load: 0 | 1): (string | number)[] => {
    const ratio = (of: (run: Measured) => number): string => {
      const ratios = rounds.map((round) => of(round.with[load]) / of(round.without[load]));
      const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
      return `${median(ratios).toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
    };
    const middle = (kind: 'with' | 'without', of: (run: Measured) => number, digits: number): string =>
      median(rounds.map((round) => of(round[kind][load]))).toFixed(digits);
    return [
      what,
      rows,
      middle('without', (run) => run.seconds, 2),
      middle('with', (run) => run.seconds, 2),
      ratio((run) => run.seconds),
      ratio((run) => run.serverCpuSeconds),
      middle('without', (run) => run.peakMiB, 0),
      middle('with', (run) => run.peakMiB, 0),
    ];
  };
  printTable(
    [
      'load',
      'rows',
      'seconds without',
      'with history',
      'times',
      'times ClickHouse CPU',
      'peak MiB without',
      'with history',
    ],
    [row('first', 0), row('second, 3 % changed', 1)],
  );
  await bench.reset();
}

/** Loaded as files; the rest of the rows are copies of these under other domains. */
const LOADED_ROWS = 10_000;
const DOMAIN = 'twenty.example';

/** A snapshot, and one domain that has another value in each. */
async function withTwenty(folder: string, snapshot: number): Promise<SnapshotFile> {
  const world = createWorld({ rows: LOADED_ROWS, seed: 1, rates: changedOnly });
  const path = join(folder, `${snapshot}.jsonl.zst`);
  async function* lines(): AsyncGenerator<Uint8Array> {
    yield* generateLines({ world, snapshot, dataset });
    yield Buffer.from(`${JSON.stringify({ Domain: DOMAIN, Registrar: `number ${snapshot}` })}\n`);
  }
  return { path, date: dateOf(world, snapshot), bytes: await compressTo(path, lines()) };
}

/** Adds copies of all rows of a table, whatever its columns, under domains of their own; at the end it has so many times its rows. */
async function multiply(bench: Bench, table: string, times: number): Promise<void> {
  // In pieces: a statement over everything would take the server's memory.
  for (let from = 1; from < times; from += 100) {
    await bench.statement(`INSERT INTO ${table} SELECT * EXCEPT (copy) REPLACE (concat('n', toString(copy), '.', domain) AS domain)
FROM (SELECT * FROM ${table} WHERE NOT match(domain, '^n[0-9]+[.]')) ARRAY JOIN range(${from}, ${Math.min(from + 100, times)}) AS copy`);
  }
}

interface Lookup {
  readonly rows: number;
  readonly rowsRead: number;
  readonly milliseconds: number;
}

async function lookup(bench: Bench, sql: string): Promise<Lookup> {
  const answer = JSON.parse(await bench.statement(`${sql} FORMAT JSON`)) as {
    rows: number;
    statistics: { elapsed: number; rows_read: number };
  };
  const { elapsed, rows_read } = answer.statistics;
  return { rows: answer.rows, rowsRead: rows_read, milliseconds: elapsed * 1000 };
}

const LOOKUPS = 31;

async function lookups(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-bench-history-'));
  await bench.reset();
  let dates: string[] = [];
  try {
    for (let n = 0; n < FILES; n += 1) {
      const file = await withTwenty(folder, n);
      dates = [...dates, file.date];
      await bench.publish(dataset, file);
      await bench.sync(dataset, { history: true });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const times = Math.ceil(Number(values['lookup-rows']) / LOADED_ROWS);
  for (const table of ['bench.bench', 'bench.bench_history']) {
    await multiply(bench, table, times);
    await bench.statement(`OPTIMIZE TABLE ${table} FINAL`);
  }
  await bench.settled();
  const where = `WHERE domain = '${DOMAIN}'`;
  const of = (kind: string): string => `SELECT * FROM bench.bench_${kind} ${where}`;
  const kinds: readonly [string, string][] = [
    ['_live', of('live')],
    ['_versions', of('versions')],
    ['_asof, the newest date', of(`asof(at = '${dates.at(-1)}')`)],
    ['_asof, amid the dates', of(`asof(at = '${dates[FILES / 2]}')`)],
    ['_live, a domain that is not there', of('live').replace(DOMAIN, 'none.example')],
    ['_versions, likewise', of('versions').replace(DOMAIN, 'none.example')],
  ];
  const found = new Map<string, Lookup[]>(kinds.map(([what]) => [what, []]));
  for (let round = 0; round < LOOKUPS; round += 1) {
    for (const [what, sql] of kinds) found.get(what)?.push(await lookup(bench, sql));
  }
  const live = found.get('_live') ?? [];
  const size = Number(await bench.statement('SELECT count() FROM bench.bench_live'));
  const versions = Number(await bench.statement('SELECT count() FROM bench.bench_history'));
  printTable(
    ['lookup', 'of rows', 'of versions', 'rows found', 'rows read', 'times _live', 'ms', 'times _live'],
    kinds.map(([what]) => {
      const all = found.get(what) ?? [];
      const read = median(all.map(({ rowsRead }) => rowsRead));
      return [
        what,
        size,
        versions,
        all[0]?.rows ?? 0,
        read,
        (read / median(live.map(({ rowsRead }) => rowsRead))).toFixed(2),
        median(all.map(({ milliseconds }) => milliseconds)).toFixed(1),
        median(all.map(({ milliseconds }, n) => milliseconds / (live[n]?.milliseconds ?? 1))).toFixed(2),
      ];
    }),
  );
  await bench.reset();
}

async function disk(bench: Bench): Promise<void> {
  const rows = Number(values['disk-rows']);
  await bench.reset();
  for (let n = 0; n < FILES; n += 1) {
    await bench.publish(dataset, await changed(rows, n));
    await bench.sync(dataset, { history: true });
  }
  const tables = ['bench', 'bench_history', 'bench_changes'];
  for (const table of tables) await bench.statement(`OPTIMIZE TABLE bench.${table} FINAL`);
  const answer = await bench.statement(`SELECT table, sum(rows) AS rows, sum(bytes_on_disk) AS bytes FROM system.parts
WHERE active AND database = 'bench' AND table IN ('${tables.join("','")}') GROUP BY table ORDER BY table
FORMAT JSONEachRow SETTINGS output_format_json_quote_64bit_integers = 0`);
  const found = answer.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) as {
    table: string;
    rows: number;
    bytes: number;
  }[];
  const live = found.find(({ table }) => table === 'bench')?.bytes ?? Number.NaN;
  printTable(
    [`${FILES} files`, 'rows', 'MiB', 'bytes a row', 'times the table'],
    found.map((one) => [
      one.table,
      one.rows,
      (one.bytes / 2 ** 20).toFixed(1),
      (one.bytes / one.rows).toFixed(0),
      (one.bytes / live).toFixed(2),
    ]),
  );
  await bench.reset();
}

const PARTS = { loads, lookups, disk } as const;

await withBench(async (bench) => {
  for (const [name, part] of Object.entries(PARTS)) {
    if (values.only === undefined || values.only === name) await part(bench);
  }
});
