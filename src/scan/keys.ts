/** The source columns of a block: each gets a number, and is found again by its bytes. */
import type { Bytes } from '../types.ts';
import { doubled, Scratch } from './bytes.ts';

/** Stands before a line's first key. */
export const LINE_START = 0;
/** How many of the keys that may be left out are tried before a key is looked up by its name. */
const MOST_LEFT_OUT = 8;
const WORD = 4;
/** Two quotes and a colon. */
const PUNCTUATION = 3;
/** Quote, backslash and control characters: they do not stand in a line as they are. */
const NOT_PLAIN = /["\\\p{Cc}]/u;

/**
 * The lines of a file have their keys in one order nearly always, some left out. So each key remembers which one followed
 * it, and the next key of a line is compared with that one, four bytes at once; only a surprise costs a look-up.
 */
export class SourceKeys {
  readonly #ids = new Map<string, number>();
  readonly #names: string[] = [''];
  /** The names as bytes, one after the other. */
  readonly #text = new Scratch();
  #start = new Int32Array(64);
  /** Bytes of the key as it stands in a line, with its quotes and the colon. */
  #length = new Int32Array(64);
  /** The bytes of each key as it stands in a line, four to a word; the last word overlaps the one before. */
  #words = new Int32Array(256);
  #wordCount = 0;
  #firstWord = new Int32Array(64);
  /** The key that came after this one; 0: none yet. */
  #follower = new Int32Array(64);

  /** @param names get the numbers from 1, in their order */
  constructor(names: readonly string[]) {
    for (const name of names) this.#add(name);
  }

  /** How many there are. Their numbers go up to this one. */
  get count(): number {
    return this.#ids.size;
  }

  name(id: number): string {
    return this.#names[id] as string;
  }

  /** What holds the names, each from `start` to `end`. */
  get bytes(): Bytes {
    return this.#text.bytes;
  }

  start(id: number): number {
    return this.#start[id] as number;
  }

  end(id: number): number {
    return this.start(id) + this.length(id) - PUNCTUATION;
  }

  /** Bytes of the key as it stands in a line, with its quotes and the colon. */
  length(id: number): number {
    return this.#length[id] as number;
  }

  isPlain(id: number): boolean {
    return !NOT_PLAIN.test(this.name(id));
  }

  /**
   * The key that stands at `at`, quotes, colon and all, if it is one that is expected after `previous`; otherwise 0.
   * @param end of the line
   */
  predict(previous: number, view: DataView<ArrayBuffer>, at: number, end: number): number {
    const words = this.#words;
    let id = previous;
    for (let tried = 0; tried < MOST_LEFT_OUT; tried++) {
      id = this.#follower[id] as number;
      const last = at + (this.#length[id] as number) - WORD;
      if (id === 0 || last + WORD > end) return 0;
      let word = this.#firstWord[id] as number;
      let place = at;
      while (place < last && view.getInt32(place, true) === words[word]) {
        place += WORD;
        word += 1;
      }
      if (place >= last && view.getInt32(last, true) === words[word]) return id;
    }
    return 0;
  }

  /**
   * The number of a name, a new one for a new name. It is expected after `previous` from now on, unless it is too short to
   * be compared, or a name that stands otherwise in a line: the bytes of `a"b` are a fault there, those of `a\\nb` another name.
   */
  find(previous: number, name: string): number {
    const id = this.#ids.get(name) ?? this.#add(name);
    if (this.length(id) >= WORD && this.isPlain(id)) this.#follower[previous] = id;
    return id;
  }

  /** Takes the newest away, down to `count`. */
  forget(count: number): void {
    if (this.count === count) return;
    this.#text.cut(this.start(count + 1));
    this.#wordCount = this.#firstWord[count + 1] as number;
    while (this.count > count) this.#ids.delete(this.#names.pop() as string);
    for (let id = 0; id <= count; id++) if ((this.#follower[id] as number) > count) this.#follower[id] = 0;
  }

  #add(name: string): number {
    const id = this.#names.push(name) - 1;
    this.#ids.set(name, id);
    if (id === this.#start.length) {
      this.#start = doubled(this.#start);
      this.#length = doubled(this.#length);
      this.#firstWord = doubled(this.#firstWord);
      this.#follower = doubled(this.#follower);
    }
    const key = Buffer.from(`"${name}":`);
    this.#start[id] = this.#text.length;
    this.#text.utf8(name);
    this.#length[id] = key.length;
    this.#follower[id] = 0;
    this.#addWords(id, key);
    return id;
  }

  #addWords(id: number, key: Buffer): void {
    this.#firstWord[id] = this.#wordCount;
    if (key.length < WORD) return;
    const count = Math.ceil(key.length / WORD);
    while (this.#wordCount + count > this.#words.length) this.#words = doubled(this.#words);
    for (let i = 0; i < count; i++) {
      this.#words[this.#wordCount++] = key.readInt32LE(Math.min(i * WORD, key.length - WORD));
    }
  }
}
