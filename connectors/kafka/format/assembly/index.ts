/** The module that encodes lines into the JSON values of messages: the functions that the host calls. */
import { setWriter } from '../../../../src/scan/assembly/host';
import { encodeLines } from '../../../../src/scan/assembly/lines';
import { Rows } from '../../../../src/scan/assembly/rules/rows';
import { JsonWriter } from './json';

export * from '../../../../src/scan/assembly/host';

let writer = changetype<JsonWriter>(0);
let rows = changetype<Rows<JsonWriter>>(0);

/**
 * Once, before all else.
 * @param columns how many are selected
 * @param listed how many keys have a column of the schema
 */
export function start(columns: i32, listed: u32): void {
  writer = new JsonWriter(columns);
  rows = new Rows<JsonWriter>(writer, listed);
  setWriter(writer);
}

/** A selected column, in their order. */
export function addColumn(kind: u32, key: u32): void {
  rows.addColumn(kind, key);
}

/** The text before the value of a column, `,"name":`. Called for each column in order. */
export function addLabel(start: usize, length: usize, counts: bool): void {
  writer.addLabel(start, length, counts);
}

/** See lines.ts. */
export function encode(from: usize, to: usize, firstLine: f64, offset: u32, longest: u32): usize {
  return encodeLines<JsonWriter>(rows, from, to, firstLine, offset, longest);
}

/** Whether the host should take the written rows before it encodes more. */
export function isFull(): bool {
  return writer.full();
}

/** Rows written since `clear`. */
export function writtenRows(): u32 {
  return writer.rows;
}

/** The table of the rows' places, and the memory that the places count from: see JsonWriter.places. */
export function places(): usize {
  return writer.places.start;
}

export function values(): usize {
  return writer.values.start;
}

export function keys(): usize {
  return writer.keys.start;
}

export function clear(): void {
  writer.clear();
}
