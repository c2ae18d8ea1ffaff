/** Of the WebAssembly API (https://webassembly.github.io/spec/js-api/) what is used here; TypeScript has it in its types of browsers alone. */
declare namespace WebAssembly {
  interface Memory {
    /** Another one after memory has grown. */
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
