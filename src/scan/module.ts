/**
 * Lines into rows in WebAssembly. A module is built (tools/build-scanner.ts) from ./assembly, which scans lines and applies
 * the rules of docs/contract.md, "Rows", and from a destination's own assembly/, which writes its format. Measured on one thread with rows of
 * all-data, as multiples of a bare loop of JSON.parse: such a module 2.3, the same scanner in TypeScript 1.07, JSON.parse with the
 * rules behind it, whose values are handed to the module one by one, 0.3 (test/bench/encode.ts).
 */
import { readFileSync } from 'node:fs';
import type { KindExports } from './kinds.ts';
import { type MemoryExports, ScanMemory } from './memory.ts';

/** What every module exports: see assembly/host.ts and a destination's assembly/index.ts. Truth values are 0 and 1. */
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

/** Each instance has memory of its own, some 4 MB before the first block. */
export function openModule<Exports extends ScanExports>(file: URL): ScanModule<Exports> {
  const numberAt = (start: number, end: number) => Number(memory.bytes.toString('latin1', start, end));
  const imports = {
    env: { abort: fail },
    host: {
      parseNumber: numberAt,
      writeNumber: (value: number, to: number) => memory.bytes.write(String(value), to, 'latin1'),
      respellNumber: (start: number, end: number, to: number) => {
        // A zero has one form: -0 + 0 is 0.
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

/** The module cannot go on: memory cannot grow any more. */
function fail(): never {
  throw new Error('the scanner has run out of memory');
}
