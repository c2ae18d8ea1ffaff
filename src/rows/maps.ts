/**
 * The rules of the map columns (contract 3). A value is read first: that finds whether it fits as a whole, and its keys in
 * the order in which they are stored. Then it can be written.
 */

import * as kinds from '../scan/kinds.ts';
import type { Line } from '../scan/line.ts';
import type { Tape } from '../scan/tape.ts';
import type { Bytes, RowWriter } from '../types.ts';
import { MapKeys } from './map-keys.ts';
import { TokenText } from './text.ts';

const { ARRAY, MISSING, NULL, NUMBER, OBJECT, STRIDE, STRING } = kinds;

export class MapRules {
  readonly #bytes: Bytes;
  readonly #tape: Tape;
  readonly #writer: RowWriter;
  readonly #text: TokenText;
  /** Of the value that was read last. */
  readonly #keys: MapKeys;

  constructor(line: Line, writer: RowWriter) {
    this.#bytes = line.bytes;
    this.#tape = line.tape;
    this.#writer = writer;
    this.#text = new TokenText(line);
    this.#keys = new MapKeys(line);
  }

  /** technologies: an object of name to version, or an array of names. */
  writeTechnologies(token: number): boolean {
    if (!readTechnologies(token, this.#tape, this.#keys)) return this.#writeNothing();
    const writer = this.#writer;
    const tape = this.#tape;
    const { count } = this.#keys;
    const withVersions = tape.kind(token) === OBJECT;
    writer.mapBegin(count);
    for (let i = 0; i < count; i++) {
      const key = this.#keys.token(i);
      this.#writeKey(key);
      const version = withVersions ? key + STRIDE : MISSING;
      const kind = tape.kind(version);
      if (kind === STRING) this.#writeString(version);
      else this.#writeText(kind === NUMBER ? this.#text.readNumber(version) : this.#text.readNothing());
    }
    writer.mapEnd();
    return true;
  }

  /** dns_records: every object fits; what is no string becomes text. */
  writeDnsRecords(token: number): boolean {
    if (!readDnsRecords(token, this.#tape, this.#keys)) return this.#writeNothing();
    const { tokens } = this.#tape;
    const { count } = this.#keys;
    this.#writer.mapBegin(count);
    for (let i = 0; i < count; i++) {
      const key = this.#keys.token(i);
      this.#writeKey(key);
      const end = this.#tape.next(key + STRIDE);
      let value = this.#beginList(key + STRIDE, end);
      while (value < end) {
        if (tokens[value] === STRING) {
          this.#writer.mapText(this.#bytes, tokens[value + 1] as number, tokens[value + 2] as number, true);
        } else this.#writeRecord(key, value);
        value = this.#tape.next(value);
      }
    }
    this.#writer.mapEnd();
    return true;
  }

  /** social_networks: an object of platform to links; one link may stand alone. */
  writeSocialNetworks(token: number): boolean {
    if (!readSocialNetworks(token, this.#tape, this.#keys)) return this.#writeNothing();
    const tape = this.#tape;
    const { count } = this.#keys;
    this.#writer.mapBegin(count);
    for (let i = 0; i < count; i++) {
      const key = this.#keys.token(i);
      this.#writeKey(key);
      const end = tape.next(key + STRIDE);
      for (let link = this.#beginList(key + STRIDE, end); link < end; link = tape.next(link)) this.#writeString(link);
    }
    this.#writer.mapEnd();
    return true;
  }

  /** The default of a value that does not fit. */
  #writeNothing(): false {
    this.#writer.mapBegin(0);
    this.#writer.mapEnd();
    return false;
  }

  /**
   * A lone value is a list of one, null an empty list.
   * @param end the token behind `values`
   * @returns the token of its first value, or the one behind an empty list
   */
  #beginList(values: number, end: number): number {
    const tape = this.#tape;
    const kind = tape.kind(values);
    if (kind !== ARRAY) {
      this.#writer.mapList(kind === NULL ? 0 : 1);
      return kind === NULL ? end : values;
    }
    let count = 0;
    for (let value = tape.first(values); value < end; value = tape.next(value)) count += 1;
    this.#writer.mapList(count);
    return tape.first(values);
  }

  #writeRecord(type: number, value: number): void {
    const isString = this.#tape.kind(value) === STRING;
    this.#writeText(isString ? this.#text.readString(value) : this.#recordText(type, value));
  }

  /** Of a mail exchanger, an object of exactly a string `host` and a number `priority`, both; of anything else JSON text. */
  #recordText(type: number, value: number): TokenText {
    const tape = this.#tape;
    if (tape.kind(value) !== OBJECT || !this.#text.isString(type, 'MX')) return this.#text.readJson(value);
    let host = MISSING;
    let priority = MISSING;
    const end = tape.next(value);
    for (let key = tape.first(value); key < end; key = tape.next(key + STRIDE)) {
      if (this.#text.isString(key, 'host')) host = key + STRIDE;
      else if (this.#text.isString(key, 'priority')) priority = key + STRIDE;
      else return this.#text.readJson(value);
    }
    const fits = tape.kind(host) === STRING && tape.kind(priority) === NUMBER;
    return fits ? this.#text.readPair(priority, host) : this.#text.readJson(value);
  }

  #writeKey(key: number): void {
    const tape = this.#tape;
    if (tape.isPlainString(key)) {
      this.#writer.mapKey(this.#bytes, tape.start(key), tape.end(key), true);
      return;
    }
    const { bytes, start, end, plain } = this.#text.readString(key);
    this.#writer.mapKey(bytes, start, end, plain);
  }

  #writeString(string: number): void {
    const tape = this.#tape;
    if (tape.isPlainString(string)) this.#writer.mapText(this.#bytes, tape.start(string), tape.end(string), true);
    else this.#writeText(this.#text.readString(string));
  }

  #writeText({ bytes, start, end, plain }: TokenText): void {
    this.#writer.mapText(bytes, start, end, plain);
  }
}

/** Reads the keys of a value of `technologies`. @returns whether it fits */
export function readTechnologies(token: number, tape: Tape, keys: MapKeys): boolean {
  keys.clear();
  const kind = tape.kind(token);
  if (kind === ARRAY) {
    if (!allStrings(token, tape)) return false;
    keys.read(token);
    return true;
  }
  if (kind !== OBJECT) return kind <= NULL;
  keys.read(token);
  for (let i = 0; i < keys.count; i++) {
    const version = tape.kind(keys.token(i) + STRIDE);
    if (version !== STRING && version !== NUMBER && version !== NULL) return false;
  }
  return true;
}

/** Reads the keys of a value of `dns_records`. @returns whether it fits */
export function readDnsRecords(token: number, tape: Tape, keys: MapKeys): boolean {
  keys.clear();
  const kind = tape.kind(token);
  if (kind !== OBJECT) return kind <= NULL;
  keys.read(token);
  return true;
}

/** Reads the keys of a value of `social_networks`. @returns whether it fits */
export function readSocialNetworks(token: number, tape: Tape, keys: MapKeys): boolean {
  keys.clear();
  const kind = tape.kind(token);
  if (kind !== OBJECT) return kind <= NULL;
  keys.read(token);
  for (let i = 0; i < keys.count; i++) {
    const links = keys.token(i) + STRIDE;
    if (tape.kind(links) !== STRING && !(tape.kind(links) === ARRAY && allStrings(links, tape))) return false;
  }
  return true;
}

function allStrings(array: number, tape: Tape): boolean {
  const end = tape.next(array);
  for (let value = tape.first(array); value < end; value = tape.next(value)) {
    if (tape.kind(value) !== STRING) return false;
  }
  return true;
}
