/** The tokens of one line: where each value stands, and what its text is like. */
import { doubled } from './bytes.ts';
import * as kinds from './kinds.ts';

const { ARRAY, ESCAPED, KIND, STRIDE, STRING, UNTIDY } = kinds;
const FIRST_CAPACITY = 1024 * STRIDE;
/** A line of very many tokens must not hold its memory for all that follow. */
const KEPT_CAPACITY = 64 * 1024 * STRIDE;

/**
 * Tokens in the order of the line. Those that an array or object holds follow it: the first right behind it (`first`),
 * each other behind the one before (`next`), up to the container's own `next`. An object's are key, value, key, value.
 */
export class Tape {
  #tokens = new Int32Array(FIRST_CAPACITY);

  /** The numbers themselves, until the next token is added: for loops where time goes. */
  get tokens(): Int32Array<ArrayBuffer> {
    return this.#tokens;
  }

  #used = STRIDE;

  /** Forgets the line. */
  clear(): void {
    if (this.#tokens.length > KEPT_CAPACITY) this.#tokens = new Int32Array(FIRST_CAPACITY);
    this.#used = STRIDE;
  }

  /** Adds a token. `start` and `end`: of a string what is between the quotes, of others the whole. */
  add(kindAndFlags: number, start: number, end: number): number {
    const token = this.#used;
    if (token === this.#tokens.length) this.#tokens = doubled(this.#tokens);
    const tokens = this.#tokens;
    tokens[token] = kindAndFlags;
    tokens[token + 1] = start;
    tokens[token + 2] = end;
    this.#used = token + STRIDE;
    return token;
  }

  /** Ends a container: every token added since it is in it. */
  close(token: number, kindAndFlags: number, end: number): void {
    this.#tokens[token] = kindAndFlags;
    this.#tokens[token + 2] = end;
    this.#tokens[token + 3] = this.#used;
  }

  /** Takes a token away, and all after it. */
  drop(token: number): void {
    this.#used = token;
  }

  kind(token: number): number {
    return (this.#tokens[token] as number) & KIND;
  }

  /** Whether the token is a string without escapes, so that its bytes are its text. */
  isPlainString(token: number): boolean {
    return this.#tokens[token] === STRING;
  }

  isEscaped(token: number): boolean {
    return ((this.#tokens[token] as number) & ESCAPED) !== 0;
  }

  isUntidy(token: number): boolean {
    return ((this.#tokens[token] as number) & UNTIDY) !== 0;
  }

  start(token: number): number {
    return this.#tokens[token + 1] as number;
  }

  end(token: number): number {
    return this.#tokens[token + 2] as number;
  }

  first(container: number): number {
    return container + STRIDE;
  }

  next(token: number): number {
    return this.kind(token) < ARRAY ? token + STRIDE : (this.#tokens[token + 3] as number);
  }
}
