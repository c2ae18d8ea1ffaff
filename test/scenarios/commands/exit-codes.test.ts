/** Every way to fail that a user can bring about: exit code, message, what to do, one JSON document, and no secrets. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectNoSecrets, jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { type Finished, type Project, withProject } from '../../support/project.ts';
import { runsOf } from '../../support/tables.ts';

const GOOD_KEY = 'sandbox_0123456789abcdef';
const POOR_KEY = 'sandbox_poor_52f1c09a77';
const WRONG_KEY = 'sandbox_wrong_9b3e01d4c8';
const PASSWORD = 'pass-5e/1 b0+77"x';
const SECRETS = [GOOD_KEY, POOR_KEY, WRONG_KEY, PASSWORD, JSON.stringify(PASSWORD).slice(1, -1), 'signature=7f00'];

interface Fault {
  readonly what: string;
  readonly exit: number;
  readonly code: string;
  /** In the message. */
  readonly says: RegExp;
  readonly args?: readonly string[];
  readonly service?: (project: Project) => Record<string, unknown>;
  readonly clickhouse?: (project: Project, httpPort: number) => Record<string, unknown>;
  readonly dataset?: string;
  readonly pipeline?: Record<string, unknown>;
  /** Beside the sections, as it stands. */
  readonly rest?: Record<string, unknown>;
}

const SERVER = (url: string) => (): Record<string, unknown> => ({ url, username: 'domainsync', password: PASSWORD });

const FAULTS: readonly Fault[] = [
  {
    what: 'the key is wrong',
    exit: 3,
    code: 'SOURCE_KEY_REJECTED',
    says: /answered 401/,
    service: () => ({ apiKey: WRONG_KEY }),
  },
  { what: 'a login page', exit: 3, code: 'SOURCE_KEY_REJECTED', says: /answered 302/, dataset: 'websites-ranking' },
  {
    what: 'no access',
    exit: 4,
    code: 'SOURCE_NO_ACCESS',
    says: /answered 403/,
    service: () => ({ apiKey: POOR_KEY }),
  },
  { what: 'an unknown dataset', exit: 5, code: 'SOURCE_NOT_FOUND', says: /answered 404/, dataset: 'nowhere' },
  { what: 'a failing service', exit: 6, code: 'SOURCE_UNAVAILABLE', says: /answered 503/, dataset: 'technologies' },
  {
    what: 'no service',
    exit: 6,
    code: 'SOURCE_UNAVAILABLE',
    says: /ECONNREFUSED/,
    service: () => ({ url: 'http://127.0.0.1:1' }),
  },
  { what: 'a page of HTML', exit: 6, code: 'SOURCE_UNEXPECTED', says: /text\/html/, dataset: 'all-data' },
  { what: "another dataset's file", exit: 2, code: 'SOURCE_NAME_MISMATCH', says: /rdap-whois/, dataset: 'rdap-whois' },
  {
    what: 'no ClickHouse',
    exit: 8,
    code: 'DESTINATION_UNREACHABLE',
    says: /ECONNREFUSED/,
    clickhouse: SERVER('http://127.0.0.1:1'),
  },
  {
    what: 'a wrong password',
    exit: 8,
    code: 'DESTINATION_REFUSED',
    says: /AUTHENTICATION_FAILED/,
    clickhouse: (_, port) => SERVER(`http://127.0.0.1:${port}`)(),
  },
  {
    what: 'a table of somebody else',
    exit: 8,
    code: 'DESTINATION_FOREIGN_TABLE',
    says: /theirs/,
    pipeline: { to: { clickhouse: { table: 'theirs' } } },
  },
  {
    what: 'faults of the configuration',
    exit: 2,
    code: 'CONFIG_INVALID',
    says: /pipelines\.dns/,
    pipeline: { maxRejected: 7, colour: 'red' },
    service: () => ({ url: `https://someone:${encodeURIComponent(PASSWORD)}@127.0.0.1` }),
  },
  { what: 'an unknown pipeline', exit: 2, code: 'USAGE', says: /'other'/, args: ['sync', 'other'] },
  { what: 'no such file', exit: 2, code: 'USAGE', says: /none\.jsonl/, args: ['sync', '--from-file', 'none.jsonl'] },
  {
    what: 'no Kafka broker',
    exit: 8,
    code: 'DESTINATION_UNREACHABLE',
    says: /Kafka .* cannot be reached/,
    pipeline: { to: { kafka: { topic: 'domains' } } },
    rest: { kafka: { brokers: ['localhost:1'], sasl: { mechanism: 'plain', username: 'u', password: PASSWORD } } },
  },
];

async function configFor(project: Project, fault: Fault, name: string, httpPort: number): Promise<string> {
  const path = join(project.folder, `${name}.yaml`);
  const document = {
    service: { url: project.sandbox.url, apiKey: GOOD_KEY, ...fault.service?.(project) },
    clickhouse: {
      ...(fault.clickhouse?.(project, httpPort) ?? { url: `embedded:${project.clickhouse}` }),
      database: project.database,
    },
    dataDir: join(project.folder, `data-${name}`),
    ...fault.rest,
    pipelines: {
      dns: {
        dataset: fault.dataset ?? 'dns',
        to: { clickhouse: { table: `t_${name}` } },
        ...fault.pipeline,
      },
    },
  };
  // JSON is YAML.
  await writeFile(path, JSON.stringify(document));
  return path;
}

function misbehave({ sandbox }: Project): Promise<unknown> {
  const rule = (dataset: string, fault: Parameters<typeof sandbox.misbehave>[0]['fault']): void =>
    sandbox.misbehave({ path: `/api/download/${dataset}`, fault });
  rule('websites-ranking', { kind: 'redirect', status: 302, location: 'https://login.example/?signature=7f00' });
  rule('technologies', { kind: 'status', status: 503 });
  rule('all-data', { kind: 'html' });
  return sandbox.publishFile({
    target: 'rdap-whois',
    name: 'sandbox-dns-2026-01-01.jsonl.zst',
    date: '2026-01-01',
    content: { bytes: Buffer.from('x') },
  });
}

async function expectFault(project: Project, fault: Fault, name: string, httpPort: number): Promise<void> {
  const { exit, code, says, what, args = ['sync'] } = fault;
  const config = await configFor(project, fault, name, httpPort);
  const [text, json] = await Promise.all([
    project.start(['-c', config, '--log-level', 'debug', ...args]).finished,
    project.start(['-c', config, '--json', ...args]).finished,
  ]);
  expect([text.code, json.code], `${what}: ${text.stderr}`).toEqual([exit, exit]);
  const [told, ...more] = shownErrors(text);
  expect(more).toEqual([]);
  expect(told?.code, what).toBe(code);
  expect(`${told?.message}${text.stderr}`).toMatch(says);
  expect(told?.hint).toMatch(/\w{3,} \w/);
  expect(text.stdout).toBe('');
  const error = errorIn(jsonDocument(json));
  expect({ what, code: error.code, exit: error.exitCode }).toEqual({ what, code, exit });
  expect([error.message, error.hint]).toEqual([expect.stringMatching(says), expect.stringMatching(/\w{3,} \w/)]);
  for (const finished of [text, json]) expectNoSecrets(finished, SECRETS);
}

interface ErrorDocument {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly exitCode: number;
}

/** Of a run that could not begin, or of its one pipeline. */
function errorIn(document: Record<string, unknown>): ErrorDocument {
  const { error, pipelines } = document as { error?: ErrorDocument; pipelines?: { error: ErrorDocument }[] };
  const found = error ?? pipelines?.[0]?.error;
  if (found === undefined) throw new Error(`no error in ${JSON.stringify(document)}`);
  return found;
}

test('each fault has its exit code, a message, a hint, one JSON document, and shows no secret', async () => {
  await withProject(
    { rows: 1_000, keys: [{ key: POOR_KEY, id: 'poor', datasets: ['technologies'] }] },
    async (project) => {
      await misbehave(project);
      await project.command('CREATE TABLE theirs (id UInt64) ENGINE = MergeTree ORDER BY id');
      const endpoint = await readFile(join(project.clickhouse, 'endpoint.json'), 'utf8');
      const { httpPort } = JSON.parse(endpoint) as { httpPort: number };
      // Those that try again for a while wait beside the others.
      const slow = FAULTS.filter((fault) => /UNAVAILABLE|UNREACHABLE/.test(fault.code));
      const quick = FAULTS.filter((fault) => !slow.includes(fault));
      const check = (fault: Fault): Promise<void> => expectFault(project, fault, `f${FAULTS.indexOf(fault)}`, httpPort);
      await Promise.all([
        ...slow.map(check),
        (async () => {
          for (const fault of quick) await check(fault);
        })(),
      ]);
      expect(await project.query('SELECT count() AS n FROM theirs')).toEqual([{ n: '0' }]);
    },
  );
});

const THREE = `  gone: { dataset: nowhere, to: { clickhouse: { table: gone } } }
  dns: { dataset: dns, to: { clickhouse: { table: dns } } }
  mean: { dataset: all-data, to: { clickhouse: { table: mean } } }`;

test('several pipelines: every one is tried, and the code is that of the first that failed', async () => {
  await withProject({ rows: 1_000 }, async (project) => {
    project.sandbox.misbehave({ path: '/api/download/all-data', fault: { kind: 'status', status: 403 } });
    await project.configure(THREE);
    const outcomes = async (run: Promise<Finished>): Promise<unknown[]> => {
      const finished = await run;
      const { pipelines } = jsonDocument<{ pipelines: { pipeline: string; outcome: string }[] }>(finished);
      return [finished.code, ...pipelines.map(({ pipeline, outcome }) => [pipeline, outcome])];
    };
    const all = project.run('sync', '--json');
    expect(await outcomes(all)).toEqual([5, ['gone', 'failed'], ['dns', 'loaded'], ['mean', 'failed']]);
    expect(await outcomes(project.run('sync', 'mean', 'gone', 'mean', '--json'))).toEqual([
      4,
      ['mean', 'failed'],
      ['gone', 'failed'],
    ]);
    expect(await outcomes(project.run('sync', 'dns', '--json'))).toEqual([0, ['dns', 'current']]);
    const checked = await project.run('check');
    expect(checked.code).toBe(5);
    expect(shownErrors(checked).map(({ code }) => code)).toEqual(['SOURCE_NOT_FOUND', 'SOURCE_NO_ACCESS']);
    expect((await runsOf(project)).map(({ outcome }) => outcome)).toEqual(['loaded']);
  });
});
