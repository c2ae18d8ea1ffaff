/** Encodes a block's lines in order, up to the first one not taken. */
import { forgetKeys } from './json/keys';
import { acceptLine, forgetSeen, scanLine, tokenOf } from './line';
import { Rows } from './rules/rows';
import { NOT_TAKEN } from './json/tape';
import { readDomain } from './json/text';
import { UNKNOWN, UNWANTED, isWanted } from './rules/where';
import { RowWriter } from './writer';

/** Key of the domain's column. */
const DOMAIN_KEY: u32 = 1;

/** Taken lines, and the rows among them, since `beginBlock`. */
let takenLines: u32 = 0;
let takenRows: u32 = 0;
/** Sum of (line - first line of the block) over the rows. */
let offsets: u64 = 0;

/** Begins a block, which may have other keys. */
export function beginBlock(): void {
  takenLines = 0;
  takenRows = 0;
  offsets = 0;
  forgetKeys();
  forgetSeen();
}

/** @returns lines taken since `beginBlock`: rows, and lines that `where` excluded */
export function lineCount(): u32 {
  return takenLines;
}

/** @returns rows among them */
export function rowCount(): u32 {
  return takenRows;
}

/** @returns sum over these rows of the line's place in the block, from 0 */
export function offsetSum(): f64 {
  return <f64>offsets;
}

/**
 * Encodes lines. The bytes from `from` to `to` are whole lines, each followed by an LF.
 * @param firstLine number of the block's first line in the file
 * @param offset place in the block, from 0, of the line that begins at `from`
 * @param longest the longest line to take, in bytes
 * @returns the start of the line that was not taken, or of the line to continue at once the rows are taken, or `to`
 */
export function encodeLines<W extends RowWriter>(
  rows: Rows<W>,
  from: usize,
  to: usize,
  firstLine: f64,
  offset: u32,
  longest: u32,
): usize {
  let at = from;
  let place = <u64>offset;
  while (at < to && !rows.full) {
    const lineFeed = scanLine(at);
    if (lineFeed == NOT_TAKEN || lineFeed - at > longest || !readDomain(tokenOf(DOMAIN_KEY))) return at;
    const wanted = isWanted();
    if (wanted == UNKNOWN) return at;
    if (wanted != UNWANTED) {
      if (!rows.write(<u64>firstLine + place)) return at;
      takenRows += 1;
      offsets += place;
    }
    acceptLine();
    takenLines += 1;
    place += 1;
    at = lineFeed + 1;
  }
  return at;
}
