/** The host's access to the memory of a scanner's module. */
import { copyInto } from '../common/shared-memory.ts';

/** UTF-8 bytes for each UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/** The memory exports of every module: see assembly/host.ts. */
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

  /** The whole memory. Grown memory is another buffer, so this is valid until the next call into the module. */
  get bytes(): Buffer<ArrayBuffer> {
    if (this.#bytes.buffer !== this.#exports.memory.buffer) this.#bytes = Buffer.from(this.#exports.memory.buffer);
    return this.#bytes;
  }

  /** Copies a block and appends `lineEnd`. @returns where it begins */
  putBlock(block: Uint8Array, lineEnd: number): number {
    const start = this.#exports.blockRoom(block.length + 1);
    this.bytes[copyInto(this.bytes, start, block)] = lineEnd;
    return start;
  }

  /** Writes a text. It is valid until the next one. */
  putText(text: string): Place {
    const start = this.#exports.textRoom(text.length * MAX_BYTES_PER_UNIT);
    return { start, end: start + this.bytes.write(text, start) };
  }
}
