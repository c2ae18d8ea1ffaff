/** Most runs find nothing new: they must cost one small request and touch nothing. */
import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { withServerProject } from '../../support/clickhouse/project.ts';
import { type Project, withProject } from '../../support/project.ts';
import { contentsOf, partsOf, runsOf } from '../../support/tables.ts';

const ROWS = 2_000;

/** Requests that the body caused, as method, range and bytes. */
async function requestsOf({ sandbox }: Project, body: () => Promise<void>): Promise<{ path: string }[]> {
  const before = sandbox.log.length;
  await body();
  return sandbox.log.slice(before).map(({ method, path, range, bytes }) => ({ method, path, range, bytes }));
}

const ONE_PROBE = [{ method: 'GET', path: '/api/download/dns', range: 'bytes=0-0', bytes: 1 }];

test('nothing new: one request of one byte, and the table is not touched', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    expect((await project.run('sync')).code).toBe(0);
    const parts = await partsOf(project);
    const files = (await readdir(project.dataDir)).sort();
    const requests = await requestsOf(project, async () => {
      const again = await project.run('sync');
      expect(again).toMatchObject({ code: 0, stderr: '' });
      expect(again.stdout).toBe(
        `dns: clickhouse holds sandbox-dns-${project.sandbox.date()}.jsonl.zst already; nothing to do\n`,
      );
    });
    expect(requests).toEqual(ONE_PROBE);
    expect(await partsOf(project)).toEqual(parts);
    expect((await readdir(project.dataDir)).sort()).toEqual(files);
    expect(await runsOf(project)).toHaveLength(1);
  });
});

test.each([
  ['sync', ''],
  ['replace', ', mode: replace'],
  ['append', ', mode: append'],
])('mode %s: a view that was dropped is made again, with nothing else, and only then', async (_mode, mode) => {
  await withServerProject({ rows: ROWS }, async (project) => {
    const pipelines = (columns: string): string =>
      `  dns: { dataset: dns, columns: [${columns}], to: { clickhouse: { table: dns${mode} } } }`;
    await project.configure({ pipelines: pipelines('tld') });
    expect((await project.run('sync')).code).toBe(0);
    const [before] = await project.query<{ n: string }>('SELECT count() AS n FROM dns_live');
    // A column that the table does not have yet comes with the next file.
    await project.configure({ pipelines: pipelines('tld, dns_status') });
    await project.command('DROP VIEW dns_live SYNC');
    for (const sent of [[expect.stringMatching(/^CREATE VIEW IF NOT EXISTS `lab`\.`dns_live` /)], []]) {
      project.proxy.log = [];
      const { code, stdout, stderr } = await project.run('sync');
      expect(code, stderr).toBe(0);
      expect(stdout).toContain('already; nothing to do');
      expect(project.proxy.log.filter(({ changes }) => changes).map(({ sql }) => sql)).toEqual(sent);
      expect(await project.query('SELECT count() AS n FROM dns_live')).toEqual([before]);
    }
    await project.sandbox.publish();
    expect((await project.run('sync')).code).toBe(0);
    expect(await project.query('SELECT count() > 0 AS some FROM dns_live WHERE dns_status IS NOT NULL')).toEqual([
      { some: 1 },
    ]);
  });
});

test('an older file is not even read, with --force either', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    const old = await project.sandbox.file({ dataset: 'dns' });
    const [oldPath, oldDate] = [old?.path ?? '', old?.date ?? ''];
    const newer = await project.sandbox.publish();
    expect((await project.run('sync')).code).toBe(0);
    const parts = await partsOf(project);
    await project.sandbox.publishFile({ target: 'dns', date: oldDate, content: { path: oldPath } });
    for (const args of [['sync'], ['sync', '--force']]) {
      const requests = await requestsOf(project, async () => {
        const result = await project.run(...args);
        expect(result).toMatchObject({ code: 0, stderr: '' });
        expect(result.stdout).toBe(
          `dns: sandbox-dns-${oldDate}.jsonl.zst is older than what clickhouse holds (sandbox-dns-${newer}.jsonl.zst); nothing to do\n`,
        );
      });
      expect(requests).toEqual(ONE_PROBE);
    }
    expect(await partsOf(project)).toEqual(parts);
  });
});

test('--force loads the same file again, and nothing that readers see changes', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    await project.run('sync');
    await project.sandbox.publish();
    await project.run('sync');
    const before = await contentsOf(project);
    const requests = await requestsOf(project, async () => {
      const forced = await project.run('sync', '--force');
      expect(forced.code).toBe(0);
      expect(forced.stdout).toContain(
        `0 inserted, 0 updated, 0 deleted, ${Number(before.rows).toLocaleString('en-US')}`,
      );
    });
    // The verified download is still there.
    expect(requests).toEqual(ONE_PROBE);
    expect(await contentsOf(project)).toEqual(before);
    expect((await runsOf(project)).map(({ outcome }) => outcome)).toEqual(['loaded', 'loaded', 'loaded']);
  });
});

test('check and --dry-run download nothing and make no tables', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    for (const args of [
      ['check'],
      ['sync', '--dry-run'],
      ['check', 'dns', '--json'],
      ['sync', '--force', '--dry-run'],
    ]) {
      const requests = await requestsOf(project, async () => {
        const result = await project.run(...args);
        expect(result).toMatchObject({ code: 0, stderr: '' });
        expect(result.stdout).toContain(`sandbox-dns-${project.sandbox.date()}.jsonl.zst`);
      });
      // The account is asked whose key it is, beside the file.
      const files = requests.filter(({ path }) => path !== '/api/v1/me');
      expect([files, requests.length]).toEqual([ONE_PROBE, 2]);
    }
    expect(await project.query(`SELECT name FROM system.tables WHERE database = '${project.database}'`)).toEqual([]);
    expect(await readdir(project.folder)).not.toContain('data');
  });
});
