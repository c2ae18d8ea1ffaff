/**
 * `node test/bench/overlap.ts [--rows n]`: is a file loaded while it downloads? Times a download alone, a load alone from a
 * local file, and both, with the service slowed down so that downloading takes about as long as loading.
 */
import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import { type Measured, snapshotFile, withBench } from './harness.ts';

const DATASET = 'all-data';
const { values } = parseArgs({ options: { rows: { type: 'string', default: '300000' } } });
const rows = Number(values.rows);
const file = await snapshotFile(DATASET, rows, 0);

function cpuOf(run: Measured): number[] {
  return [Number(run.cpuSeconds.toFixed(1)), Number(run.serverCpuSeconds.toFixed(1))];
}

await withBench(async (bench) => {
  await bench.publish(DATASET, file);
  const load = await bench.sync(DATASET, { args: ['--from-file', file.path] });
  await bench.reset();
  const bytesPerSecond = Math.round(file.bytes / load.seconds);
  bench.sandbox.misbehave({ fault: { kind: 'slow', bytesPerSecond }, probe: false });
  const started = performance.now();
  const response = await fetch(`${bench.sandbox.url}/api/download/${DATASET}`, {
    headers: { authorization: `Bearer ${bench.sandbox.key}` },
  });
  for await (const _ of response.body ?? []) {
    // Taken in, and no more.
  }
  const download = (performance.now() - started) / 1000;
  const both = await bench.sync(DATASET);
  printTable(
    ['what', 'seconds', 'to the longer of the two', 'domainsync CPU s', 'ClickHouse CPU s'],
    [
      ['load of a local file', Number(load.seconds.toFixed(2)), '-', ...cpuOf(load)],
      ['download alone', Number(download.toFixed(2)), '-', '-', '-'],
      [
        'sync: both',
        Number(both.seconds.toFixed(2)),
        (both.seconds / Math.max(load.seconds, download)).toFixed(2),
        ...cpuOf(both),
      ],
    ],
  );
});
