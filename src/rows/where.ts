/** Which rows are wanted (contract 2, `where`): compared as text, ignoring case, after normalisation. */
import { DomainsyncError } from '../errors.ts';
import type { Line } from '../scan/line.ts';
import type { Column, Where } from '../types.ts';
import { COLUMNS, keyOf } from './columns.ts';
import { DomainReader } from './domain-bytes.ts';
import { MapKeys } from './map-keys.ts';
import { readDnsRecords, readSocialNetworks, readTechnologies } from './maps.ts';
import { TokenText } from './text.ts';
import { ScalarRules } from './values.ts';

interface Condition {
  readonly column: Column;
  /** Number of its source column. */
  readonly key: number;
  /** Lower case. */
  readonly wanted: ReadonlySet<string>;
}

/**
 * The rows of a block that are wanted: every column named must have one of its values; of a map, one of its keys. A number
 * is compared as JavaScript's String(n), a boolean as `true` or `false`, a time as `2024-01-31T10:20:30.123Z`; null equals
 * the empty text alone, and a value that does not fit its column is the column's default. Columns need not be selected.
 */
export class WhereTest {
  readonly #conditions: readonly Condition[];
  readonly #line: Line;
  readonly #domain: DomainReader;
  readonly #scalars: ScalarRules;
  readonly #keys: MapKeys;
  readonly #text: TokenText;

  /** @throws CONFIG_INVALID for a column that does not exist, or `unparsed` */
  constructor(where: Where, line: Line) {
    this.#conditions = where.map(({ column, values }) => condition(column, values));
    this.#line = line;
    this.#domain = new DomainReader(line);
    this.#scalars = new ScalarRules(line);
    this.#keys = new MapKeys(line);
    this.#text = new TokenText(line);
  }

  /** Whether the line is wanted. */
  holds(): boolean {
    for (const one of this.#conditions) if (!this.#meets(one)) return false;
    return true;
  }

  #meets({ column, key, wanted }: Condition): boolean {
    const token = this.#line.token(key);
    if (column.kind !== 'text-map' && column.kind !== 'list-map') {
      return wanted.has(this.#scalarText(column, token).toLowerCase());
    }
    if (!this.#readKeys(column, token)) return false;
    for (let i = 0; i < this.#keys.count; i++) {
      if (wanted.has(this.#text.readString(this.#keys.token(i)).toString().toLowerCase())) return true;
    }
    return false;
  }

  #readKeys(column: Column, token: number): boolean {
    const { tape } = this.#line;
    if (column.kind === 'text-map') return readTechnologies(token, tape, this.#keys);
    const read = column.name === 'social_networks' ? readSocialNetworks : readDnsRecords;
    return read(token, tape, this.#keys);
  }

  #scalarText(column: Column, token: number): string {
    switch (column.kind) {
      case 'domain':
        return this.#domain.read(token) === undefined ? this.#domain.text.toString() : '';
      case 'uint16':
        return String(this.#scalars.uint16(token) ?? '');
      case 'float64':
        return String(this.#scalars.float64(token) ?? '');
      case 'bool':
        return String(this.#scalars.bool(token) ?? '');
      case 'datetime': {
        const time = this.#scalars.datetime(token) ?? null;
        return time === null ? '' : new Date(time).toISOString();
      }
      case 'json-text':
        return this.#scalars.jsonText(token).toString();
      default:
        return this.#scalars.text(token)?.toString() ?? '';
    }
  }
}

function condition(name: string, values: readonly string[]): Condition {
  const column = COLUMNS.find((one) => one.name === name);
  if (column === undefined || column.from === null) {
    throw new DomainsyncError('CONFIG_INVALID', `where: '${name}' is no column that rows can be chosen by`);
  }
  const wanted = new Set(values.map((value) => value.toLowerCase()));
  return { column, key: keyOf(column), wanted };
}
