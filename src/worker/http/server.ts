/** The HTTP server. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Hono } from 'hono';
import { DomainsyncError } from '../../common/errors.ts';
import type { HttpSetup } from '../setup.ts';

interface HttpServer {
  /** Where it listens, for display: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Closes all connections at once. */
  close(): Promise<void>;
}

/** @throws USAGE when the address is taken or not available */
export async function listen(app: Hono, { host, port }: Pick<HttpSetup, 'host' | 'port'>): Promise<HttpServer> {
  // Without `http2` in the options this is a plain HTTP/1.1 server.
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be used: ${message}`;
    throw new DomainsyncError('USAGE', `the address ${host}:${port} of worker.http ${why}`, {
      cause,
      hint: 'Another worker may run here: give this one another worker.http; port 0 takes any that is free.',
    });
  }
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
