/** ClickHouse goes away in mid-run, for a moment or for long, or answers when nobody waits for the answer any more. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { Server } from '../../../connectors/clickhouse/server/client.ts';
import { publishFile, removeFiles, withBlocks } from '../../support/clickhouse/files.ts';
import { NEVER } from '../../support/clickhouse/lab.ts';
import { type ServerProject, withServerProject } from '../../support/clickhouse/project.ts';
import type { ClickHouseProxy, Statement, Verdict } from '../../support/clickhouse/proxy.ts';
import { shownErrors } from '../../support/errors-shown.ts';
import { type EndState, endState } from '../../support/kill/state.ts';
import { until } from '../../support/until.ts';

afterAll(removeFiles);

const BLOCKS = 3;

let peace: Promise<EndState> | null = null;

/** What a load in peace leaves. */
async function inPeace(): Promise<EndState> {
  const states: EndState[] = [];
  await withBlocks(1, async (project) => void states.push(await endState(project, 'dns', 'sync')));
  const [state] = states;
  if (state === undefined) throw new Error('nothing was loaded in peace');
  return state;
}

async function expectRight(project: ServerProject): Promise<void> {
  peace ??= inPeace();
  await project.server.quiet();
  expect(await endState(project, 'dns', 'sync')).toEqual(await peace);
}

/** Blocks' numbers in the order in which their rows were sent. */
function sent({ proxy }: ServerProject): string[] {
  return proxy.log.flatMap(({ token }) => (token?.startsWith('rows/') ? [token.slice(5)] : []));
}

/** The first time that the rows of the second block come by. */
function secondBlock(): (statement: Statement) => boolean {
  let done = false;
  return ({ token }) => {
    if (done || token !== 'rows/1') return false;
    done = true;
    return true;
  };
}

test('it restarts while a block is on its way: the run goes on', async () => {
  await withBlocks(0, async (project) => {
    await publishFile(project, 0);
    const isSecond = secondBlock();
    let back = Promise.resolve();
    project.proxy.watcher = {
      before: async (statement): Promise<Verdict> => {
        if (!isSecond(statement)) return 'pass';
        // Several blocks are on their way at once: the first has landed, and domainsync is told of it.
        await until(() => project.proxy.log.find(({ token }) => token === 'rows/0')?.answered);
        await project.server.kill();
        await project.proxy.refuse();
        back = sleep(500)
          .then(() => project.server.start())
          .then(() => project.proxy.accept());
        return 'lose';
      },
    };
    const { code, stderr } = await project.run('sync');
    await back;
    expect(code, stderr).toBe(0);
    expect(sent(project).filter((block) => block === '0')).toHaveLength(1);
    await expectRight(project);
  });
});

test('it cannot be reached for a while: the run goes on', async () => {
  await withBlocks(0, async (project) => {
    await publishFile(project, 0);
    const isSecond = secondBlock();
    let back = Promise.resolve();
    project.proxy.watcher = {
      before: async (statement): Promise<Verdict> => {
        if (!isSecond(statement)) return 'pass';
        await project.proxy.refuse();
        back = sleep(2_000).then(() => project.proxy.accept());
        return 'lose';
      },
    };
    const { code, stderr } = await project.run('sync');
    await back;
    expect(code, stderr).toBe(0);
    await expectRight(project);
  });
});

test('an answer is lost: the block is sent again, and is there once', async () => {
  await withBlocks(0, async (project) => {
    await publishFile(project, 0);
    const isSecond = secondBlock();
    let staged: unknown;
    project.proxy.watcher = {
      before: async ({ sql }): Promise<Verdict> => {
        // All blocks have landed when what follows is made of them.
        const rows = /^ALTER TABLE .*_next` ATTACH PARTITION .* FROM (\S+)/.exec(sql)?.[1];
        if (rows === undefined) return 'pass';
        staged ??= await project.query(
          `SELECT count() > 0 AS some, count() - uniqExact(_version) AS doubled FROM ${rows}`,
        );
        return 'pass';
      },
      after: (statement) => (isSecond(statement) ? 'lose' : 'pass'),
    };
    const { code, stderr } = await project.run('sync');
    expect(code, stderr).toBe(0);
    expect(sent(project).toSorted()).toEqual(['0', '1', '1', '2']);
    expect(staged).toEqual([{ some: 1, doubled: '0' }]);
    await expectRight(project);
  });
});

test('a block arrives once more after all is done with it: nothing changes', async () => {
  await withBlocks(0, async (project) => {
    await publishFile(project, 0);
    const { promise: allLanded, resolve: landed } = Promise.withResolvers<void>();
    let late: Statement | undefined;
    project.proxy.watcher = {
      before: async (statement): Promise<Verdict> => {
        if (/_blocks` LIMIT 1 BY block/.test(statement.sql) && late !== undefined) {
          landed();
          // The server has the late one before it is asked what has landed.
          await until(() => late?.status ?? null);
        }
        if (statement.token !== 'rows/1' || late !== undefined) return 'pass';
        late = statement;
        statement.hangUp();
        await allLanded;
        return 'pass';
      },
    };
    const { code, stderr } = await project.run('sync');
    expect(code, stderr).toBe(0);
    expect(late?.status).toBe(200);
    expect(sent(project).toSorted()).toEqual(['0', '1', '1', '2']);
    await expectRight(project);
  });
});

test('an answer is lost of a statement that nobody may repeat: exit code 8, and the next run goes on from the blocks', async () => {
  await withBlocks(0, async (project) => {
    await publishFile(project, 0);
    let done = false;
    project.proxy.watcher = {
      after: ({ sql }) => {
        if (done || !/^CREATE TABLE .*_next`/.test(sql)) return 'pass';
        done = true;
        return 'lose';
      },
    };
    const failed = await project.run('sync');
    expect(failed.code).toBe(8);
    expect(shownErrors(failed)).toMatchObject([{ code: 'DESTINATION_UNREACHABLE' }]);
    expect(sent(project)).toHaveLength(BLOCKS);
    const { code, stderr } = await project.run('sync');
    expect(code, stderr).toBe(0);
    expect(sent(project)).toHaveLength(BLOCKS);
    await expectRight(project);
  });
});

/** The body gets a client of its own, which has had an answer. */
async function withClient(body: (client: Server, proxy: ClickHouseProxy) => Promise<void>): Promise<void> {
  await withServerProject({ rows: 1 }, async ({ proxy, server }) => {
    const { username, password } = server.login;
    const url = `http://127.0.0.1:${proxy.port}`;
    const client = new Server({ url, username, password, database: 'lab', settings: {} });
    try {
      await client.query('SELECT 1', NEVER);
      await body(client, proxy);
    } finally {
      await client.close();
    }
  });
}

test('a statement that never reached it is sent when it is back, though nobody may repeat it', async () => {
  await withClient(async (client, proxy) => {
    await proxy.refuse();
    // The client has seen by then that the connection which it kept is gone: of one that breaks under a statement nobody knows.
    await sleep(100);
    const made = client.command('CREATE TABLE once (n UInt8) ENGINE = Memory', NEVER);
    await sleep(1_000);
    await proxy.accept();
    await made;
    expect(proxy.log.filter(({ sql }) => sql.startsWith('CREATE TABLE once'))).toHaveLength(1);
  });
});

test('an answer that lost its rows is not taken for one that has none', async () => {
  await withClient(async (client, proxy) => {
    let bare = 2;
    proxy.watcher = {
      after: () => {
        bare -= 1;
        return bare >= 0 ? 'bare' : 'pass';
      },
    };
    expect(await client.query('SELECT number FROM numbers(3)', NEVER)).toHaveLength(3);
    expect(bare).toBe(-1);
    expect(await client.query('SELECT number FROM numbers(0)', NEVER)).toEqual([]);
  });
});
