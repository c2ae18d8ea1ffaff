import { expect, test } from 'vitest';
import { printCheck } from '../../src/cli/commands/check-text.ts';
import { clusterText, replicaText } from '../../src/cli/replicas.ts';
import type { ClusterStatus, ReplicaStatus } from '../../src/types/index.ts';
import { openApp } from './commands/app.ts';

const GOOD: ReplicaStatus = { name: 'r1:9000', home: false, answers: true, behindSeconds: 0, queue: 0 };
const CLUSTER: ClusterStatus = {
  name: 'c1',
  replicas: [
    { ...GOOD, home: true },
    { ...GOOD, name: 'r2:9000', behindSeconds: 12, queue: 3 },
    { ...GOOD, name: 'r3:9000\u001b[31m', answers: false, behindSeconds: null, queue: null },
  ],
};

test.each<[Partial<ReplicaStatus>, string]>([
  [{}, 'r1:9000: up to date'],
  [{ home: true }, 'r1:9000 (home): up to date'],
  [{ queue: 1 }, 'r1:9000: 1 change to take over'],
  [{ behindSeconds: 7500, queue: 1200 }, 'r1:9000: 2 h 5 min behind, 1,200 changes to take over'],
  [{ behindSeconds: 1, queue: null }, 'r1:9000: 1 s behind'],
  [{ behindSeconds: 1_795_347_717 }, 'r1:9000: behind, by how much it does not know'],
  [{ behindSeconds: null, queue: null }, 'r1:9000: has no such table'],
  [{ answers: false, behindSeconds: null, queue: null }, 'r1:9000: does not answer'],
])('a replica: %j', (state, text) => {
  expect(replicaText({ ...GOOD, ...state })).toBe(text);
});

test('how many replicas of a cluster answer', () => {
  expect(clusterText(CLUSTER)).toBe('c1, 2 of 3 replicas answer');
  expect(clusterText({ name: 'c1', replicas: [GOOD] })).toBe('c1, 1 of 1 replica answer');
});

test('check shows the replicas under the server; there is nothing of them where there is one server', async () => {
  const checked = async (cluster: ClusterStatus | null): Promise<string[]> => {
    const { app, printed, close } = openApp({ url: 'http://127.0.0.1:1' });
    const server = { version: '25.8.1', address: 'http://r1:8123' };
    const facts = { pipeline: 'dns', destination: 'clickhouse', newest: null, held: null, room: null };
    const report = { ...facts, server, cluster, action: 'fail', reason: 'why', errors: [] } as const;
    printCheck(app, { key: null, requestsLeft: [], pipelines: [report] });
    await close();
    return printed().trimEnd().split('\n').slice(5);
  };
  expect(await checked(CLUSTER)).toEqual([
    '  loaded    nothing yet',
    '  server    ClickHouse 25.8.1 at http://r1:8123',
    '  cluster   c1, 2 of 3 replicas answer',
    '  replica   r1:9000 (home): up to date',
    '  replica   r2:9000: 12 s behind, 3 changes to take over',
    '  replica   r3:9000\\x1b[31m: does not answer',
    '  a sync    would fail: why',
  ]);
  expect((await checked(null)).filter((line) => /cluster|replica/.test(line))).toEqual([]);
});
