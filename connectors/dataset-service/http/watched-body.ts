/** The body of a download, with a watchdog: a connection that went silent would otherwise be waited for for ever. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Answer } from './client.ts';

/** Received, but not taken yet: at this many bytes the connection is paused. */
const QUEUE_BYTES = 1024 * 1024;

/** Bytes of a body, in chunks one behind the other; `length` is that of all. */
export interface Received {
  readonly chunks: readonly Buffer[];
  readonly length: number;
}

/**
 * The chunks of a body, as many at a time as have come: each write to the disk, and each word to the readers, costs more
 * than the 64 KiB of a chunk do. All that came before a fault is given before the fault is thrown: a body read as a stream
 * would drop what it had buffered, and each of many short cuts would fetch that again. Only time spent waiting for a
 * chunk counts as silence, so that a slow disk is no stall. Leaving early breaks the body off.
 * @param stallMs milliseconds without a byte after which the body is broken off
 * @throws SOURCE_UNAVAILABLE when it stalled; what the connection throws
 */
export async function* watched(body: Answer['body'], stallMs: number): AsyncGenerator<Received, void, undefined> {
  const queue = new Queue(body);
  try {
    for (;;) {
      const received = queue.take();
      if (received.length > 0) yield received;
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
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wake: () => void = () => {};
  ended = false;
  failure: Error | undefined;

  constructor(body: Answer['body']) {
    this.#body = body;
    body.on('data', (chunk: Buffer) => {
      this.#add(chunk);
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
      if (buffered !== null) this.#add(buffered);
      this.failure ??= error;
      this.#wake();
    });
    body.on('close', () => {
      if (!this.ended) this.failure ??= new Error('the connection was closed');
      this.#wake();
    });
  }

  #add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  take(): Received {
    const received = { chunks: this.#chunks, length: this.#bytes };
    this.#chunks = [];
    this.#bytes = 0;
    if (this.#body.isPaused()) this.#body.resume();
    return received;
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
