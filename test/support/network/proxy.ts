/** A TCP proxy that can go silent, like a hanging server or a broken network. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Proxy {
  readonly port: number;
  /** From now on everything sent is swallowed, and nothing is answered. */
  silence(): void;
  /** From now on the same of the connections that there are; later ones are passed on. */
  strand(): void;
  /** From now on a connection ends in place of an answer, where `draw` says so: what was asked is done, and nobody hears. */
  lose(draw: () => boolean): void;
  /** Ends the connections that there are. */
  cut(): void;
  /** What was swallowed. */
  swallowed(): string;
  close(): Promise<void>;
}

/** Passes connections to 127.0.0.1 on to a port of the same host. */
export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let silent = false;
  let stranded = new Set<Socket>();
  let loses = (): boolean => false;
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
      if (silent || stranded.has(near)) swallowed += bytes.toString('latin1');
      else far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (loses()) far.destroy();
      else if (!silent && !stranded.has(near)) near.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    silence: () => {
      silent = true;
    },
    strand: () => {
      stranded = new Set(sockets);
    },
    lose: (draw) => {
      loses = draw;
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
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
