/** The host's calls common to all formats. Each module's entry re-exports them. Places are memory addresses. */
import { Growing } from './bytes/bytes';
import { keyCount } from './json/keys';
import { RowWriter } from './writer';

export { beginBlock, lineCount, offsetSum, rowCount } from './lines';
export { isSeen } from './line';
export { listKey, nameLength, nameStart } from './json/keys';
export * from './rules/kinds';
export { beginCondition, wantValue } from './rules/where';

const block = new Growing();
const argument = new Growing();
/** The writer of rows that the host makes. */
let writer = changetype<RowWriter>(0);

/** Sets the writer of rows that the host makes. */
export function setWriter(to: RowWriter): void {
  writer = to;
}

/** Room for the host to write a block of `size` bytes. Discards the previous block. */
export function blockRoom(size: usize): usize {
  return roomIn(block, size);
}

/** Room for a text from the host. */
export function textRoom(size: usize): usize {
  return roomIn(argument, size);
}

function roomIn(buffer: Growing, size: usize): usize {
  buffer.clear();
  buffer.reserve(size);
  return buffer.start;
}

/** The highest number of a key. */
export function lastKey(): u32 {
  return keyCount;
}

export function rowBegin(line: f64): void {
  writer.begin(<u64>line);
}

export function rowText(start: usize, end: usize, plain: bool): void {
  writer.text(start, end, plain);
}

export function rowUint16(value: i32, isNull: bool): void {
  writer.uint16(value, isNull);
}

export function rowFloat64(value: f64, isNull: bool): void {
  writer.float64(value, isNull);
}

export function rowBool(value: bool, isNull: bool): void {
  writer.bool(value, isNull);
}

export function rowDatetime(value: f64, isNull: bool): void {
  writer.datetime(<i64>value, isNull);
}

export function rowMapBegin(entries: u32): void {
  writer.mapBegin(entries);
}

export function rowMapKey(start: usize, end: usize, plain: bool): void {
  writer.mapKey(start, end, plain);
}

export function rowMapList(values: u32): void {
  writer.mapList(values);
}

export function rowMapText(start: usize, end: usize, plain: bool): void {
  writer.mapText(start, end, plain);
}

export function rowMapEnd(): void {
  writer.mapEnd();
}

export function rowEnd(): void {
  writer.end();
}
