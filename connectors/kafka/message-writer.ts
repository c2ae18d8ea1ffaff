/** The row writer of the second pass: rows as messages, in record batches that are ready but for their producer. */
import type { Column, RowWriter } from '../../src/types.ts';
import { JsonWriter } from './json-writer.ts';
import { type BatchOptions, RecordBatches } from './record-batch.ts';

export function createRowWriter(columns: readonly Column[], options: unknown): RowWriter {
  return new MessageWriter(columns, options as BatchOptions);
}

class MessageWriter extends JsonWriter {
  readonly #batches: RecordBatches;

  constructor(columns: readonly Column[], options: BatchOptions) {
    super(columns);
    this.#batches = new RecordBatches(options);
  }

  protected rowEnded(): void {
    this.#batches.add(this.key, this.row.subarray(0, this.length));
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#batches.take();
  }
}
