/** `domainsync check`: what a person runs first with a new key leaves no question open. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectNoSecrets, jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { type Finished, type Project, withProject } from '../../support/project.ts';

const KEY = 'sandbox_0123456789abcdef';
const SCOPELESS = 'sandbox_scopeless_77b0';
const WRONG = 'sandbox_wrong_9b3e01d4c8';

async function check(project: Project, ...args: string[]): Promise<Finished> {
  const finished = await project.run('check', ...args);
  expectNoSecrets(finished, [KEY, SCOPELESS, WRONG]);
  return finished;
}

/** Lines of stdout, without the table above. */
const answers = ({ stdout }: Finished): string[] => stdout.trimEnd().split('\n').slice(stdout.split('\n').indexOf(''));

async function withKey(project: Project, key: string, clickhouse = `embedded:${project.clickhouse}`): Promise<string> {
  const path = join(project.folder, 'other.yaml');
  await writeFile(
    path,
    `service: { url: '${project.sandbox.url}', apiKey: ${key} }
clickhouse: { url: '${clickhouse}', database: ${project.database} }
dataDir: '${project.dataDir}'
pipelines: { dns: { dataset: dns, to: { clickhouse: { table: dns } } } }
`,
  );
  return path;
}

test('before the first load, after it, and when there is something new', async () => {
  await withProject({ rows: 400 }, async (project) => {
    const date = project.sandbox.date();
    const file = `sandbox-dns-${date}.jsonl.zst`;
    const size = (await project.sandbox.file({ dataset: 'dns' }))?.size ?? 0;
    const first = await check(project);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(answers(first)).toEqual([
      '',
      'key         good: customer@sandbox.example (customer), key key_default, scopes me:read, downloads:read',
      expect.stringMatching(/^limit {7}199 more requests of me for the next /),
      expect.stringMatching(/^limit {7}239 more requests of download for the next /),
      '',
      'dns',
      '  access    yes',
      expect.stringMatching(new RegExp(`^  newest    ${file}, of ${date}, [\\d.]+ kB$`)),
      '  loaded    nothing yet',
      expect.stringMatching(/^ {2}server {4}ClickHouse [\d.]+ at http:\/\/127\.0\.0\.1:\d+$/),
      expect.stringMatching(/^ {2}disk {6}[\d.]+ kB to download, [\d.]+ [GTM]B free in .*data$/),
      '  a sync    would load it: nothing is loaded yet',
    ]);
    await project.run('sync');
    const again = await check(project);
    expect(answers(again).slice(-4)).toEqual([
      expect.stringMatching(new RegExp(`^  newest    ${file}`)),
      expect.stringMatching(new RegExp(`^  loaded    ${file}, of ${date}, 400 rows, since 20[-\\d]+T[\\d:.]+Z$`)),
      expect.stringContaining('  server    ClickHouse '),
      '  a sync    would do nothing: it is loaded',
    ]);
    const newer = await project.sandbox.publish();
    const json = jsonDocument<{ pipelines: Record<string, unknown>[] }>(await check(project, '--json'));
    expect(json).toMatchObject({
      key: {
        state: 'good',
        email: 'customer@sandbox.example',
        id: 'key_default',
        scopes: ['me:read', 'downloads:read'],
      },
      requestsLeft: [{ route: 'me' }, { route: 'download' }],
      pipelines: [
        {
          pipeline: 'dns',
          destination: 'clickhouse',
          newest: { name: `sandbox-dns-${newer}.jsonl.zst`, date: newer },
          held: { file, date, rows: 400, size },
          server: { version: expect.stringMatching(/^\d+\.\d+/) },
          room: { folder: project.dataDir, needed: expect.any(Number), free: expect.any(Number) },
          action: 'load',
          reason: `it is newer than what is loaded (${date})`,
        },
      ],
    });
    expect(Object.keys(json.pipelines[0]?.['held'] as object).sort()).toEqual([
      'date',
      'etag',
      'file',
      'loadedAt',
      'revision',
      'rows',
      'size',
    ]);
  });
});

test('another revision, an older file, --force', async () => {
  await withProject({ rows: 200 }, async (project) => {
    const { sandbox } = project;
    const date = sandbox.date();
    const { path = '' } = (await sandbox.file({ dataset: 'dns' })) ?? {};
    await project.run('sync');
    const last = async (...args: string[]): Promise<string | undefined> => answers(await project.run(...args)).at(-1);
    expect(await last('sync', '--dry-run', '--force')).toBe(
      '  a sync    would load it: --force reloads what is loaded',
    );
    sandbox.misbehave({ path: '/api/download/dns', fault: { kind: 'etag', value: '"other"' } });
    expect(await last('check')).toBe(
      `  a sync    would load it: it is another revision of ${date}: its size or validator differs`,
    );
    sandbox.behave();
    await sandbox.publishFile({ target: 'dns', date: '2020-01-01', content: { path } });
    expect(await last('check')).toBe(`  a sync    would do nothing: what is loaded is newer (${date})`);
  });
});

test('without a server, without the scope, without access: the rest is told all the same', async () => {
  const keys = [{ key: SCOPELESS, id: 'scopeless', scopes: [] }];
  await withProject({ rows: 200, keys }, async (project) => {
    const file = `sandbox-dns-${project.sandbox.date()}.jsonl.zst`;
    const down = await check(project, '-c', await withKey(project, KEY, 'http://127.0.0.1:1'));
    expect([down.code, shownErrors(down).map(({ code }) => code)]).toEqual([8, ['DESTINATION_UNREACHABLE']]);
    expect(answers(down).slice(6)).toEqual([
      '  access    yes',
      expect.stringContaining(`  newest    ${file}`),
      '  loaded    not known',
      '  server    not reached',
      expect.stringMatching(/^ {2}a sync {4}would fail: DESTINATION_UNREACHABLE: .*ECONNREFUSED/),
    ]);
    const scopeless = await check(project, '-c', await withKey(project, SCOPELESS));
    expect([scopeless.code, answers(scopeless)[1]]).toEqual([
      0,
      'key         good; whose it is cannot be told, since it lacks the scope me:read, which a sync does without',
    ]);
    const wrong = await check(project, '-c', await withKey(project, WRONG));
    expect([wrong.code, shownErrors(wrong).map(({ code }) => code)]).toEqual([3, ['SOURCE_KEY_REJECTED']]);
    expect(answers(wrong)[1]).toMatch(/^key {9}not taken: SOURCE_KEY_REJECTED: /);
    expect(answers(wrong)).toContain('  access    not known: SOURCE_KEY_REJECTED');
    expect(await readdir(project.folder)).not.toContain('data');
    expect(await project.query(`SELECT name FROM system.tables WHERE database = '${project.database}'`)).toEqual([]);
  });
});

test('a file for which there is no room would fail; of several pipelines the first decides the exit code', async () => {
  await withProject({ rows: 200 }, async (project) => {
    const total = 900_000_000_000_000;
    project.sandbox.misbehave({ path: '/api/download/dns', fault: { kind: 'wrong-total', total } });
    await project.configure(
      `  good: { dataset: technologies, to: { clickhouse: { table: good } } }
  large: { dataset: dns, to: { clickhouse: { table: large } } }
  gone: { dataset: nowhere, to: { clickhouse: { table: gone } } }
  kafka: { dataset: dns, to: { kafka: { topic: later } } }`,
      "kafka: { brokers: ['127.0.0.1:1'] }",
    );
    const told = await check(project);
    expect([told.code, shownErrors(told).map(({ code }) => code)]).toEqual([
      1,
      ['LOCAL_DISK', 'SOURCE_NOT_FOUND', 'DESTINATION_UNREACHABLE'],
    ]);
    expect(answers(told)).toContainEqual(expect.stringMatching(/^ {2}disk {6}900 TB to download, .* free in /));
    expect(answers(told)).toContain(
      '  access    not known: the service has no such file, or not yet (SOURCE_NOT_FOUND)',
    );
    expect((await check(project, 'gone', 'large')).code).toBe(5);
    expect((await check(project, 'good')).code).toBe(0);
    // What lies there already needs no more room.
    project.sandbox.behave();
    await mkdir(project.dataDir, { recursive: true });
    await project.run('sync', 'good');
    const json = jsonDocument<{ pipelines: { room: { needed: number } }[] }>(
      await project.run('--json', 'sync', '--dry-run', '--force', 'good'),
    );
    expect(json.pipelines.map(({ room }) => room.needed)).toEqual([0]);
  });
});

test('a local file is checked without asking the service', async () => {
  await withProject({ rows: 100 }, async (project) => {
    const path = join(project.folder, 'mine-2026-01-01.jsonl');
    await writeFile(path, '{"Domain":"a.example"}\n');
    const told = await project.run('sync', '--dry-run', '--from-file', path);
    expect([told.code, answers(told).slice(1)]).toEqual([
      0,
      [
        '',
        'dns',
        '  newest    mine-2026-01-01.jsonl, of 2026-01-01, 23 B',
        '  loaded    nothing yet',
        expect.stringContaining('  server    ClickHouse '),
        '  a sync    would load it: nothing is loaded yet',
      ],
    ]);
    expect(project.sandbox.log).toEqual([]);
  });
});
