/** The memory of a scanner's module, as the host reads and writes it. */
import { copyInto } from '../common/shared-memory.ts';

/** Of UTF-8, for each UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/** What every module exports of its memory: see assembly/host.ts. */
export interface MemoryExports {
  readonly memory: WebAssembly.Memory;
  blockRoom(size: number): number;
  textRoom(size: number): number;
}

/** A text in memory, from `start` to `end`. */
interface Place {
  readonly start: number;
  readonly end: number;
}

export class ScanMemory {
  readonly #exports: MemoryExports;
  #bytes: Buffer<ArrayBuffer>;

  constructor(exports: MemoryExports) {
    this.#exports = exports;
    this.#bytes = Buffer.from(exports.memory.buffer);
  }

  /** All of it. Memory that has grown is another buffer: good until the next call into the module. */
  get bytes(): Buffer<ArrayBuffer> {
    if (this.#bytes.buffer !== this.#exports.memory.buffer) this.#bytes = Buffer.from(this.#exports.memory.buffer);
    return this.#bytes;
  }

  /** Copies a block, and puts `lineEnd` behind it. @returns where it begins */
  putBlock(block: Uint8Array, lineEnd: number): number {
    const start = this.#exports.blockRoom(block.length + 1);
    this.bytes[copyInto(this.bytes, start, block)] = lineEnd;
    return start;
  }

  /** Writes a text where it is good until the next one. */
  putText(text: string): Place {
    const start = this.#exports.textRoom(text.length * MAX_BYTES_PER_UNIT);
    return { start, end: start + this.bytes.write(text, start) };
  }
}
