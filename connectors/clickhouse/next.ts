/** The rows that landed, as a table like the live one, each domain once. Nothing is copied: parts are hard-linked. */
import { DomainsyncError } from '../../src/errors.ts';
import { literal } from './names.ts';
import { type TableMode, tableKeys } from './schema.ts';
import type { Staging } from './staging.ts';
import type { WorkState } from './state.ts';
import { mergeToOnePart, numberOf, remade, repeatable, statement } from './statements.ts';

/**
 * Makes `next` anew.
 * @param live the table that it is to be like, qualified and quoted
 * @returns the rows that readers will see of it
 */
export async function buildNext(
  staging: Staging,
  live: string,
  mode: TableMode,
  work: WorkState,
  signal: AbortSignal,
): Promise<number> {
  const next = await remade(staging, 'next', `AS ${live} COMMENT ''`, signal);
  const partition = mode === 'append' ? sourcePartition(work) : 'tuple()';
  const attach = (into: string, from: string): Promise<void> =>
    statement(staging, `ALTER TABLE ${into} ATTACH PARTITION ${partition} FROM ${from}`, signal);
  if (mode === 'sync') {
    await attach(next, staging.table('rows'));
    return numberOf(staging, `SELECT count() AS n FROM ${next} FINAL`, signal);
  }
  const rows = await numberOf(staging, `SELECT count() AS n FROM ${staging.table('rows')}`, signal);
  const distinct = await numberOf(
    staging,
    `SELECT count() AS n FROM (SELECT domain FROM ${staging.table('rows')} GROUP BY domain) SETTINGS optimize_aggregation_in_order = 1`,
    signal,
  );
  if (rows === distinct) {
    await attach(next, staging.table('rows'));
    return distinct;
  }
  // Of a domain that stands twice the later line counts: merging takes the others away, which happens in files with a fault only.
  const merged = await remade(
    staging,
    'merged',
    `AS ${live} ENGINE = ReplacingMergeTree(_version) ${tableKeys(mode)} COMMENT ''`,
    signal,
  );
  await attach(merged, staging.table('rows'));
  // Also where there is one part only: an insert does not merge the rows that it brings.
  await repeatable(staging, `OPTIMIZE TABLE ${merged} FINAL`, signal);
  await mergeToOnePart(staging, 'merged', signal);
  const left = await numberOf(staging, `SELECT count() AS n FROM ${merged}`, signal);
  if (left !== distinct) {
    throw new DomainsyncError('DESTINATION_VERIFY_FAILED', `${left} rows are left of ${distinct} different domains`);
  }
  await attach(next, merged);
  return distinct;
}

/** The partition of a load's file in a table of mode `append`. */
export function sourcePartition({ source, file }: Pick<WorkState, 'source' | 'file'>): string {
  return `(${literal(source)}, ${literal(file.date)})`;
}
