/** Large buffers, and copies of bytes that lie in memory which threads share. */

/**
 * Above 32 MiB, malloc asks the system for each buffer and gives it back when it is freed. Smaller ones it cuts from its
 * own pools and keeps: with two threads 80 MiB of payloads, 30 MB of blocks, that nothing used [measured]. Pages that are
 * not written take no memory, so the size costs nothing.
 */
export const LARGE_CAPACITY = 33 * 1024 * 1024;

/**
 * Copies bytes to `at`. Not by copy() or set(): from or into shared memory these go byte by byte unless both sides happen to be
 * aligned alike [measured: a fifth of this speed].
 * @returns where they end
 */
export function copyInto(to: Buffer, at: number, from: Uint8Array): number {
  const end = at + from.length;
  // fill() takes no bytes for a fault.
  if (from.length > 0) to.fill(from, at, end);
  return end;
}
