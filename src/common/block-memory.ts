/** The large buffers of loads, which hold blocks and payloads. */

/**
 * Room for an encoded block, which may be larger than its input, or for a block with a line of 16 MiB. Pages that are never
 * written take no memory.
 */
const BLOCK_CAPACITY = 64 * 1024 * 1024;
/** Buffers smaller than this are not kept: no block of the usual size would fit. */
const SMALLEST_LARGE = 8 * 1024 * 1024;

/** Buffers the last load left for the next one, unless garbage collection took them. Only it can free shared memory. */
let left = new WeakRef<SharedArrayBuffer[]>([]);

/**
 * Recycled buffers: filled with a block, encoded, sent, filled again. They are shared with the encoding threads. New buffers,
 * moved from thread to thread, cost a page fault for every 4 KiB. V8 also counts them as garbage: it marked its heaps a hundred
 * times for a million rows, 3 of 9 CPU seconds [measured].
 */
export class BlockMemory {
  readonly #most: number;
  readonly #free: SharedArrayBuffer[];
  #closed = false;

  /** @param most how many free buffers are kept at most */
  constructor(most: number) {
    this.#most = most;
    this.#free = left.deref()?.splice(0, most) ?? [];
  }

  /** A buffer of at least this many bytes, with arbitrary content. */
  take(bytes: number): SharedArrayBuffer {
    const found = bytes <= BLOCK_CAPACITY && bytes >= SMALLEST_LARGE ? this.#free.pop() : undefined;
    return found ?? new SharedArrayBuffer(bytes < SMALLEST_LARGE ? bytes : Math.max(bytes, BLOCK_CAPACITY));
  }

  /** Returns a buffer that nobody reads or writes any more. */
  give(buffer: SharedArrayBuffer): void {
    const usual = buffer.byteLength === BLOCK_CAPACITY;
    if (usual && !this.#closed && this.#free.length < this.#most) this.#free.push(buffer);
  }

  /** Keeps no more buffers for this load. */
  close(): void {
    this.#closed = true;
    if (this.#free.length > (left.deref()?.length ?? 0)) left = new WeakRef(this.#free);
  }
}
