/** An HTTP proxy on a real socket: CONNECT for https, absolute URLs for http, with an optional password. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface HttpProxy {
  readonly port: number;
  /** `CONNECT host:port`, or `GET http://...`, of all that was asked; with the bytes that came in clear. */
  readonly asked: string[];
  /** The headers of what was asked, as one text. */
  headers(): string;
  close(): Promise<void>;
}

/** Names that end so are those of this machine, to the proxy alone. */
const onward = (host: string): string => (host.endsWith('.test') ? '127.0.0.1' : host);

/** @param credentials `user:password` that it wants; none: it takes everybody */
export async function startHttpProxy(credentials?: string): Promise<HttpProxy> {
  const sockets = new Set<Socket>();
  const asked: string[] = [];
  let headers = '';
  const wanted = credentials === undefined ? null : `Basic ${Buffer.from(credentials).toString('base64')}`;
  const taken = (message: IncomingMessage): boolean => {
    asked.push(`${message.method} ${message.url}`);
    headers += JSON.stringify(message.headers);
    return wanted === null || message.headers['proxy-authorization'] === wanted;
  };
  const server = createServer((message, response) => {
    if (!taken(message)) {
      response.writeHead(407).end();
      return;
    }
    const { 'proxy-authorization': _, ...passed } = message.headers;
    const url = new URL(message.url ?? '');
    url.hostname = onward(url.hostname);
    const asking = request(url, { headers: passed, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    asking.on('error', () => response.destroy());
    response.on('close', () => asking.destroy());
    asking.end();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (message: IncomingMessage, near: Socket) => {
    near.on('error', () => {});
    if (!taken(message)) {
      near.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const target = new URL(`http://${message.url}`);
    const far = connect(Number(target.port), onward(target.hostname), () => {
      near.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    sockets.add(far);
    far.on('error', () => near.destroy());
    far.on('close', () => {
      sockets.delete(far);
      near.destroy();
    });
    near.on('close', () => far.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    headers: () => headers,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
