/** The commands that ask the service for anything but files, against the sandbox. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { datasetsCommand, downloadsCommand, meCommand, ordersCommand } from '../../../src/cli/commands/account.ts';
import { contractCommand } from '../../../src/cli/commands/contract.ts';
import { sampleCommand } from '../../../src/cli/commands/sample.ts';
import { asDomainsyncError, type DomainsyncError } from '../../../src/common/errors.ts';
import { openapiDocument } from '../../../src/sandbox/server/openapi.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/service.ts';
import { NEVER, OFFER, startService } from '../../connectors/dataset-service/service.ts';
import { openApp, type TestApp, type TestAppOptions } from './app.ts';

let sandbox: Sandbox;
let folder: string;
const open: TestApp[] = [];

beforeAll(async () => {
  sandbox = await startSandbox({ rows: 400 });
});
afterAll(() => sandbox.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-commands-'));
});
afterEach(async () => {
  sandbox.behave();
  for (const app of open.splice(0)) await app.close();
  await rm(folder, { recursive: true, force: true });
});

function start(options: Partial<TestAppOptions> = {}): TestApp {
  const app = openApp({ url: sandbox.url, apiKey: sandbox.key, ...options });
  open.push(app);
  return app;
}

/** The document that the service sent. */
async function sent(path: string): Promise<unknown> {
  const response = await fetch(`${sandbox.url}${path}`, { headers: { authorization: `Bearer ${sandbox.key}` } });
  return response.json();
}

async function failure(work: Promise<unknown>): Promise<DomainsyncError> {
  return work.then(
    () => {
      throw new Error('no error');
    },
    (error: unknown) => asDomainsyncError(error),
  );
}

const lines = (app: TestApp): string[] => app.printed().trimEnd().split('\n');
const SLUGS = 'all-active, websites-ranking, technologies, dns, rdap-whois, all-data, domain-investor';

test('datasets: the catalog, with and without a key', async () => {
  const keyless = openApp({ url: sandbox.url });
  open.push(keyless);
  expect(await datasetsCommand(keyless.app)).toBe(0);
  expect(lines(keyless)[0]).toMatch(/^slug +name +price +rowCount +date +columns$/);
  expect(lines(keyless)[4]).toMatch(
    /^dns +DNS +149 USD +400 +\d{4}-\d{2}-\d{2} +Domain, TLD suffix, TLD, Domain type and 3 more$/,
  );
  const json = start({ json: true });
  expect(await datasetsCommand(json.app)).toBe(0);
  expect(JSON.parse(json.printed())).toEqual(await sent('/api/v1/datasets'));
});

test('me, orders and downloads: tables, or the document as it was sent', async () => {
  const app = start();
  await app.app.source().newest({ dataset: 'dns' }, NEVER);
  await app.app.source().newest({ dataset: 'all-data' }, NEVER);
  await meCommand(app.app);
  await ordersCommand(app.app);
  await downloadsCommand(app.app, 1);
  const told = lines(app);
  expect(told.slice(0, 5)).toEqual([
    'user.id     user_sandbox',
    'user.email  customer@sandbox.example',
    'user.role   customer',
    'apiKeyId    key_default',
    'scopes      me:read, downloads:read',
  ]);
  expect(told[5]).toMatch(/^id +dataset +status +createdAt$/);
  expect(told[9]).toMatch(/^order_dns +dns +paid +2/);
  expect(told[13]).toMatch(/^id +dataset +scope +key +file +downloadedAt$/);
  expect(told.slice(14)).toEqual([expect.stringMatching(/^download_2 +all-data +- +- +sandbox-all-data-/)]);
  for (const [command, path] of [
    [meCommand, '/api/v1/me'],
    [ordersCommand, '/api/v1/me/orders'],
    [(own: TestApp['app']) => downloadsCommand(own, undefined), '/api/v1/me/downloads'],
  ] as const) {
    const json = start({ json: true });
    expect(await command(json.app)).toBe(0);
    expect(JSON.parse(json.printed())).toEqual(await sent(path));
  }
});

test('a service of another shape is shown as it is, and a key that it repeats is not', async () => {
  const service = await startService(OFFER);
  try {
    const app = start({ url: service.url });
    const answer = (body: unknown): void => {
      service.instead = (_request, response) => response.writeHead(200).end(JSON.stringify(body)) === response;
    };
    answer({ slugs: ['dns', 'all-data'], key: `Bearer ${sandbox.key}` });
    await datasetsCommand(app.app);
    answer([]);
    await ordersCommand(app.app);
    answer({ history: [{ what: `dns\u001b[2J ${sandbox.key}` }] });
    await downloadsCommand(app.app, undefined);
    expect(lines(app)).toEqual([
      'slugs  dns, all-data',
      'key    Bearer ***',
      'the account has no orders',
      'what',
      'dns\\x1b[2J ***',
    ]);
  } finally {
    await service.close();
  }
});

test('preview: first rows of the main columns', async () => {
  const wide = start();
  expect(await sampleCommand(wide.app, { dataset: 'all-data' }, undefined)).toBe(0);
  const told = lines(wide);
  expect(told[0]).toMatch(/^Domain +Country by IP +HTTP status +PR value +Registrar +Domain creation date +TLD suffix/);
  expect(told.length).toBe(23);
  expect(told.at(-1)).toMatch(/^20 of 400 rows, 16 of 2\d columns; -o <file> saves them all$/);
  const narrow = start({ columns: 80 });
  await sampleCommand(narrow.app, { dataset: 'all-data' }, undefined);
  expect(lines(narrow)[0]).toMatch(/^Domain +Country by IP +HTTP status +PR value +Registrar$/);
  expect(lines(narrow).filter((line) => line.length > 80)).toEqual([]);
  const phone = start({ columns: 40 });
  await sampleCommand(phone.app, { dataset: 'dns' }, undefined);
  expect(
    lines(phone)
      .slice(0, 6)
      .map((line) => line.split(/ {2,}/)[0]),
  ).toEqual(['Domain', 'TLD suffix', 'TLD', 'Domain type', 'DNS Status', '']);
  const json = start({ json: true });
  await sampleCommand(json.app, { dataset: 'dns' }, undefined);
  expect(JSON.parse(json.printed())).toEqual(await sent('/api/v1/preview?dataset=dns'));
});

test('sample: the rows of a slice, its key in any case', async () => {
  const app = start();
  expect(await sampleCommand(app.app, { dataset: 'dns', slice: { scope: 'tld', key: 'DE' } }, undefined)).toBe(0);
  expect(
    lines(app)
      .slice(1, -2)
      .filter((line) => !/\.de +de +de +ICANN/.test(line)),
  ).toEqual([]);
  expect(lines(app).at(-1)).toMatch(/^19 of 19 rows, 5 of 7 columns/);
});

test('-o saves all rows, whole or not at all', async () => {
  const rows = ((await sent('/api/v1/preview?dataset=dns')) as { rows: unknown[] }).rows;
  const expected = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const [plain, zst] = [join(folder, 'rows.jsonl'), join(folder, 'rows.jsonl.zst')];
  await writeFile(plain, 'old');
  const app = start();
  expect(await sampleCommand(app.app, { dataset: 'dns' }, plain)).toBe(0);
  const json = start({ json: true });
  expect(await sampleCommand(json.app, { dataset: 'dns' }, zst)).toBe(0);
  expect(await readFile(plain, 'utf8')).toBe(expected);
  const packed = await readFile(zst);
  expect(zstdDecompressSync(packed).toString()).toBe(expected);
  expect(lines(app)).toEqual([
    `saved 400 rows in ${plain} (${Buffer.byteLength(expected).toLocaleString('en')} bytes)`,
  ]);
  expect(JSON.parse(json.printed())).toEqual({ file: zst, rows: 400, bytes: packed.length });
  // What cannot be read, or asked for, leaves the file alone, and nothing beside it.
  sandbox.misbehave({ route: 'preview', fault: { kind: 'json-error' } });
  expect((await failure(sampleCommand(app.app, { dataset: 'dns' }, plain))).code).toBe('SOURCE_UNEXPECTED');
  expect(await readFile(plain, 'utf8')).toBe(expected);
  expect((await readdir(folder)).sort()).toEqual(['rows.jsonl', 'rows.jsonl.zst']);
});

test('-o refuses before it asks what could not be saved', async () => {
  const app = start();
  await mkdir(join(folder, 'sub'));
  const before = sandbox.log.length;
  for (const name of ['sub', 'none/rows.jsonl', 'rows.jsonl.gz', 'rows.csv']) {
    expect((await failure(sampleCommand(app.app, { dataset: 'dns' }, join(folder, name)))).code).toBe('USAGE');
  }
  expect((await failure(sampleCommand(app.app, { dataset: 'dns' }, '-'))).code).toBe('USAGE');
  expect((await failure(sampleCommand(app.app, { dataset: 'dns' }, '/dev/null'))).code).toBe('USAGE');
  expect(sandbox.log.length).toBe(before);
});

test('an unknown name says which there are', async () => {
  const app = start();
  const hint = async (dataset: string, key?: string): Promise<string> => {
    const target = key === undefined ? { dataset } : { dataset, slice: { scope: 'technology' as const, key } };
    const error = await failure(sampleCommand(app.app, target, undefined));
    expect(error.code).toBe('SOURCE_NOT_FOUND');
    return error.hint;
  };
  expect(await hint('dsn')).toBe(`The catalog has no dataset 'dsn'. Did you mean 'dns'? It has: ${SLUGS}.`);
  expect(await hint('nothing-like-it')).toBe(`The catalog has no dataset 'nothing-like-it'. It has: ${SLUGS}.`);
  expect(await hint('technologies', 'nope')).toBe(
    "The catalog has the dataset 'technologies', but there is nothing for technologies/technology/nope: check scope and key; if they are right, it is not published yet.",
  );
  sandbox.misbehave({ route: 'datasets', fault: { kind: 'status', status: 400 } });
  expect(await hint('dsn')).toMatch(/^Check the names: 'domainsync datasets' lists/);
});

test('contract: 0 when nothing is missing, 6 when something is', async () => {
  const app = start();
  expect(await contractCommand(app.app)).toBe(0);
  expect(app.printed()).toBe('all that domainsync relies on is there, at 9 endpoints\n');
  const service = await startService(OFFER);
  try {
    const document = JSON.parse(JSON.stringify(openapiDocument())) as {
      openapi: string;
      paths: Record<string, unknown>;
    };
    document.openapi = '3.2.0';
    const answer = (): void => {
      service.instead = (_request, response) => response.writeHead(200).end(JSON.stringify(document)) === response;
    };
    answer();
    const other = start({ url: service.url });
    expect(await contractCommand(other.app)).toBe(0);
    expect(lines(other).length).toBe(4);
    delete document.paths['/api/v1/me'];
    answer();
    const broken = start({ url: service.url });
    expect(await contractCommand(broken.app)).toBe(6);
    expect(lines(broken)).toEqual([
      'severity  where           what',
      'missing   GET /api/v1/me  the path is not in the document',
      'differs   openapi         OpenAPI 3.1 is expected, the document says 3.2.0',
      '',
      'what domainsync relies on is missing in 1 place: look for a newer version of domainsync',
    ]);
    const json = start({ url: service.url, json: true });
    expect(await contractCommand(json.app)).toBe(6);
    expect(JSON.parse(json.printed())).toMatchObject({ agrees: false, endpoints: 9, document });
    service.instead = (_request, response) => response.writeHead(200).end('{"paths":[]}') === response;
    expect((await failure(contractCommand(json.app))).message).toBe(
      '/api/v1/openapi.json is no OpenAPI document: it has no paths',
    );
  } finally {
    await service.close();
  }
});
