/** What goes through a proxy: nothing that this machine sends to itself, by whatever name, or sent on by whomever. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Source } from '../../../../src/types/index.ts';
import { type HttpProxy, startHttpProxy } from '../../../support/download/connect-proxy.ts';
import { described, KEY, NEVER, OFFER, type Service, source, startService, TARGET, whole } from '../service.ts';

let folder = '';
let service: Service;
let proxy: HttpProxy;
const clients: Source[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-proxy-'));
  service = await startService({ ...OFFER });
  proxy = await startHttpProxy();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await proxy.close();
  await service.close();
  await rm(folder, { recursive: true });
});

/** The connector for the service under another host, with the proxy for everything. */
function under(host: string): Source {
  const url = `http://127.0.0.1:${proxy.port}/`;
  const settings = { httpProxy: url, httpsProxy: url, noProxy: '' };
  const client = source(service.url.replace('127.0.0.1', host), folder, { proxy: settings });
  clients.push(client);
  return client;
}

test.each(['127.0.0.1', '127.1', '0x7f.1', '127.0.0.2', '0.0.0.0', 'localhost', '[::ffff:127.0.0.1]'])(
  'the service at %s is asked directly',
  async (host) => {
    // Listens on 127.0.0.1 alone, where not everything leads: who is not there is no proxy's to answer for.
    const found = await under(host)
      .newest(TARGET, NEVER)
      .catch((error: unknown) => error);
    if (host !== '127.0.0.2') expect(found).toEqual(described(OFFER));
    expect(proxy.asked).toEqual([]);
  },
);

test('a file that a service elsewhere keeps on this machine is fetched directly', async () => {
  service.instead = ({ url }, response) => {
    if (!url.startsWith('/api/')) return false;
    response.writeHead(307, { location: `${service.url}/files/${OFFER.name}` }).end();
    return true;
  };
  const client = under('service.test');
  const file = await client.newest(TARGET, NEVER);
  await whole(await client.open(TARGET, file, NEVER));
  expect([...new Set(proxy.asked)]).toEqual([
    `GET ${service.url.replace('127.0.0.1', 'service.test')}/api/download/dns`,
  ]);
  expect(proxy.headers()).toContain(KEY);
  const files = service.seen.filter(({ url }) => url.startsWith('/files/'));
  expect(files).not.toEqual([]);
  for (const { headers } of files) expect(headers.authorization).toBeUndefined();
});
