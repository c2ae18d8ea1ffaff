/** Shows records of the service, whose fields are not known in advance, as a table or field by field. */

import { formatNumber } from '../common/format.ts';
import { printable } from '../common/printable.ts';
import { type Entry, isRawNumber } from '../types/index.ts';
import { type Cell, printTable, type TextSink } from './output.ts';

/** Least width of a readable table column. */
const LEAST_COLUMN = 12;
/** Below this, the usual six decimals would show almost nothing. */
const SMALL = 0.001;
/** How many items of a longer list are shown. */
const LIST_SHOWN = 4;

/** The fields of the records, in order of first appearance. */
export function fieldsOf(records: readonly Entry[]): string[] {
  return [...new Set(records.flatMap((record) => Object.keys(record)))];
}

/** How many columns of this width fit on a terminal. Elsewhere all fit. */
export function roomFor(out: TextSink, width: number = LEAST_COLUMN): number {
  return out.columns === undefined ? Number.POSITIVE_INFINITY : Math.floor(out.columns / width);
}

/** A table with the fields as columns. On a terminal too narrow for it, the records are listed one below the other. */
export function printRecords(records: readonly Entry[], fields: readonly string[], out: TextSink): void {
  if (fields.length <= roomFor(out)) {
    const rows = records.map((record) => fields.map((field) => cellOf(field, record[field])));
    printTable(fields, rows, out);
    return;
  }
  for (const [index, record] of records.entries()) {
    if (index > 0) out.write('\n');
    printFields(
      fields.map((field) => [field, cellOf(field, record[field])]),
      out,
    );
  }
}

/** A document's fields, one per line. Nested fields are named like `user.email`. */
export function printDocument(document: unknown, out: TextSink): void {
  printFields(flattened('', document), out);
}

/** How a value is shown in a line. Numeric ids are not formatted as quantities. */
export function cellOf(field: string, value: unknown): Cell {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return numberCell(field, value);
  if (Array.isArray(value)) return listText(value);
  if (isRawNumber(value)) return JSON.stringify(value);
  return objectText(value as Entry);
}

function numberCell(field: string, value: number): Cell {
  if (/(?:^|[^a-z])id$|Id$/u.test(field)) return String(value);
  return value !== 0 && Math.abs(value) < SMALL ? String(Number(value.toPrecision(6))) : value;
}

function flattened(path: string, value: unknown): [string, Cell][] {
  if (
    typeof value !== 'object' ||
    value === null ||
    Array.isArray(value) ||
    isRawNumber(value) ||
    moneyText(value as Entry) !== null
  ) {
    return [[path === '' ? 'value' : path, cellOf(path, value)]];
  }
  return Object.entries(value).flatMap(([key, inner]) => flattened(path === '' ? key : `${path}.${key}`, inner));
}

function listText(list: readonly unknown[]): string {
  const shown = list.slice(0, LIST_SHOWN).map(innerText).join(', ');
  return list.length > LIST_SHOWN ? `${shown} and ${formatNumber(list.length - LIST_SHOWN)} more` : shown;
}

/** `499 USD`; or `WordPress 6.4, PHP 8.2`. */
function objectText(object: Entry): string {
  const money = moneyText(object);
  if (money !== null) return money;
  return listText(Object.entries(object).map(([key, value]) => `${key} ${innerText(value)}`.trim()));
}

function moneyText(object: Entry): string | null {
  const keys = Object.keys(object);
  const amount = ['amount', 'value', 'price'].find((key) => keys.includes(key));
  if (amount === undefined || keys.length !== 2 || typeof object['currency'] !== 'string') return null;
  return `${innerText(object[amount])} ${object['currency']}`;
}

function innerText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : (JSON.stringify(value) ?? '');
}

function printFields(fields: readonly (readonly [string, Cell])[], out: TextSink): void {
  const width = Math.max(0, ...fields.map(([name]) => printable(name).length));
  for (const [name, cell] of fields) out.write(`${printable(name).padEnd(width)}  ${fieldText(cell)}\n`);
}

function fieldText(cell: Cell): string {
  if (cell === null) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return typeof cell === 'string' ? printable(cell) : formatNumber(cell);
}
