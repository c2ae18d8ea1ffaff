/** The object of a line: which token each source column has. */
import type { Bytes } from '../types.ts';
import { doubled, Scratch } from './bytes.ts';
import { LINE_START, SourceKeys } from './keys.ts';
import * as kinds from './kinds.ts';
import { NOT_JSON, Scanner } from './scanner.ts';
import { Tape } from './tape.ts';
import { unescapeTo } from './unescape.ts';

const { MISSING } = kinds;

const LF = 0x0a;
const SPACE = 0x20;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Scans the lines of one block, one at a time: `scan` moves to a line, the other members speak of it. */
export class Line {
  readonly bytes: Bytes;
  readonly tape: Tape;
  readonly keys: SourceKeys;
  /** Scans values one by one, for who goes through a line without `scan`. */
  readonly scanner: Scanner;
  readonly #depths: readonly number[];
  readonly #name = new Scratch();
  /** For each key its token. */
  #tokens = new Int32Array(64);
  /** The keys of the line, each once, in order of appearance. */
  #present = new Int32Array(64);
  #count = 0;
  /** The keys of all lines, in order of appearance. */
  readonly #seen: number[] = [];
  #isSeen = new Uint8Array(64);
  /** Those of them that `accept` has told. */
  #accepted = 0;

  /**
   * @param names of the source columns that get the numbers from 1
   * @param depths of these, by their numbers: how deep the values' arrays and objects are on the tape
   */
  constructor(bytes: Bytes, names: readonly string[], depths: readonly number[]) {
    this.bytes = bytes;
    this.#depths = depths;
    this.tape = new Tape();
    this.keys = new SourceKeys(names);
    this.scanner = new Scanner(bytes, this.tape);
  }

  /**
   * Scans a line. An LF stands behind it, or a CR and then an LF.
   * @param end where its line end begins
   * @returns whether it is a JSON object; if not, the line has no keys
   */
  scan(start: number, end: number): boolean {
    this.begin();
    const known = this.keys.count;
    try {
      this.#members(start, end);
    } catch (error) {
      if (error !== NOT_JSON) throw error;
      this.begin();
      this.keys.forget(known);
      return false;
    }
    if (this.#seen.length < this.keys.count) for (let i = 0; i < this.#count; i++) this.#note(this.key(i));
    return true;
  }

  /** How many keys the line has. */
  get count(): number {
    return this.#count;
  }

  /** The number of its key at `index`. */
  key(index: number): number {
    return this.#present[index] as number;
  }

  /** The token of a key's value; MISSING where the line has none. */
  token(key: number): number {
    return this.#tokens[key] as number;
  }

  /** Names of the columns of all lines that were objects. */
  seenNames(): string[] {
    return this.#seen.map((key) => this.keys.name(key));
  }

  /** Begins a line that is not scanned as a whole. */
  begin(): void {
    for (let i = 0; i < this.#count; i++) this.#tokens[this.#present[i] as number] = MISSING;
    this.#count = 0;
    this.scanner.clear();
  }

  /** White space is looked for before it is skipped: most files have none, and this loop is where time goes. */
  #members(start: number, end: number): void {
    const scanner = this.scanner;
    const { buffer, view } = this.bytes;
    let at = this.#openObject(start);
    let key = LINE_START;
    while (key !== LINE_START || buffer[at] !== CLOSE_BRACE) {
      const predicted = this.keys.predict(key, view, at, end);
      if (predicted === 0) {
        key = this.#findKey(key, at);
        at = scanner.colon(scanner.at);
      } else {
        key = predicted;
        at += this.keys.length(key);
        if ((buffer[at] as number) <= SPACE) at = scanner.skipSpace(at);
      }
      this.put(key, scanner.value(at, this.#depths[key] ?? 0));
      at = scanner.at;
      if ((buffer[at] as number) <= SPACE) at = scanner.skipSpace(at);
      if (buffer[at] !== COMMA) break;
      at += 1;
      if ((buffer[at] as number) <= SPACE) at = scanner.skipSpace(at);
    }
    if (buffer[at] !== CLOSE_BRACE) throw NOT_JSON;
    this.#endLine(at + 1);
  }

  #openObject(start: number): number {
    const at = this.scanner.skipSpace(start);
    if (this.bytes.buffer[at] !== OPEN_BRACE) throw NOT_JSON;
    return this.scanner.skipSpace(at + 1);
  }

  #endLine(at: number): void {
    if (this.bytes.buffer[this.scanner.skipSpace(at)] !== LF) throw NOT_JSON;
  }

  #findKey(previous: number, at: number): number {
    const { tape } = this;
    const { buffer } = this.bytes;
    const token = this.scanner.string(at);
    tape.drop(token);
    if (!tape.isEscaped(token)) {
      return this.keys.find(previous, buffer.toString('utf8', tape.start(token), tape.end(token)));
    }
    this.#name.cut(0);
    unescapeTo(this.#name, buffer, tape.start(token), tape.end(token));
    return this.keys.find(previous, this.#name.bytes.buffer.toString('utf8', 0, this.#name.length));
  }

  /** Of a key that stands twice the later counts. */
  put(key: number, token: number): void {
    if (key >= this.#tokens.length) this.#grow(key);
    if (this.#tokens[key] === MISSING) this.#present[this.#count++] = key;
    this.#tokens[key] = token;
  }

  #grow(key: number): void {
    while (key >= this.#tokens.length) this.#tokens = doubled(this.#tokens);
    while (key >= this.#present.length) this.#present = doubled(this.#present);
  }

  /** Takes note of the keys of a line that was not scanned as a whole, and is an object: bit n for the key n + 1. */
  accept(present: number): void {
    if ((present & ~this.#accepted) !== 0) this.#noteAccepted(present);
  }

  #noteAccepted(present: number): void {
    this.#accepted |= present;
    for (let key = 1; key <= 32; key++) if (((present >>> (key - 1)) & 1) === 1) this.#note(key);
  }

  #note(key: number): void {
    if (key >= this.#isSeen.length) this.#growSeen();
    if (this.#isSeen[key] === 1) return;
    this.#isSeen[key] = 1;
    this.#seen.push(key);
  }

  #growSeen(): void {
    const larger = new Uint8Array(2 * this.keys.count);
    larger.set(this.#isSeen);
    this.#isSeen = larger;
  }
}
