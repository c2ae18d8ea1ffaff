/** Linear memory: buffers that grow at the end, and copies in steps of 16 bytes. */

/**
 * Bytes that may be read past every text and written past every copy: both work in whole steps. `Growing` adds them to
 * all requested room; other allocations for texts must add them.
 */
export const SLACK: usize = 32;
const FIRST_ROOM: usize = 4096;

/** Copies a text. Up to SLACK bytes more than `length` are read and written. */
// @ts-ignore: decorator
@inline
export function copyText(to: usize, from: usize, length: usize): void {
  v128.store(to, v128.load(from));
  for (let done: usize = 16; done < length; done += 16) v128.store(to + done, v128.load(from + done));
}

/** Whether `length` bytes, at least four, are equal at two places. */
export function sameBytes(a: usize, b: usize, length: usize): bool {
  if (length < 16) {
    if (length < 8) {
      const last = length - 4;
      return load<u32>(a) == load<u32>(b) && load<u32>(a + last) == load<u32>(b + last);
    }
    const last = length - 8;
    return load<u64>(a) == load<u64>(b) && load<u64>(a + last) == load<u64>(b + last);
  }
  let done: usize = 0;
  for (; done + 16 <= length; done += 16) {
    if (v128.any_true(v128.xor(v128.load(a + done), v128.load(b + done)))) return false;
  }
  const last = length - 16;
  return !v128.any_true(v128.xor(v128.load(a + last), v128.load(b + last)));
}

/** Compares two texts by their bytes: below 0, 0, above 0. */
export function compareBytes(a: usize, aLength: usize, b: usize, bLength: usize): i32 {
  const shorter = min(aLength, bLength);
  for (let at: usize = 0; at < shorter; at++) {
    const difference = <i32>load<u8>(a + at) - <i32>load<u8>(b + at);
    if (difference != 0) return difference;
  }
  return <i32>aLength - <i32>bLength;
}

/**
 * A buffer that grows at the end and keeps its memory when its bytes are taken. `keep` marks the end of the bytes to stay;
 * `drop` goes back to the mark. Unmanaged, so that several can lie in one piece of memory: see `Growing.at`.
 */
@final
@unmanaged
export class Growing {
  start: usize;
  end: usize;
  private limit: usize;
  private kept: usize;

  constructor() {
    Growing.at(changetype<usize>(this));
  }

  /** Initialises a buffer whose own fields, of offsetof<Growing>() bytes, lie at `place`. */
  static at(place: usize): Growing {
    const made = changetype<Growing>(place);
    made.start = heap.alloc(FIRST_ROOM + SLACK);
    made.limit = made.start + FIRST_ROOM;
    made.clear();
    return made;
  }

  @inline
  get length(): usize {
    return this.end - this.start;
  }

  /**
   * Makes room for this many bytes after the end, plus SLACK. Invalidates places in this buffer.
   * @returns the end
   */
  @inline
  reserve(size: usize): usize {
    const end = this.end;
    return end + size > this.limit ? this.grow(size) : end;
  }

  private grow(size: usize): usize {
    const length = this.length;
    const kept = this.kept - this.start;
    const room = max<usize>(2 * (this.limit - this.start), length + size);
    this.start = heap.realloc(this.start, room + SLACK);
    this.end = this.start + length;
    this.limit = this.start + room;
    this.kept = this.start + kept;
    return this.end;
  }

  @inline
  keep(): void {
    this.kept = this.end;
  }

  @inline
  drop(): void {
    this.end = this.kept;
  }

  @inline
  clear(): void {
    this.end = this.start;
    this.kept = this.start;
  }

  @inline
  byte(value: u8): void {
    const at = this.reserve(1);
    store<u8>(at, value);
    this.end = at + 1;
  }

  @inline
  word(value: u64): void {
    const at = this.reserve(8);
    store<u64>(at, value);
    this.end = at + 8;
  }

  @inline
  copy(from: usize, length: usize): void {
    const at = this.reserve(length);
    copyText(at, from, length);
    this.end = at + length;
  }
}
