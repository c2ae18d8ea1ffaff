/** The keys of a map's value in the order in which they are stored: by their bytes, each once (contract 3, "Maps"). */
import { compareBytes, doubled } from '../scan/bytes.ts';
import * as kinds from '../scan/kinds.ts';
import type { Line } from '../scan/line.ts';
import type { Tape } from '../scan/tape.ts';
import type { Bytes } from '../types.ts';
import { TokenText } from './text.ts';

const { ARRAY, STRIDE, STRING } = kinds;

/** Up to so many keys are put in order by insertion: many come in order, and most maps are small. */
const FEW_KEYS = 32;
const WORD = 4;

export class MapKeys {
  readonly #bytes: Bytes;
  readonly #tape: Tape;
  readonly #left: TokenText;
  readonly #right: TokenText;
  #keys = new Int32Array(2 * FEW_KEYS);
  /** Of each key its first four bytes as a number, zeros behind a shorter one: where they differ, so do the keys. */
  readonly #ranks = new Float64Array(FEW_KEYS);
  #count = 0;

  constructor(line: Line) {
    this.#bytes = line.bytes;
    this.#tape = line.tape;
    this.#left = new TokenText(line);
    this.#right = new TokenText(line);
  }

  get count(): number {
    return this.#count;
  }

  /** The token of a key. */
  token(index: number): number {
    return this.#keys[index] as number;
  }

  clear(): void {
    this.#count = 0;
  }

  /** The keys of an object, or the strings of an array. Of those that stand twice the last. */
  read(container: number): void {
    if (!this.#readFew(container)) this.#readMany(container);
  }

  /** By insertion. @returns false where there are too many for that, or some that are not their own bytes, or two alike */
  #readFew(container: number): boolean {
    const { tokens } = this.#tape;
    const { view } = this.#bytes;
    const keys = this.#keys;
    const ranks = this.#ranks;
    const end = this.#tape.next(container);
    const inObject = this.#tape.kind(container) !== ARRAY;
    let count = 0;
    let key = this.#tape.first(container);
    while (key < end) {
      if (count === FEW_KEYS || tokens[key] !== STRING) return false;
      const start = tokens[key + 1] as number;
      const rank = rankOf(view, start, ((tokens[key + 2] as number) - start) | 0);
      let at = count;
      while (at > 0 && (ranks[at - 1] as number) >= rank) {
        if (ranks[at - 1] === rank) {
          const order = this.#compare(keys[at - 1] as number, key);
          if (order === 0) return false;
          if (order < 0) break;
        }
        ranks[at] = ranks[at - 1] as number;
        keys[at] = keys[at - 1] as number;
        at -= 1;
      }
      ranks[at] = rank;
      keys[at] = key;
      count += 1;
      key = (key + STRIDE) | 0;
      if (inObject) key = this.#tape.next(key);
    }
    this.#count = count;
    return true;
  }

  #readMany(container: number): void {
    const tape = this.#tape;
    const end = tape.next(container);
    const inObject = tape.kind(container) !== ARRAY;
    let count = 0;
    for (let key = tape.first(container); key < end; key = inObject ? tape.next(key + STRIDE) : key + STRIDE) {
      if (count === this.#keys.length) this.#keys = doubled(this.#keys);
      this.#keys[count++] = key;
    }
    // Stable: the later of two that are alike stays behind the other.
    const keys = this.#keys.subarray(0, count).sort((a, b) => this.#compare(a, b));
    let kept = 0;
    for (const key of keys) {
      if (kept > 0 && this.#compare(keys[kept - 1] as number, key) === 0) kept -= 1;
      keys[kept++] = key;
    }
    this.#count = kept;
  }

  #compare(a: number, b: number): number {
    const left = this.#left.readString(a);
    const right = this.#right.readString(b);
    return compareBytes(left.bytes.buffer, left.start, left.end, right.bytes.buffer, right.start, right.end);
  }
}

/** At least a quote, a bracket, a brace and an LF stand behind a key's first quote: a word can be read. */
function rankOf(view: DataView<ArrayBuffer>, start: number, length: number): number {
  const word = view.getUint32(start);
  if (length >= WORD) return word;
  // A word cannot be shifted by all its bits.
  return length === 0 ? 0 : ((word >>> (8 * (WORD - length))) << (8 * (WORD - length))) >>> 0;
}
