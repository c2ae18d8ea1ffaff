/** The body of a response, with a watchdog that ends a silent connection. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { HttpResponse } from './client.ts';

/** The connection is paused while so many bytes are queued. */
const QUEUE_BYTES = 1024 * 1024;

/** Consecutive chunks of a body; `length` is their sum. */
export interface Received {
  readonly chunks: readonly Buffer[];
  readonly length: number;
}

/**
 * Yields the chunks of a body, all that have come at a time: a write to the disk and a wake-up of the readers cost more than
 * the 64 KiB of a chunk. Everything received before a fault is yielded before the fault is thrown: a stream drops its buffer
 * at an error, and many short cuts would fetch those bytes again and again. Only waiting for a chunk counts as silence, so a
 * slow disk is no stall. Leaving the loop destroys the body.
 * @param stallMs milliseconds without a byte after which the body is given up
 * @throws SOURCE_UNAVAILABLE after a stall; the error of the connection
 */
export async function* watched(body: HttpResponse['body'], stallMs: number): AsyncGenerator<Received, void, undefined> {
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

/** Queues what a body sends, and pauses the body while the queue is full. */
class Queue {
  readonly #body: HttpResponse['body'];
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wake: () => void = () => {};
  ended = false;
  failure: Error | undefined;

  constructor(body: HttpResponse['body']) {
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
      // A paused stream buffers a little more; after an error that is still there to be read.
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

  /** Waits for data, the end or a failure. @returns false: there was none in this time */
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
