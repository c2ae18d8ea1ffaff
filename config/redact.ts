/** Keeps a configuration's secrets out of all output. */
import type { Config } from './schema.ts';

/**
 * Returns a function that replaces every secret of the configuration with `***`, in every form it can take: plain,
 * in a URL, in a JSON string, in a Basic Authorization header.
 */
export function redactor(config: Config): (text: string) => string {
  const forms = new Set(secretsOf(config).flatMap(formsOf));
  forms.delete('');
  if (forms.size === 0) return (text) => text;
  // Longest first, to replace a secret that contains another as a whole. One pass, to keep `***` itself.
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(ordered.map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g');
  return (text) => text.replace(pattern, '***');
}

function secretsOf({ service, clickhouse, kafka, redis, worker }: Config): string[] {
  const secrets = [service?.apiKey, worker.token];
  if (clickhouse.kind === 'server' && clickhouse.password !== '') {
    secrets.push(clickhouse.password, basic(clickhouse.username, clickhouse.password));
  }
  const { sasl, ssl } = kafka;
  if (sasl !== undefined) {
    secrets.push(sasl.password, sasl.accessKeyId, sasl.secretAccessKey, sasl.sessionToken);
    secrets.push(sasl.authorizationIdentity);
  }
  if (typeof ssl === 'object') secrets.push(ssl.key, ssl.passphrase);
  for (const url of [redis.url, service?.proxy?.httpProxy, service?.proxy?.httpsProxy]) {
    if (url !== undefined && url !== '') secrets.push(...secretsOfUrl(new URL(url)));
  }
  return secrets.filter((secret) => secret !== undefined);
}

/** Nothing prints a user name alone, but the whole URL may be printed as written. */
function secretsOfUrl({ username, password }: URL): string[] {
  if (username === '' && password === '') return [];
  return [password, decoded(password), `${username}:${password}`, basic(decoded(username), decoded(password))];
}

/** Credentials as in an Authorization header. */
function basic(username: string, password: string): string {
  return Buffer.from(`${username}:${password}`).toString('base64');
}

function formsOf(secret: string): string[] {
  const encoded = wellFormed(encodeURIComponent, secret);
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, encoded, lowerHex(encoded), new URLSearchParams([['', secret]]).toString().slice(1), json];
}

function lowerHex(encoded: string): string {
  return encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

function decoded(text: string): string {
  return wellFormed(decodeURIComponent, text);
}

/** A lone surrogate or percent sign makes these functions throw. */
function wellFormed(change: (text: string) => string, text: string): string {
  try {
    return change(text);
  } catch {
    return text;
  }
}
