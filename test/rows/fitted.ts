/** Rows as the product makes them of lines, for tests of its rules. */
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { COLUMNS, selectColumns } from '../../src/rows/columns.ts';
import type { Where } from '../../src/types.ts';
import { Recorder, type Value } from '../scan/recorder.ts';

/** The rows of lines, each by the names of its columns. */
export function rowsOf(lines: string, selected?: string[], where: Where = []): Record<string, Value>[] {
  // As a thread gets them: copies.
  const columns = structuredClone(selectColumns(selected));
  const recorder = new Recorder();
  const bytes = new TextEncoder().encode(lines);
  const block = { number: 0, firstLine: 1, lines: lines.split('\n').length, bytes };
  encodeBlock(block, { writerModule: '', writerOptions: null, columns, where }, recorder);
  return recorder.rows.map(({ values }) =>
    Object.fromEntries(columns.map(({ name }, i) => [name, values[i] as Value])),
  );
}

/** The one row of an object's members as they stand in a line. */
export function rowOf(members: string, selected?: string[]): Record<string, Value> {
  const [row] = rowsOf(`{"Domain":"example.com"${members === '' ? '' : `,${members}`}}`, selected);
  if (row === undefined) throw new Error(`no row of ${members}`);
  return row;
}

/**
 * A column's value from JSON as it stands in a line, or from none; undefined when it does not fit. The line is read twice, the
 * quick way and as a whole (another column stands out of order), and both must agree.
 */
export function fitted(name: string, json: string | undefined): Value | undefined {
  const { from } = COLUMNS.find((column) => column.name === name) ?? {};
  const member = json === undefined ? '' : `"${from}":${json}`;
  const quick = valueIn(rowOf(member), name, from ?? '');
  const whole = valueIn(rowOf(member === '' ? '"x":1' : `"x":1,${member}`), name, from ?? '');
  if (JSON.stringify(quick) !== JSON.stringify(whole)) throw new Error(`${name} of ${json} depends on the line`);
  return quick;
}

function valueIn(row: Record<string, Value>, name: string, from: string): Value | undefined {
  const unparsed = row['unparsed'] as readonly (readonly [string, string])[];
  return unparsed.some(([key]) => key === from) ? undefined : row[name];
}
