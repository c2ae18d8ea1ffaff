/**
 * `npm run bench:cluster [-- --rounds n --rows n]`: loads into two replicas beside loads into one of them alone, in turns, on one machine that
 * both servers share; and the bytes that the other replica got over the network. First loads, and a second snapshot of which 3 % of
 * the rows changed. Medians; compare what stands in one table.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { printTable } from '../../src/cli/output.ts';
import { type StockServer, startBed } from '../support/bed/index.ts';
import { send } from '../support/clickhouse/server.ts';
import { startDomainsync } from '../support/project.ts';
import { type SnapshotFile, snapshotFile } from './harness.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, rows: { type: 'string', default: '1000000' } },
});
const CHANGED = { name: 'changed', rates: { changed: 0.03, gone: 0, added: 0, rechecked: 0 } };

interface Load {
  readonly seconds: number;
  /** That went to the other replica. */
  readonly bytes: number;
}

const ask = ({ port }: StockServer, sql: string): Promise<string> =>
  send({ port, username: 'default', password: '' }, sql);

/** Bytes that a server has sent to other replicas since it was started. */
async function sent(server: StockServer): Promise<number> {
  return Number(
    await ask(server, "SELECT sum(value) FROM system.events WHERE event = 'InterfaceInterserverSendBytes'"),
  );
}

async function timed(folder: string, clickhouse: string, file: SnapshotFile, home: StockServer): Promise<Load> {
  const config = join(folder, 'bench.yaml');
  await writeFile(
    config,
    `clickhouse: { ${clickhouse}, database: bench }
dataDir: '${join(folder, 'data')}'
pipelines: { bench: { dataset: all-data, to: { clickhouse: { table: bench } } } }
`,
  );
  const before = await sent(home);
  const start = performance.now();
  const args = ['--config', config, 'sync', '--from-file', file.path, '--file-date', file.date];
  const { code, stderr } = await startDomainsync(args, folder, {}).finished;
  if (code !== 0) throw new Error(stderr);
  return { seconds: (performance.now() - start) / 1000, bytes: (await sent(home)) - before };
}

const folder = await mkdtemp(join(tmpdir(), 'domainsync-bench-'));
const bed = await startBed({ replicas: 2 });
try {
  const [home, other] = bed.servers as [StockServer, StockServer];
  const rows = Number(values.rows);
  const files = [await snapshotFile('all-data', rows, 0), await snapshotFile('all-data', rows, 1, CHANGED)];
  const kinds = {
    'one server': `url: '${home.url}'`,
    'two replicas': `url: ['${home.url}', '${other.url}'], cluster: c`,
  } as const;
  const loads = new Map<string, Load[]>();
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const [kind, clickhouse] of Object.entries(kinds)) {
      await ask(home, 'DROP DATABASE IF EXISTS bench ON CLUSTER c SYNC');
      for (const [n, file] of files.entries()) {
        const what = `${kind}, ${n === 0 ? 'first load' : 'second snapshot, 3 % changed'}`;
        loads.set(what, [...(loads.get(what) ?? []), await timed(folder, clickhouse, file, home)]);
      }
    }
  }
  const compressed = files.map(({ bytes }) => bytes);
  const head = ['', 'seconds', 'times one server', 'MB to the other replica', 'of the file'];
  const lines = [...loads].map(([what, all]) => {
    const seconds = median(all.map((load) => load.seconds));
    const alone = loads.get(what.replace('two replicas', 'one server')) ?? all;
    const ratio = median(all.map((load, n) => load.seconds / (alone[n]?.seconds ?? load.seconds)));
    const bytes = median(all.map((load) => load.bytes));
    const share = bytes / (compressed[what.includes('first') ? 0 : 1] ?? 1);
    return [what, seconds.toFixed(2), ratio.toFixed(2), (bytes / 1e6).toFixed(1), share.toFixed(2)];
  });
  printTable(head, lines);
} finally {
  await bed.close();
  await rm(folder, { recursive: true, force: true });
}
