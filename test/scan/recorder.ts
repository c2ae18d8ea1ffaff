/** A row writer that keeps what it is told: each row as its line and its values. It has no scanner. */
import type { RowWriter } from '../../src/types/index.ts';

export type Value = string | number | boolean | null | readonly (readonly [string, string | readonly string[]])[];

export interface Row {
  readonly line: number;
  readonly values: readonly Value[];
}

export class Recorder implements RowWriter {
  readonly scanner = null;
  readonly rows: Row[] = [];
  #line = 0;
  #values: Value[] = [];

  begin(line: number): void {
    this.#line = line;
    this.#values = [];
  }

  text(value: string): void {
    this.#values.push(value);
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

  textMap(entries: readonly (readonly [string, string])[]): void {
    this.#values.push(entries);
  }

  listMap(entries: readonly (readonly [string, readonly string[]])[]): void {
    this.#values.push(entries);
  }

  end(): void {
    this.rows.push({ line: this.#line, values: this.#values });
  }

  take(_room?: Uint8Array): Uint8Array {
    return new Uint8Array(0);
  }
}
