/** The same commands as a user runs them: arguments, exit codes, and what goes where. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/service.ts';
import { expectNoSecrets, jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import type { Finished } from '../../support/project.ts';

const BIN = fileURLToPath(new URL('../../../src/bin.js', import.meta.url));
const WRONG = 'sandbox_wrong_2c71aa90';
const SCOPELESS = 'sandbox_scopeless_77b0';

let sandbox: Sandbox;
let folder: string;

beforeAll(async () => {
  sandbox = await startSandbox({ rows: 200, keys: [{ key: SCOPELESS, id: 'scopeless', scopes: [] }] });
  folder = await mkdtemp(join(tmpdir(), 'domainsync-line-'));
  const service = (name: string, apiKey: string): Promise<void> =>
    writeFile(join(folder, name), `service: { url: '${sandbox.url}'${apiKey} }\n`);
  await service('good.yaml', `, apiKey: ${sandbox.key}`);
  await service('wrong.yaml', `, apiKey: ${WRONG}`);
  await service('scopeless.yaml', `, apiKey: ${SCOPELESS}`);
  await service('keyless.yaml', '');
});
afterAll(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(config: string, ...args: string[]): Promise<Finished> {
  const child = spawn(process.execPath, [BIN, '-c', config, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code, signal] = (await closed) as [number | null, NodeJS.Signals | null];
  const finished = { code, signal, stdout, stderr };
  expectNoSecrets(finished, [sandbox.key, WRONG, SCOPELESS]);
  return finished;
}

test('without a key what is public works, and the rest says what is missing', async () => {
  const [datasets, contract, me] = await Promise.all([
    run('keyless.yaml', 'datasets', '--json'),
    run('keyless.yaml', 'contract'),
    run('keyless.yaml', 'me'),
  ]);
  expect([datasets.code, contract.code, me.code]).toEqual([0, 0, 2]);
  expect(jsonDocument<{ datasets: unknown[] }>(datasets).datasets.length).toBe(7);
  expect(shownErrors(me)).toMatchObject([
    { code: 'SOURCE_KEY_MISSING', message: 'keyless.yaml gives no API key: service.apiKey: is missing' },
  ]);
  const others = sandbox.log.filter(({ path }) => path !== '/api/v1/datasets' && path !== '/api/v1/openapi.json');
  expect(others).toEqual([]);
});

test('each error has its exit code and says what to do', async () => {
  const [wrong, scopeless, unknown] = await Promise.all([
    run('wrong.yaml', 'orders'),
    run('scopeless.yaml', 'me', '--json'),
    run('good.yaml', 'preview', 'dsn'),
  ]);
  expect([wrong.code, scopeless.code, unknown.code]).toEqual([3, 4, 5]);
  expect(shownErrors(wrong)).toEqual([
    {
      code: 'SOURCE_KEY_REJECTED',
      message: `${sandbox.url}/api/v1/me/orders answered 401; it says "Invalid API key"`,
      hint: expect.stringContaining('IP allow-list'),
    },
  ]);
  expect(jsonDocument(scopeless)).toMatchObject({
    error: { code: 'SOURCE_NO_ACCESS', hint: expect.stringContaining('me:read') },
  });
  expect(shownErrors(unknown)[0]?.hint).toMatch(/^The catalog has no dataset 'dsn'\. Did you mean 'dns'\?/);
});

test('arguments are checked before anything is asked', async () => {
  const before = sandbox.log.length;
  const all = await Promise.all([
    run('good.yaml', 'downloads', '--limit', '501'),
    run('good.yaml', 'downloads', '--limit', '0'),
    run('good.yaml', 'sample', 'dns', 'continent', 'eu'),
    run('good.yaml', 'preview'),
  ]);
  expect(all.map(({ code, stdout }) => [code, stdout])).toEqual(all.map(() => [2, '']));
  expect(all[0]?.stderr).toContain('from 1 to 500');
  expect(all[2]?.stderr).toContain('tld, tld_suffix, country, technology');
  expect(sandbox.log.length).toBe(before);
});

test('a sample is saved as JSON Lines', async () => {
  const saved = await run('good.yaml', 'sample', 'dns', 'tld', 'com', '-o', 'dns-com-2026-01-01.jsonl');
  expect([saved.code, saved.stderr]).toEqual([0, '']);
  expect(saved.stdout).toMatch(/^saved 20 rows in dns-com-2026-01-01\.jsonl \([\d,]+ bytes\)\n$/);
  const rows = (await readFile(join(folder, 'dns-com-2026-01-01.jsonl'), 'utf8')).trimEnd().split('\n');
  expect(rows.map((row) => (JSON.parse(row) as { TLD: string }).TLD)).toEqual(rows.map(() => 'com'));
});
