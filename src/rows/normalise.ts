/** Writes a line's object as a row: every selected column in order, then the misfits (docs/contract.md, "Rows"). */
import type { Column, RowWriter } from '../types/index.ts';
import { COLUMNS } from './columns.ts';
import { jsonText, type SourceRecord } from './json.ts';
import { sortEntries, toDnsRecords, toSocialNetworks, toTechnologies } from './maps.ts';
import { toBool, toDateTime, toFloat64, toJsonText, toText, toUint16 } from './values.ts';

const LISTED: ReadonlySet<string> = new Set(COLUMNS.map((column) => column.from).filter((from) => from !== null));

const NO_KEYS: readonly string[] = [];

/**
 * The keys of a block's objects. Remembers all of them, and picks those without a column. Does both in one pass with
 * one look-up per key, since it runs for every line.
 */
export class SourceKeys {
  /** Each key seen, and whether the schema has a column for it. */
  readonly #seen = new Map<string, boolean>();

  /** The record's keys that no column, selected or not, is made from. */
  unlisted(record: SourceRecord): readonly string[] {
    let unlisted: string[] | undefined;
    for (const key in record) {
      let listed = this.#seen.get(key);
      if (listed === undefined) {
        listed = LISTED.has(key);
        this.#seen.set(key, listed);
      }
      if (!listed) {
        unlisted ??= [];
        unlisted.push(key);
      }
    }
    return unlisted ?? NO_KEYS;
  }

  /** All keys so far, in order of appearance. */
  all(): string[] {
    return [...this.#seen.keys()];
  }
}

/**
 * Writes one row.
 * @param columns the selected columns; others are ignored and do not reach `unparsed`
 * @param unlisted the record's keys that no column is made from
 * @param domain the key, by toDomain
 * @param line number of the line in the file
 */
export function writeRow(
  columns: readonly Column[],
  record: SourceRecord,
  unlisted: readonly string[],
  domain: string,
  line: number,
  writer: RowWriter,
): void {
  let misfits: string[] | undefined;
  writer.begin(line);
  for (const column of columns) {
    const { from } = column;
    // `unparsed`, the only one without a source column, comes last, when the misfits are known.
    if (from === null) writer.textMap(unparsedEntries(record, unlisted, misfits ?? NO_KEYS));
    else if (column.kind === 'domain') writer.text(domain);
    else if (!writeValue(column, record[from], writer)) {
      misfits ??= [];
      misfits.push(from);
    }
  }
  writer.end();
}

/**
 * Writes the column's value by the rule of its kind. If the source's value does not fit, writes the default and returns
 * false. Twin on bytes: `column` in src/scan/assembly/rules/rows.ts.
 */
function writeValue(column: Column, source: unknown, writer: RowWriter): boolean {
  switch (column.kind) {
    case 'uint16': {
      const value = toUint16(source);
      writer.uint16(value ?? null);
      return value !== undefined;
    }
    case 'float64': {
      const value = toFloat64(source);
      writer.float64(value ?? null);
      return value !== undefined;
    }
    case 'bool': {
      const value = toBool(source);
      writer.bool(value ?? null);
      return value !== undefined;
    }
    case 'datetime': {
      const value = toDateTime(source);
      writer.datetime(value ?? null);
      return value !== undefined;
    }
    case 'technologies': {
      const value = toTechnologies(source);
      writer.textMap(value ?? []);
      return value !== undefined;
    }
    case 'dns-records': {
      const value = toDnsRecords(source);
      writer.listMap(value ?? []);
      return value !== undefined;
    }
    case 'social-networks': {
      const value = toSocialNetworks(source);
      writer.listMap(value ?? []);
      return value !== undefined;
    }
    case 'json-text':
      writer.text(toJsonText(source));
      return true;
    default: {
      const value = toText(source);
      writer.text(value ?? '');
      return value !== undefined;
    }
  }
}

const NO_ENTRIES: readonly (readonly [string, string])[] = [];

function unparsedEntries(
  record: SourceRecord,
  unlisted: readonly string[],
  misfits: readonly string[],
): readonly (readonly [string, string])[] {
  if (unlisted.length === 0 && misfits.length === 0) return NO_ENTRIES;
  const entries: [string, string][] = [];
  for (const key of unlisted) entries.push([key, jsonText(record[key])]);
  for (const key of misfits) entries.push([key, jsonText(record[key])]);
  return sortEntries(entries);
}
