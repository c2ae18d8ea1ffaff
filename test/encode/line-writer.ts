/** A row writer that is easy to check: it gives `line:domain` of each row, between spaces. For threads too. */
import { Recorder } from '../scan/recorder.ts';

export class LineWriter extends Recorder {
  override take(room?: Uint8Array): Uint8Array {
    const rows = this.rows.splice(0).map(({ line, values }) => `${line}:${values[0]}`);
    const bytes = new TextEncoder().encode(rows.join(' '));
    if (room === undefined || room.length < bytes.length) return bytes;
    const payload = room.subarray(0, bytes.length);
    payload.set(bytes);
    return payload;
  }
}

export function createRowWriter(): LineWriter {
  return new LineWriter();
}
