/** A row writer that keeps what it is told: each row as its line and its values, texts as strings. */
import type { Bytes, RowWriter } from '../../src/types.ts';

export type Value = string | number | boolean | null | readonly (readonly [string, string | readonly string[]])[];

export interface Row {
  readonly line: number;
  readonly values: readonly Value[];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what bytes that are said to be plain must not hold
const NOT_PLAIN = /["\\\u0000-\u001f]/;

export class Recorder implements RowWriter {
  readonly rows: Row[] = [];
  #line = 0;
  #values: Value[] = [];
  #map: [string, string | string[]][] = [];
  #mapSize = 0;
  #key = '';
  #list: string[] | undefined;
  #left = 0;

  begin(line: number): void {
    this.#line = line;
    this.#values = [];
  }

  textBytes(from: Bytes, start: number, end: number, plain: boolean): void {
    this.#values.push(textOf(from, start, end, plain));
  }

  uint16(value: number | null): void {
    this.#values.push(value);
  }

  float64(value: number | null): void {
    this.#values.push(value);
  }

  bool(value: boolean | null): void {
    this.#values.push(value);
  }

  datetime(value: number | null): void {
    this.#values.push(value);
  }

  mapBegin(entries: number): void {
    this.#map = [];
    this.#mapSize = entries;
  }

  mapKey(from: Bytes, start: number, end: number, plain: boolean): void {
    this.#key = textOf(from, start, end, plain);
    this.#list = undefined;
  }

  mapList(values: number): void {
    this.#list = [];
    this.#left = values;
    this.#map.push([this.#key, this.#list]);
  }

  mapText(from: Bytes, start: number, end: number, plain: boolean): void {
    const text = textOf(from, start, end, plain);
    if (this.#list === undefined) this.#map.push([this.#key, text]);
    else {
      this.#list.push(text);
      this.#left -= 1;
    }
  }

  mapEnd(): void {
    if (this.#map.length !== this.#mapSize) throw new Error(`${this.#map.length} entries, not ${this.#mapSize}`);
    if (this.#list !== undefined && this.#left !== 0) throw new Error(`a list lacks ${this.#left} values`);
    this.#list = undefined;
    this.#values.push(this.#map);
  }

  end(): void {
    this.rows.push({ line: this.#line, values: this.#values });
  }

  take(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(0);
  }
}

function textOf({ buffer }: Bytes, start: number, end: number, plain: boolean): string {
  const text = buffer.toString('utf8', start, end);
  if (plain && NOT_PLAIN.test(text)) throw new Error(`said to be plain: ${JSON.stringify(text)}`);
  return text;
}
