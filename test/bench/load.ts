/**
 * `npm run bench -- [--rows n] [--rounds n]`: one file side by side: domainsync, what ClickHouse does by itself, a plain script, a
 * bare JSON.parse loop, cp. Rows/s, CPU and peak memory, and the ratio to ClickHouse's own ingestion. Machines are shared and
 * drift, so what is compared takes turns: medians of the rounds, of ratios within a round.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printTable } from '../../src/output.ts';
import { type Bench, type Measured, type SnapshotFile, snapshotFile, withBench } from './harness.ts';
import { median } from './median.ts';
import { createOwnTable, insertOwn } from './own-ingestion.ts';
import { measured } from './processes.ts';

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
});
const rows = Number(values.rows);
const dataset = 'all-data';
const first = await snapshotFile(dataset, rows, 0);
const second = await snapshotFile(dataset, rows, 1);

/** Of one round. */
interface Figures {
  readonly what: string;
  /** Times as fast as ClickHouse's own ingestion in this round; null outside of rounds. */
  readonly timesOwn: number | null;
  readonly seconds: number;
  readonly cpuSeconds: number | null;
  readonly peakMiB: number | null;
  readonly serverCpuSeconds: number | null;
}

const OWN = "ClickHouse's own ingestion";
const FIRST = 'domainsync, first sync';
const SECOND = 'domainsync, second snapshot';

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function ofRun(what: string, run: Measured, own?: Figures): Figures {
  const { seconds, cpuSeconds, peakMiB, serverCpuSeconds } = run;
  const timesOwn = own === undefined ? null : own.seconds / seconds;
  return { what, timesOwn, seconds, cpuSeconds, peakMiB, serverCpuSeconds };
}

async function ownIngestion(bench: Bench, file: SnapshotFile): Promise<Figures> {
  await bench.statement(createOwnTable('own'));
  const { seconds, serverCpuSeconds } = await bench.onServer(() => bench.statement(insertOwn('own'), file));
  const loaded = Number(await bench.statement('SELECT count() FROM own'));
  if (loaded !== rows) throw new Error(`ClickHouse loaded ${loaded} of ${rows} rows`);
  await bench.statement('DROP TABLE own SYNC');
  return { what: OWN, timesOwn: 1, seconds, cpuSeconds: null, peakMiB: null, serverCpuSeconds };
}

async function plainScript(bench: Bench, file: SnapshotFile): Promise<Figures> {
  await bench.statement(createOwnTable('plain'));
  const { url, username, password } = bench.login;
  const line = [script('plain-script.ts'), file.path, url, username, password, 'plain'];
  const { serverCpuSeconds, result } = await bench.onServer(() => measured(process.execPath, line, '.'));
  if (result.exitCode !== 0) throw new Error(`the plain script ended with ${result.exitCode}`);
  await bench.statement('DROP TABLE plain SYNC');
  return ofRun('plain Node script, JSONEachRow', { ...result, serverCpuSeconds, serverPeakMiB: 0 });
}

async function parseLoop(file: SnapshotFile): Promise<Figures> {
  const { stdout, peakMiB } = await measured(process.execPath, [script('parse-loop.ts'), file.path], '.');
  const { seconds } = JSON.parse(stdout) as { seconds: number };
  const what = 'bare JSON.parse loop, one thread';
  return { what, timesOwn: null, seconds, cpuSeconds: seconds, peakMiB, serverCpuSeconds: null };
}

async function round(bench: Bench): Promise<Figures[]> {
  await bench.publish(dataset, first);
  const own = await ownIngestion(bench, first);
  await bench.settled();
  const replace = await bench.sync(dataset, { mode: 'replace' });
  await bench.reset();
  const sync = await bench.sync(dataset);
  await bench.settled();
  await bench.publish(dataset, second);
  const next = await bench.sync(dataset);
  await bench.reset();
  return [own, ofRun('domainsync, mode replace', replace, own), ofRun(FIRST, sync, own), ofRun(SECOND, next, own)];
}

async function withoutRounds(bench: Bench): Promise<Figures[]> {
  const copy = await measured('cp', [first.path, `${first.path}.copy`], '.');
  await measured('rm', [`${first.path}.copy`], '.');
  return [
    await plainScript(bench, first),
    await parseLoop(first),
    { what: 'cp of the file', timesOwn: null, ...copy, serverCpuSeconds: null },
  ];
}

/** The medians of all figures of one kind, as a row. */
function rowOf(what: string, all: readonly Figures[]): (string | number | null)[] {
  const figures = all.filter((one) => one.what === what);
  const middle = (name: Exclude<keyof Figures, 'what'>, digits: number): string | null => {
    const found = figures.map((one) => one[name]).filter((value) => value !== null);
    return found.length === 0 ? null : median(found).toFixed(digits);
  };
  return [
    what,
    middle('seconds', 2),
    Math.round(rows / median(figures.map(({ seconds }) => seconds))),
    middle('timesOwn', 2),
    middle('cpuSeconds', 1),
    middle('serverCpuSeconds', 1),
    middle('peakMiB', 0),
  ];
}

await withBench(async (bench) => {
  const rounds: Figures[][] = [];
  for (let n = 0; n < Number(values.rounds); n++) rounds.push(await round(bench));
  await bench.publish(dataset, first);
  const figures = [...rounds.flat(), ...(await withoutRounds(bench))];
  printTable(
    ['what', 'seconds', 'rows/s', 'times own', 'CPU s', 'ClickHouse CPU s', 'peak MiB'],
    [...new Set(figures.map(({ what }) => what))].map((what) => rowOf(what, figures)),
  );
  const secondsOf = (of: readonly Figures[], what: string): number =>
    of.find((one) => one.what === what)?.seconds ?? NaN;
  const ratios = rounds.map((of) => secondsOf(of, SECOND) / secondsOf(of, FIRST));
  process.stdout.write(
    `\nThe second snapshot took ${median(ratios).toFixed(2)} times as long as the first load (${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}).\n`,
  );
});
