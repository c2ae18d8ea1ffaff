/** What is known of a domain, and whether versions are kept, in text. */
import { formatNumber } from '../common/format.ts';
import { printable } from '../common/printable.ts';
import { type HistoryDocument, type HistoryEvent, historyEvents } from '../pipeline/history-document.ts';
import type { HistoryStatus } from '../types/index.ts';

/** The lines of `domainsync history`. */
export function historyLines(document: HistoryDocument, redact: (text: string) => string): string[] {
  const { domain, object, since, versions } = document;
  const place = `${printable(domain)} in ${printable(object)}`;
  if (since === null) return [`${place}: nothing was loaded yet`];
  if (versions.length === 0) return [`${place}: no version is on record; what was there is known since ${since}`];
  return [`${place}, known since ${since}`, ...historyEvents(document, redact).flatMap(eventLines)];
}

const HAPPENED: Readonly<Record<HistoryEvent['kind'], string>> = {
  first: 'from',
  changed: 'changed',
  gone: 'gone from',
  back: 'back since',
};

function eventLines({ date, kind, values, more }: HistoryEvent): string[] {
  const asBefore = kind === 'back' && values.length === 0 ? ', as before' : '';
  return [
    `${HAPPENED[kind]} ${date}${asBefore}`,
    ...values.map(({ name, old, new: now }) => `  ${name}: ${old === null ? '' : `${old} -> `}${now}`),
    ...(more === 0 ? [] : [`  and ${formatNumber(more)} more: --json has them all`]),
  ];
}

/** `history in lab.dns_history, kept since 2026-01-01, until 2026-01-31, 1,234 rows` */
export function historyStatusText({ object, kept, since, until, rows }: HistoryStatus): string {
  if (!kept) return `history: switched off; ${object} has versions${until === null ? '' : ` until ${until}`}`;
  if (since === null) return `history in ${object}: nothing was loaded yet`;
  const newest = until === null ? '' : `, until ${until}`;
  return `history in ${object}, kept since ${since}${newest}, ${formatNumber(rows)} ${rows === 1 ? 'row' : 'rows'}`;
}
