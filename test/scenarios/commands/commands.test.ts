/** The commands that show things or serve in the foreground. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { isRunning } from '../../support/clickhouse/embedded-servers.ts';
import { expectNoSecrets, jsonDocument } from '../../support/errors-shown.ts';
import { type Project, type Running, withProject } from '../../support/project.ts';
import { until } from '../../support/until.ts';

/** What a child has written to stdout so far. */
function heard({ child }: Running): () => string {
  let text = '';
  child.stdout?.on('data', (part: string) => {
    text += part;
  });
  return () => text;
}

test('--help and --version, and what is not understood', async () => {
  await withProject({ rows: 100 }, async (project) => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    expect(await project.run('--version')).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
    const help = await project.run('--help');
    expect([help.code, help.stderr]).toEqual([0, '']);
    for (const command of [
      'demo',
      'check',
      'sync',
      'status',
      'rejects',
      'history',
      'sandbox',
      'clickhouse',
      'worker',
    ]) {
      expect(help.stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    }
    const own = await project.run('sync', '--help');
    expect([own.code, own.stdout.includes('--dry-run')]).toEqual([0, true]);
    for (const args of [['sink'], ['sync', '--fast'], ['--log-level', 'loud', 'sync']]) {
      const wrong = await project.run(...args);
      expect([wrong.code, wrong.stdout, wrong.stderr.includes('--help')]).toEqual([2, '', true]);
    }
    expect(project.sandbox.log).toEqual([]);
  });
});

test('status before and after a load, after a failed one, and rejects', async () => {
  await withProject({ rows: 500 }, async (project) => {
    const status = async (): Promise<unknown> => {
      const { pipelines } = jsonDocument<{ pipelines: unknown[] }>(await project.run('status', '--json'));
      return pipelines[0];
    };
    const object = `${project.database}.dns`;
    expect(await status()).toEqual({
      pipeline: 'dns',
      destination: 'clickhouse',
      object,
      held: null,
      lastRun: null,
      rejected: 0,
    });
    expect(await project.run('rejects')).toMatchObject({ code: 0, stdout: 'no rejected lines are on record\n' });
    await project.run('sync');
    const file = `sandbox-dns-${project.sandbox.date()}.jsonl.zst`;
    const held = { file, date: project.sandbox.date(), rows: 500 };
    expect(await status()).toMatchObject({ held, lastRun: { outcome: 'loaded', file, errorCode: '' }, rejected: 0 });
    await publishBad(project);
    await project.run('sync');
    const bad = 'sandbox-dns-2027-01-01.jsonl.zst';
    const lastRun = { outcome: 'failed', file: bad, errorCode: 'FILE_TOO_MANY_REJECTED' };
    expect(await status()).toMatchObject({ held, lastRun, rejected: 1 });
    const shown = await project.run('status');
    expect(shown.stdout).toMatch(new RegExp(`^dns +clickhouse ${object} .*failed +1 +FILE_TOO_MANY_REJECTED: `, 'm'));
    const rejects = await project.run('rejects');
    // What a terminal would act on is shown, not sent to it.
    expect(rejects.stdout).toContain(String.raw`nonsense \x1b[31m`);
    expect(await project.run('status', 'other')).toMatchObject({ code: 2, stdout: '' });
    expect(await project.run('rejects', 'other')).toMatchObject({ code: 2, stdout: '' });
  });
});

test('a table is rolled back once, and not by mistake', async () => {
  await withProject({ rows: 300 }, async (project) => {
    await project.configure('  dns: { dataset: dns, to: { clickhouse: { table: dns, mode: replace } } }');
    const dates = async (table: string) =>
      (await project.query<{ date: string }>(`SELECT DISTINCT toString(_file_date) AS date FROM ${table}`)).map(
        ({ date }) => date,
      );
    expect((await project.run('sync')).code).toBe(0);
    const early = await project.run('rollback', 'dns');
    expect([early.code, early.stdout]).toEqual([2, '']);
    expect(early.stderr).toContain('nothing to roll back');
    const [first = ''] = await dates('dns');
    const second = await project.sandbox.publish();
    await project.run('sync');
    expect(await dates('dns')).toEqual([second]);
    const back = await project.run('--json', 'rollback', 'dns');
    expect(JSON.parse(back.stdout)).toMatchObject({ from: { date: second }, to: { date: first } });
    expect([await dates('dns'), await dates('dns_previous')]).toEqual([[first], [second]]);
    expect((await project.run('rollback', 'dns')).code).toBe(2);
    expect((await project.run('sync')).stdout).toContain('was rolled back to');
    expect((await project.run('check')).stdout).toMatch(/would do nothing: it was rolled back to .*--force/);
    expect((await project.run('rollback', 'nobody')).code).toBe(2);
    const forced = await project.run('sync', '--force');
    expect([forced.code, forced.stderr.includes('minRows is not tested')]).toEqual([0, true]);
    expect(await dates('dns')).toEqual([second]);
  });
});

test('what a pipeline left that is not in the configuration any more is told, and left alone', async () => {
  await withProject({ rows: 300 }, async (project) => {
    await project.run('sync');
    await project.configure('  other: { dataset: dns, to: { clickhouse: { table: other } } }');
    await project.run('sync');
    const { pipelines, leftBehind } = JSON.parse((await project.run('--json', 'status')).stdout);
    expect(pipelines).toMatchObject([{ pipeline: 'other', held: { rows: 300 } }]);
    expect(leftBehind).toMatchObject([{ pipeline: 'dns', object: `${project.database}.dns`, held: { rows: 300 } }]);
    expect((await project.run('status')).stdout).toContain(
      'of pipeline dns, which is not in the configuration; left alone',
    );
    expect(await project.query('SELECT count() AS n FROM dns_live')).toEqual([{ n: '300' }]);
  });
});

function publishBad({ sandbox }: Project): Promise<unknown> {
  const bytes = zstdCompressSync('{"Domain":"a.com"}\nnonsense \u001b[31m\n');
  return sandbox.publishFile({ target: 'dns', date: '2027-01-01', content: { bytes } });
}

test('the sandbox serves in the foreground until SIGINT', async () => {
  await withProject({ rows: 100 }, async (project) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const run = project.start(['sandbox', '--port', '0', '--rows', '50']);
      const text = heard(run);
      await until(() => text().includes('Ctrl-C'));
      const [, url] = /DOMAINSYNC_URL=(\S+)/.exec(text()) ?? [];
      const [, key] = /DOMAINSYNC_API_KEY=(\S+)/.exec(text()) ?? [];
      const answer = await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${key}` } });
      expect([answer.status, await answer.json()]).toMatchObject([
        200,
        { scopes: expect.arrayContaining(['me:read']) },
      ]);
      run.child.kill(signal);
      expect(await run.finished).toMatchObject({ code: 0, stderr: '' });
    }
    const taken = await project.run('sandbox', '--port', String(project.sandbox.port));
    expect([taken.code, taken.stderr.includes('is in use')]).toEqual([2, true]);
  });
});

test('clickhouse serves in the foreground, says how to connect without the password, and ends with SIGINT', async () => {
  await withProject({ rows: 300 }, async (project) => {
    await project.run('sync');
    // A folder of its own, on which the test itself has no lease.
    const folder = join(project.folder, 'served');
    const config = join(project.folder, 'served.yaml');
    await project.configure('  dns: { dataset: dns, to: { clickhouse: { table: dns } } }');
    const yaml = await readFile(join(project.folder, 'domainsync.yaml'), 'utf8');
    await writeFile(config, yaml.replace(`embedded:${project.clickhouse}`, `embedded:${folder}`));
    expect((await project.start(['-c', config, 'sync']).finished).code).toBe(0);
    const run = project.start(['-c', config, '--json', 'clickhouse']);
    const text = heard(run);
    await until(() => text().endsWith('}\n'));
    const { url, username, database, passwordFile } = JSON.parse(text()) as Record<string, string>;
    const password = (await readFile(passwordFile ?? '', 'utf8')).trim();
    const answer = await fetch(`${url}/?database=${database}`, {
      method: 'POST',
      body: 'SELECT count() FROM dns_live',
      headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    });
    expect(await answer.text()).toBe('300\n');
    const { pid } = JSON.parse(await readFile(join(folder, 'endpoint.json'), 'utf8')) as { pid: number };
    run.child.kill('SIGINT');
    const ended = await run.finished;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    await until(() => !isRunning(pid));
    expectNoSecrets(ended, [password]);
    await expectPrinted(project, config, { passwordFile: passwordFile ?? '', password });
  });
});

/** The same for a person; the command that is printed works as it is. */
async function expectPrinted(
  project: Project,
  config: string,
  { passwordFile, password }: Record<'passwordFile' | 'password', string>,
): Promise<void> {
  const run = project.start(['-c', config, '--log-level', 'debug', 'clickhouse']);
  const text = heard(run);
  await until(() => text().includes('Ctrl-C'));
  expect(text()).toMatch(/listens on http:\/\/127\.0\.0\.1:\d+\n/);
  expect(text()).toContain(`password  in the file ${passwordFile}`);
  run.child.kill('SIGTERM');
  const ended = await run.finished;
  expect(ended.code).toBe(0);
  expectNoSecrets(ended, [password]);
}
