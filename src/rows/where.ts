/** Selects rows (docs/contract.md, "where and columns"). Compares normalised values as text, ignoring case. */
import { DomainsyncError } from '../common/errors.ts';
import type { Column, Where } from '../types/index.ts';
import { COLUMNS } from './columns.ts';
import { toDomain } from './domain.ts';
import type { SourceRecord } from './json.ts';
import { type ListEntries, type TextEntries, toDnsRecords, toSocialNetworks, toTechnologies } from './maps.ts';
import { toBool, toDateTime, toFloat64, toJsonText, toText, toUint16 } from './values.ts';

interface Condition {
  readonly column: Column;
  readonly from: string;
  /** Lower case. */
  readonly wanted: ReadonlySet<string>;
}

/** A compiled `where`. Its columns need not be selected ones. */
type WhereTest = (record: SourceRecord) => boolean;

/**
 * Compiles a `where`. Every named column must have one of the wanted values; a map, one of them as a key. A number
 * compares as JavaScript's String(n), a boolean as `true` or `false`, a time as `2024-01-31T10:20:30.123Z`. Null equals
 * only the empty text. A value that does not fit its column counts as the column's default.
 * @throws CONFIG_INVALID for a column that does not exist, or `unparsed`
 */
export function compileWhere(where: Where): WhereTest {
  const conditions = where.map(({ column, values }) => condition(column, values));
  return (record) => {
    for (const one of conditions) if (!holds(one, record[one.from])) return false;
    return true;
  };
}

function condition(name: string, values: readonly string[]): Condition {
  const column = COLUMNS.find((one) => one.name === name);
  if (column === undefined || column.from === null) {
    throw new DomainsyncError('CONFIG_INVALID', `where: '${name}' is no column that rows can be chosen by`);
  }
  return { column, from: column.from, wanted: new Set(values.map((value) => value.toLowerCase())) };
}

function holds({ column, wanted }: Condition, source: unknown): boolean {
  switch (column.kind) {
    case 'technologies':
      return hasKey(toTechnologies(source), wanted);
    case 'dns-records':
      return hasKey(toDnsRecords(source), wanted);
    case 'social-networks':
      return hasKey(toSocialNetworks(source), wanted);
    default:
      return wanted.has(scalarText(column, source).toLowerCase());
  }
}

function hasKey(map: TextEntries | ListEntries | undefined, wanted: ReadonlySet<string>): boolean {
  return (map ?? []).some(([key]) => wanted.has(key.toLowerCase()));
}

function scalarText(column: Column, source: unknown): string {
  switch (column.kind) {
    case 'domain': {
      const domain = toDomain(source);
      return typeof domain === 'string' ? domain : '';
    }
    case 'uint16':
      return String(toUint16(source) ?? '');
    case 'float64':
      return String(toFloat64(source) ?? '');
    case 'bool':
      return String(toBool(source) ?? '');
    case 'datetime': {
      const time = toDateTime(source) ?? null;
      return time === null ? '' : new Date(time).toISOString();
    }
    case 'json-text':
      return toJsonText(source);
    default:
      return toText(source) ?? '';
  }
}
