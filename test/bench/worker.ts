/**
 * `node test/bench/worker.ts [--rows n]`: what a worker's event loop, its lock and its HTTP server do during a load. Figures
 * are of this machine now; other programs on it keep the loop waiting too.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import { DEFAULT_TIMES } from '../../src/worker/times.ts';
import { until } from '../support/until.ts';
import { withWorkers } from '../support/worker/workers.ts';
import { snapshotFile } from './harness.ts';
import type { LoopDelay } from './loop-delay.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const rows = Number(values.rows);
const file = await snapshotFile('all-data', rows, 0);
const preload = new URL('loop-delay.ts', import.meta.url).href;

await withWorkers({ rows: 1 }, async ({ project, configure, start }) => {
  const { date, path } = file;
  const name = `bench-all-data-${date}.jsonl.zst`;
  await project.sandbox.publishFile({ target: 'all-data', date, name, content: { path } });
  await configure('  all: { dataset: all-data, to: { clickhouse: { table: everything } } }');
  const result = join(project.folder, 'loop-delay.json');
  process.env['LOOP_DELAY'] = result;
  const worker = start({ times: DEFAULT_TIMES, nodeArgs: ['--import', preload] });
  const idle = startIdle(join(project.folder, 'idle.json'));
  await worker.url();
  await until(async () => (await worker.status()).workers.length === 1);
  for (const child of [worker.child, idle]) child.kill('SIGUSR2');
  const started = performance.now();
  await worker.get('/api/pipelines/all/sync', { method: 'POST' });
  const answers: number[] = [];
  await until(async () => {
    const asked = performance.now();
    const status = await worker.pipeline('all');
    answers.push(performance.now() - asked);
    if (status.trouble !== null) throw new Error(status.trouble.message);
    await sleep(200);
    return status.outcome !== null;
  });
  const seconds = (performance.now() - started) / 1000;
  const metrics = await (await worker.get('/metrics')).text();
  const ended = once(idle, 'close');
  idle.kill('SIGTERM');
  await Promise.all([worker.end('SIGTERM'), ended]);
  answers.sort((a, b) => a - b);
  printTable(
    ['event loop', 'p50 ms', 'p99 ms', 'p99.9 ms', 'max ms', 'own CPU p99 ms', 'own p99.9 ms', 'own max ms'],
    [
      ['worker', ...(await delays(result))],
      ['an idle process beside it', ...(await delays(join(project.folder, 'idle.json')))],
    ],
  );
  const lost = /^domainsync_locks_lost_total (\d+)$/m.exec(metrics)?.[1] ?? 'unknown';
  const [middle, last] = [answers[Math.floor(answers.length / 2)] ?? 0, answers.at(-1) ?? 0].map(Math.round);
  process.stdout.write(
    `${rows} rows in ${seconds.toFixed(1)} s; /api/status in ${middle} ms, at most ${last} ms; locks lost: ${lost}\n`,
  );
});

/** Does nothing, and is measured likewise: what it waits, it waits for the machine. */
function startIdle(result: string): ChildProcess {
  const code = "setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit())";
  return spawn(process.execPath, ['--import', preload, '--eval', code], {
    stdio: 'ignore',
    env: { ...process.env, LOOP_DELAY: result },
  });
}

async function delays(path: string): Promise<number[]> {
  const { p50, p99, p999, max, own } = JSON.parse(await readFile(path, 'utf8')) as LoopDelay;
  return [p50, p99, p999, max, own.p99, own.p999, own.max].map((value) => Number(value.toFixed(1)));
}
