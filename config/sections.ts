/** The schema of every section but `pipelines` (docs/contract.md, "Configuration"), with the defaults. */
import { z } from 'zod';
import {
  Bad,
  days,
  duration,
  flag,
  hostAndPort,
  isLoopback,
  isMapping,
  type Loose,
  leaf,
  list,
  matching,
  notA,
  number,
  oneOf,
  oneOrOther,
  optionalText,
  patience,
  rule,
  section,
  text,
  webUrl,
} from './values.ts';

const HTTP_NEEDS = 'must be https: over http the key would travel unencrypted (allowHttp: true permits it)';

export const service = rule(
  section({
    url: text((value) => webUrl(value, 'a URL of https, or http')),
    // The key becomes a header value. Other characters cannot be sent, or would end the header.
    apiKey: matching(/^[!-~]+$/, 'printable ASCII without spaces'),
    allowHttp: flag().default(false),
  }),
  'url',
  HTTP_NEEDS,
  ({ url, allowHttp }) =>
    typeof url !== 'string' || allowHttp !== false || !url.startsWith('http:') || isLoopback(new URL(url).hostname),
);

const setting = leaf((value) =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : new Bad('must be text, a number, true or false'),
);

const settings = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), setting, {
  error: (issue) => (issue.code === 'invalid_key' ? 'is no name of a setting' : notA('mapping', issue.input)),
});

const serverOrFolder = text((value) => {
  if (!value.startsWith('embedded:')) return webUrl(value, 'embedded:<folder>, or a URL of http or https');
  return value === 'embedded:' ? new Bad('must name a folder: embedded:./data/clickhouse') : value;
});

/** Replicas of one cluster. Of two addresses that are the same the second would stand in for the first when that is away. */
const replicas = list(text((value) => webUrl(value, 'a URL of http or https'))).superRefine((urls, context) => {
  for (const [n, url] of urls.entries()) {
    const message = 'stands in the list already';
    if (urls.indexOf(url) < n) context.addIssue({ code: 'custom', path: [n], message });
  }
});

/** Written unquoted, `{cluster}` is a mapping in YAML. */
const clusterName = leaf((value) => {
  if (typeof value !== 'string') return new Bad("must be text: put it in quotes, as in '{cluster}'");
  if (value === '' || value.length > 255) return new Bad("must be the name of a cluster, or a macro: '{cluster}'");
  return /['"`\\]|\p{Cc}/u.test(value) ? new Bad('must hold no quotes, backslashes or control characters') : value;
});

const server = section({
  url: oneOrOther(Array.isArray, serverOrFolder, replicas).default('embedded:./data/clickhouse'),
  cluster: clusterName.optional(),
  replicaTimeout: patience().optional(),
  database: matching(/^[A-Za-z_][A-Za-z0-9_-]*$/, 'a name: letters, digits, _ and -').default('default'),
  username: text().default('default'),
  password: optionalText().default(''),
  settings: settings.nullable().default({}),
});

const ALONE = 'belongs to a server: the embedded one has no replicas';

export const clickhouse = rule(
  rule(server, 'cluster', ALONE, onServer('cluster')),
  'replicaTimeout',
  ALONE,
  onServer('replicaTimeout'),
);

function onServer(key: string): (value: Loose) => boolean {
  return ({ [key]: given, url }) => given === undefined || typeof url !== 'string' || !url.startsWith('embedded:');
}

const tls = section({
  rejectUnauthorized: flag().optional(),
  ca: text().optional(),
  cert: text().optional(),
  key: text().optional(),
  passphrase: text().optional(),
  servername: text().optional(),
});

const ssl = oneOrOther(isMapping, flag(), tls);

const PASSWORD_KEYS = ['username', 'password'];
const AWS_KEYS = ['authorizationIdentity', 'accessKeyId', 'secretAccessKey'];

const sasl = section({
  mechanism: oneOf(['plain', 'scram-sha-256', 'scram-sha-512', 'aws']),
  username: text().optional(),
  password: text().optional(),
  authorizationIdentity: text().optional(),
  accessKeyId: text().optional(),
  secretAccessKey: text().optional(),
  sessionToken: text().optional(),
}).superRefine((value: Loose, context) => {
  const needed = value['mechanism'] === 'aws' ? AWS_KEYS : PASSWORD_KEYS;
  const foreign = value['mechanism'] === 'aws' ? PASSWORD_KEYS : [...AWS_KEYS, 'sessionToken'];
  const add = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
  for (const key of needed) if (value[key] === undefined) add(key, 'is missing: the mechanism needs it');
  for (const key of foreign) if (value[key] !== undefined) add(key, 'does not belong to the mechanism');
});

const broker = leaf((value) => {
  const read = hostAndPort(1).safeParse(value);
  return read.success ? String(value) : new Bad('must be host:port');
});

export const kafka = section({
  brokers: list(broker).default(['localhost:9092']),
  ssl: ssl.optional(),
  sasl: sasl.optional(),
});

/** Only Redis takes its user and password in the URL: it has no other place for them. */
export const redis = section({
  url: text((value) => {
    const fits = URL.canParse(value) && /^rediss?:\/\/[^/]/.test(value) && new URL(value).hostname !== '';
    return fits ? value : new Bad('must be a URL of redis or rediss');
  }).default('redis://localhost:6379'),
});

export const dataDir = text().default('./data');

export const download = section({
  keep: number({ min: 0, max: 1_000_000, whole: true }, 'a whole number, 0 or more').default(1),
  maxWindowLog: number({ min: 10, max: 31, whole: true }, 'a whole number from 10 to 31').default(27),
});

const DAY = 86_400_000;

export const history = section({
  runs: duration().default(365 * DAY),
  rejects: duration().default(30 * DAY),
  versions: days().optional(),
});

export const worker = rule(
  section({
    http: hostAndPort(0).default({ host: '127.0.0.1', port: 8080 }),
    // An empty token from the environment means no token.
    token: leaf((value) =>
      typeof value === 'string' && /^[!-~]*$/.test(value) ? value : new Bad('must be printable ASCII without spaces'),
    ).optional(),
  }),
  'http',
  'needs worker.token: without one, the worker binds only a loopback address',
  ({ http, token }) =>
    !isMapping(http) || typeof http['host'] !== 'string' || isLoopback(http['host']) || (token ?? '') !== '',
);
