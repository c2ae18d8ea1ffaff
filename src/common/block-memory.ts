/** The large buffers of loads, which blocks and payloads lie in. */

/**
 * Room for what a block becomes, which may be more than it was, or for one with a line of 16 MiB. Pages that are not written take
 * no memory.
 */
const BLOCK_CAPACITY = 64 * 1024 * 1024;
/** A buffer made for less is not kept: no block of a usual size would fit. */
const SMALLEST_LARGE = 8 * 1024 * 1024;

/** What the last load left, for the next one, unless the collector came by. Only it can free shared memory. */
let left = new WeakRef<SharedArrayBuffer[]>([]);

/**
 * Buffers that go round: filled with a block, encoded, sent, filled again. They are shared with the encoding threads. Made
 * anew and moved from thread to thread, they cost a page fault for every 4 KiB, and V8, which counts what comes and goes as
 * garbage, marked its heaps a hundred times for a million rows: 3 of 9 CPU seconds [measured].
 */
export class BlockMemory {
  readonly #most: number;
  readonly #free: SharedArrayBuffer[];
  #closed = false;

  /** @param most how many buffers lie ready at the most */
  constructor(most: number) {
    this.#most = most;
    this.#free = left.deref()?.splice(0, most) ?? [];
  }

  /** A buffer of at least so many bytes. What they are is not said. */
  take(bytes: number): SharedArrayBuffer {
    const found = bytes <= BLOCK_CAPACITY && bytes >= SMALLEST_LARGE ? this.#free.pop() : undefined;
    return found ?? new SharedArrayBuffer(bytes < SMALLEST_LARGE ? bytes : Math.max(bytes, BLOCK_CAPACITY));
  }

  /** Takes a buffer that nobody reads or writes any more. */
  give(buffer: SharedArrayBuffer): void {
    const usual = buffer.byteLength === BLOCK_CAPACITY;
    if (usual && !this.#closed && this.#free.length < this.#most) this.#free.push(buffer);
  }

  /** Nothing is kept for this load any more. */
  close(): void {
    this.#closed = true;
    if (this.#free.length > (left.deref()?.length ?? 0)) left = new WeakRef(this.#free);
  }
}
