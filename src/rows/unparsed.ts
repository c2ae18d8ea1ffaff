/** `unparsed`: what no column is made from, and what did not fit its column, as JSON text (contract 3). */
import { compareBytes } from '../scan/bytes.ts';
import type { Line } from '../scan/line.ts';
import type { RowWriter } from '../types.ts';
import { SOURCE_NAMES } from './columns.ts';
import { TokenText } from './text.ts';

/** Collects the entries of one row, and writes them in the order of their keys' bytes. */
export class Unparsed {
  readonly #line: Line;
  readonly #writer: RowWriter;
  readonly #text: TokenText;
  /** Numbers of source columns. */
  readonly #keys: number[] = [];

  constructor(line: Line, writer: RowWriter) {
    this.#line = line;
    this.#writer = writer;
    this.#text = new TokenText(line);
  }

  clear(): void {
    if (this.#keys.length > 0) this.#keys.length = 0;
  }

  /** A value that does not fit its column. */
  add(key: number): void {
    this.#keys.push(key);
  }

  /** Writes what was added, and every source column of the line that no column is made from. */
  write(): void {
    const line = this.#line;
    const writer = this.#writer;
    const unparsed = this.#keys;
    for (let i = 0; i < line.count; i++) if (line.key(i) > SOURCE_NAMES.length) unparsed.push(line.key(i));
    if (unparsed.length > 1) unparsed.sort((a, b) => this.#compareNames(a, b));
    const { keys } = line;
    writer.mapBegin(unparsed.length);
    for (const key of unparsed) {
      writer.mapKey(keys.bytes, keys.start(key), keys.end(key), keys.isPlain(key));
      const { bytes, start, end, plain } = this.#text.readJson(line.token(key));
      writer.mapText(bytes, start, end, plain);
    }
    writer.mapEnd();
  }

  #compareNames(a: number, b: number): number {
    const { keys } = this.#line;
    const { buffer } = keys.bytes;
    return compareBytes(buffer, keys.start(a), keys.end(a), buffer, keys.start(b), keys.end(b));
  }
}
