/** A TLS proxy in front of a plain server, as companies run it: terminates TLS and passes the bytes on. */
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';

export interface TlsProxy {
  readonly port: number;
  close(): Promise<void>;
}

/** @param target the port on loopback that the bytes go to */
export async function startTlsProxy(
  certificate: { readonly cert: string; readonly key: string },
  target: number,
): Promise<TlsProxy> {
  const sockets = new Set<Socket>();
  const kept = (socket: Socket, other: () => Socket): void => {
    sockets.add(socket);
    // Either end going away ends the other: what broke is told by the two that speak.
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      other().destroy();
    });
  };
  const server = createServer(certificate, (near) => {
    const far = connect(target, '127.0.0.1');
    kept(near, () => far);
    kept(far, () => near);
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
