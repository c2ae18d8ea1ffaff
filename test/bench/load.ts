/**
 * `npm run bench -- [--rows n]`: one file side by side: domainsync, what ClickHouse does by itself, a plain script, a bare
 * JSON.parse loop, cp. Rows/s, CPU and peak memory, and the ratio to ClickHouse's own ingestion. Figures are of this machine
 * now: compare them within one run.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printTable } from '../../src/output.ts';
import { type Bench, type Measured, type SnapshotFile, snapshotFile, withBench } from './harness.ts';
import { createOwnTable, insertOwn } from './own-ingestion.ts';
import { measured } from './processes.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const rows = Number(values.rows);
const dataset = 'all-data';
const first = await snapshotFile(dataset, rows, 0);
const second = await snapshotFile(dataset, rows, 1);

interface Figures {
  readonly what: string;
  readonly seconds: number;
  readonly cpuSeconds: number | null;
  readonly peakMiB: number | null;
  readonly serverCpuSeconds: number | null;
}

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function ofRun(what: string, run: Measured): Figures {
  const { seconds, cpuSeconds, peakMiB, serverCpuSeconds } = run;
  return { what, seconds, cpuSeconds, peakMiB, serverCpuSeconds };
}

async function ownIngestion(bench: Bench, file: SnapshotFile): Promise<Figures> {
  await bench.statement(createOwnTable('own'));
  const { seconds, serverCpuSeconds } = await bench.onServer(() => bench.statement(insertOwn('own'), file));
  const loaded = Number(await bench.statement('SELECT count() FROM own'));
  if (loaded !== rows) throw new Error(`ClickHouse loaded ${loaded} of ${rows} rows`);
  await bench.statement('DROP TABLE own SYNC');
  return { what: "ClickHouse's own ingestion", seconds, cpuSeconds: null, peakMiB: null, serverCpuSeconds };
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
  return { what: 'bare JSON.parse loop, one thread', seconds, cpuSeconds: seconds, peakMiB, serverCpuSeconds: null };
}

await withBench(async (bench) => {
  const figures: Figures[] = [];
  await bench.publish(dataset, first);
  // Two rounds of what is compared: the first warms the caches of the system.
  for (const round of ['', ', again']) {
    const own = await ownIngestion(bench, first);
    figures.push({ ...own, what: own.what + round });
    await bench.settled();
    figures.push(ofRun(`domainsync, mode replace${round}`, await bench.sync(dataset, { mode: 'replace' })));
    await bench.reset();
    figures.push(ofRun(`domainsync, first sync${round}`, await bench.sync(dataset)));
    await bench.settled();
    if (round === '') await bench.reset();
  }
  await bench.publish(dataset, second);
  figures.push(ofRun('domainsync, second snapshot', await bench.sync(dataset)));
  await bench.reset();
  figures.push(await plainScript(bench, first));
  figures.push(await parseLoop(first));
  const copy = await measured('cp', [first.path, `${first.path}.copy`], '.');
  figures.push({ what: 'cp of the file', ...copy, serverCpuSeconds: null });
  await measured('rm', [`${first.path}.copy`], '.');
  const own = figures.filter(({ what }) => what.startsWith('ClickHouse')).map(({ seconds }) => seconds);
  const best = Math.min(...own);
  const number = (value: number | null, digits = 1): string | null => (value === null ? null : value.toFixed(digits));
  printTable(
    ['what', 'seconds', 'rows/s', 'times own', 'CPU s', 'ClickHouse CPU s', 'peak MiB'],
    figures.map(({ what, seconds, cpuSeconds, serverCpuSeconds, peakMiB }) => [
      what,
      number(seconds, 2),
      Math.round(rows / seconds),
      number(best / seconds, 2),
      number(cpuSeconds),
      number(serverCpuSeconds),
      number(peakMiB, 0),
    ]),
  );
});
