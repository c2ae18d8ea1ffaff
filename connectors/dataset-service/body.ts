/** The body of a download, with a watchdog: a connection that went silent would otherwise be waited for for ever. */
import { DomainsyncError } from '../../src/errors.ts';
import type { Answer } from './client.ts';

/** Received, but not taken yet: at this many bytes the connection is paused. */
const QUEUE_BYTES = 256 * 1024;

/**
 * The chunks of a body. All that came before a fault is given before the fault is thrown: a body read as a stream
 * would drop what it had buffered, and each of many short cuts would fetch that again. Only time spent waiting for a
 * chunk counts as silence, so that a slow disk is no stall. Leaving early breaks the body off.
 * @param stallMs milliseconds without a byte after which the body is broken off
 * @throws SOURCE_UNAVAILABLE when it stalled; what the connection throws
 */
export async function* watched(body: Answer['body'], stallMs: number): AsyncGenerator<Buffer, void, undefined> {
  const queue = new Queue(body);
  try {
    for (;;) {
      const chunk = queue.take();
      if (chunk !== undefined) yield chunk;
      else if (queue.ended) return;
      else if (queue.failure !== undefined) throw queue.failure;
      else if (!(await queue.change(stallMs))) {
        const message = `the service sent nothing for ${stallMs / 1000} s in the middle of the file`;
        throw new DomainsyncError('SOURCE_UNAVAILABLE', message);
      }
    }
  } finally {
    body.destroy();
  }
}

/** Takes what a body sends as soon as it comes, and pauses it while there is enough. */
class Queue {
  readonly #body: Answer['body'];
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #wake: () => void = () => {};
  ended = false;
  failure: Error | undefined;

  constructor(body: Answer['body']) {
    this.#body = body;
    body.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes >= QUEUE_BYTES) body.pause();
      this.#wake();
    });
    body.on('end', () => {
      this.ended = true;
      this.#wake();
    });
    body.on('error', (error: Error) => {
      // While it was paused the stream went on buffering a little; an error leaves that to be read.
      const buffered: Buffer | null = body.read();
      if (buffered !== null) this.#chunks.push(buffered);
      this.failure ??= error;
      this.#wake();
    });
    body.on('close', () => {
      if (!this.ended) this.failure ??= new Error('the connection was closed');
      this.#wake();
    });
  }

  take(): Buffer | undefined {
    const chunk = this.#chunks.shift();
    this.#bytes -= chunk?.length ?? 0;
    if (this.#bytes < QUEUE_BYTES && this.#body.isPaused()) this.#body.resume();
    return chunk;
  }

  /** True when there is news, false when there was none for so long. */
  change(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds, false);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}
