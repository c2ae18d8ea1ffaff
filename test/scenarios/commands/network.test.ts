/** HTTPS with a CA of one's own, and proxies, as companies have both: told to Node and domainsync by the environment. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/service.ts';
import { runCommand } from '../../support/command.ts';
import { startHttpProxy } from '../../support/download/connect-proxy.ts';
import { expectNoSecrets, shownErrors } from '../../support/errors-shown.ts';
import { createAuthority } from '../../support/network/certificates.ts';
import type { Finished } from '../../support/project.ts';

const PASSWORD = 'pw/5e "77';
const CREDENTIALS = `someone:${PASSWORD}`;
const AUTHORITY = createAuthority();
const HOSTS = `import dns from 'node:dns';
const { lookup } = dns;
dns.lookup = (host, ...rest) => lookup(host === 'service.test' ? '127.0.0.1' : host, ...rest);
`;
let sandbox: Sandbox;
let folder: string;
/** The service behind TLS. */
let https: string;
/** The same under a name that is not this machine's, since to this machine no request goes through a proxy. */
let elsewhere: string;
/** Lets a command find that name without a proxy. */
let hosts: Record<string, string>;
const servers: Server[] = [];

const portOf = (server: Server | undefined): number => (server?.address() as AddressInfo | undefined)?.port ?? 0;

/** The sandbox behind TLS. */
async function startTls(expired: boolean): Promise<string> {
  const server = createServer(AUTHORITY.issue(expired), (message, response) => {
    const { host: _, ...headers } = message.headers;
    const onward = request(`${sandbox.url}${message.url}`, { headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    onward.end();
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  servers.push(server);
  return `https://127.0.0.1:${portOf(server)}`;
}

beforeAll(async () => {
  sandbox = await startSandbox({ rows: 200 });
  folder = await mkdtemp(join(tmpdir(), 'domainsync-network-'));
  await writeFile(join(folder, 'ca.pem'), AUTHORITY.ca);
  https = await startTls(false);
  elsewhere = https.replace('127.0.0.1', 'service.test');
  await writeFile(join(folder, 'hosts.mjs'), HOSTS);
  hosts = { NODE_OPTIONS: `--import=${pathToFileURL(join(folder, 'hosts.mjs'))}` };
  const service = (name: string, url: string, allowHttp = false): Promise<void> =>
    writeFile(join(folder, name), `service: { url: '${url}', apiKey: ${sandbox.key}, allowHttp: ${allowHttp} }\n`);
  await Promise.all([
    service('http.yaml', sandbox.url),
    service('https.yaml', https),
    service('elsewhere.yaml', elsewhere),
    service('elsewhere-http.yaml', sandbox.url.replace('127.0.0.1', 'service.test'), true),
    service('expired.yaml', await startTls(true)),
  ]);
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await sandbox.close();
  // The embedded server ends a moment after its last user.
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
});

async function me(config: string, env: Record<string, string>): Promise<Finished> {
  const finished = await runCommand(folder, ['-c', config, '--log-level', 'debug', 'me'], env);
  expectNoSecrets(finished, [sandbox.key, PASSWORD, encodeURIComponent(PASSWORD), btoa(CREDENTIALS)]);
  return finished;
}

const CA = (): Record<string, string> => ({ NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') });
const proxyUrl = (port: number, user = ''): string => `http://${user}127.0.0.1:${port}`;
const USER = `someone:${encodeURIComponent(PASSWORD)}@`;

test('a certificate of a CA of its own: refused, saying how to trust it; trusted when told to', async () => {
  const [stranger, trusted, expired] = await Promise.all([
    me('https.yaml', {}),
    me('https.yaml', CA()),
    me('expired.yaml', CA()),
  ]);
  expect([stranger.code, trusted.code, expired.code]).toEqual([6, 0, 6]);
  expect(shownErrors(stranger)).toEqual([
    {
      code: 'SOURCE_UNAVAILABLE',
      message: expect.stringContaining('certificate'),
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    },
  ]);
  expect(trusted.stdout).toContain('customer@sandbox.example');
  expect(shownErrors(expired)[0]?.hint).toMatch(/^The certificate has expired/);
});

test('https goes through the tunnel of HTTPS_PROXY, in which the key is not seen', async () => {
  const proxy = await startHttpProxy(CREDENTIALS);
  try {
    const url = proxyUrl(proxy.port, USER);
    const runs = await Promise.all([
      me('elsewhere.yaml', { ...CA(), HTTPS_PROXY: url }),
      me('elsewhere.yaml', { ...CA(), https_proxy: url.slice('http://'.length), HTTPS_PROXY: 'http://127.0.0.1:1' }),
      me('elsewhere.yaml', { ...CA(), HTTP_PROXY: url }),
    ]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    const tunnel = `CONNECT ${new URL(elsewhere).host}`;
    expect(proxy.asked).toEqual([tunnel, tunnel, tunnel]);
    expect(proxy.headers()).not.toContain(sandbox.key);
    const direct = await me('elsewhere.yaml', {
      ...CA(),
      ...hosts,
      HTTPS_PROXY: url,
      NO_PROXY: 'other.example,service.test',
    });
    expect([direct.code, proxy.asked.length]).toEqual([0, 3]);
    const untrusted = await me('elsewhere.yaml', { HTTPS_PROXY: url });
    expect(shownErrors(untrusted)[0]?.hint).toMatch(/NODE_EXTRA_CA_CERTS.*through the proxy 127\.0\.0\.1:\d+/);
  } finally {
    await proxy.close();
  }
});

test('http goes through HTTP_PROXY; no proxy ever gets what this machine sends to itself', async () => {
  const proxy = await startHttpProxy();
  try {
    const url = proxyUrl(proxy.port);
    const through = await me('elsewhere-http.yaml', { http_proxy: url });
    const asked = `GET http://service.test:${sandbox.port}/api/v1/me`;
    expect([through.code, proxy.asked]).toEqual([0, [asked]]);
    const all = { http_proxy: url, HTTP_PROXY: url, https_proxy: url, ALL_PROXY: url, NODE_USE_ENV_PROXY: '1' };
    const [direct, tls, invalid] = await Promise.all([
      me('http.yaml', all),
      me('https.yaml', { ...all, ...CA() }),
      me('http.yaml', { http_proxy: 'http://proxy.invalid:3128' }),
    ]);
    expect([direct, tls, invalid].map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
      [0, ''],
    ]);
    expect(proxy.asked).toEqual([asked]);
  } finally {
    await proxy.close();
  }
});

test('a load on this machine alone asks no proxy for anything', async () => {
  const proxy = await startHttpProxy();
  try {
    const url = proxyUrl(proxy.port);
    const config = `service: { url: '${sandbox.url}', apiKey: ${sandbox.key} }
clickhouse: { url: 'embedded:./clickhouse' }
pipelines: { dns: { dataset: dns, to: { clickhouse: { table: dns } } } }
`;
    await writeFile(join(folder, 'load.yaml'), config);
    const env = { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NODE_USE_ENV_PROXY: '1' };
    const { code, stdout } = await runCommand(folder, ['-c', 'load.yaml', 'sync'], env);
    expect([code, stdout]).toEqual([0, expect.stringContaining('200 inserted')]);
    expect(proxy.asked).toEqual([]);
  } finally {
    await proxy.close();
  }
});

test('a proxy that refuses, is not there, or is none', async () => {
  const proxy = await startHttpProxy(CREDENTIALS);
  try {
    const [refused, absent, wrong] = await Promise.all([
      me('elsewhere.yaml', { ...CA(), HTTPS_PROXY: proxyUrl(proxy.port, 'someone:else@') }),
      me('elsewhere.yaml', { ...CA(), HTTPS_PROXY: `http://${USER}127.0.0.1:1` }),
      me('https.yaml', { ...CA(), HTTPS_PROXY: `ftp://${USER}127.0.0.1:1` }),
    ]);
    expect([refused.code, absent.code, wrong.code]).toEqual([6, 6, 2]);
    expect(shownErrors(refused)[0]).toMatchObject({
      message: expect.stringContaining('407'),
      hint: expect.stringContaining(`The proxy 127.0.0.1:${proxy.port} does not pass requests on`),
    });
    expect(shownErrors(absent)[0]?.hint).toContain('through the proxy 127.0.0.1:1');
    expect(wrong.stderr).toContain('https_proxy (or HTTPS_PROXY) names no proxy');
  } finally {
    await proxy.close();
  }
});
