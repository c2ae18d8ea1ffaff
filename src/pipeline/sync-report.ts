/** The result of a sync, and how it is reported. */
import type { DomainsyncError } from '../common/errors.ts';
import { formatDuration, formatNumber } from '../common/format.ts';
import type { Logger } from '../common/logger.ts';
import type { RunOutcome } from './run.ts';

/** How many new or missing columns are named. JSON has them all. */
const MOST_NAMES_TOLD = 20;

/** What one pipeline did in one destination. */
export interface SyncReport {
  readonly pipeline: string;
  readonly destination: string;
  readonly outcome:
    | RunOutcome
    | { readonly kind: 'elsewhere'; readonly error: DomainsyncError }
    | { readonly kind: 'failed'; readonly error: DomainsyncError };
}

/** Logs a run that failed, or that another one made needless. */
export function logUnfinished(log: Logger, { pipeline, outcome }: SyncReport): void {
  const child = log.child({ pipeline });
  if (outcome.kind === 'elsewhere') child.info(`${outcome.error.message}: nothing to do`);
  else if (outcome.kind === 'failed') child.error({ err: outcome.error }, outcome.error.message);
}

/** One line for a person. */
export function describeOutcome(pipeline: string, destination: string, outcome: RunOutcome): string {
  const { file } = outcome;
  if (outcome.kind !== 'loaded') return `${pipeline}: ${nothingToDo(destination, outcome)}`;
  const { rowsRead, inserted, updated, deleted, unchanged, rejected, filtered } = outcome.result;
  const n = formatNumber;
  const parts = [
    `${n(inserted)} inserted`,
    `${n(updated)} updated`,
    `${n(deleted)} deleted`,
    `${n(unchanged)} unchanged`,
  ];
  if (filtered > 0) parts.push(`${n(filtered)} left out by where`);
  if (rejected > 0) parts.push(`${n(rejected)} rejected (see 'domainsync rejects ${pipeline}')`);
  for (const [what, names] of [
    ['new in the file', outcome.result.newColumns],
    ['gone from the file', outcome.result.goneColumns],
  ] as const) {
    if (names !== undefined && names.length > 0) parts.push(`${what}: ${someOf(names)}`);
  }
  const counts = outcome.result.sourceColumnCounts;
  if (counts !== undefined) {
    const before = counts.before === null ? '' : `, ${n(counts.before)} in the one before`;
    parts.push(`${n(counts.now)} different columns in the file${before}: only the shortest names are compared`);
  }
  const time = `${formatDuration(outcome.seconds * 1000)}, ${n(Math.round(rowsRead / outcome.seconds))} rows/s`;
  return `${pipeline}: loaded ${file.name} into ${destination}: ${n(rowsRead)} rows read, ${parts.join(', ')} (${time})`;
}

/** A line of its own: the file is loaded, and readers of some replicas do not see it yet. Null: there are none. */
export function describeLagging({ pipeline, outcome }: SyncReport): string | null {
  const lagging = (outcome.kind === 'loaded' && outcome.result.lagging) || [];
  if (lagging.length === 0) return null;
  return `${pipeline}: replicas that do not show it yet: ${lagging.join(', ')} (they catch up by themselves)`;
}

/** The first names, for a line of text. */
function someOf(names: readonly string[]): string {
  const told = names.slice(0, MOST_NAMES_TOLD).map((name) => `'${name}'`);
  if (names.length > told.length) told.push(`and ${formatNumber(names.length - told.length)} more`);
  return told.join(', ');
}

function nothingToDo(destination: string, { kind, file, held }: Exclude<RunOutcome, { kind: 'loaded' }>): string {
  switch (kind) {
    case 'current':
      return `${destination} holds ${file.name} already; nothing to do`;
    case 'older':
      return `${file.name} is older than what ${destination} holds (${held.file}); nothing to do`;
    case 'rolled-back':
      return `${file.name} was rolled back to ${held.file}; --force loads it again`;
  }
}
