/** `domainsync preview` and `domainsync sample`: the free samples, shown in part or saved in full. */

import { formatNumber } from '../../common/format.ts';
import { printable } from '../../common/printable.ts';
import { withKnownDatasets } from '../../pipeline/known-datasets.ts';
import { COLUMNS } from '../../rows/columns.ts';
import type { ColumnKind, Target } from '../../types/index.ts';
import type { App } from '../app.ts';
import { printJson, type TextSink } from '../output.ts';
import { redacted } from '../redacted-output.ts';
import { checkPath, saveRows } from '../save-rows.ts';
import { fieldsOf, printRecords, roomFor } from '../service-records.ts';
import { readSample, type Sample } from './sample-rows.ts';

/** How many rows are shown: as many as a sample of a slice has (docs/service.md, "Limits"). */
const ROWS_SHOWN = 20;
/** If fewer columns fit, all main fields are listed one below the other instead. */
const FEWEST_COLUMNS = 4;
/** Wide enough for most domains. */
const COLUMN_WIDTH = 16;
/** The most useful columns with one short value. The others are in the file. */
const MAIN: readonly string[] = ['domain', 'country', 'http_status', 'pr_value', 'registrar', 'created_at'];
const SHORT: readonly ColumnKind[] = ['domain', 'text', 'uint16', 'float64', 'bool', 'datetime'];

/** @param output file for all rows. @throws USAGE, LOCAL_DISK, FILE_CORRUPT, SOURCE_* */
export async function sampleCommand(app: App, target: Target, output: string | undefined): Promise<number> {
  // Check before the request: samples are limited to 30 a minute.
  if (output !== undefined) await checkPath(output);
  let body: Buffer;
  try {
    body = await app.api().sample(target, app.signal);
  } catch (error) {
    throw await withKnownDatasets(app, error, target);
  }
  const sample = await readSample(body, app.signal);
  const out = redacted(app);
  if (output !== undefined) await save(app, sample, output, out);
  else if (app.json) printJson(sample.document, out);
  else show(sample, out);
  return 0;
}

async function save(app: App, { rows }: Sample, output: string, out: TextSink): Promise<void> {
  const bytes = await saveRows(output, rows, app.signal);
  if (app.json) printJson({ file: output, rows: rows.length, bytes }, out);
  else out.write(`saved ${formatNumber(rows.length)} rows in ${printable(output)} (${formatNumber(bytes)} bytes)\n`);
}

function show({ rows }: Sample, out: TextSink): void {
  if (rows.length === 0) {
    out.write('the sample has no rows\n');
    return;
  }
  const all = fieldsOf(rows);
  const main = mainFields(all);
  const room = roomFor(out, COLUMN_WIDTH);
  const fields = room >= FEWEST_COLUMNS ? main.slice(0, room) : main;
  printRecords(rows.slice(0, ROWS_SHOWN), fields, out);
  const shown = formatNumber(Math.min(rows.length, ROWS_SHOWN));
  out.write(
    `\n${shown} of ${formatNumber(rows.length)} rows, ${fields.length} of ${all.length} columns; -o <file> saves them all\n`,
  );
}

/** The fields with short values, the most useful first; all fields if the rows are not as specified. */
function mainFields(all: readonly string[]): string[] {
  const known = COLUMNS.filter(({ from, kind }) => from !== null && all.includes(from) && SHORT.includes(kind));
  if (known.length === 0) return [...all];
  const rank = (name: string): number => (MAIN.includes(name) ? MAIN.indexOf(name) : MAIN.length);
  const checked = known.filter(({ countsAsChange }) => countsAsChange);
  return checked.sort((a, b) => rank(a.name) - rank(b.name)).flatMap(({ from }) => (from === null ? [] : [from]));
}
