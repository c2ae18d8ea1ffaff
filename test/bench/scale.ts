/**
 * `npm run bench:scale -- [--rows 100000,300000,1000000,3000000,10000000]`: loads of growing files (all-data, mode `replace`). What a million
 * rows cost should not depend on how many there are, nor should memory.
 */
import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import { type Measured, snapshotFile, withBench } from './harness.ts';

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '100000,300000,1000000,3000000,10000000' } },
});
const sizes = values.rows.split(',').map(Number);
const dataset = 'all-data';
const MILLION = 1_000_000;

await withBench(async (bench) => {
  const runs: { readonly rows: number; readonly run: Measured }[] = [];
  for (const rows of sizes) {
    await bench.publish(dataset, await snapshotFile(dataset, rows, 0));
    await bench.settled();
    runs.push({ rows, run: await bench.sync(dataset, { mode: 'replace' }) });
    await bench.reset();
  }
  printTable(
    [
      'rows',
      'seconds',
      'rows/s',
      'CPU s per million',
      'ClickHouse CPU s per million',
      'peak MiB',
      'ClickHouse peak MiB',
    ],
    runs.map(({ rows, run: { seconds, cpuSeconds, serverCpuSeconds, peakMiB, serverPeakMiB } }) => [
      rows,
      seconds.toFixed(2),
      Math.round(rows / seconds),
      ((cpuSeconds / rows) * MILLION).toFixed(1),
      ((serverCpuSeconds / rows) * MILLION).toFixed(1),
      peakMiB.toFixed(0),
      serverPeakMiB.toFixed(0),
    ]),
  );
});
