/** A replica that is away while files are loaded: the others go on while they are a majority, and it has all of it when it is back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lackOfBed } from '../../support/bed/index.ts';
import { endFaults, stateByOracle } from '../../support/cluster/end-state.ts';
import { Files } from '../../support/cluster/files.ts';
import { shown } from '../../support/cluster/readers.ts';
import { openReplicas, type Replica, type Replicas } from '../../support/cluster/replicas.ts';
import { type Ended, Runs } from '../../support/cluster/runs.ts';
import { describeWhere } from '../../support/installed.ts';

const DATABASE = 'away';
/** Bounds a hang. */
const COMES_BACK_MS = 200_000;

interface Loads {
  readonly replicas: readonly Replica[];
  /** Loads a file from the first replica that answers. */
  load(index: number): Promise<Ended>;
}

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'a replica is away', () => {
  let folder: string;
  let files: Files;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'domainsync-test-'));
    files = await Files.write(400);
  });

  afterAll(async () => {
    await files?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  async function withReplicas(count: number, body: (loads: Loads) => Promise<void>): Promise<void> {
    const replicas: Replicas = await openReplicas({ engine: '25.8', replicas: count });
    const { all, cluster } = replicas;
    const settings = { replicas, folder, database: DATABASE, mode: 'sync', cluster, replicaTimeout: '5s' } as const;
    const runs = new Runs(settings);
    try {
      for (const replica of all) await replica.ask(`CREATE DATABASE ${DATABASE}`);
      await body({
        replicas: all,
        load: (index) => runs.run({ way: 'others', home: 0, file: files.at(index) }),
      });
    } finally {
      runs.end();
      await replicas.close();
    }
  }

  test('one of three, for two files: the others show them at once, and it does when it is back', async () => {
    await withReplicas(3, async ({ replicas, load }) => {
      const known = ['0/0'];
      const [first, second, third] = replicas as readonly [Replica, Replica, Replica];
      expect(await load(0)).toMatchObject({ code: 0, outcome: 'loaded', lagging: [] });
      known.push(await stateByOracle(replicas, DATABASE, files.at(0)));
      await third.kill();
      for (const index of [1, 2]) {
        const ended = await load(index);
        expect(ended, ended.stderr).toMatchObject({ code: 0, outcome: 'loaded' });
        known.push(await stateByOracle([first, second], DATABASE, files.at(index)));
      }
      await third.heal();
      const end = { files, known, mode: 'sync', database: DATABASE } as const;
      // The rows and the change feed arrive in turn.
      await expect.poll(() => endFaults(third, end).catch(String), { timeout: COMES_BACK_MS }).toEqual([]);
      for (const replica of replicas) expect(await endFaults(replica, end)).toEqual([]);
    });
  });

  test('one of two: less than a majority is an error, and the next run goes on when it is back', async () => {
    await withReplicas(2, async ({ replicas, load }) => {
      const known = ['0/0'];
      const [first, second] = replicas as readonly [Replica, Replica];
      expect(await load(0)).toMatchObject({ code: 0, outcome: 'loaded' });
      known.push(await stateByOracle(replicas, DATABASE, files.at(0)));
      await second.kill();
      for (const _ of [1, 2]) {
        const ended = await load(1);
        expect(ended, ended.stderr).toMatchObject({ code: 8, outcome: 'failed' });
        expect(ended.error).toMatch(/^DESTINATION_UNREACHABLE: /);
        expect(await shown(first, DATABASE, known)).toBe(0);
      }
      await second.heal();
      for (const index of [1, 2]) {
        const ended = await load(index);
        expect(ended, ended.stderr).toMatchObject({ code: 0, outcome: 'loaded', lagging: [] });
        known.push(await stateByOracle(replicas, DATABASE, files.at(index)));
      }
      for (const replica of replicas) {
        expect(await endFaults(replica, { files, known, mode: 'sync', database: DATABASE })).toEqual([]);
      }
    });
  });
});
