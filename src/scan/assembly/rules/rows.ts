/**
 * Writes a line's tokens as a row (docs/contract.md, "Rows"): every selected column in order. Unusual lines are not taken; they go
 * through the twins on parsed values: src/rows/normalise.ts, values.ts, maps.ts.
 */
import { compareBytes } from '../bytes/bytes';
import { CASE_BIT, FALS_WORD, LOWER_E, TRUE_WORD } from '../bytes/characters';
import {
  BOOL,
  DATETIME,
  DNS_RECORDS,
  DOMAIN,
  FLOAT64,
  JSON_TEXT,
  SOCIAL_NETWORKS,
  TECHNOLOGIES,
  TEXT,
  UINT16,
} from './kinds';
import { NO_TIME, parseDateTime } from './dates';
import { keyCount, nameLength, nameStart } from '../json/keys';
import { tokenOf } from '../line';
import { MapRows } from './map-rows';
import { parseUint16 } from './numbers';
import { FALSE, NULL, NUMBER, ODD, STRING, TRUE, endOf, kindOf, marksOf, startOf } from '../json/tape';
import { readBare, readJson, readNothing, readString, textEnd, textPlain, textStart } from '../json/text';
import { RowWriter } from '../writer';

/** CASE_BIT in each letter of a word. */
const SMALL: u32 = 0x20202020;

const MAX_COLUMNS: u32 = 64;
/** More unknown columns in one line than any file of the service has. */
const MAX_UNLISTED: u32 = 64;

/** Writes the rows of one load. */
@final
export class Rows<W extends RowWriter> {
  private readonly writer: W;
  private readonly maps: MapRows<W>;
  /** Each column's kind and key. */
  private readonly steps: usize = heap.alloc(8 * MAX_COLUMNS);
  private stepCount: u32 = 0;
  /** Keys up to this number have a column of the schema, selected or not. */
  private readonly listed: u32;
  private readonly unlisted: usize = heap.alloc(4 * MAX_UNLISTED);

  constructor(writer: W, listed: u32) {
    this.writer = writer;
    this.maps = new MapRows<W>(writer);
    this.listed = listed;
  }

  /** Whether to take the written bytes before writing more. */
  @inline
  get full(): bool {
    return this.writer.full();
  }

  addColumn(kind: u32, key: u32): void {
    const step = this.steps + 8 * this.stepCount;
    store<u32>(step, kind);
    store<u32>(step, key, 4);
    this.stepCount += 1;
  }

  /** Writes the last scanned line as a row; its key is the last read text. @returns false if it is not taken: nothing is written */
  write(line: u64): bool {
    const writer = this.writer;
    writer.begin(line);
    const last = this.steps + 8 * this.stepCount;
    for (let step = this.steps; step < last; step += 8) {
      if (!this.column(load<u32>(step), tokenOf(load<u32>(step, 4)))) {
        writer.drop();
        return false;
      }
    }
    writer.end();
    return true;
  }

  private column(kind: u32, token: usize): bool {
    const writer = this.writer;
    switch (kind) {
      case DOMAIN:
        writer.text(textStart, textEnd, true);
        return true;
      case TEXT:
        return this.text(token);
      case JSON_TEXT:
        return this.json(token);
      case UINT16:
        return this.uint16(token);
      case FLOAT64:
        return this.float64(token);
      case BOOL:
        return this.bool(token);
      case DATETIME:
        return this.datetime(token);
      case TECHNOLOGIES:
        return this.maps.technologies(token);
      case DNS_RECORDS:
        return this.maps.dnsRecords(token);
      case SOCIAL_NETWORKS:
        return this.maps.socialNetworks(token);
      default:
        return this.unparsed();
    }
  }

  private text(token: usize): bool {
    const kind = kindOf(token);
    if (kind == STRING) readString(token);
    else if (kind <= NULL) readNothing();
    else if (kind <= FALSE || marksOf(token) == NUMBER) readBare(token);
    else return false;
    this.writer.text(textStart, textEnd, textPlain);
    return true;
  }

  private json(token: usize): bool {
    if (kindOf(token) <= NULL) readNothing();
    else if (!readJson(token)) return false;
    this.writer.text(textStart, textEnd, textPlain);
    return true;
  }

  private uint16(token: usize): bool {
    const kind = kindOf(token);
    if (kind <= NULL) {
      this.writer.uint16(0, true);
      return true;
    }
    if (marksOf(token) != NUMBER && marksOf(token) != STRING) return false;
    const value = parseUint16(startOf(token), endOf(token));
    if (value < 0) return false;
    this.writer.uint16(value, false);
    return true;
  }

  private float64(token: usize): bool {
    const kind = kindOf(token);
    if (kind == NUMBER) return this.writer.number(startOf(token), endOf(token), (marksOf(token) & ODD) == 0);
    if (kind > NULL) return false;
    this.writer.float64(0, true);
    return true;
  }

  private bool(token: usize): bool {
    const kind = kindOf(token);
    if (kind <= NULL) {
      this.writer.bool(false, true);
      return true;
    }
    let value = kind == TRUE;
    if (kind == STRING) {
      const start = startOf(token);
      const length = endOf(token) - start;
      const word = load<u32>(start) | SMALL;
      if (length == 4 && word == TRUE_WORD) value = true;
      else if (length != 5 || word != FALS_WORD || (load<u8>(start + 4) | CASE_BIT) != LOWER_E) return false;
    } else if (kind != TRUE && kind != FALSE) return false;
    this.writer.bool(value, false);
    return true;
  }

  private datetime(token: usize): bool {
    if (kindOf(token) <= NULL) {
      this.writer.datetime(0, true);
      return true;
    }
    if (marksOf(token) != STRING) return false;
    const start = startOf(token);
    const end = endOf(token);
    const time = parseDateTime(start, end);
    if (time == NO_TIME) return false;
    this.writer.time(time, start, end);
    return true;
  }

  /** Writes the source columns that no column is made from, in the order of their bytes. */
  private unparsed(): bool {
    const keys = this.unlisted;
    let count: u32 = 0;
    for (let id = this.listed + 1; id <= keyCount; id++) {
      if (tokenOf(id) == 0) continue;
      if (count == MAX_UNLISTED) return false;
      let at = count;
      while (at > 0 && compareNames(load<u32>(keys + 4 * (at - 1)), id) > 0) {
        store<u32>(keys + 4 * at, load<u32>(keys + 4 * (at - 1)));
        at -= 1;
      }
      store<u32>(keys + 4 * at, id);
      count += 1;
    }
    const writer = this.writer;
    writer.mapBegin(count);
    for (let i: u32 = 0; i < count; i++) {
      const id = load<u32>(keys + 4 * i);
      writer.mapKey(nameStart(id), nameStart(id) + nameLength(id), true);
      if (!readJson(tokenOf(id))) return false;
      writer.mapText(textStart, textEnd, textPlain);
    }
    writer.mapEnd();
    return true;
  }
}

function compareNames(a: u32, b: u32): i32 {
  return compareBytes(nameStart(a), nameLength(a), nameStart(b), nameLength(b));
}
