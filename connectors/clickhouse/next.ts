/** The rows that landed, as a table like the live one, each domain once. Nothing is copied: parts are hard-linked. */
import { DomainsyncError } from '../../src/errors.ts';
import { literal } from './names.ts';
import { type TableMode, tableKeys } from './schema.ts';
import type { Staging } from './staging.ts';
import type { WorkState } from './state.ts';
import { mergeToOnePart, numberOf, remade, repeatable, statement } from './statements.ts';

/** What stands in `next`. */
export interface Next {
  /** Rows that readers will see of it. */
  readonly rows: number;
  /** Each domain stands there once: it can be read without FINAL. */
  readonly unique: boolean;
}

/**
 * Makes `next` anew.
 * @param live the table that it is to be like, qualified and quoted
 */
export async function buildNext(
  staging: Staging,
  live: string,
  mode: TableMode,
  work: WorkState,
  signal: AbortSignal,
): Promise<Next> {
  const landed = staging.table('rows');
  const next = await remade(staging, 'next', `AS ${live} COMMENT ''`, signal);
  const partition = mode === 'append' ? sourcePartition(work) : 'tuple()';
  const attach = (into: string, from: string): Promise<void> =>
    statement(staging, `ALTER TABLE ${into} ATTACH PARTITION ${partition} FROM ${from}`, signal);
  const all = await numberOf(staging, `SELECT count() AS n FROM ${landed}`, signal);
  // Parts are sorted by domain: equal ones meet, and memory stays small.
  const domains = `SELECT domain FROM ${landed} GROUP BY domain SETTINGS optimize_aggregation_in_order = 1`;
  const rows = await numberOf(staging, `SELECT count() AS n FROM (${domains})`, signal);
  const unique = rows === all;
  if (mode === 'sync' || unique) {
    await attach(next, landed);
    return { rows, unique };
  }
  // Of a domain that stands twice the later line counts: merging takes the others away, which happens in files with a fault only.
  const merged = await remade(
    staging,
    'merged',
    `AS ${live} ENGINE = ReplacingMergeTree(_version) ${tableKeys(mode)} COMMENT ''`,
    signal,
  );
  await attach(merged, landed);
  // Also where there is one part only: an insert does not merge the rows that it brings.
  await repeatable(staging, `OPTIMIZE TABLE ${merged} FINAL`, signal);
  await mergeToOnePart(staging, 'merged', signal);
  const left = await numberOf(staging, `SELECT count() AS n FROM ${merged}`, signal);
  if (left !== rows) {
    throw new DomainsyncError('DESTINATION_VERIFY_FAILED', `${left} rows are left of ${rows} different domains`);
  }
  await attach(next, merged);
  return { rows, unique: true };
}

/** The partition of a load's file in a table of mode `append`. */
export function sourcePartition({ source, file }: Pick<WorkState, 'source' | 'file'>): string {
  return `(${literal(source)}, ${literal(file.date)})`;
}
