/** The used part of the WebAssembly API (https://webassembly.github.io/spec/js-api/). TypeScript has it only in its browser types. */
declare namespace WebAssembly {
  interface Memory {
    /** A new buffer after memory has grown. */
    readonly buffer: ArrayBuffer;
  }
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    readonly exports: object;
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
  }
}
