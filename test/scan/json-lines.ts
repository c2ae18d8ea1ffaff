/** Rows as JSON values, one to a line, each behind its key, its line and how much of it counts. */
import { type JsonRow, JsonRows } from '../../connectors/kafka/format/json-rows.ts';

export class JsonLines extends JsonRows {
  #lines: string[] = [];

  protected rowEnded({ bytes, key, keyEnd, value, valueEnd, countedEnd, line }: JsonRow): void {
    const [domain, json] = [bytes.toString('utf8', key, keyEnd), bytes.toString('utf8', value, valueEnd)];
    this.#lines.push(`${line} ${countedEnd - value} ${domain} ${json}\n`);
  }

  protected taken(): Uint8Array<ArrayBuffer> {
    const lines = this.#lines;
    this.#lines = [];
    return new TextEncoder().encode(lines.join(''));
  }
}
