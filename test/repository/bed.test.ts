/** The test bed itself: what runs in it, and that nothing of it outlives who started it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { lackOfBed, startBed } from '../support/bed/index.ts';
import { isRunning } from '../support/clickhouse/embedded-servers.ts';
import { describeWhere } from '../support/installed.ts';
import { until } from '../support/until.ts';

async function ask(url: string, sql: string): Promise<string> {
  const response = await fetch(`${url}/?wait_end_of_query=1`, { method: 'POST', body: sql });
  return `${response.ok ? '' : 'error: '}${(await response.text()).trim()}`;
}

describeWhere(lackOfBed('25.8', { zookeeper: false }), 'a server alone', () => {
  test('it is stock, keeps its tables over kill -9, and goes with its folder', async () => {
    const bed = await startBed({
      alone: true,
      config: '<merge_tree><old_parts_lifetime>7</old_parts_lifetime></merge_tree>',
      users: '<profiles><default><max_threads>3</max_threads></default></profiles>',
    });
    const [server] = bed.servers;
    if (server === undefined) throw new Error('there is no server');
    expect(await ask(server.url, 'SELECT version()')).toMatch(/^25\.8\./);
    for (const text of ['', 'a', 'ab', '\xff\xef\0\n', 'x'.repeat(70_000)]) {
      const base64 = Buffer.from(text, 'latin1').toString('base64');
      const both = `SELECT hex(base64Decode('${base64}')), base64Encode(unhex('${Buffer.from(text, 'latin1').toString('hex')}'))`;
      expect(await ask(server.url, both)).toBe(
        `${Buffer.from(text, 'latin1').toString('hex').toUpperCase()}\t${base64}`.trim(),
      );
    }
    expect(await ask(server.url, "SELECT getSetting('max_threads')")).toBe('3');
    expect(await ask(server.url, 'CREATE TABLE t ORDER BY n AS SELECT 42 AS n')).toBe('');
    await server.kill();
    await expect(ask(server.url, 'SELECT 1')).rejects.toThrow();
    await server.revive();
    expect(await ask(server.url, 'SELECT n FROM t')).toBe('42');
    server.freeze();
    const answer = ask(server.url, 'SELECT 1');
    server.thaw();
    expect(await answer).toBe('1');
    server.freeze();
    const { pid, folder } = server;
    await bed.close();
    expect([isRunning(Number(pid)), existsSync(folder)]).toEqual([false, false]);
  });

  test('it ends with whoever started it, also when it is frozen and that one was killed', async () => {
    const child = fork(fileURLToPath(new URL('../support/bed/child.ts', import.meta.url)));
    const [{ pid, folder }] = (await once(child, 'message')) as [{ pid: number; folder: string }];
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, 'SIGSTOP');
    child.kill('SIGKILL');
    await until(() => !isRunning(pid));
    await rm(dirname(folder), { recursive: true });
  });

  test('a bed that is no longer wanted while it starts leaves nothing', async () => {
    await expect(startBed({ alone: true, signal: AbortSignal.timeout(100) })).rejects.toThrow();
  });
});

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'two replicas', () => {
  test('they share tables, and take statements ON CLUSTER when the bed is there', async () => {
    const bed = await startBed({ replicas: 2 });
    try {
      const [first, second] = bed.servers;
      if (first === undefined || second === undefined) throw new Error('there are not two servers');
      const table = "CREATE TABLE t ON CLUSTER c (n UInt8) ENGINE = ReplicatedMergeTree('/t', '{replica}') ORDER BY n";
      expect(await ask(first.url, table)).not.toContain('error');
      await ask(first.url, 'INSERT INTO t VALUES (42)');
      await ask(second.url, 'SYSTEM SYNC REPLICA t');
      expect(await ask(second.url, 'SELECT n FROM t')).toBe('42');
      await bed.zookeeper?.kill();
      await bed.zookeeper?.revive();
      await first.kill();
      await first.revive();
      expect(await ask(first.url, 'SELECT n FROM t')).toBe('42');
    } finally {
      await bed.close();
    }
  });
});
