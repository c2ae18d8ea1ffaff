/**
 * `npm run bench -- [--rows n] [--dataset slug]`: two snapshots from the service into the embedded ClickHouse, with rows/s,
 * CPU and peak memory of domainsync and of ClickHouse. Figures are of this machine now: compare them within one run.
 */
import { parseArgs } from 'node:util';
import { printTable } from '../../src/output.ts';
import type { DatasetSlug } from '../../src/sandbox/datasets.ts';
import { snapshotFile, withBench } from './harness.ts';

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '300000' }, dataset: { type: 'string', default: 'all-data' } },
});
const rows = Number(values.rows);
const dataset = values.dataset as DatasetSlug;
const files = [await snapshotFile(dataset, rows, 0), await snapshotFile(dataset, rows, 1)];

await withBench(async (bench) => {
  const table: (string | number)[][] = [];
  for (const [number, file] of files.entries()) {
    await bench.publish(dataset, file);
    const run = await bench.sync(dataset);
    table.push([
      number === 0 ? 'first load' : 'second snapshot',
      rows,
      Number(run.seconds.toFixed(2)),
      Math.round(rows / run.seconds),
      Number(run.cpuSeconds.toFixed(1)),
      Math.round(run.peakMiB),
      Number(run.serverCpuSeconds.toFixed(1)),
      Math.round(run.serverPeakMiB),
    ]);
  }
  printTable(
    [
      'load',
      'rows',
      'seconds',
      'rows/s',
      'domainsync CPU s',
      'domainsync peak MiB',
      'ClickHouse CPU s',
      'ClickHouse peak MiB',
    ],
    table,
  );
});
