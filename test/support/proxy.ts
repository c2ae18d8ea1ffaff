/** A TCP proxy that can go silent: what a server that hangs, or a network that lost its way, looks like. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Proxy {
  readonly port: number;
  /** From now on everything sent is swallowed, and nothing is answered. */
  silence(): void;
  /** What was swallowed. */
  swallowed(): string;
  close(): Promise<void>;
}

/** Passes connections to 127.0.0.1 on to a port of the same host. */
export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let silent = false;
  let swallowed = '';
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    near.on('data', (bytes) => {
      if (silent) swallowed += bytes.toString('latin1');
      else far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!silent) near.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    silence: () => {
      silent = true;
    },
    swallowed: () => swallowed,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
