/**
 * `npm run bench -- [--rows n] [--dataset slug]`: two snapshots from the service into the embedded ClickHouse, with rows/s,
 * CPU and peak memory of domainsync and of ClickHouse. Figures are of this machine now: compare them within one run.
 */
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { leaseEmbeddedServer } from '../../connectors/clickhouse/embedded/launch.ts';
import { printTable } from '../../src/output.ts';
import { compressTo } from '../../src/sandbox/compress.ts';
import type { DatasetSlug } from '../../src/sandbox/datasets.ts';
import { generateLines } from '../../src/sandbox/generate.ts';
import { startSandbox } from '../../src/sandbox/service.ts';
import { createWorld, dateOf } from '../../src/sandbox/world.ts';
import { measured, usageOf } from './processes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '300000' }, dataset: { type: 'string', default: 'all-data' } },
});
const rows = Number(values.rows);
const dataset = values.dataset as DatasetSlug;

/** The file of a snapshot, made once and kept: only its use is measured. */
async function snapshotFile(snapshot: number): Promise<{ path: string; date: string; bytes: number }> {
  const world = createWorld({ rows, seed: 1 });
  const folder = join(ROOT, '.cache', 'bench');
  await mkdir(folder, { recursive: true });
  const date = dateOf(world, snapshot);
  const path = join(folder, `bench-${dataset}-${rows}-${date}.jsonl.zst`);
  const existing = await stat(path).catch(() => null);
  const bytes = existing?.size ?? (await compressTo(path, generateLines({ world, snapshot, dataset }), { level: 3 }));
  return { path, date, bytes };
}

const files = [await snapshotFile(0), await snapshotFile(1)];
const work = await mkdtemp(join(tmpdir(), 'domainsync-bench-'));
const sandbox = await startSandbox({ rows: 1 });
const lease = await leaseEmbeddedServer(join(work, 'clickhouse'), new AbortController().signal);
const table: (string | number)[][] = [];
try {
  await writeFile(
    join(work, 'domainsync.yaml'),
    `service: { url: '${sandbox.url}', apiKey: '${sandbox.key}' }
clickhouse: { url: 'embedded:${join(work, 'clickhouse')}' }
dataDir: '${join(work, 'data')}'
pipelines: { bench: { dataset: ${dataset}, to: { clickhouse: { table: bench } } } }
`,
  );
  for (const [number, { path, date }] of files.entries()) {
    await sandbox.publishFile({ target: dataset, date, name: `bench-${dataset}-${date}.jsonl.zst`, content: { path } });
    const before = usageOf(lease.endpoint.pid);
    const args = [
      join(ROOT, 'src/bin.js'),
      '--config',
      join(work, 'domainsync.yaml'),
      '--json',
      '--log-level',
      'warn',
      'sync',
    ];
    const run = await measured(process.execPath, args, work);
    if (run.exitCode !== 0) throw new Error(`sync ended with ${run.exitCode}: ${run.stdout}`);
    const after = usageOf(lease.endpoint.pid);
    table.push([
      number === 0 ? 'first load' : 'second snapshot',
      rows,
      Number(run.seconds.toFixed(2)),
      Math.round(rows / run.seconds),
      Number(run.cpuSeconds.toFixed(1)),
      Math.round(run.peakMiB),
      Number(((after?.cpuSeconds ?? 0) - (before?.cpuSeconds ?? 0)).toFixed(1)),
      Math.round(after?.peakMiB ?? 0),
    ]);
  }
} finally {
  lease.release();
  await sandbox.close();
  await rm(work, { recursive: true, force: true });
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
