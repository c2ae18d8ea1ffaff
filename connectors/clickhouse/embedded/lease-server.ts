/**
 * The embedded server's life: it ends soon after the last of its users has gone. Every user keeps a socket open for as
 * long as it lives; the kernel closes it however the user ends, kill -9 included.
 *
 * States: waiting for the first lease -> leased <-> lingering (no lease) -> ended. Once ended no lease is granted.
 */
import { createServer, type Server, type Socket } from 'node:net';

interface LeaseServerOptions {
  /** Sent to whoever connects, so that a user knows that it reached this start of the server. */
  readonly greeting: string;
  /** Milliseconds without any lease before the first one came, and after the last one went. */
  readonly firstWait: number;
  readonly linger: number;
  readonly onIdle: () => void;
}

/** Listens on a free port of 127.0.0.1 and resolves with it. */
export async function serveLeases(options: LeaseServerOptions): Promise<number> {
  const sockets = new Set<Socket>();
  let timer = setTimeout(end, options.firstWait);
  const server: Server = createServer((socket) => {
    clearTimeout(timer);
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) timer = setTimeout(end, options.linger);
    });
    socket.resume();
    // Only who has read the greeting holds a lease: a connection that waits unaccepted when the server ends is reset.
    socket.write(`${options.greeting}\n`);
  });

  function end(): void {
    server.close();
    if (sockets.size === 0) options.onIdle();
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the lease server has no port');
  return address.port;
}
