/**
 * The parts of README.md that come from the code: `node tools/documents.ts` writes them anew. A test tells when they
 * are out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { columnType } from '../connectors/clickhouse/sql/schema.ts';
import { ERROR_KINDS } from '../src/common/errors.ts';
import { COLUMNS } from '../src/rows/columns.ts';

const README = new URL('../README.md', import.meta.url);

/** The README with its generated parts made anew. */
export function renewed(readme: string): string {
  return replacePart(replacePart(readme, 'columns', columnTable()), 'errors', errorTable());
}

function columnTable(): string {
  const rows = COLUMNS.map(
    (column) =>
      `| \`${column.name}\` | \`${columnType(column)}\` | ${column.from ?? 'everything else'} | ${column.description} |`,
  );
  return ['| column | ClickHouse type | from | holds |', '|---|---|---|---|', ...rows].join('\n');
}

function errorTable(): string {
  const rows = Object.entries(ERROR_KINDS).map(
    ([code, { exitCode, hint }]) => `| \`${code}\` | ${exitCode} | ${hint} |`,
  );
  return ['| code | exit code | what to do |', '|---|---|---|', ...rows].join('\n');
}

function replacePart(readme: string, name: string, text: string): string {
  const [start, end] = [`<!-- ${name}: written by tools/documents.ts -->`, `<!-- end of ${name} -->`];
  const from = readme.indexOf(start);
  const to = readme.indexOf(end);
  if (from === -1 || to < from) throw new Error(`README.md has no part '${name}'`);
  return `${readme.slice(0, from + start.length)}\n${text}\n${readme.slice(to)}`;
}

if (import.meta.main) writeFileSync(README, renewed(readFileSync(README, 'utf8')));
