/** Map columns of a row (docs/contract.md, "Maps"). Twins on parsed values: src/rows/maps.ts. */
import { mapCount, mapKeyAt, readKeys, readNoKeys } from './maps';
import { ARRAY, NULL, NUMBER, OBJECT, STRING, TOKEN, endOf, kindOf, marksOf, nextOf, startOf } from '../json/tape';
import { readBare, readJson, readNothing, readPair, readString, textEnd, textPlain, textStart } from '../json/text';
import { RowWriter } from '../writer';

/** `MX`, `host`, `priority`, as words. */
const MX: u32 = 0x584d;
const HOST: u32 = 0x74736f68;
const PRIORITY: u64 = 0x797469726f697270;

/** Each method writes a token's column. @returns false if it is not taken; part may have been written */
@final
export class MapRows<W extends RowWriter> {
  private readonly writer: W;

  constructor(writer: W) {
    this.writer = writer;
  }

  /** Reads the keys of a map; a missing value has none. `arrayToo`: an array of strings is a map without values. */
  private mapKeys(token: usize, arrayToo: bool): bool {
    const kind = kindOf(token);
    if (kind == OBJECT || (arrayToo && kind == ARRAY)) return readKeys(token);
    readNoKeys();
    return kind <= NULL;
  }

  technologies(token: usize): bool {
    if (!this.mapKeys(token, true)) return false;
    const writer = this.writer;
    const withVersions = kindOf(token) == OBJECT;
    const count = mapCount;
    writer.mapBegin(count);
    for (let i: u32 = 0; i < count; i++) {
      const key = mapKeyAt(i);
      writer.mapKey(startOf(key), endOf(key), true);
      const version = withVersions ? key + TOKEN : 0;
      const kind = kindOf(version);
      if (kind == STRING) readString(version);
      else if (kind <= NULL) readNothing();
      else if (marksOf(version) == NUMBER) readBare(version);
      else return false;
      writer.mapText(textStart, textEnd, textPlain);
    }
    writer.mapEnd();
    return true;
  }

  dnsRecords(token: usize): bool {
    if (!this.mapKeys(token, false)) return false;
    const writer = this.writer;
    const count = mapCount;
    writer.mapBegin(count);
    for (let i: u32 = 0; i < count; i++) {
      const key = mapKeyAt(i);
      writer.mapKey(startOf(key), endOf(key), true);
      const end = nextOf(key + TOKEN);
      for (let value = this.beginList(key + TOKEN, end); value < end; value = nextOf(value)) {
        if (kindOf(value) == STRING) readString(value);
        else if (!this.record(key, value)) return false;
        writer.mapText(textStart, textEnd, textPlain);
      }
    }
    writer.mapEnd();
    return true;
  }

  /** Writes both values of a mail exchanger, an object of exactly a string `host` and a number `priority`; JSON text of anything else. */
  private record(type: usize, value: usize): bool {
    const isMx = endOf(type) - startOf(type) == 2 && load<u16>(startOf(type)) == MX;
    if (kindOf(value) != OBJECT || !isMx) return readJson(value);
    let host: usize = 0;
    let priority: usize = 0;
    const end = nextOf(value);
    for (let key = value + TOKEN; key < end; key = nextOf(key + TOKEN)) {
      const start = startOf(key);
      const length = endOf(key) - start;
      if (length == 4 && load<u32>(start) == HOST) host = key + TOKEN;
      else if (length == 8 && load<u64>(start) == PRIORITY) priority = key + TOKEN;
      else return marksOf(key) == STRING && readJson(value);
    }
    return kindOf(host) == STRING && kindOf(priority) == NUMBER ? readPair(priority, host) : readJson(value);
  }

  socialNetworks(token: usize): bool {
    if (!this.mapKeys(token, false)) return false;
    const writer = this.writer;
    const count = mapCount;
    writer.mapBegin(count);
    for (let i: u32 = 0; i < count; i++) {
      const key = mapKeyAt(i);
      writer.mapKey(startOf(key), endOf(key), true);
      const links = key + TOKEN;
      if (kindOf(links) != STRING && kindOf(links) != ARRAY) return false;
      const end = nextOf(links);
      for (let link = this.beginList(links, end); link < end; link = nextOf(link)) {
        if (kindOf(link) != STRING) return false;
        readString(link);
        writer.mapText(textStart, textEnd, textPlain);
      }
    }
    writer.mapEnd();
    return true;
  }

  /**
   * Begins a list. A lone value is a list of one, null an empty list.
   * @returns the token of the first value, or `end` for an empty list
   */
  private beginList(values: usize, end: usize): usize {
    const kind = kindOf(values);
    if (kind != ARRAY) {
      this.writer.mapList(kind == NULL ? 0 : 1);
      return kind == NULL ? end : values;
    }
    let count: u32 = 0;
    for (let value = values + TOKEN; value < end; value = nextOf(value)) count += 1;
    this.writer.mapList(count);
    return values + TOKEN;
  }
}
