/** The module that encodes lines into ClickHouse's Native format: what the host calls. */
import { setWriter } from '../../../../src/scan/assembly/host';
import { encodeLines } from '../../../../src/scan/assembly/lines';
import { Rows } from '../../../../src/scan/assembly/rules/rows';
import { NativeWriter } from './native';

export * from '../../../../src/scan/assembly/host';

let writer = changetype<NativeWriter>(0);
let rows = changetype<Rows<NativeWriter>>(0);

/**
 * Once, before all else.
 * @param columns how many are selected
 * @param listed how many keys have a column of the schema
 * @param version upper parts of `_version`
 */
export function start(columns: i32, listed: u32, version: u64): void {
  writer = new NativeWriter(columns, version);
  rows = new Rows<NativeWriter>(writer, listed);
  setWriter(writer);
}

/** See NativeWriter. */
export function useDictionary(column: i32): void {
  writer.useDictionary(column);
}

/** A selected column, in their order. */
export function addColumn(kind: u32, key: u32): void {
  rows.addColumn(kind, key);
}

/** See lines.ts. */
export function encode(from: usize, to: usize, firstLine: f64, offset: u32, longest: u32): usize {
  return encodeLines<NativeWriter>(rows, from, to, firstLine, offset, longest);
}

/** Rows written since `clear`. */
export function writtenRows(): u32 {
  return writer.rows;
}

/** Writes where the columns are to `to`: see NativeWriter.tell. */
export function tell(to: usize): void {
  writer.tell(to);
}

export function clear(): void {
  writer.clear();
}
