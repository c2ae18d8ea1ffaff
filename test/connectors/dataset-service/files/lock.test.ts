import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Lock } from '../../../../connectors/dataset-service/files/lock.ts';
import { isAlive, parseProcessStat, processIdentity } from '../../../../src/common/process-identity.ts';

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-lock-'));
  path = join(folder, 'f.lock');
});
afterEach(() => rm(folder, { recursive: true }));

/** The identity of a process that has ended. */
async function ended(): Promise<object> {
  const code = `import('${new URL('../../../../src/common/process-identity.ts', import.meta.url).href}')
    .then(async (m) => console.log(JSON.stringify(await m.processIdentity())))`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (data) => {
    text += data;
  });
  await once(child, 'close');
  return JSON.parse(text);
}

test('this process is alive, one that ended is dead, what cannot be known is unknown', async () => {
  const self = await processIdentity();
  expect(JSON.parse(JSON.stringify(self))).toEqual(self);
  expect([self.host, self.pid]).toEqual([hostname(), process.pid]);
  expect(isAlive(self)).toBe('alive');
  expect(isAlive(await ended())).toBe('dead');
  for (const odd of [null, {}, 'x', { host: 'elsewhere', pid: 1 }, { ...self, pid: -1 }])
    expect(isAlive(odd)).toBe('unknown');
  if (self.started !== undefined) {
    expect(isAlive({ ...self, started: self.started - 1 })).toBe('dead');
    expect(isAlive({ ...self, boot: 'another' })).toBe('unknown');
    expect(isAlive({ ...self, namespace: 'pid:[1]' })).toBe('unknown');
  }
});

test('a name with spaces and parentheses does not move the fields; a zombie has ended', () => {
  const fields = '1 1 1 0 -1 4 0 0 0 0 1 2 3 4 20 0 1 0 987654 1 2 3';
  expect(parseProcessStat(`42 (a) b (c) S ${fields}`)).toEqual({ ended: false, started: 987654 });
  expect(parseProcessStat(`42 (node) Z ${fields}`)).toEqual({ ended: true, started: 987654 });
  expect(parseProcessStat('nothing')).toBe(null);
});

test('a zombie is dead', async () => {
  // The shell becomes `sleep`, which never asks what became of its child.
  const shell = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(shell.stdout, 'data')) as [Buffer];
  const self = await processIdentity();
  const statPath = `/proc/${Number(line.toString())}/stat`;
  let stat = '';
  while (self.started !== undefined && !stat.includes(') Z ')) stat = await readFile(statPath, 'latin1');
  if (self.started !== undefined) {
    const { started } = parseProcessStat(stat) ?? { started: -1 };
    expect(isAlive({ ...self, pid: Number(line.toString()), started })).toBe('dead');
  }
  shell.kill('SIGKILL');
  await once(shell, 'close');
});

test('a lock is held by one, and can be taken again when it was let go', async () => {
  const lock = await Lock.take(path);
  expect(await lock.held()).toBe(true);
  await expect(Lock.take(path)).rejects.toMatchObject({ code: 'RUN_ELSEWHERE', exitCode: 0 });
  await lock.release();
  expect(await readdir(folder)).toEqual([]);
  await (await Lock.take(path)).release();
  expect(await readdir(folder)).toEqual([]);
});

test('the lock of a dead process goes to exactly one of those who want it', async () => {
  await writeFile(path, JSON.stringify({ owner: await ended(), nonce: 'old' }));
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => Lock.take(path)));
  const locks = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const held = await Promise.all(locks.map((lock) => lock.held()));
  expect(held.filter(Boolean)).toEqual([true]);
  expect(await readdir(folder)).toEqual(['f.lock']);
  for (const lock of locks) await lock.release();
  expect(await readdir(folder)).toEqual([]);
});

test('an owner that cannot be looked at is believed for as long as it shows itself', async () => {
  const text = JSON.stringify({ owner: { host: 'elsewhere', pid: 7 }, nonce: 'theirs' });
  await writeFile(path, text);
  await expect(Lock.take(path)).rejects.toMatchObject({ code: 'RUN_ELSEWHERE' });
  const before = new Date(Date.now() - 120_000);
  await utimes(path, before, before);
  const lock = await Lock.take(path);
  expect(await lock.held()).toBe(true);
  await writeFile(path, text);
  expect(await lock.held()).toBe(false);
  await lock.release();
  expect(await readFile(path, 'utf8')).toBe(text);
});
