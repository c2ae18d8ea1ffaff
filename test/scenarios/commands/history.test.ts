/** `domainsync history`, and what `status` tells of versions. */
import { zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { expectNoSecrets, jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { type Finished, type Project, withProject } from '../../support/project.ts';

const KEEPING = '  dns: { dataset: dns, to: { clickhouse: { table: dns, history: true } } }';
const NOT_KEEPING = '  dns: { dataset: dns, to: { clickhouse: { table: dns } } }';

/** Loads a file of these rows, and of others that stay. */
async function load(project: Project, date: string, ...rows: Record<string, unknown>[]): Promise<Finished> {
  const stay = ['x.example', 'y.example', 'z.example'].map((Domain) => ({ Domain, TLD: 'example' }));
  const lines = [...stay, ...rows].map((row) => JSON.stringify(row)).join('\n');
  await project.sandbox.publishFile({ target: 'dns', date, content: { bytes: zstdCompressSync(lines) } });
  const loaded = await project.run('sync');
  expect([loaded.code, loaded.stderr]).toEqual([0, expect.any(String)]);
  return loaded;
}

/** The domain's story of six files: it comes, moves, is checked, goes, comes back, and gets text that is hostile. */
async function loadStory(project: Project): Promise<void> {
  const mx = (host: string): unknown => ({ A: ['192.0.2.1'], MX: [{ host, priority: 10 }] });
  const row = { Domain: 'A.example', TLD: 'example', 'Country by IP': 'DE', 'DNS records': mx('a.example') };
  const moved = { ...row, 'DNS records': mx('b.example'), 'HTTP status': 404 };
  await load(project, '2027-01-01', row);
  await load(project, '2027-01-02', moved);
  await load(project, '2027-01-03', { ...moved, 'DNS last data checked': '2027-01-03' });
  await load(project, '2027-01-04');
  await load(project, '2027-01-05', { ...moved, 'DNS last data checked': '2027-01-04' });
  await load(project, '2027-01-06', { ...moved, 'Country by IP': `\u001b[31mNL\n${project.sandbox.key}` });
}

test('what a domain was: for people, and for programs', async () => {
  await withProject({ rows: 10 }, async (project) => {
    await project.configure(KEEPING);
    const object = `${project.database}.dns_versions`;
    await loadStory(project);
    const told = await project.run('history', 'dns', 'A.Example.');
    expectNoSecrets(told, [project.sandbox.key]);
    expect(told.stderr).toBe('');
    expect(told.stdout.split('\n')).toEqual([
      `a.example in ${object}, known since 2027-01-01`,
      'from 2027-01-01',
      '  tld: example',
      '  country: DE',
      '  dns_records.A: 192.0.2.1',
      '  dns_records.MX: 10 a.example',
      'changed 2027-01-02',
      '  http_status: - -> 404',
      '  dns_records.MX: 10 a.example -> 10 b.example',
      'gone from 2027-01-04',
      'back since 2027-01-05, as before',
      'changed 2027-01-06',
      String.raw`  country: DE -> \x1b[31mNL\n***`,
      '',
    ]);
    const { versions, ...rest } = jsonDocument<{ versions: Record<string, unknown>[] }>(
      await project.run('--json', 'history', 'dns', 'a.example'),
    );
    expect(rest).toEqual({ pipeline: 'dns', domain: 'a.example', object, since: '2027-01-01' });
    expect(versions.map(({ from, to, changed }) => [from, to, changed])).toEqual([
      ['2027-01-01', '2027-01-02', []],
      [
        '2027-01-02',
        '2027-01-04',
        [
          { column: 'http_status', old: null, new: 404 },
          { column: 'dns_records', old: { MX: ['10 a.example'] }, new: { MX: ['10 b.example'] } },
        ],
      ],
      ['2027-01-05', '2027-01-06', []],
      ['2027-01-06', null, [{ column: 'country', old: 'DE', new: '\u001b[31mNL\n***' }]],
    ]);
    const [row] = await project.query<Record<string, unknown>>("SELECT * FROM dns_live WHERE domain = 'a.example'");
    expect(Object.keys(versions[3]?.['row'] as object)).toEqual(Object.keys(row ?? {}));
    expect(versions[1]?.['row']).toMatchObject({
      domain: 'a.example',
      http_status: 404,
      dns_status: null,
      dns_checked_at: '2027-01-03 00:00:00.000',
      dns_records: { A: ['192.0.2.1'], MX: ['10 b.example'] },
      technologies: {},
    });
  });
});

test('a domain that was never there; a pipeline that keeps no versions; no such pipeline, no domain', async () => {
  await withProject({ rows: 10 }, async (project) => {
    await project.configure(KEEPING);
    const early = await project.run('history', 'dns', 'x.example');
    expect([early.code, early.stdout]).toEqual([2, '']);
    expect(shownErrors(early)).toMatchObject([{ code: 'USAGE', hint: 'The next sync makes it.' }]);
    await load(project, '2027-01-01');
    const never = await project.run('history', 'dns', 'never.example');
    expect([never.code, never.stdout]).toEqual([
      0,
      `never.example in ${project.database}.dns_versions: no version is on record; what was there is known since 2027-01-01\n`,
    ]);
    expect(jsonDocument(await project.run('--json', 'history', 'dns', 'never.example'))).toMatchObject({
      since: '2027-01-01',
      versions: [],
    });
    const unnamed = await project.run('history', 'dns', ' ');
    expect(shownErrors(unnamed)).toMatchObject([{ code: 'USAGE', message: 'no domain is named' }]);
    await project.configure(NOT_KEEPING);
    for (const args of [['dns', 'a.example'], ['none', 'a.example'], ['dns']]) {
      const refused = await project.run('history', ...args);
      expect([refused.code, refused.stdout], args.join()).toEqual([2, '']);
    }
    const [error] = shownErrors(await project.run('history', 'dns', 'x.example'));
    expect(error).toMatchObject({ code: 'USAGE', hint: expect.stringContaining('history: true') });
  });
});

test('status tells since when versions are kept, and that they are not any more', async () => {
  await withProject({ rows: 10 }, async (project) => {
    const object = `${project.database}.dns_history`;
    const history = async (): Promise<unknown> =>
      jsonDocument<{ pipelines: { history?: unknown }[] }>(await project.run('--json', 'status')).pipelines[0]?.history;
    await load(project, '2026-12-31');
    expect(await history()).toBe(undefined);
    expect((await project.run('status')).stdout).not.toContain('history');
    await project.configure(KEEPING);
    await load(project, '2027-01-01', { Domain: 'a.example' });
    await load(project, '2027-01-02');
    const kept = await history();
    expect(kept).toMatchObject({ object, kept: true, until: '2027-01-02', rows: expect.any(Number) });
    const { since, rows } = kept as { since: string; rows: number };
    expect((await project.run('status')).stdout).toContain(
      `dns: history in ${object}, kept since ${since}, until 2027-01-02, ${rows} rows\n`,
    );
    await project.configure(NOT_KEEPING);
    await load(project, '2027-01-03', { Domain: 'b.example' });
    expect(await history()).toMatchObject({ object, kept: false, until: '2027-01-02', rows });
    expect((await project.run('status')).stdout).toContain(
      `dns: history: switched off; ${object} has versions until 2027-01-02\n`,
    );
  });
});
