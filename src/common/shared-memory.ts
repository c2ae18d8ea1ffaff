/** Large buffers, and copies to and from memory shared by threads. */

/**
 * Above 32 MiB, malloc requests each buffer from the system and returns it when freed. Smaller ones come from malloc's own pools,
 * which keep them: with two threads 80 MiB of payloads and 30 MB of blocks lay unused [measured]. Pages that are never written
 * take no memory, so the size costs nothing.
 */
export const LARGE_CAPACITY = 33 * 1024 * 1024;

/**
 * Copies bytes to `at`. It avoids copy() and set(): with shared memory they go byte by byte unless both sides happen to have the
 * same alignment [measured: a fifth of this speed].
 * @returns where they end
 */
export function copyInto(to: Buffer, at: number, from: Uint8Array): number {
  const end = at + from.length;
  // fill() rejects an empty value.
  if (from.length > 0) to.fill(from, at, end);
  return end;
}
