// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the language of the configuration
import { expect, test } from 'vitest';
import { redactor } from '../../config/redact.ts';
import { configOf, faultsIn } from './tools.ts';

const SECRET = 'Hunter2';

// A secret in every place where a value can be wrong, as text of the file and as text of the environment.
const PLACES = [
  'service: { url: "https://u:SECRET@h", apiKey: "a SECRET" }',
  'service: { url: "SECRET", apiKey: [SECRET] }',
  'service: { url: "https://h/?k=SECRET", apiKey: { SECRET: 1 } }',
  'service: SECRET',
  'clickhouse: { url: "http://u:SECRET@h", password: [SECRET], database: "SECRET x", settings: SECRET }',
  'clickhouse: { url: ["http://u:SECRET@h", "http://SECRET", "http://SECRET", SECRET], cluster: [SECRET], replicaTimeout: SECRET }',
  'clickhouse: { url: "embedded:SECRET", cluster: "\'SECRET" }',
  'kafka: { brokers: ["SECRET"], ssl: SECRET, sasl: { mechanism: SECRET, password: [SECRET] } }',
  'kafka: { brokers: SECRET, sasl: { mechanism: plain, password: SECRET } }',
  'redis: { url: "http://:SECRET@h" }',
  'worker: { http: "SECRET", token: "a SECRET" }',
  'download: { keep: SECRET }\nhistory: { runs: SECRET }\ndataDir: [SECRET]',
  'pipelines: { p: { dataset: "SECRET x", schedule: SECRET, columns: [SECRET], minRows: SECRET, to: SECRET } }',
  'pipelines: { p: { dataset: d, slice: { scope: SECRET, key: "" }, where: SECRET, to: { clickhouse: { table: "SECRET x" } } } }',
  'pipelines: { p: { dataset: d, to: { clickhouse: { table: "SECRET_live", mode: SECRET }, kafka: { topic: "SECRET x" } } } }',
  'service: { apiKey: !SECRET x }',
  'service: { apiKey: *SECRET }',
  'service: { apiKey: "SECRET\\q" }',
  'service: { apiKey: "SECRET }',
  'service: { apiKey: SECRET: x }',
  'service:\n  apiKey: SECRET\n  apiKey: SECRET',
  'service: { apiKey: "${SECRET" }',
];

test.each(PLACES)('no fault quotes a value: %s', (text) => {
  const faults = faultsIn(text.replaceAll('SECRET', SECRET), { service: true });
  expect(faults.length).toBeGreaterThan(0);
  expect(faults.join('\n').toLowerCase()).not.toContain(SECRET.toLowerCase());
  const fromEnvironment = faultsIn(text.replaceAll('SECRET', '${S}'), { service: true, env: { S: SECRET } });
  expect(fromEnvironment.join('\n').toLowerCase()).not.toContain(SECRET.toLowerCase());
});

const PASSWORD = 'p/w "ä"+%';

function everySecret(): (text: string) => string {
  return redactor(
    configOf(
      `service: { url: https://s.example, apiKey: key_123 }
clickhouse: { url: http://ch:8123, username: me, password: '${PASSWORD}' }
kafka:
  ssl: { key: "-----BEGIN\\nabc", passphrase: phrase1 }
  sasl: { mechanism: aws, authorizationIdentity: ident, accessKeyId: akid, secretAccessKey: sak, sessionToken: st0 }
redis: { url: "redis://ruser:r%2Fpass@redis:6379" }
worker: { token: key_123_and_more }`,
    ),
  );
}

test('the redactor takes out every secret of the configuration', () => {
  const redact = everySecret();
  for (const secret of ['key_123', PASSWORD, 'phrase1', 'ident', 'akid', 'sak', 'st0', 'r/pass', 'r%2Fpass']) {
    expect(redact(`<${secret}>`)).toBe('<***>');
  }
  expect(redact('-----BEGIN\nabc')).toBe('***');
  expect(redact('Bearer key_123_and_more, key_123')).toBe('Bearer ***, ***');
  expect(redact('redis://ruser:r%2Fpass@redis:6379')).toBe('redis://***@redis:6379');
  expect(redact('nothing of it')).toBe('nothing of it');
});

test('the redactor knows the forms that a secret takes on its way', () => {
  const redact = everySecret();
  const encoded = encodeURIComponent(PASSWORD);
  const forms = [
    encoded,
    encoded.replace(/%../g, (code) => code.toLowerCase()),
    new URLSearchParams({ p: PASSWORD }).toString().slice(2),
    JSON.stringify(PASSWORD).slice(1, -1),
    Buffer.from(`me:${PASSWORD}`).toString('base64'),
  ];
  for (const form of forms) expect(redact(`<${form}>`)).toBe('<***>');
});

test('a configuration without secrets changes nothing', () => {
  expect(redactor(configOf(''))('default ***')).toBe('default ***');
});
