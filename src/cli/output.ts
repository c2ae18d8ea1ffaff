/** Output on stdout as tables and JSON, and how errors are shown. */
import type { DomainsyncError } from '../common/errors.ts';
import { formatNumber } from '../common/format.ts';
import { printable, printableLines, UNPRINTABLE } from '../common/printable.ts';

/** Anything that takes text: `process.stdout`, or a test's own sink. */
export interface TextSink {
  write(text: string): unknown;
  /** Width of a terminal; undefined elsewhere. */
  readonly columns?: number | undefined;
}

/** One cell of a table. null is shown as `-`, a boolean as `yes` or `no`. */
export type Cell = string | number | bigint | boolean | null;

/** A table with a header line, columns as wide as their widest cell, and numbers right-aligned. */
export function printTable(
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  out: TextSink = process.stdout,
): void {
  out.write(`${formatTable(heads, rows, out.columns).join('\n')}\n`);
}

/**
 * The lines of a table. If it is wider than `limit` columns, the widest text columns are cut, but not below 8. A table for
 * another program (no limit) is never cut.
 */
export function formatTable(
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  limit?: number | undefined,
): string[] {
  const texts = rows.map((row) => heads.map((_, column) => cellText(row[column] ?? null)));
  const right = heads.map((_, column) => isNumeric(rows.map((row) => row[column] ?? null)));
  const lines = [heads.map(printable), ...texts];
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => displayWidth(line[column] ?? ''))));
  if (limit !== undefined) shrink(widths, right, limit);
  return lines.map((line) => {
    const cells = line.map((text, column) => padded(text, widths[column] ?? 0, right[column] ?? false));
    return cells.join('  ').trimEnd();
  });
}

function isNumeric(cells: readonly Cell[]): boolean {
  const values = cells.filter((cell) => cell !== null);
  return values.length > 0 && values.every((cell) => typeof cell === 'number' || typeof cell === 'bigint');
}

function cellText(cell: Cell): string {
  if (cell === null) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return typeof cell === 'string' ? printable(cell) : formatNumber(cell);
}

const LEAST_WIDTH = 8;

function shrink(widths: number[], right: readonly boolean[], limit: number): void {
  let excess = widths.reduce((sum, width) => sum + width + 2, -2) - limit;
  while (excess > 0) {
    const texts = widths.map((width, column) => (right[column] === true ? 0 : width));
    const widest = Math.max(...texts);
    if (widest <= LEAST_WIDTH) return;
    widths[texts.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
}

function padded(text: string, width: number, right: boolean): string {
  const own = displayWidth(text);
  if (own <= width) return right ? ' '.repeat(width - own) + text : text + ' '.repeat(width - own);
  let kept = '';
  let used = 1;
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += displayWidth(segment);
    if (used > width) break;
    kept += segment;
  }
  return `${kept}…${' '.repeat(Math.max(0, width - displayWidth(kept) - 1))}`;
}

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Characters two columns wide on a terminal: Hangul, CJK, kana, fullwidth forms, pictures (Unicode's East Asian Width W and F).
 */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f1e6}-\u{1f1ff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}|\ufe0f/u;

/** The width of a printable text on a terminal, in columns. */
export function displayWidth(text: string): number {
  // Nearly everything printed is ASCII, where one character is one column.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) {
    if (!/^\p{M}+$/u.test(segment)) width += WIDE.test(segment) ? 2 : 1;
  }
  return width;
}

/** One JSON document. Characters that a terminal would act on are written as JSON escapes. */
export function printJson(value: unknown, out: TextSink = process.stdout): void {
  const json = JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? inner.toString() : inner), 2);
  const safe = json.replace(UNPRINTABLE, (character) => {
    if (character === '\n') return character;
    return character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  });
  out.write(`${safe}\n`);
}

interface ErrorFormat {
  /** Also show the causes, with stacks. */
  readonly debug?: boolean;
}

/** An error in lines: its code, what happened, what to do, and the causes if requested. Ends without a newline. */
export function formatError(
  error: DomainsyncError,
  redact: (text: string) => string,
  { debug = false }: ErrorFormat = {},
): string {
  const lines = [`error ${error.code}: ${error.message}`, `what to do: ${error.hint}`];
  if (debug) lines.push(...causes(error));
  // Redact before escaping: afterwards a secret with such a character would not be found.
  return lines.map((line) => printableLines(redact(line)).replaceAll('\n', '\n  ')).join('\n');
}

/** The same for `--json`, as the one document on stdout. */
export function errorDocument(error: DomainsyncError, redact: (text: string) => string): Record<string, unknown> {
  const { code, exitCode, retryable } = error;
  return { error: { code, message: redact(error.message), hint: redact(error.hint), exitCode, retryable } };
}

function causes(error: DomainsyncError): string[] {
  const lines = [error.stack ?? ''];
  const seen = new Set<unknown>([error]);
  let cause: unknown = error.cause;
  // A cause may be any thrown value, and a chain may be circular.
  while (cause !== undefined && !seen.has(cause)) {
    seen.add(cause);
    lines.push(`caused by ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return lines;
}
