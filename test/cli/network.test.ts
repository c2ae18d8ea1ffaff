/** HTTPS with a CA of one's own, and proxies, as companies have both: told to Node and domainsync by the environment. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/service.ts';
import { createAuthority } from '../support/certificates.ts';
import { runCommand } from '../support/command.ts';
import { startHttpProxy } from '../support/connect-proxy.ts';
import type { Finished } from '../support/project.ts';
import { expectNoSecrets, toldErrors } from '../support/told.ts';

const PASSWORD = 'pw/5e "77';
const CREDENTIALS = `someone:${PASSWORD}`;
const AUTHORITY = createAuthority();
let sandbox: Sandbox;
let folder: string;
/** The service behind TLS. */
let https: string;
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
  const service = (name: string, url: string): Promise<void> =>
    writeFile(join(folder, name), `service: { url: '${url}', apiKey: ${sandbox.key} }\n`);
  await Promise.all([
    service('http.yaml', sandbox.url),
    service('https.yaml', https),
    service('expired.yaml', await startTls(true)),
  ]);
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
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
  expect(toldErrors(stranger)).toEqual([
    {
      code: 'SOURCE_UNAVAILABLE',
      message: expect.stringContaining('certificate'),
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    },
  ]);
  expect(trusted.stdout).toContain('customer@sandbox.example');
  expect(toldErrors(expired)[0]?.hint).toMatch(/^The certificate has expired/);
});

test('https goes through the tunnel of HTTPS_PROXY, in which the key is not seen', async () => {
  const proxy = await startHttpProxy(CREDENTIALS);
  try {
    const url = proxyUrl(proxy.port, USER);
    const runs = await Promise.all([
      me('https.yaml', { ...CA(), HTTPS_PROXY: url }),
      me('https.yaml', { ...CA(), https_proxy: url.slice('http://'.length), HTTPS_PROXY: 'http://127.0.0.1:1' }),
      me('https.yaml', { ...CA(), HTTP_PROXY: url }),
    ]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    const tunnel = `CONNECT 127.0.0.1:${new URL(https).port}`;
    expect(proxy.asked).toEqual([tunnel, tunnel, tunnel]);
    expect(proxy.headers()).not.toContain(sandbox.key);
    const direct = await me('https.yaml', { ...CA(), HTTPS_PROXY: url, NO_PROXY: 'other.example,127.0.0.1' });
    expect([direct.code, proxy.asked.length]).toEqual([0, 3]);
    const untrusted = await me('https.yaml', { HTTPS_PROXY: url });
    expect(toldErrors(untrusted)[0]?.hint).toMatch(/NODE_EXTRA_CA_CERTS.*through the proxy 127\.0\.0\.1:\d+/);
  } finally {
    await proxy.close();
  }
});

test('http goes through HTTP_PROXY; a proxy elsewhere never gets it from this machine to itself', async () => {
  const proxy = await startHttpProxy();
  try {
    const through = await me('http.yaml', { http_proxy: proxyUrl(proxy.port) });
    expect([through.code, proxy.asked]).toEqual([0, [`GET ${sandbox.url}/api/v1/me`]]);
    const direct = await me('http.yaml', { http_proxy: 'http://proxy.invalid:3128' });
    expect([direct.code, direct.stderr]).toEqual([0, '']);
  } finally {
    await proxy.close();
  }
});

test('a proxy that refuses, is not there, or is none', async () => {
  const proxy = await startHttpProxy(CREDENTIALS);
  try {
    const [refused, absent, wrong] = await Promise.all([
      me('https.yaml', { ...CA(), HTTPS_PROXY: proxyUrl(proxy.port, 'someone:else@') }),
      me('https.yaml', { ...CA(), HTTPS_PROXY: `http://${USER}127.0.0.1:1` }),
      me('https.yaml', { ...CA(), HTTPS_PROXY: `ftp://${USER}127.0.0.1:1` }),
    ]);
    expect([refused.code, absent.code, wrong.code]).toEqual([6, 6, 2]);
    expect(toldErrors(refused)[0]).toMatchObject({
      message: expect.stringContaining('407'),
      hint: expect.stringContaining(`The proxy 127.0.0.1:${proxy.port} does not pass requests on`),
    });
    expect(toldErrors(absent)[0]?.hint).toContain('through the proxy 127.0.0.1:1');
    expect(wrong.stderr).toContain('https_proxy (or HTTPS_PROXY) names no proxy');
  } finally {
    await proxy.close();
  }
});
