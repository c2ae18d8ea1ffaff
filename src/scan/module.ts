/**
 * Turns lines into rows in WebAssembly. tools/build-scanner.ts builds a module from ./assembly, which scans lines and applies
 * the rules of docs/contract.md, "Rows", and from a destination's own assembly/, which writes its format. Speed on one thread with
 * rows of all-data, as multiples of a bare loop of JSON.parse: such a module 2.3; the same scanner in TypeScript 1.07; JSON.parse
 * and the rules, with values handed to the module one by one, 0.3 [measured] (test/bench/encode.ts).
 */
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import type { KindExports } from './kinds.ts';
import { type MemoryExports, ScanMemory } from './memory.ts';

/** The exports of every module: see assembly/host.ts and a destination's assembly/index.ts. Booleans are 0 and 1. */
export interface ScanExports extends MemoryExports, KindExports {
  listKey(start: number, length: number, depth: number): void;
  addColumn(kind: number, key: number): void;
  beginCondition(kind: number, key: number): number;
  wantValue(start: number, length: number): void;
  beginBlock(): void;
  encode(from: number, to: number, firstLine: number, offset: number, longest: number): number;
  lineCount(): number;
  rowCount(): number;
  offsetSum(): number;
  lastKey(): number;
  isSeen(key: number): number;
  nameStart(key: number): number;
  nameLength(key: number): number;
  rowBegin(line: number): void;
  rowText(start: number, end: number, plain: number): void;
  rowUint16(value: number, isNull: number): void;
  rowFloat64(value: number, isNull: number): void;
  rowBool(value: number, isNull: number): void;
  rowDatetime(value: number, isNull: number): void;
  rowMapBegin(entries: number): void;
  rowMapKey(start: number, end: number, plain: number): void;
  rowMapList(values: number): void;
  rowMapText(start: number, end: number, plain: number): void;
  rowMapEnd(): void;
  rowEnd(): void;
}

export interface ScanModule<Exports extends ScanExports> {
  readonly exports: Exports;
  readonly memory: ScanMemory;
}

/**
 * V8 compiles the way from a module to the host anew after 1,000 calls. If two threads do so at the same moment, one frees code that
 * has no module, and the process dies by SIGSEGV or SIGTRAP [seen with Node 24.21, in 1 of 25 runs of many loads; test/scan/threads.ts].
 * So it never does. Few numbers need the host: no difference in speed [measured].
 */
setFlagsFromString('--wasm-wrapper-tiering-budget=2147483647');

/** Each instance has its own memory, some 4 MB before the first block. */
export function openModule<Exports extends ScanExports>(file: URL): ScanModule<Exports> {
  const numberAt = (start: number, end: number) => Number(memory.bytes.toString('latin1', start, end));
  const imports = {
    env: { abort: fail },
    host: {
      parseNumber: numberAt,
      writeNumber: (value: number, to: number) => memory.bytes.write(String(value), to, 'latin1'),
      respellNumber: (start: number, end: number, to: number) => {
        // Zero has one form: -0 + 0 is 0.
        const value = numberAt(start, end) + 0;
        return Number.isFinite(value) ? memory.bytes.write(String(value), to, 'latin1') : 0;
      },
    },
  };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), imports);
  const exports = instance.exports as unknown as Exports;
  const memory = new ScanMemory(exports);
  return { exports, memory };
}

/** Called if the module cannot continue because its memory cannot grow. */
function fail(): never {
  throw new Error('the scanner has run out of memory');
}
