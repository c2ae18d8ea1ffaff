/**
 * Generates the parts of the documents that come from the code: `node tools/documents.ts` rewrites them.
 * test/repository/documents.test.ts fails if they are out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { columnType } from '../connectors/clickhouse/sql/schema.ts';
import { ERROR_KINDS } from '../src/common/errors.ts';
import { COLUMNS } from '../src/rows/columns.ts';
import { createMetrics } from '../src/worker/metrics/metrics.ts';

/** Each generated part: its name, the document that it stands in, and what writes it. */
export const PARTS = [
  { name: 'columns', document: 'docs/tables.md', write: columnTable },
  { name: 'errors', document: 'docs/operations.md', write: errorTable },
  { name: 'metrics', document: 'docs/worker.md', write: metricTable },
] as const;

type Part = (typeof PARTS)[number];

function columnTable(): string {
  const rows = COLUMNS.map((column) => [
    code(column.name),
    code(columnType(column)),
    column.from ?? 'everything else',
    column.description,
  ]);
  return table(['column', 'ClickHouse type', 'from', 'holds'], rows);
}

function errorTable(): string {
  const rows = Object.entries(ERROR_KINDS).map(([name, { exitCode, hint }]) => [code(name), String(exitCode), hint]);
  return table(['code', 'exit code', 'what to do'], rows);
}

/** domainsync's own come first, those of the process behind them. */
function metricTable(): string {
  const { definitions } = createMetrics();
  const own = definitions.filter(({ name }) => name.startsWith('domainsync_'));
  const rows = [...own, ...definitions.filter((metric) => !own.includes(metric))].map(
    ({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help],
  );
  return table(['metric', 'type', 'labels', 'meaning'], rows);
}

function code(text: string): string {
  return `\`${text}\``;
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [lines[0], `|${heads.map(() => '---|').join('')}`, ...lines.slice(1)].join('\n');
}

/** Where a document lies. */
export function documentUrl({ document }: Pick<Part, 'document'>): URL {
  return new URL(`../${document}`, import.meta.url);
}

/** The document of a part, as it stands and with the part made anew. */
export function renewed(part: Part): { readonly before: string; readonly after: string } {
  const before = readFileSync(documentUrl(part), 'utf8');
  const [start, end] = [`<!-- ${part.name}: written by tools/documents.ts -->`, `<!-- end of ${part.name} -->`];
  const from = before.indexOf(start);
  const to = before.indexOf(end);
  if (from === -1 || to < from) throw new Error(`${part.document} has no part '${part.name}'`);
  return { before, after: `${before.slice(0, from + start.length)}\n${part.write()}\n${before.slice(to)}` };
}

if (import.meta.main) {
  for (const part of PARTS) writeFileSync(documentUrl(part), renewed(part).after);
}
