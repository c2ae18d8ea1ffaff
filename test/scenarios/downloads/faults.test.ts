/** Long downloads over bad lines, and in processes that are killed: hardly a byte is fetched twice. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { publishBigFile } from '../../support/download/big-file.ts';
import { random } from '../../support/download/zst.ts';
import { type Project, withProject } from '../../support/project.ts';
import { contentsOf, runsOf, stagingTables } from '../../support/tables.ts';
import { until } from '../../support/until.ts';

/** 53 MB that do not compress. */
const FILE = {
  date: '2026-02-01',
  rows: 800,
  rowBytes: 66_000,
  random: true,
  compression: { encoder: 'stored', frameBytes: 5_000_000 },
} as const;
const CUTS = 10;
const KILLS = 6;

async function expectLoaded(project: Project, rows: number): Promise<void> {
  expect(await contentsOf(project)).toMatchObject({ rows: String(rows), changes: '0' });
  const [texts] = await project.query<{ bytes: string; different: string }>(
    `SELECT sum(length(dns_records['TXT'][2])) AS bytes, uniqExact(dns_records['TXT'][2]) AS different FROM dns_live`,
  );
  expect(texts).toEqual({ bytes: String(rows * FILE.rowBytes), different: String(rows) });
  expect(await stagingTables(project)).toEqual([]);
  expect((await runsOf(project)).map(({ outcome }) => outcome)).toEqual(['loaded']);
}

test('a download that is cut ten times goes on each time', async () => {
  await withProject({}, async (project) => {
    const { sandbox } = project;
    const size = await publishBigFile(project, FILE);
    expect(size).toBeGreaterThan(50_000_000);
    for (let cut = 0; cut < CUTS; cut += 1) {
      const afterBytes = 1 + Math.floor((size / (CUTS + 1)) * (0.5 + (cut % 3) / 4));
      sandbox.misbehave({ fault: { kind: 'cut', afterBytes }, probe: false, skip: cut, times: 1 });
    }
    const run = await project.run('sync');
    expect(run.code).toBe(0);
    const answers = sandbox.log.filter(({ range }) => range !== 'bytes=0-0').map(({ status }) => status);
    expect(answers).toEqual([200, ...Array(CUTS).fill(206)]);
    expect(run.stderr.match(/broke off at byte/g)).toHaveLength(CUTS);
    expect(sandbox.bodyBytes('/')).toBeLessThan(size * 1.05);
    await expectLoaded(project, FILE.rows);
  });
});

test('a download that is reset goes on from what had come', async () => {
  await withProject({}, async (project) => {
    const { sandbox } = project;
    const rows = FILE.rows / 4;
    const size = await publishBigFile(project, { ...FILE, rows });
    // A reset throws away what still waits to be sent, however much of it the socket had taken: slowly, so that little does.
    sandbox.misbehave({ fault: { kind: 'slow', bytesPerSecond: 20_000_000 }, probe: false });
    const afterBytes = Math.floor(size / 3);
    sandbox.misbehave({ fault: { kind: 'cut', afterBytes, reset: true }, probe: false, times: 2 });
    expect((await project.run('sync')).code).toBe(0);
    const starts = sandbox.log.flatMap(({ range }) => (/^bytes=(\d+)-$/.exec(range ?? '') ?? []).slice(1).map(Number));
    expect(starts).toHaveLength(2);
    // Each time at least half of what was sent had come, and was kept.
    expect(starts[0]).toBeGreaterThan(afterBytes / 2);
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThan(afterBytes / 2);
    await expectLoaded(project, rows);
  });
});

test('a process that is killed again and again goes on each time', async () => {
  await withProject({}, async (project) => {
    const { sandbox } = project;
    const size = await publishBigFile(project, FILE);
    sandbox.misbehave({ fault: { kind: 'slow', bytesPerSecond: 20_000_000 }, probe: false });
    const draw = random(41);
    let seen = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const run = project.start(['sync']);
      seen = await until(() => sandbox.bodyBytes('/') > seen + size / 20 && sandbox.bodyBytes('/'));
      await sleep(draw() * 100);
      run.child.kill('SIGKILL');
      expect((await run.finished).signal).toBe('SIGKILL');
    }
    sandbox.behave();
    expect((await project.run('sync')).code).toBe(0);
    expect(sandbox.log.filter(({ status, bytes }) => status === 206 && bytes > 1)).toHaveLength(KILLS);
    expect(sandbox.bodyBytes('/')).toBeLessThan(size * 1.2);
    await expectLoaded(project, FILE.rows);
  });
});
