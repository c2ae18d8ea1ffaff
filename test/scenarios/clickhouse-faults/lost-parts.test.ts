/**
 * ClickHouse acknowledges an insert and does not have it. It writes an insert's token to disk before the part is there: killed in
 * between, it takes the repeated insert for one that has landed. And without fsync a loss of power takes parts away.
 */
import { rm } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { publishFile, removeFiles, withBlocks } from '../../support/clickhouse/files.ts';
import type { ServerProject } from '../../support/clickhouse/project.ts';
import type { Statement } from '../../support/clickhouse/proxy.ts';
import { DATASET } from '../../support/kill/files.ts';
import { type EndState, endState, type Mode } from '../../support/kill/state.ts';

afterAll(removeFiles);

const MODES: readonly Mode[] = ['sync', 'replace', 'append'];
const peace = new Map<Mode, EndState>();

function pipelines(mode: Mode): string {
  return `  dns: { dataset: ${DATASET}, maxRejected: 0.01, to: { clickhouse: { table: dns, mode: ${mode} } } }`;
}

async function inMode(mode: Mode, body: (project: ServerProject) => Promise<void>): Promise<void> {
  await withBlocks(0, async (project) => {
    await project.configure({ pipelines: pipelines(mode) });
    await publishFile(project, 0);
    await body(project);
  });
}

/** Compares with what a load in peace leaves. */
async function expectRight(project: ServerProject, mode: Mode): Promise<void> {
  if (!peace.has(mode)) {
    await inMode(mode, async (other) => {
      expect((await other.run('sync')).code).toBe(0);
      peace.set(mode, await endState(other, 'dns', mode));
    });
  }
  await project.server.quiet();
  expect(await endState(project, 'dns', mode)).toEqual(peace.get(mode));
}

/** Kills the server, takes the parts of tables away that it has acknowledged, and starts it: their tokens stay. */
async function loseParts({ server, query, database }: ServerProject, tables: string): Promise<void> {
  const lost = await query<{ path: string }>(
    `SELECT path FROM system.parts WHERE active AND database = '${database}' AND match(table, '${tables}')`,
  );
  expect(lost.length).toBeGreaterThan(0);
  await server.kill();
  for (const { path } of lost) await rm(path, { recursive: true });
  await server.start();
}

/** The answer to the first statement that is meant is lost, together with the parts of tables. */
function loseAt(project: ServerProject, meant: (statement: Statement) => boolean, tables: string): void {
  let done = false;
  project.proxy.watcher = {
    after: async (statement) => {
      if (done || !meant(statement)) return 'pass';
      done = true;
      await loseParts(project, tables);
      return 'lose';
    },
  };
}

/** Tokens of inserts of a kind that were acknowledged, without what tells later attempts apart. */
function acknowledged({ proxy }: ServerProject, kind: string): string[] {
  return proxy.log.flatMap(({ token, status }) => {
    const [of, number, again] = token?.split('/') ?? [];
    return of === kind && status === 200 ? [`${number}${again === undefined ? '' : ' again'}`] : [];
  });
}

async function landedAreGone(mode: Mode, parts: 'rows' | 'blocks' | '(rows|blocks)'): Promise<void> {
  await inMode(mode, async (project) => {
    const last = parts === 'rows' ? 'rows/2' : 'block/2';
    loseAt(project, ({ token }) => token === last, `^domainsync_staging_.*_${parts}$`);
    const { code, stderr } = await project.run('sync');
    expect(code, stderr).toBe(0);
    // The repeated insert is acknowledged, and does nothing.
    const [kind = '', number] = last.split('/');
    expect(acknowledged(project, kind).filter((block) => block === number)).toHaveLength(2);
    expect(acknowledged(project, 'rows')).toContain('2 again');
    await expectRight(project, mode);
  });
}

test.each(MODES)('mode %s: blocks that landed are gone: they are sent again', async (mode) => {
  await landedAreGone(mode, '(rows|blocks)');
});

test.each(['rows', 'blocks'] as const)('of blocks that landed %s are gone: they are sent again', async (parts) => {
  await landedAreGone('sync', parts);
});

test('what landed is gone when the next run goes on: it is sent again', async () => {
  await inMode('sync', async (project) => {
    let killed = false;
    project.proxy.watcher = {
      before: async ({ sql }) => {
        if (killed || !/^INSERT INTO \S+domainsync_rejects/.test(sql)) return 'pass';
        killed = true;
        run.child.kill('SIGKILL');
        await run.finished;
        return 'lose';
      },
    };
    const run = project.start('sync');
    await run.finished;
    await loseParts(project, '^domainsync_staging_.*_(rows|blocks)$');
    const { code, stderr } = await project.run('sync');
    expect(code, stderr).toBe(0);
    // It is the same load still: blocks are told by tokens that the server knows.
    expect(project.proxy.log.filter(({ sql }) => /^CREATE TABLE \S+_rows` AS/.test(sql))).toHaveLength(1);
    const each = ['0', '1', '2'].flatMap((number) => [number, number, `${number} again`]);
    expect(acknowledged(project, 'rows').toSorted()).toEqual(each);
    await expectRight(project, 'sync');
  });
});

test('the record of the run is gone: it is written again', async () => {
  await inMode('sync', async (project) => {
    loseAt(project, ({ sql }) => /^INSERT INTO \S+domainsync_runs/.test(sql), '^domainsync_runs$');
    const { code, stderr } = await project.run('sync');
    expect(code, stderr).toBe(0);
    await expectRight(project, 'sync');
  });
});

test('the record of what is held is gone: it is written again', async () => {
  await inMode('append', async (project) => {
    loseAt(project, ({ sql }) => /^INSERT INTO \S+domainsync_held/.test(sql), '^domainsync_held$');
    const { code, stderr } = await project.run('sync');
    expect(code, stderr).toBe(0);
    expect(await project.query('SELECT count() AS n FROM domainsync_held')).toEqual([{ n: '1' }]);
    await expectRight(project, 'append');
  });
});
