/** Servers older than domainsync works with: refused before anything is downloaded or changed, by whatever comes first. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ClickHousePublishedIndex } from '../../../connectors/clickhouse/published/index.ts';
import { Server } from '../../../connectors/clickhouse/server/client.ts';
import { Homes } from '../../../connectors/clickhouse/server/homes.ts';
import { startSandbox } from '../../../src/sandbox/service.ts';
import { lackOfBed, startBed } from '../../support/bed/index.ts';
import { NEVER } from '../../support/clickhouse/lab.ts';
import { send } from '../../support/clickhouse/server.ts';
import { runCommand } from '../../support/command.ts';
import { type ErrorSummary, jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { describeWhere } from '../../support/installed.ts';

const MODES = ['sync', 'replace', 'append'] as const;
/** Of a load that some version killed: `recover` would drop them. */
const LEFT = MODES.map((mode) => `domainsync_staging_${mode}_1_diff`);

async function withOldServer(
  engine: '24.8' | '25.5',
  body: (old: {
    readonly folder: string;
    readonly url: string;
    readonly server: Server;
    tables(): Promise<string[]>;
  }) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-old-'));
  const bed = await startBed({ engine, alone: true });
  const [{ url, port } = { url: '', port: 0 }] = bed.servers;
  const server = new Server({ url, username: 'default', password: '', database: 'old', settings: {} });
  const ask = (sql: string): Promise<string> => send({ port, username: 'default', password: '' }, sql);
  const tables = async (): Promise<string[]> =>
    (await ask(`SELECT database || '.' || name FROM system.tables WHERE database NOT ILIKE '%s%' ORDER BY 1`))
      .split('\n')
      .filter((name) => name !== '');
  try {
    await ask('CREATE DATABASE old');
    for (const name of LEFT) await ask(`CREATE TABLE old.${name} (domain String) ENGINE = MergeTree ORDER BY domain`);
    await body({ folder, url, server, tables });
  } finally {
    await server.close();
    await bed.close();
    await rm(folder, { recursive: true, force: true });
  }
}

describeWhere(
  lackOfBed('24.8', { zookeeper: false }) ?? lackOfBed('25.5', { zookeeper: false }),
  'servers that are too old',
  () => {
    test.each(['24.8', '25.5'] as const)('%s is refused by check and sync, and what to do is said', async (engine) => {
      const sandbox = await startSandbox({ rows: 100 });
      await withOldServer(engine, async ({ folder, url, server, tables }) => {
        const pipelines = MODES.map(
          (mode) => `  ${mode}: { dataset: dns, to: { clickhouse: { table: ${mode}, mode: ${mode} } } }`,
        );
        await writeFile(
          join(folder, 'domainsync.yaml'),
          `service: { url: '${sandbox.url}', apiKey: '${sandbox.key}' }
clickhouse: { url: '${url}', database: old, username: default, password: '' }
pipelines:
${pipelines.join('\n')}
`,
        );
        const run = (...args: string[]) => runCommand(folder, ['-c', 'domainsync.yaml', ...args], {});
        const before = await tables();
        const refusal = {
          code: 'DESTINATION_REFUSED',
          message: expect.stringMatching(
            `the ClickHouse server has the version ${engine}\\S+, and domainsync needs 25.8 or later`,
          ),
          hint: expect.stringMatching(/^Upgrade the server to 25\.8 or a later release/),
        };
        const check = await run('check', '--json');
        expect(check.code).toBe(8);
        const checked = jsonDocument<{ pipelines: { action: string; error: ErrorSummary }[] }>(check).pipelines;
        expect(checked).toMatchObject(MODES.map(() => ({ action: 'fail', error: refusal })));
        for (const force of [[], ['--force']]) {
          const sync = await run('sync', ...force);
          expect(sync.code).toBe(8);
          expect(shownErrors(sync)).toMatchObject(MODES.map(() => refusal));
        }
        // The index of what a pipeline publishes to Kafka lies on the server too.
        const index = new ClickHousePublishedIndex(new Homes([server], null), {
          pipeline: 'p',
          retention: { runs: 60, rejects: 60 },
        });
        await expect(index.preflight(NEVER)).rejects.toMatchObject(refusal);
        await expect(index.claim(NEVER)).rejects.toMatchObject(refusal);
        expect(sandbox.log.filter(({ path, bytes }) => path.startsWith('/api/download') && bytes > 1)).toEqual([]);
        expect(await tables()).toEqual(before);
      });
      await sandbox.close();
    });
  },
);
