/** Ports of servers that tests start. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** A port of this machine that nobody listens on now. Whoever comes first may take it. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const closed = once(server, 'close');
  server.close();
  await closed;
  return port;
}

/** Whether somebody listens on a port. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
