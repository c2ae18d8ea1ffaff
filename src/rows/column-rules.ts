/** How each column is written: its rule, by its kind, and the writer's method. */

import * as kinds from '../scan/kinds.ts';
import type { Line } from '../scan/line.ts';
import type { Column, RowWriter } from '../types.ts';
import { MapRules } from './maps.ts';
import type { TokenText } from './text.ts';
import { ScalarRules } from './values.ts';

const { MISSING } = kinds;

export class ColumnRules {
  readonly #writer: RowWriter;
  readonly #scalars: ScalarRules;
  readonly #maps: MapRules;

  constructor(line: Line, writer: RowWriter) {
    this.#writer = writer;
    this.#scalars = new ScalarRules(line);
    this.#maps = new MapRules(line, writer);
  }

  /** Writes the value of any column but the key and `unparsed`; its default, and returns false, when the token does not fit. */
  write(column: Column, token: number): boolean {
    const writer = this.#writer;
    switch (column.kind) {
      case 'uint16': {
        const value = this.#scalars.uint16(token);
        writer.uint16(value ?? null);
        return value !== undefined;
      }
      case 'float64': {
        const value = this.#scalars.float64(token);
        writer.float64(value ?? null);
        return value !== undefined;
      }
      case 'bool': {
        const value = this.#scalars.bool(token);
        writer.bool(value ?? null);
        return value !== undefined;
      }
      case 'datetime': {
        const value = this.#scalars.datetime(token);
        writer.datetime(value ?? null);
        return value !== undefined;
      }
      case 'text-map':
      case 'list-map':
        return this.#writeMap(column, token);
      case 'json-text':
        return this.#writeText(this.#scalars.jsonText(token));
      default:
        return this.#writeText(this.#scalars.text(token));
    }
  }

  #writeText(text: TokenText | undefined): boolean {
    const { bytes, start, end, plain } = text ?? (this.#scalars.text(MISSING) as TokenText);
    this.#writer.textBytes(bytes, start, end, plain);
    return text !== undefined;
  }

  #writeMap(column: Column, token: number): boolean {
    const maps = this.#maps;
    if (column.kind === 'text-map') return maps.writeTechnologies(token);
    return column.name === 'social_networks' ? maps.writeSocialNetworks(token) : maps.writeDnsRecords(token);
  }
}
