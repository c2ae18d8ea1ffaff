/**
 * `npm run bench:second [-- --rounds n]`: what a second snapshot costs beside the first load of the same table, in mode
 * `sync`, and what memory each takes on the server and in domainsync: all columns at 1,000,000 rows, few at 1,000,000 and
 * 4,000,000. Medians of the rounds; machines are shared, so compare what stands in one table.
 */
import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import type { DatasetSlug } from '../../src/sandbox/datasets.ts';
import { type Bench, type Measured, snapshotFile, withBench } from './harness.ts';
import { median } from './median.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } });

/** The sandbox gives four fifths of its domains to `websites-ranking`, and nine columns. */
const CASES: readonly { readonly dataset: DatasetSlug; readonly domains: number }[] = [
  { dataset: 'all-data', domains: 1_000_000 },
  { dataset: 'websites-ranking', domains: 1_250_000 },
  { dataset: 'websites-ranking', domains: 5_000_000 },
];

/** One kind of statement in one load; all that differ in their values alone, or the merges. */
interface Statement {
  readonly what: string;
  readonly times: number;
  readonly cpuSeconds: number;
  readonly seconds: number;
  readonly peakMiB: number;
}

interface Figures {
  readonly run: Measured;
  readonly rows: number;
  readonly statements: readonly Statement[];
}

/** Names a statement by what it does to which table of the load. */
const STATEMENTS = `SELECT concat(query_kind, ' ', extract(query, 'domainsync_staging_[a-z0-9.-]+_[0-9]+_([a-z]+)')) AS what,
  count() AS times, sum(ProfileEvents['OSCPUVirtualTimeMicroseconds']) / 1e6 AS cpuSeconds,
  sum(query_duration_ms) / 1000 AS seconds, max(memory_usage) / 1048576 AS peakMiB
FROM system.query_log WHERE type = 'QueryFinish' AND event_time_microseconds >= {since:DateTime64(6)} GROUP BY what`;

const MERGES = `SELECT concat('Merge ', if(table = 'bench', 'live', extract(table, '_([a-z]+)$'))) AS what, count() AS times,
  sum(ProfileEvents['OSCPUVirtualTimeMicroseconds']) / 1e6 AS cpuSeconds,
  sum(duration_ms) / 1000 AS seconds, max(peak_memory_usage) / 1048576 AS peakMiB
FROM system.part_log WHERE event_type = 'MergeParts' AND database = 'bench' AND event_time_microseconds >= {since:DateTime64(6)} GROUP BY what`;

async function statementsOf(bench: Bench, since: string): Promise<Statement[]> {
  await bench.statement('SYSTEM FLUSH LOGS');
  const sql = `SELECT * FROM (${STATEMENTS} UNION ALL ${MERGES}) ORDER BY cpuSeconds DESC FORMAT JSONEachRow
SETTINGS output_format_json_quote_64bit_integers = 0`;
  const answer = await bench.statement(sql.replaceAll('{since:DateTime64(6)}', `toDateTime64('${since}', 6)`));
  return answer.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Statement]));
}

async function load(bench: Bench, dataset: DatasetSlug, domains: number, snapshot: number): Promise<Figures> {
  await bench.publish(dataset, await snapshotFile(dataset, domains, snapshot));
  const since = (await bench.statement('SELECT now64(6)')).trim();
  const run = await bench.sync(dataset);
  const statements = await statementsOf(bench, since);
  return { run, rows: Number(await bench.statement('SELECT count() FROM bench.bench_live')), statements };
}

function largest(rounds: readonly Figures[]): Statement | undefined {
  return rounds.flatMap(({ statements }) => statements).toSorted((a, b) => b.peakMiB - a.peakMiB)[0];
}

function rowOf(what: string, rounds: readonly Figures[], first: readonly Figures[]): (string | number)[] {
  const of = (value: (run: Measured) => number, from = rounds): number => median(from.map(({ run }) => value(run)));
  const seconds = of((run) => run.seconds);
  const statement = largest(rounds);
  return [
    what,
    rounds[0]?.rows ?? 0,
    seconds.toFixed(2),
    (seconds / of((run) => run.seconds, first)).toFixed(2),
    of((run) => run.cpuSeconds).toFixed(1),
    of((run) => run.serverCpuSeconds).toFixed(1),
    of((run) => run.peakMiB).toFixed(0),
    (statement?.peakMiB ?? 0).toFixed(0),
    statement?.what ?? '',
  ];
}

function statementRows(what: string, rounds: readonly Figures[]): (string | number)[][] {
  const kinds = new Set(rounds.flatMap(({ statements }) => statements.map((one) => one.what)));
  const rows = [...kinds].map((kind) => {
    const found = rounds.flatMap(({ statements }) => statements.filter((one) => one.what === kind));
    const of = (value: (one: Statement) => number): number => median(found.map(value));
    return {
      kind,
      times: of((one) => one.times),
      cpuSeconds: of((one) => one.cpuSeconds),
      seconds: of((one) => one.seconds),
      peakMiB: of((one) => one.peakMiB),
    };
  });
  return rows
    .filter(({ cpuSeconds }) => cpuSeconds >= 0.02)
    .toSorted((a, b) => b.cpuSeconds - a.cpuSeconds)
    .map((row) => [
      what,
      row.kind,
      row.times,
      row.cpuSeconds.toFixed(2),
      row.seconds.toFixed(2),
      row.peakMiB.toFixed(0),
    ]);
}

await withBench(
  async (bench) => {
    const loads: (string | number)[][] = [];
    const statements: (string | number)[][] = [];
    for (const { dataset, domains } of CASES) {
      const firsts: Figures[] = [];
      const seconds: Figures[] = [];
      for (let round = 0; round < Number(values.rounds); round += 1) {
        await bench.reset();
        firsts.push(await load(bench, dataset, domains, 0));
        // A day passes between two files: the server has merged the first load's parts by then.
        await bench.settled();
        seconds.push(await load(bench, dataset, domains, 1));
      }
      loads.push(rowOf(`${dataset}, first`, firsts, firsts), rowOf(`${dataset}, second`, seconds, firsts));
      const what = `${dataset}, ${firsts[0]?.rows}`;
      statements.push(...statementRows(`${what}, first`, firsts), ...statementRows(`${what}, second`, seconds));
    }
    printTable(
      [
        'load',
        'rows',
        'seconds',
        'times first',
        'CPU s',
        'ClickHouse CPU s',
        'peak MiB',
        'largest statement MiB',
        'which',
      ],
      loads,
    );
    printTable(['load', 'statement', 'times', 'CPU s', 'seconds', 'peak MiB'], statements);
  },
  { logs: true },
);
