/** Deterministic numbers: every value of the sandbox is a pure function of the seed and its purpose. */

/** Mixes four integers into an unsigned 32-bit one, with the constants of MurmurHash3's finaliser. */
export function hash(seed: number, a: number, b = 0, c = 0): number {
  let h = seed ^ Math.imul(a + 1, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b) ^ Math.imul(b + 1, 0x27d4eb2f);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35) ^ Math.imul(c + 1, 0x165667b1);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Whether a hash falls into the first `share` (0 to 1) of all hashes. */
export function within(hashed: number, share: number): boolean {
  return hashed < share * 4294967296;
}

/** A stream of numbers (mulberry32). One per domain and column group, so that groups change independently. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0;
  }

  /** 32 bits, unsigned. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** In [0, 1). */
  real(): number {
    return this.next() / 4294967296;
  }

  /** An integer in [0, n). */
  below(n: number): number {
    return this.next() % n;
  }

  chance(share: number): boolean {
    return within(this.next(), share);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.next() % list.length] as T;
  }
}

/**
 * Turns weights into a table in which entries occur in proportion to their weights, so a weighted choice is one look-up.
 * Every entry occurs at least once.
 */
export function spread<T>(entries: readonly (readonly [T, number])[], places = 4096): readonly T[] {
  const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
  return entries.flatMap(([value, weight]) =>
    new Array<T>(Math.max(1, Math.round((weight / total) * places))).fill(value),
  );
}
