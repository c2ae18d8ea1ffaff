/**
 * What a key, a subscription and a service can be like, each told from the others: exit code, code, what to do. The table
 * is untouched, nothing is on record, and the key is in no output.
 */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { BLOCKED, KEY, POOR, SECRETS, STATES, type State } from '../../support/download/states.ts';
import { expectNoSecrets, jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { type Finished, type Project, withProject } from '../../support/project.ts';
import { contentsOf, partsOf, runsOf, stagingTables } from '../../support/tables.ts';

async function run(project: Project, state: State, args: readonly string[]): Promise<Finished> {
  const path = join(project.folder, `state-${STATES.indexOf(state)}.yaml`);
  const document = {
    service: { url: project.sandbox.url, apiKey: KEY, ...state.service },
    clickhouse: { url: `embedded:${project.clickhouse}`, database: project.database },
    dataDir: project.dataDir,
    // The table that holds a file of another dataset: whatever is wrong, it stays as it is.
    pipelines: {
      dns: {
        dataset: state.dataset ?? 'dns',
        ...(state.slice && { slice: state.slice }),
        to: { clickhouse: { table: 'dns' } },
      },
    },
  };
  // JSON is YAML.
  await writeFile(path, JSON.stringify(document));
  const finished = await runCommand(project.folder, ['-c', path, ...args], state.env);
  expectNoSecrets(finished, SECRETS);
  return finished;
}

async function expectState(project: Project, state: State): Promise<void> {
  const { what, exit, code, says, hint } = state;
  for (const command of ['sync', 'check']) {
    const told = await run(project, state, ['--log-level', 'debug', command]);
    expect([what, command, told.code], told.stderr).toEqual([what, command, exit]);
    expect(shownErrors(told), what).toEqual([
      { code, message: expect.stringMatching(says), hint: expect.stringMatching(hint) },
    ]);
  }
}

async function arrange({ sandbox }: Project): Promise<void> {
  for (const { dataset, fault } of STATES) {
    if (fault !== undefined) sandbox.misbehave({ path: `/api/download/${dataset}`, fault });
  }
  const publish = (target: string, name: string, content: string): Promise<unknown> =>
    sandbox.publishFile({ target, name, date: '2026-01-01', content: { bytes: Buffer.from(content) } });
  await publish('named', 'acme zone 2026-01-01.jsonl.zst', '(');
}

test('each state has its own exit code and says what to do; the table is untouched', async () => {
  const keys = [
    { key: POOR, id: 'poor', datasets: ['technologies'] },
    { key: BLOCKED, id: 'blocked', ipBlocked: true },
  ];
  const published = ['dns', 'websites-ranking', 'technologies', 'all-data', 'all-active', 'domain-investor'] as const;
  await withProject({ rows: 500, keys, datasets: published }, async (project) => {
    expect((await project.run('sync')).code).toBe(0);
    const before = [await contentsOf(project), await partsOf(project), await runsOf(project)];
    await arrange(project);
    // Those that try again for a while wait beside the others.
    const slow = STATES.filter(({ code }) => code === 'SOURCE_UNAVAILABLE');
    await Promise.all([
      ...slow.map((state) => expectState(project, state)),
      (async () => {
        for (const state of STATES) if (!slow.includes(state)) await expectState(project, state);
      })(),
    ]);
    expect([await contentsOf(project), await partsOf(project), await runsOf(project)]).toEqual(before);
    expect(await stagingTables(project)).toEqual([]);
  });
});

test('fileName accepts another name, and the file loads', async () => {
  await withProject({ rows: 300 }, async (project) => {
    const { sandbox } = project;
    const { path = '' } = (await sandbox.file({ dataset: 'dns' })) ?? {};
    const name = '..\\..\\Acme Zone_20260203.jsonl.zst';
    await sandbox.publishFile({ target: 'dns', name, date: '2026-02-03', content: { path } });
    const asked = await project.run('sync');
    const [, line = ''] = /with this line in the pipeline: {2}(fileName: ".*")$/m.exec(asked.stderr) ?? [];
    expect([asked.code, line]).toEqual([2, 'fileName: "Acme Zone_<date>.jsonl.zst"']);
    await project.configure(`  dns: { dataset: dns, ${line}, to: { clickhouse: { table: dns } } }`);
    expect(await project.run('sync')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('loaded Acme Zone_20260203.jsonl.zst into clickhouse: 300 rows read'),
    });
    expect(await runsOf(project)).toEqual([
      { file: 'Acme Zone_20260203.jsonl.zst', outcome: 'loaded', error_code: '' },
    ]);
    const wrong = `  dns: { dataset: dns, fileName: "a/<day>", to: { clickhouse: { table: dns } } }`;
    await project.configure(wrong);
    expect((await project.run('sync')).stderr).toContain('pipelines.dns.fileName: must hold <date> once');
  });
});

test('sent to a server of files: it loads, and that server never sees the key', async () => {
  await withProject({ rows: 300 }, async (project) => {
    const seen: string[] = [];
    const other = createServer((request, response) => {
      seen.push(`${request.url} ${JSON.stringify(request.rawHeaders)}`);
      const headers = Object.fromEntries(
        ['range', 'if-range'].flatMap((name) => {
          const value = request.headers[name];
          return typeof value === 'string' ? [[name, value]] : [];
        }),
      );
      // A server of files with the same file, which it takes from the sandbox behind its back.
      fetch(`${project.sandbox.url}/api/download/all-data`, { headers: { ...headers, authorization: `Bearer ${KEY}` } })
        .then(async (answer) => {
          const body = Buffer.from(await answer.arrayBuffer());
          const range = answer.headers.get('content-range');
          response.writeHead(answer.status, range === null ? {} : { 'content-range': range }).end(body);
        })
        .catch(() => response.destroy());
    });
    other.listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    try {
      const { port } = other.address() as AddressInfo;
      const { date = '' } = (await project.sandbox.file({ dataset: 'all-data' })) ?? {};
      const location = `http://127.0.0.1:${port}/bucket/sandbox-dns-${date}.jsonl.zst?signature=7f00`;
      project.sandbox.misbehave({ path: '/api/download/dns', fault: { kind: 'redirect', status: 302, location } });
      const loaded = await project.run('sync', '--log-level', 'debug');
      expect([loaded.code, loaded.stderr.includes('7f00')]).toEqual([0, false]);
      expect((await contentsOf(project)).rows).toBe('300');
      expectNoSecrets(loaded, SECRETS);
      expect(seen.length).toBe(2);
      expect(seen.filter((text) => text.includes(KEY) || /authorization/i.test(text))).toEqual([]);
    } finally {
      other.closeAllConnections();
      await new Promise((resolve) => other.close(resolve));
    }
  });
});

test('--json tells the same', async () => {
  await withProject({ rows: 100, keys: [{ key: POOR, id: 'poor', datasets: [] }] }, async (project) => {
    const state = STATES.find(({ code }) => code === 'SOURCE_NO_ACCESS');
    if (state === undefined) throw new Error('no such state');
    const finished = await run(project, state, ['--json', 'sync']);
    expect([finished.code, jsonDocument(finished)]).toMatchObject([
      4,
      { pipelines: [{ pipeline: 'dns', outcome: 'failed', error: { code: 'SOURCE_NO_ACCESS', exitCode: 4 } }] },
    ]);
  });
});
