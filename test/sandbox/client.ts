/** A client that hides nothing: one request on a socket of its own, and how it ended. */
import { type IncomingHttpHeaders, request } from 'node:http';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/service.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Why the answer ended early; null when it was whole. */
  readonly error: string | null;
}

export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** Without the sandbox's key. */
  readonly anonymous?: boolean;
  /** Ends the request once so many bytes have come. */
  readonly leaveAfter?: number;
  /** Told how many bytes have come so far. */
  readonly onBytes?: (bytes: number) => void;
}

/** Asks; rejects only when there is no answer at all. */
export function ask(sandbox: Sandbox, path: string, asking: Asking = {}): Promise<Answer> {
  const authorization = asking.anonymous === true ? {} : { authorization: `Bearer ${sandbox.key}` };
  return new Promise((resolve, reject) => {
    const headers = { ...authorization, ...asking.headers };
    const sent = request(`${sandbox.url}${path}`, { agent: false, method: asking.method ?? 'GET', headers });
    // After the response has begun, the same error reaches the response too: the promise is settled there.
    sent.on('error', (error) => {
      if (!begun) reject(error);
    });
    let begun = false;
    sent.once('response', (response) => {
      begun = true;
      const parts: Buffer[] = [];
      let bytes = 0;
      const end = (error: string | null): void =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts), error });
      response.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        asking.onBytes?.(bytes);
        if (bytes >= (asking.leaveAfter ?? Infinity)) response.destroy(new Error('left'));
      });
      response.once('end', () => end(null));
      response.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    });
    sent.end(asking.body);
  });
}

export function json(answer: Answer): unknown {
  return JSON.parse(answer.body.toString('utf8'));
}

/** Runs with a sandbox that is closed in any case. */
export async function withSandbox(options: SandboxOptions, use: (sandbox: Sandbox) => Promise<void>): Promise<void> {
  const sandbox = await startSandbox({ rows: 2000, ...options });
  try {
    await use(sandbox);
  } finally {
    await sandbox.close();
  }
}
