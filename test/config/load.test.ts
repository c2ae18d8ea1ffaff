import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { DomainsyncError } from '../../src/common/errors.ts';
import { configOf, faultsIn, pipelineWith } from './tools.ts';

const HOUR = 3_600_000;
const EXAMPLE = new URL('../../config/domainsync.yaml', import.meta.url);

function thrownBy(action: () => unknown): DomainsyncError {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainsyncError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

test('the example works as it stands, with every default of the contract', async () => {
  const config = configOf(await readFile(EXAMPLE, 'utf8'), { service: true });
  expect(config).toEqual({
    path: 'c.yaml',
    service: { url: 'http://127.0.0.1:8787', apiKey: 'sandbox_0123456789abcdef' },
    clickhouse: { kind: 'embedded', path: '/home/me/data/clickhouse', database: 'default', settings: {} },
    kafka: { brokers: ['localhost:9092'], ssl: undefined, sasl: undefined },
    redis: { url: 'redis://localhost:6379' },
    dataDir: '/home/me/data',
    download: { keep: 1, maxWindowLog: 27 },
    history: { runs: 365 * 24 * HOUR, rejects: 30 * 24 * HOUR, versions: null },
    worker: { host: '127.0.0.1', port: 8080, token: undefined },
    pipelines: [
      {
        name: 'dns',
        target: { dataset: 'dns' },
        schedule: '15 */6 * * *',
        where: [],
        columns: undefined,
        maxRejected: 0.001,
        minRows: 0.5,
        to: {
          clickhouse: { table: 'dns', mode: 'sync', deletes: true, changes: true, history: false },
          kafka: undefined,
        },
      },
    ],
  });
});

test('every comment of the example that holds a setting is right too', async () => {
  const text = await readFile(EXAMPLE, 'utf8');
  // Comments that hold settings: `# key:`; whole sentences are left as they are.
  const settings = text.replace(/^( *)# ( *)(?=[A-Za-z_]+:( |$))/gm, '$1$2');
  const withoutAlternative = settings.replace('  url: embedded:./data/clickhouse\n', '');
  const config = configOf(withoutAlternative, {
    service: true,
    env: { DOMAINSYNC_TOKEN: 't0ken', KAFKA_PASSWORD: 'x' },
  });
  expect(config.clickhouse).toEqual({
    kind: 'server',
    urls: ['http://127.0.0.1:8123'],
    cluster: '{cluster}',
    replicaTimeout: 300_000,
    database: 'default',
    username: 'default',
    password: 'only-on-this-machine',
    settings: {},
  });
  expect(config.kafka.sasl).toEqual({ mechanism: 'scram-sha-512', username: 'domainsync', password: 'x' });
  expect(config.worker).toEqual({ host: '127.0.0.1', port: 8080, token: 't0ken' });
  expect(config.pipelines[0]).toEqual({
    name: 'dns',
    target: { dataset: 'dns', slice: { scope: 'tld', key: 'de' }, fileName: '*-dns-<date>.jsonl.zst' },
    schedule: '15 */6 * * *',
    where: [
      { column: 'country', values: ['de', 'at'] },
      { column: 'technologies', values: ['wordpress'] },
    ],
    columns: ['domain', 'country', 'dns_records'],
    maxRejected: 0.001,
    minRows: 0.5,
    to: {
      clickhouse: { table: 'dns', mode: 'sync', deletes: true, changes: true, history: false },
      kafka: { topic: 'domains.dns', publish: 'changes', compression: 'zstd', partitions: 6, replicationFactor: 1 },
    },
  });
});

test('the result cannot be changed', () => {
  const config = configOf(pipelineWith('minRows: 0'));
  expect(Object.isFrozen(config)).toBe(true);
  expect(Object.isFrozen(config.pipelines[0]?.to.clickhouse)).toBe(true);
});

test('a file without pipelines is right, and so are sections of which every line is commented out', () => {
  expect(configOf('').pipelines).toEqual([]);
  expect(configOf('pipelines:\nclickhouse:\nservice:\nworker:\n').dataDir).toBe('/home/me/data');
});

test('what a command does without is no fault', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the language of the configuration
  const text = 'service: { url: "${U}", apiKey: "${K}" }';
  expect(configOf(text).service).toBeUndefined();
  expect(configOf('service: { url: https://s.example }').service).toBeUndefined();
  expect(configOf(text, { env: { U: '', K: '' } }).service).toBeUndefined();
  expect(faultsIn(text, { service: true })).toEqual([
    'service.url: the environment variable U is not set, and no default is given',
    'service.apiKey: the environment variable K is not set, and no default is given',
  ]);
  expect(faultsIn('', { service: true })).toEqual(['service.url: is missing', 'service.apiKey: is missing']);
  // What is there must be right all the same.
  expect(faultsIn('service: { url: http://s.example, apikey: k }')).toEqual([
    "service.apikey: unknown key; did you mean 'apiKey'?",
    'service.url: must be https: over http the key would travel unencrypted (allowHttp: true permits it)',
  ]);
  expect(configOf('service: { url: https://s.example/, apiKey: k }').service).toEqual({
    url: 'https://s.example',
    apiKey: 'k',
  });
});

test('every fault is told at once, with its path', () => {
  const text = `
servce: {}
download: { keep: -1, maxWindowLog: 32 }
history: { runs: 365, rejects: 0d, versions: 12h }
worker: { http: 0.0.0.0:8080 }
pipelines:
  Bad_Name: { dataset: dns, to: { clickhouse: { table: x } } }
  dns:
    dataset: ""
    slice: { scope: continent }
    schedule: "61 * * * *"
    where: { contry: DE, unparsed: x, http_status: [] }
    columns: [dns_record]
    maxRejected: 1.1
    minRows: "0.5"
    to:
      clickhouse: { table: dns_live, mode: replace, deletes: true, changes: false }
      kafka: { topic: ., publish: all, compression: lz4, partitions: 0, extra: 1 }
  empty:
    dataset: dns
    to: {}
  nothing:
`;
  expect(faultsIn(text)).toEqual([
    "servce: unknown key; did you mean 'service'?",
    'download.keep: must be a whole number, 0 or more',
    'download.maxWindowLog: must be a whole number from 10 to 31',
    'history.runs: must be a time such as 365d, 12h or 30m, at most 36525d',
    'history.rejects: must be a time such as 365d, 12h or 30m, at most 36525d',
    'history.versions: must be a number of days such as 730d, at most 36525d',
    'worker.http: needs worker.token: without one, the worker binds only a loopback address',
    'pipelines.Bad_Name: a name is of a-z, 0-9 and -, at most 100, and starts with no -',
    'pipelines.dns.dataset: must not be empty',
    'pipelines.dns.slice.scope: must be tld, tld_suffix, country or technology',
    'pipelines.dns.slice.key: is missing',
    'pipelines.dns.schedule: is no cron expression: minute: must be from 0 to 59',
    'pipelines.dns.where.http_status: must be text, a number, true or false, or a list of these',
    'pipelines.dns.where.unparsed: cannot be a condition',
    "pipelines.dns.where.contry: unknown key; did you mean 'country'?",
    "pipelines.dns.columns[0]: is no column; did you mean 'dns_records'?",
    'pipelines.dns.maxRejected: must be a share from 0 to 1',
    'pipelines.dns.minRows: must be a share from 0 to 1',
    'pipelines.dns.to.clickhouse.table: must not end in _live: domainsync makes such tables beside it',
    'pipelines.dns.to.clickhouse.deletes: belongs to mode sync only',
    'pipelines.dns.to.clickhouse.changes: belongs to mode sync only',
    'pipelines.dns.to.kafka.topic: is no name for a topic',
    'pipelines.dns.to.kafka.publish: must be changes or snapshot',
    'pipelines.dns.to.kafka.compression: must be zstd, gzip or none',
    'pipelines.dns.to.kafka.partitions: must be a whole number, 1 or more',
    'pipelines.dns.to.kafka.extra: unknown key',
    'pipelines.empty.to: must name clickhouse, kafka or both',
    'pipelines.nothing: is empty: give it a value or remove the line',
  ]);
});

test.each([
  ['service: { url: "https://user:pw@s.example", apiKey: k }', 'service.url: must hold no user and no password'],
  ['service: { url: "https://@s.example", apiKey: k }', 'service.url: must hold no user and no password'],
  ['service: { url: "https://s.example?x=1", apiKey: k }', 'service.url: must hold no query and no fragment'],
  ['service: { url: "ftp://s.example", apiKey: k }', 'service.url: must be a URL of https, or http'],
  ['service: { url: "s.example", apiKey: k }', 'service.url: must be a URL of https, or http'],
  ['service: { url: "https://s.example", apiKey: "a b" }', 'service.apiKey: must be printable ASCII without spaces'],
  ['service: { url: "https://s.example", apiKey: 123 }', 'service.apiKey: must be text: put it in quotes'],
  ['service: [1]', 'service: must be a mapping'],
  ['clickhouse: { url: "embedded:" }', 'clickhouse.url: must name a folder: embedded:./data/clickhouse'],
  ['clickhouse: { url: ch.example }', 'clickhouse.url: must be embedded:<folder>, or a URL of http or https'],
  ['clickhouse: { url: "http://u:p@ch:8123" }', 'clickhouse.url: must hold no user and no password'],
  ['clickhouse: { url: 5 }', 'clickhouse.url: must be text: put it in quotes'],
  ['clickhouse: { url: [] }', 'clickhouse.url: must not be empty'],
  ['clickhouse: { url: ["http://a", ch] }', 'clickhouse.url[1]: must be a URL of http or https'],
  ['clickhouse: { url: ["embedded:x"] }', 'clickhouse.url[0]: must be a URL of http or https'],
  ['clickhouse: { url: ["http://u:p@ch"] }', 'clickhouse.url[0]: must hold no user and no password'],
  ['clickhouse: { url: ["http://a:1", "http://b", "HTTP://A:1/"] }', 'clickhouse.url[2]: stands in the list already'],
  ['clickhouse: { cluster: c }', 'clickhouse.cluster: belongs to a server: the embedded one has no replicas'],
  [
    'clickhouse: { replicaTimeout: 1m }',
    'clickhouse.replicaTimeout: belongs to a server: the embedded one has no replicas',
  ],
  [
    'clickhouse: { url: "http://a", cluster: {cluster} }',
    "clickhouse.cluster: must be text: put it in quotes, as in '{cluster}'",
  ],
  [
    'clickhouse: { url: "http://a", cluster: "" }',
    "clickhouse.cluster: must be the name of a cluster, or a macro: '{cluster}'",
  ],
  [
    `clickhouse: { url: "http://a", cluster: "c'" }`,
    'clickhouse.cluster: must hold no quotes, backslashes or control characters',
  ],
  [
    'clickhouse: { url: "http://a", cluster: "a\\nb" }',
    'clickhouse.cluster: must hold no quotes, backslashes or control characters',
  ],
  [
    'clickhouse: { url: "http://a", replicaTimeout: 2d }',
    'clickhouse.replicaTimeout: must be a time such as 5m or 30s, at most 1d',
  ],
  [
    'clickhouse: { settings: { max_threads: [1] } }',
    'clickhouse.settings.max_threads: must be text, a number, true or false',
  ],
  ['clickhouse: { settings: { "a b": 1 } }', 'clickhouse.settings.a b: is no name of a setting'],
  ['kafka: { brokers: [] }', 'kafka.brokers: must not be empty'],
  ['kafka: { brokers: "a:1" }', 'kafka.brokers: must be a list'],
  ['kafka: { brokers: ["a:1", "b"] }', 'kafka.brokers[1]: must be host:port'],
  ['kafka: { ssl: { key: 1 } }', 'kafka.ssl.key: must be text: put it in quotes'],
  ['kafka: { ssl: { certt: x } }', "kafka.ssl.certt: unknown key; did you mean 'cert'?"],
  ['kafka: { ssl: yes please }', 'kafka.ssl: must be true or false'],
  ['kafka: { sasl: { mechanism: plain, username: u } }', 'kafka.sasl.password: is missing: the mechanism needs it'],
  [
    'kafka: { sasl: { mechanism: oauthbearer } }',
    'kafka.sasl.mechanism: must be plain, scram-sha-256, scram-sha-512 or aws',
  ],
  ['redis: { url: "http://localhost" }', 'redis.url: must be a URL of redis or rediss'],
  ['dataDir: 5', 'dataDir: must be text: put it in quotes'],
  ['worker: { http: "8080" }', 'worker.http: must be host:port'],
  ['worker: { http: "localhost:65536" }', 'worker.http: must be host:port'],
  ['pipelines: [a]', 'pipelines: must be a mapping of names to pipelines'],
  [
    'pipelines: { -p: { dataset: dns, to: { clickhouse: { table: t } } } }',
    'pipelines.-p: a name is of a-z, 0-9 and -, at most 100, and starts with no -',
  ],
  ['pipelines: { p: { dataset: dns } }', 'pipelines.p.to: is missing'],
  ['__proto__: {}', '__proto__: unknown key'],
  ['constructor: {}', 'constructor: unknown key'],
  ['- a', 'it must be a mapping of sections, such as pipelines'],
])('%s', (text, fault) => {
  expect(faultsIn(text)).toEqual([fault]);
});

test.each([
  ['slice: { scope: tld, key: .de }', 'slice.key: must be written without the leading dot'],
  ['slice: { scope: country, key: Germany }', 'slice.key: must be a country code of two letters'],
  ['slice: { scope: technology, key: ".." }', 'slice.key: names no slice'],
  ['slice: { scope: tld, key: 5 }', 'slice.key: must be text: put it in quotes'],
  ['columns: country', 'columns: must be a list'],
  ['where: country', 'where: must be a mapping'],
  ['where: { country: { a: 1 } }', 'where.country: must be text, a number, true or false, or a list of these'],
  ['schedule: "0 0 31 2 *"', 'schedule: is a cron expression that never comes due: no such day exists'],
  ['minRows:', 'minRows: is empty: give it a value or remove the line'],
  ['maxRejected: .nan', 'maxRejected: must be a share from 0 to 1'],
])('of a pipeline: %s', (line, fault) => {
  expect(faultsIn(pipelineWith(line))).toEqual([`pipelines.p.${fault}`]);
});

test.each(['1st', 'a-b', 'dns_changes', 'dns_previous', 'domainsync_x', 'x'.repeat(129)])('no table: %s', (table) => {
  const faults = faultsIn(`pipelines: { p: { dataset: d, to: { clickhouse: { table: ${table} } } } }`);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(/^pipelines\.p\.to\.clickhouse\.table: must /);
});

test.each(['a b', '..', 'x.progress', '__consumer_offsets', 'x'.repeat(241)])('no topic: %s', (topic) => {
  const faults = faultsIn(`pipelines: { p: { dataset: d, to: { kafka: { topic: "${topic}" } } } }`);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(/^pipelines\.p\.to\.kafka\.topic: /);
});

test.each([
  ['http://127.0.0.1:8787/', 'http://127.0.0.1:8787'],
  ['http://127.8.8.8', 'http://127.8.8.8'],
  ['http://[::1]:1/base//', 'http://[::1]:1/base'],
  ['http://localhost:1', 'http://localhost:1'],
  ['https://s.example/base', 'https://s.example/base'],
])('a right service.url: %s', (url, read) => {
  expect(configOf(`service: { url: "${url}", apiKey: k }`).service?.url).toBe(read);
});

test('http beyond loopback asks for allowHttp', () => {
  const fault = 'service.url: must be https: over http the key would travel unencrypted (allowHttp: true permits it)';
  for (const host of ['10.0.0.1', '127.0.0.1.example', 'localhost.example', '[::2]']) {
    expect(faultsIn(`service: { url: "http://${host}", apiKey: k }`)).toEqual([fault]);
  }
  const service = configOf('service: { url: "http://10.0.0.1", apiKey: k, allowHttp: true }').service;
  expect(service).toEqual({ url: 'http://10.0.0.1', apiKey: 'k' });
});

test('values are brought into one form', () => {
  const config = configOf(`
clickhouse: { url: "https://ch.example:8443/", settings: { max_threads: 2, x: "y" } }
dataDir: /var/lib/domainsync
history: { runs: 12h, rejects: 30m, versions: 730d }
worker: { http: "[::1]:0" }
pipelines:
  p:
    dataset: technologies
    slice: { scope: technology, key: " Google Analytics " }
    schedule: " 0  15 */6 * * MON-FRI "
    where: { http_status: [200, "404", 200], dns_status: true, registrar: ACME }
    columns: [registrar, country, domain, country]
    to: { clickhouse: { table: t, mode: append } }
`);
  expect(config.clickhouse).toMatchObject({ urls: ['https://ch.example:8443'], settings: { max_threads: 2, x: 'y' } });
  expect(config.dataDir).toBe('/var/lib/domainsync');
  expect(config.history).toEqual({ runs: 12 * HOUR, rejects: HOUR / 2, versions: 730 });
  expect(config.worker).toEqual({ host: '::1', port: 0, token: undefined });
  expect(config.pipelines[0]).toMatchObject({
    target: { dataset: 'technologies', slice: { scope: 'technology', key: 'google analytics' } },
    schedule: '0 15 */6 * * MON-FRI',
    where: [
      { column: 'http_status', values: ['200', '404'] },
      { column: 'dns_status', values: ['true'] },
      { column: 'registrar', values: ['acme'] },
    ],
    columns: ['domain', 'country', 'registrar'],
    to: { clickhouse: { table: 't', mode: 'append', deletes: false, changes: false, history: false } },
  });
});

test('the replicas of a cluster', () => {
  const { clickhouse } = configOf(
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the language of the configuration
    'clickhouse: { url: ["http://r1:8123/", "${R2}"], cluster: "{cluster}", replicaTimeout: 30s, password: x }',
    { env: { R2: 'https://r2:8443' } },
  );
  expect(clickhouse).toEqual({
    kind: 'server',
    urls: ['http://r1:8123', 'https://r2:8443'],
    cluster: '{cluster}',
    replicaTimeout: 30_000,
    database: 'default',
    username: 'default',
    password: 'x',
    settings: {},
  });
  expect(configOf('clickhouse: { url: "http://one" }').clickhouse).toMatchObject({
    urls: ['http://one'],
    cluster: undefined,
    replicaTimeout: 300_000,
  });
});

test.each([
  ['a: 1\nb: 2\na: 3\n', 'line 3, column 1: this key stands twice in one mapping'],
  ['pipelines:\n  dns:\n    to: [1\n', 'line 4, column 1: the indentation is wrong, or a bracket is not closed'],
  ['a:\n\tb: 1', 'line 2, column 1: indent with spaces, not with tabs'],
  ['a: 1\n---\nb: 2', 'line 2, column 1: the file must hold one document'],
  ['dataDir: !secret x', 'line 1, column 10: tags (!) are not supported: put a value that starts with ! in quotes'],
  ['dataDir: *secret', 'an alias (*) names no anchor: put a value that starts with * in quotes'],
  ['a: &a { b: *a }', 'it is nested too deeply'],
])('no YAML: %j', (text, fault) => {
  expect(faultsIn(text)).toEqual([fault]);
});

test('loadConfig finds the file, and tells what is wrong with it', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'domainsync-config-'));
  const needs = { service: false };
  try {
    await writeFile(join(cwd, 'good.yaml'), 'dataDir: here\n');
    await writeFile(join(cwd, 'bad.yaml'), 'dataDirr: here\nmore: 1\n');
    await writeFile(join(cwd, 'latin.yaml'), Buffer.from([0x61, 0x3a, 0x20, 0xe4]));
    expect(loadConfig({ path: 'good.yaml', env: {}, cwd, needs })).toMatchObject({
      path: 'good.yaml',
      dataDir: join(cwd, 'here'),
    });
    expect(loadConfig({ env: { DOMAINSYNC_CONFIG: 'good.yaml' }, cwd, needs }).path).toBe('good.yaml');
    const bad = thrownBy(() => loadConfig({ path: 'bad.yaml', env: {}, cwd, needs }));
    expect([bad.code, bad.exitCode]).toEqual(['CONFIG_INVALID', 2]);
    expect(bad.message).toBe(
      "bad.yaml has 2 faults:\ndataDirr: unknown key; did you mean 'dataDir'?\nmore: unknown key",
    );
    expect(thrownBy(() => loadConfig({ env: {}, cwd, needs })).message).toBe('config/domainsync.yaml does not exist');
    expect(thrownBy(() => loadConfig({ path: '.', env: {}, cwd, needs })).message).toBe('. cannot be read: EISDIR');
    expect(thrownBy(() => loadConfig({ path: 'latin.yaml', env: {}, cwd, needs })).message).toBe(
      'latin.yaml is not UTF-8 text',
    );
  } finally {
    await rm(cwd, { recursive: true });
  }
});
