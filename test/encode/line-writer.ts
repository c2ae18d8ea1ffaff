/** A row writer that is easy to check: it gives `line:domain` of each row, between spaces. For threads too. */
import { Recorder } from '../scan/recorder.ts';

export class LineWriter extends Recorder {
  #spare: ArrayBuffer | undefined;

  override take(spare?: ArrayBuffer): Uint8Array<ArrayBuffer> {
    const rows = this.rows.splice(0).map(({ line, values }) => `${line}:${values[0]}`);
    const bytes = new TextEncoder().encode(rows.join(' '));
    const room = this.#spare;
    this.#spare = spare;
    if (room === undefined || room.byteLength < bytes.length) return bytes;
    const payload = new Uint8Array(room, 0, bytes.length);
    payload.set(bytes);
    return payload;
  }
}

export function createRowWriter(): LineWriter {
  return new LineWriter();
}
