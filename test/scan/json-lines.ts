/** Rows as JSON values, one to a line, each behind its key, its line and how much of it counts. */
import { JsonRows } from '../../connectors/kafka/json-rows.ts';

export class JsonLines extends JsonRows {
  #lines: string[] = [];

  protected rowEnded(key: Buffer, value: Buffer, counted: number, line: number): void {
    this.#lines.push(`${line} ${counted} ${key.toString()} ${value.toString()}\n`);
  }

  protected taken(): Uint8Array<ArrayBuffer> {
    const lines = this.#lines;
    this.#lines = [];
    return new TextEncoder().encode(lines.join(''));
  }
}
