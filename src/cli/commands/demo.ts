/**
 * `domainsync demo`: the whole product in one command, with a sandbox service and the embedded ClickHouse. It works in its own
 * folder and leaves a configuration file there to continue with.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatNumber } from '../../common/format.ts';
import { startSandbox } from '../../sandbox/service.ts';
import type { App } from '../app.ts';
import { printTable } from '../output.ts';
import { syncCommand } from './sync.ts';

const DEMO_PIPELINE = 'all-data';
const DEMO_DATABASE = 'demo';
const ROWS = 50_000;

/** What the composition root provides for the demo. */
interface DemoHost {
  /** Opens an App on a configuration file, as for every other command. */
  open(configFile: string, env: Readonly<Record<string, string>>): Promise<DemoApp>;
  readonly out: App['out'];
  readonly signal: AbortSignal;
}

export interface DemoApp {
  readonly app: App;
  /** Drops what an earlier demo left. */
  forget(): Promise<void>;
  query<Row>(sql: string): Promise<Row[]>;
  close(): Promise<void>;
}

/** The rows of one domain whose registrar changed, as they were on each date. */
const PAST = `SELECT domain, registrar, valid_from, valid_to FROM demo.domains_versions
WHERE domain = (SELECT min(domain) FROM demo.domains_changes_values WHERE column = 'registrar') ORDER BY valid_from`;

const TRY =
  "SELECT tld_suffix, count() AS domains, countIf(mapContains(technologies, 'WordPress')) AS wordpress FROM demo.domains_live GROUP BY tld_suffix ORDER BY domains DESC LIMIT 5";

/** @param folder the demo's own; remains of an earlier demo are recreated */
export async function demoCommand(host: DemoHost, folder: string): Promise<number> {
  const { out, signal } = host;
  // Keep the server's own folder: the server may be running for someone who followed the last line of an earlier demo.
  await rm(join(folder, 'downloads'), { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const config = join(folder, 'domainsync.yaml');
  await writeFile(config, demoConfig(folder));
  out.write(`1. A stand-in for the dataset service starts, with ${formatNumber(ROWS)} invented domains.\n`);
  const sandbox = await startSandbox({ rows: ROWS });
  try {
    const env = { DOMAINSYNC_URL: sandbox.url, DOMAINSYNC_API_KEY: sandbox.key };
    const demo = await host.open(config, env);
    try {
      await demo.forget();
      return await tour(demo, sandbox, host, config);
    } finally {
      await demo.close();
    }
  } finally {
    await sandbox.close();
    if (signal.aborted) out.write('The demo was interrupted.\n');
  }
}

async function tour(
  demo: DemoApp,
  sandbox: { publish(): Promise<string>; date(): string },
  { out }: DemoHost,
  config: string,
): Promise<number> {
  out.write(`\n2. First load: the file of ${sandbox.date()} goes into an embedded ClickHouse.\n`);
  const first = await syncCommand(demo.app, [], { force: false });
  if (first !== 0) return first;
  out.write(
    `\n3. The service publishes its next file, of ${await sandbox.publish()}; a second sync brings the difference.\n`,
  );
  const second = await syncCommand(demo.app, [], { force: false });
  if (second !== 0) return second;
  out.write('\n4. What changed is in demo.domains_changes:\n');
  const changes = await demo.query<{ op: string; n: string; example: string; columns: string }>(
    "SELECT op, count() AS n, any(domain) AS example, arrayStringConcat(any(columns), ', ') AS columns FROM demo.domains_changes GROUP BY op ORDER BY op",
  );
  printTable(
    ['op', 'rows', 'for example', 'columns that differ'],
    changes.map((row) => [row.op, Number(row.n), row.example, row.columns]),
    out,
  );
  out.write(`\n5. What was before is still known, since the table has history: true.\n\n${PAST}\n\n`);
  const past = await demo.query<{ domain: string; registrar: string; valid_from: string; valid_to: string | null }>(
    PAST,
  );
  printTable(
    ['domain', 'registrar', 'from', 'to'],
    past.map((row) => [row.domain, row.registrar, row.valid_from, row.valid_to ?? '']),
    out,
  );
  out.write(`\n6. A query to try, on the view demo.domains_live:\n\n${TRY}\n\n`);
  const rows = await demo.query<{ tld_suffix: string; domains: string; wordpress: string }>(TRY);
  printTable(
    ['tld_suffix', 'domains', 'wordpress'],
    rows.map((row) => [row.tld_suffix, Number(row.domains), Number(row.wordpress)]),
    out,
  );
  out.write(`
The tables stay. To query them yourself, start their server and follow what it prints:
  npx domainsync clickhouse --config ${config}
`);
  return 0;
}

function demoConfig(folder: string): string {
  return `# Written by 'domainsync demo'. The service's address is that of 'domainsync sandbox'.
service:
  url: \${DOMAINSYNC_URL:-http://127.0.0.1:8787}
  apiKey: \${DOMAINSYNC_API_KEY:-sandbox_0123456789abcdef}
clickhouse:
  url: ${JSON.stringify(`embedded:${join(folder, 'clickhouse')}`)}
  database: ${DEMO_DATABASE}
dataDir: ${JSON.stringify(join(folder, 'downloads'))}
pipelines:
  ${DEMO_PIPELINE}:
    dataset: all-data
    to:
      clickhouse:
        table: domains
        history: true # every version of a row, for domains_asof and domains_versions
`;
}
