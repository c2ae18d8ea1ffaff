/** Two machines, which cannot see each other's processes, run one pipeline: heartbeats alone tell who is at work. */
import { expect, test } from 'vitest';
import { ageHeartbeats, startMachine } from '../../support/clickhouse/machines.ts';
import { type ServerProject, withServerProject } from '../../support/clickhouse/project.ts';
import type { ClickHouseProxy, Verdict } from '../../support/clickhouse/proxy.ts';
import { endState } from '../../support/kill/state.ts';
import type { Finished } from '../../support/project.ts';

const ROWS = 1_000;
const ELSEWHERE = 'dns: another run of pipeline dns is at work; nothing to do\n';

interface Machine {
  readonly proxy: ClickHouseProxy;
  readonly domainsync: Pick<ServerProject, 'run' | 'start'>;
}

async function onTwoMachines(
  body: (project: ServerProject, here: Machine, there: Machine) => Promise<void>,
): Promise<void> {
  await withServerProject({ rows: ROWS }, async (project) => {
    const machine = async (name: string): Promise<Machine> => {
      const proxy = await startMachine(project, name);
      return { proxy, domainsync: await project.elsewhere(proxy) };
    };
    const machines = [await machine('here'), await machine('there')] as const;
    try {
      await body(project, ...machines);
    } finally {
      for (const { proxy } of machines) await proxy.close();
    }
  });
}

/** Runs a sync, and something else at the moment when a block is about to land. */
async function interruptedBy(
  { proxy, domainsync }: Machine,
  act: (run: { kill(signal: NodeJS.Signals): void }) => Promise<void>,
): Promise<Finished> {
  const run = domainsync.start('sync');
  let done = false;
  proxy.watcher = {
    before: async ({ token }): Promise<Verdict> => {
      if (done || token !== 'rows/0') return 'pass';
      done = true;
      await act({ kill: (signal) => void run.child.kill(signal) });
      return 'pass';
    },
  };
  const finished = await run.finished;
  proxy.watcher = {};
  expect(done).toBe(true);
  return finished;
}

test('the other one is at work: nothing to do', async () => {
  await onTwoMachines(async (project, here, there) => {
    const finished = await interruptedBy(here, async () => {
      expect(await there.domainsync.run('sync')).toMatchObject({ code: 0, stdout: ELSEWHERE });
    });
    expect(finished.code, finished.stderr).toBe(0);
    expect(await endState(project, 'dns', 'sync')).toMatchObject({
      loaded: [{ rows_written: String(ROWS) }],
      left: [],
    });
  });
});

test('the other one died: its heartbeat is waited for, then its load goes on', async () => {
  await onTwoMachines(async (project, here, there) => {
    await interruptedBy(here, async ({ kill }) => kill('SIGKILL'));
    expect(await there.domainsync.run('sync')).toMatchObject({ code: 0, stdout: ELSEWHERE });
    await ageHeartbeats(project);
    const finished = await there.domainsync.run('sync');
    expect(finished.stdout, finished.stderr).toMatch(/^dns: loaded /);
    expect(await endState(project, 'dns', 'sync')).toMatchObject({
      loaded: [{ rows_written: String(ROWS) }],
      left: [],
    });
  });
});

test('the other one was cut off, taken over and comes back: it says so', async () => {
  await onTwoMachines(async (project, here, there) => {
    const finished = await interruptedBy(here, async ({ kill }) => {
      kill('SIGSTOP');
      await ageHeartbeats(project);
      await project.sandbox.publish();
      const other = await there.domainsync.run('sync');
      expect(other.stdout, other.stderr).toMatch(/^dns: loaded /);
      kill('SIGCONT');
    });
    expect(finished).toMatchObject({
      code: 0,
      stdout: 'dns: another run of pipeline dns took this load over; nothing to do\n',
    });
    expect(await there.domainsync.run('sync')).toMatchObject({ stdout: expect.stringContaining('nothing to do') });
    expect((await endState(project, 'dns', 'sync')).left).toEqual([]);
  });
});

test('both start at once, again and again: both end with 0, and each file is loaded once', async () => {
  await onTwoMachines(async (project, here, there) => {
    for (let round = 1; round <= 4; round += 1) {
      const both = await Promise.all([here.domainsync.run('sync'), there.domainsync.run('sync')]);
      expect(
        both.map(({ code }) => code),
        both.map(({ stderr }) => stderr).join(),
      ).toEqual([0, 0]);
      const { loaded, left } = await endState(project, 'dns', 'sync');
      expect([loaded.length, left]).toEqual([round, []]);
      await project.sandbox.publish();
    }
  });
});
