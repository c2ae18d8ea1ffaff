/** The rejected lines of a block. */
import type { Reject, RejectReason } from '../types.ts';
import { MAX_RAW_BYTES } from './limits.ts';

interface Noted {
  readonly line: number;
  readonly reason: RejectReason;
  readonly detail: string;
  readonly start: number;
  readonly length: number;
}

/**
 * Collects rejects as places in the block. Their bytes are copied at the end into one buffer for all: a block may be
 * nothing but rejects, and a buffer each would cost more than the lines.
 */
export class RejectList {
  readonly #noted: Noted[] = [];
  #rawBytes = 0;

  get count(): number {
    return this.#noted.length;
  }

  /**
   * @param line number of the line in the file
   * @param start where the line stands in the block
   * @param length bytes of the line without its end
   */
  add(line: number, reason: RejectReason, detail: string, start: number, length: number): void {
    const kept = Math.min(length, MAX_RAW_BYTES);
    this.#noted.push({ line, reason, detail, start, length: kept });
    this.#rawBytes += kept;
  }

  /** The rejects, whose `raw` all lie in one buffer that nothing else uses. */
  build(block: Uint8Array): readonly Reject[] {
    const bytes = new Uint8Array(this.#rawBytes);
    let at = 0;
    return this.#noted.map(({ line, reason, detail, start, length }) => {
      bytes.set(block.subarray(start, start + length), at);
      const raw = bytes.subarray(at, at + length);
      at += length;
      return { line, reason, detail, raw };
    });
  }
}
