/** The row writer of the second pass: rows as messages, in record batches that lack only their producer. */
import type { Column, RowWriter, Where } from '../../../src/types/index.ts';
import { type BatchOptions, RecordBatches } from '../protocol/record-batch.ts';
import { type JsonRow, JsonRows } from './json-rows.ts';

export function createRowWriter(columns: readonly Column[], options: unknown, where: Where): RowWriter {
  return new MessageWriter(columns, options as BatchOptions, where);
}

class MessageWriter extends JsonRows {
  readonly #batches: RecordBatches;

  constructor(columns: readonly Column[], options: BatchOptions, where: Where) {
    super(columns, where);
    this.#batches = new RecordBatches(options);
  }

  protected rowEnded({ bytes, key, keyEnd, value, valueEnd }: JsonRow): void {
    this.#batches.addPart(bytes, key, keyEnd, value, valueEnd);
  }

  protected taken(): Uint8Array<ArrayBuffer> {
    return this.#batches.take();
  }
}
