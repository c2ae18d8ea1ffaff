/** Records of the service, whose fields are not known beforehand, for people: a table, or field by field. */

import { formatNumber } from '../common/format.ts';
import { printable } from '../common/printable.ts';
import { type Entry, isRawNumber } from '../types/index.ts';
import { type Cell, printTable, type TextSink } from './output.ts';

/** A column of a table needs so much of a terminal's width to be readable. */
const LEAST_COLUMN = 12;
/** Below this the usual six decimals would show next to nothing. */
const SMALL = 0.001;
/** Of a longer list as many are shown. */
const LIST_SHOWN = 4;

/** The fields that records have, in the order in which they first come. */
export function fieldsOf(records: readonly Entry[]): string[] {
  return [...new Set(records.flatMap((record) => Object.keys(record)))];
}

/** How many columns of such a width a terminal has room for; elsewhere there is room for all. */
export function roomFor(out: TextSink, width: number = LEAST_COLUMN): number {
  return out.columns === undefined ? Number.POSITIVE_INFINITY : Math.floor(out.columns / width);
}

/** A table with the fields as columns; where a terminal is too narrow for it, one record below the other. */
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

/** A document's fields, one on each line; those of objects in it as `user.email`. */
export function printDocument(document: unknown, out: TextSink): void {
  printFields(flattened('', document), out);
}

/** What is shown of a value in a line. Numbers of ids are no quantities. */
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
