/** A domain's history as `--json` and the worker's HTTP server give it, and as it is told to people. */
import { printable } from '../common/printable.ts';
import type { DomainHistory, FileDate, RowVersion } from '../types/index.ts';
import { type ColumnChange, changedColumns, isMap, union } from './row-changes.ts';

interface VersionDocument extends RowVersion {
  /** Against the version before, also where the domain was gone in between; empty for the first. */
  readonly changed: readonly ColumnChange[];
}

export interface HistoryDocument extends Omit<DomainHistory, 'versions'> {
  readonly pipeline: string;
  readonly versions: readonly VersionDocument[];
}

/** Something that happened to a domain. */
export interface HistoryEvent {
  readonly date: FileDate;
  /** `first`: what is known of it begins; `back`: it had been gone. */
  readonly kind: 'first' | 'changed' | 'gone' | 'back';
  readonly values: readonly ShownValue[];
  /** How many more there are than are shown. */
  readonly more: number;
}

/** A value as text: on one line, printable, long ones shortened. */
export interface ShownValue {
  /** The column, or `column.key` of a map. */
  readonly name: string;
  /** Null: there is nothing to compare with. */
  readonly old: string | null;
  readonly new: string;
}

/** The most values of one event that are shown: maps of a file from somebody else may have any number of keys. */
const MOST_VALUES = 200;
/** Longer texts are shortened, such as registration records. */
const LONGEST = 120;
/** So much of what two texts have in common is shown before the first difference. */
const IN_COMMON = 20;
const NOTHING = '-';

export function historyDocument(pipeline: string, history: DomainHistory): HistoryDocument {
  const { domain, object, since, versions } = history;
  return {
    pipeline,
    domain,
    object,
    since,
    versions: versions.map(({ from, to, row }, n) => {
      const before = versions[n - 1];
      return { from, to, row, changed: before === undefined ? [] : changedColumns(before.row, row) };
    }),
  };
}

/**
 * What happened, the oldest first.
 * @param redact removes secrets; before texts are shortened, for of half a secret nothing would be found
 */
export function historyEvents({ versions }: HistoryDocument, redact: (text: string) => string): HistoryEvent[] {
  return versions.flatMap(({ from, to, row, changed }, n) => {
    const [before, after] = [versions[n - 1], versions[n + 1]];
    const events: HistoryEvent[] = [];
    if (before === undefined) events.push({ date: from, kind: 'first', ...shown(filledColumns(row), redact, true) });
    else if (before.to !== from) events.push({ date: from, kind: 'back', ...shown(changed, redact, false) });
    // Only when something was checked differs.
    else if (changed.length > 0) events.push({ date: from, kind: 'changed', ...shown(changed, redact, false) });
    if (to !== null && after?.from !== to) events.push({ date: to, kind: 'gone', values: [], more: 0 });
    return events;
  });
}

/** The columns that say something, as changes from nothing. The domain itself stands above them. */
function filledColumns(row: RowVersion['row']): readonly ColumnChange[] {
  const nothing = (value: unknown): unknown => (isMap(value) ? {} : null);
  return Object.entries(row).flatMap(([column, value]) =>
    column === 'domain' || value === null || value === '' ? [] : [{ column, old: nothing(value), new: value }],
  );
}

function shown(
  changes: readonly ColumnChange[],
  redact: (text: string) => string,
  first: boolean,
): Pick<HistoryEvent, 'values' | 'more'> {
  const all = changes.flatMap(byKey);
  const values = all.slice(0, MOST_VALUES).map(({ name, old, new: now }) => {
    const [before, after] = shortened(redact(old), redact(now));
    return { name: printable(cut(redact(name), 0)), old: first ? null : printable(before), new: printable(after) };
  });
  return { values, more: all.length - values.length };
}

/** A column's change as texts; of a map, one of each key. */
function byKey({ column, old, new: now }: ColumnChange): (ShownValue & { readonly old: string })[] {
  if (!isMap(old) || !isMap(now)) return [{ name: column, old: columnText(old), new: columnText(now) }];
  return [...union(old, now)].sort().map((key) => ({
    name: `${column}.${key}`,
    old: Object.hasOwn(old, key) ? valueText(old[key]) : NOTHING,
    new: Object.hasOwn(now, key) ? valueText(now[key]) : NOTHING,
  }));
}

/** In a column the empty text is what a file does not say (docs/contract.md, "Rows"). */
function columnText(value: unknown): string {
  return value === '' ? NOTHING : valueText(value);
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return NOTHING;
  if (value === '') return "''";
  if (Array.isArray(value)) return value.length === 0 ? '[]' : value.map(valueText).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Two texts that fit beside one another, both from shortly before where they differ. */
function shortened(a: string, b: string): readonly [string, string] {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same += 1;
  const long = Math.max(a.length, b.length) > LONGEST && same > LONGEST / 2;
  const start = long ? same - IN_COMMON : 0;
  return [cut(a, start), cut(b, start)];
}

function cut(text: string, start: number): string {
  const [from, to] = [boundary(text, start), boundary(text, start + LONGEST)];
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
}

/** The index, or the one before where it would part a surrogate pair. */
function boundary(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : Math.min(index, text.length);
}
