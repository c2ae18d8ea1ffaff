/**
 * `npm run bench -- [--rows n] [--rounds n]`: one file side by side: domainsync, what ClickHouse does by itself, a plain script, a
 * bare JSON.parse loop, cp. Rows/s, CPU and peak memory, and the ratio to ClickHouse's own ingestion. Machines are shared and
 * drift, so what is compared takes turns: medians of the rounds, of ratios within a round.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import { createOwnTable, insertOwn } from './compared/own-ingestion.ts';
import { type Bench, type Measured, type SnapshotFile, snapshotFile, withBench } from './harness.ts';
import { median } from './median.ts';
import { measured } from './processes.ts';

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
});
const rows = Number(values.rows);
const dataset = 'all-data';
const first = await snapshotFile(dataset, rows, 0);
const second = await snapshotFile(dataset, rows, 1);
const changedOnly = { changed: 0.03, gone: 0, added: 0, rechecked: 0 };
const changed = await snapshotFile(dataset, rows, 1, { name: 'changed', rates: changedOnly });

/** Of one round. */
interface Figures {
  readonly what: string;
  /** Times as fast as ClickHouse's own ingestion in this round; null outside of rounds. */
  readonly timesOwn: number | null;
  /** Of a second snapshot: times as long as the first load just before; null for anything else. */
  readonly timesFirst: number | null;
  readonly seconds: number;
  readonly cpuSeconds: number | null;
  readonly peakMiB: number | null;
  readonly serverCpuSeconds: number | null;
}

const OWN = "ClickHouse's own ingestion";
const FIRST = 'domainsync, first sync';
/** Of the sandbox: 3 % of rows changed, 1 % gone, 1 % new, and of 5 % only a date of checking moved. */
const SECOND = 'domainsync, second snapshot';
const CHANGED = 'domainsync, second snapshot, 3 % changed';

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function ofRun(what: string, run: Measured, own?: Figures): Figures {
  const { seconds, cpuSeconds, peakMiB, serverCpuSeconds } = run;
  const timesOwn = own === undefined ? null : own.seconds / seconds;
  return { what, timesOwn, timesFirst: null, seconds, cpuSeconds, peakMiB, serverCpuSeconds };
}

async function ownIngestion(bench: Bench, file: SnapshotFile): Promise<Figures> {
  await bench.statement(createOwnTable('own'));
  const { seconds, serverCpuSeconds } = await bench.onServer(() => bench.statement(insertOwn('own'), file));
  const loaded = Number(await bench.statement('SELECT count() FROM own'));
  if (loaded !== rows) throw new Error(`ClickHouse loaded ${loaded} of ${rows} rows`);
  await bench.statement('DROP TABLE own SYNC');
  return { what: OWN, timesOwn: 1, timesFirst: null, seconds, cpuSeconds: null, peakMiB: null, serverCpuSeconds };
}

async function plainScript(bench: Bench, file: SnapshotFile): Promise<Figures> {
  await bench.statement(createOwnTable('plain'));
  const { url, username, password } = bench.login;
  const line = [script('compared/plain-script.ts'), file.path, url, username, password, 'plain'];
  const { serverCpuSeconds, result } = await bench.onServer(() => measured(process.execPath, line, '.'));
  if (result.exitCode !== 0) throw new Error(`the plain script ended with ${result.exitCode}`);
  await bench.statement('DROP TABLE plain SYNC');
  return ofRun('plain Node script, JSONEachRow', { ...result, serverCpuSeconds, serverPeakMiB: 0 });
}

async function parseLoop(file: SnapshotFile): Promise<Figures> {
  const { stdout, peakMiB } = await measured(process.execPath, [script('compared/parse-loop.ts'), file.path], '.');
  const { seconds } = JSON.parse(stdout) as { seconds: number };
  const what = 'bare JSON.parse loop, one thread';
  return { what, timesOwn: null, timesFirst: null, seconds, cpuSeconds: seconds, peakMiB, serverCpuSeconds: null };
}

async function round(bench: Bench): Promise<Figures[]> {
  const own = await ownIngestion(bench, first);
  await bench.settled();
  await bench.publish(dataset, first);
  const figures = [own, ofRun('domainsync, mode replace', await bench.sync(dataset, { mode: 'replace' }), own)];
  for (const [what, next] of [
    [SECOND, second],
    [CHANGED, changed],
  ] as const) {
    await bench.reset();
    await bench.publish(dataset, first);
    const loaded = await bench.sync(dataset);
    await bench.settled();
    await bench.publish(dataset, next);
    const compared = await bench.sync(dataset);
    figures.push(ofRun(FIRST, loaded, own), {
      ...ofRun(what, compared, own),
      timesFirst: compared.seconds / loaded.seconds,
    });
  }
  await bench.reset();
  return figures;
}

async function withoutRounds(bench: Bench): Promise<Figures[]> {
  const copy = await measured('cp', [first.path, `${first.path}.copy`], '.');
  await measured('rm', [`${first.path}.copy`], '.');
  return [
    await plainScript(bench, first),
    await parseLoop(first),
    { what: 'cp of the file', timesOwn: null, timesFirst: null, ...copy, serverCpuSeconds: null },
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
    middle('timesFirst', 2),
    middle('cpuSeconds', 1),
    middle('serverCpuSeconds', 1),
    middle('peakMiB', 0),
  ];
}

await withBench(async (bench) => {
  const figures: Figures[] = [];
  for (let n = 0; n < Number(values.rounds); n++) figures.push(...(await round(bench)));
  figures.push(...(await withoutRounds(bench)));
  printTable(
    ['what', 'seconds', 'rows/s', 'times own', 'of the first load', 'CPU s', 'ClickHouse CPU s', 'peak MiB'],
    [...new Set(figures.map(({ what }) => what))].map((what) => rowOf(what, figures)),
  );
});
