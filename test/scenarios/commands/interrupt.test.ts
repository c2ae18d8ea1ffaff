/** Ctrl-C: the run ends in order and the next one goes on; a second Ctrl-C does not wait. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { publishBigFile } from '../../support/download/big-file.ts';
import { jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { startProxy } from '../../support/network/proxy.ts';
import { DNS_PIPELINE, withProject } from '../../support/project.ts';
import { contentsOf, runsOf, stagingTables } from '../../support/tables.ts';
import { until } from '../../support/until.ts';

const ROWS = 5_000;
const BLOCKS = 'domainsync_staging_dns_1_blocks';

test('SIGINT and SIGTERM end a download with 130, and the next run goes on from there', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    const { sandbox } = project;
    const size = (await sandbox.file({ dataset: 'dns' }))?.size ?? 0;
    sandbox.misbehave({ fault: { kind: 'slow', bytesPerSecond: Math.ceil(size / 10) }, probe: false });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const before = sandbox.bodyBytes('/');
      const run = project.start(['sync']);
      await until(() => sandbox.bodyBytes('/') > before + size / 10);
      run.child.kill(signal);
      const ended = await run.finished;
      expect([ended.code, ended.signal]).toEqual([130, null]);
      expect(shownErrors(ended)).toEqual([
        {
          code: 'INTERRUPTED',
          message: 'the run was interrupted',
          hint: 'Run again to go on: what has landed is kept.',
        },
      ]);
    }
    sandbox.behave();
    expect((await project.run('sync')).code).toBe(0);
    expect(sandbox.log.filter(({ status, bytes }) => status === 206 && bytes > 1)).toHaveLength(2);
    expect(sandbox.bodyBytes('/')).toBeLessThan(size * 1.2);
    expect(await contentsOf(project)).toMatchObject({ rows: String(ROWS), changes: '0' });
    expect(await stagingTables(project)).toEqual([]);
    expect((await runsOf(project)).map(({ outcome }) => outcome)).toEqual(['interrupted', 'interrupted', 'loaded']);
  });
});

test('an interrupted run with --json still gives one document', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    const { sandbox } = project;
    sandbox.misbehave({ fault: { kind: 'stall', afterBytes: 1000 }, probe: false });
    const run = project.start(['sync', '--json']);
    await until(() => sandbox.bodyBytes('/') >= 1000);
    run.child.kill('SIGINT');
    const ended = await run.finished;
    expect(ended.code).toBe(130);
    const { pipelines } = jsonDocument<{ pipelines: { outcome: string; error: { code: string } }[] }>(ended);
    expect(pipelines.map(({ outcome, error }) => [outcome, error.code])).toEqual([['failed', 'INTERRUPTED']]);
  });
});

test('a second SIGINT ends at once what hangs in ending', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    const { sandbox } = project;
    const read = async (name: string): Promise<string> => readFile(join(project.clickhouse, name), 'utf8');
    const { httpPort } = JSON.parse(await read('endpoint.json')) as { httpPort: number };
    const proxy = await startProxy(httpPort);
    try {
      const password = await read('password');
      await project.configure(DNS_PIPELINE);
      const yaml = (await readFile(join(project.folder, 'domainsync.yaml'), 'utf8')).replace(
        /^clickhouse: .*$/m,
        `clickhouse: { url: 'http://127.0.0.1:${proxy.port}', username: domainsync, password: '${password}', database: ${project.database} }`,
      );
      await writeFile(join(project.folder, 'domainsync.yaml'), yaml);
      // Two blocks, of which only the first one arrives: once that has landed, the run has nothing to do but to wait.
      const size = await publishBigFile(project, { date: '2026-02-01', rows: 8_000, rowBytes: 5_000 });
      sandbox.misbehave({ fault: { kind: 'stall', afterBytes: Math.floor(size * 0.95) }, probe: false });
      const run = project.start(['sync']);
      await until(async () => {
        if (!(await stagingTables(project)).includes(BLOCKS)) return false;
        return (await project.query(`SELECT block FROM ${BLOCKS}`)).length === 1;
      });
      proxy.silence();
      run.child.kill('SIGINT');
      // It tries to record the interruption, and no answer comes.
      await until(() => proxy.swallowed().includes('domainsync_runs'));
      run.child.kill('SIGINT');
      const ended = await run.finished;
      expect([ended.code, ended.signal]).toEqual([130, null]);
      // Told only by a run that waited for its end.
      expect(shownErrors(ended)).toEqual([]);
    } finally {
      await proxy.close();
    }
    sandbox.behave();
    await project.configure(DNS_PIPELINE);
    expect((await project.run('sync')).code).toBe(0);
    expect(await contentsOf(project)).toMatchObject({ rows: '8000', changes: '0' });
  });
});
