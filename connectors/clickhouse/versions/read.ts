/** Questions to a table of versions. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { DomainHistory, HistoryStatus, RowVersion } from '../../../src/types/index.ts';
import type { Session } from '../server/session.ts';
import { identifier } from '../sql/names.ts';
import { historyNames } from '../sql/versions.ts';
import type { LiveTable } from '../state/live-table.ts';
import { gapOf, type HistoryTable, newestHeld, readHistory } from './record.ts';
import type { ViewedTable } from './views.ts';

/** @throws USAGE where there is no history yet */
export async function readDomain(
  session: Session,
  { name, columns }: ViewedTable,
  asked: string,
): Promise<DomainHistory> {
  const history = await readHistory(session, name);
  if (history === null) {
    throw new DomainsyncError('USAGE', `${session.database}.${historyNames(name).history} does not exist yet`, {
      hint: 'The next sync makes it.',
    });
  }
  const domain = asked.trim().toLowerCase().replace(/\.$/, '');
  const names = columns.map((column) => identifier(column.name)).join(', ');
  const view = historyNames(name).versions;
  const rows = await session.query<{ valid_from: string; valid_to: string | null } & Record<string, unknown>>(
    `SELECT ${names}, valid_from, valid_to FROM ${session.table(view)} WHERE domain = {domain:String} ORDER BY valid_from`,
    { domain },
  );
  const versions = rows.map(({ valid_from: from, valid_to: to, ...row }): RowVersion => ({ from, to, row }));
  return { domain, object: `${session.database}.${view}`, since: history.since, versions };
}

/** What `status` tells; null: there is no such table, or it is a stranger's. @param kept whether it is switched on */
export async function historyStatus(
  session: Session,
  table: string,
  live: LiveTable | null,
  kept: boolean,
): Promise<HistoryStatus | null> {
  const history = await readHistory(session, table).catch((error: unknown) => {
    if (error instanceof DomainsyncError && error.code === 'DESTINATION_FOREIGN_TABLE') return null;
    throw error;
  });
  if (history === null) return null;
  const { name } = history.facts;
  // What forgetting has masked is still in the parts.
  const rows = await session.number(`SELECT count() AS n FROM ${session.table(name)}`);
  const whole = kept && gapOf(table, history, live) === null;
  const until = whole ? newestHeld(live) : await newestVersion(session, history);
  return { object: `${session.database}.${name}`, kept, since: history.since, until, rows };
}

async function newestVersion(session: Session, { facts, since }: HistoryTable): Promise<string> {
  const row = await session.first<{ date: string }>(`SELECT max(_file_date) AS date FROM ${session.table(facts.name)}`);
  const newest = row?.date ?? since;
  return newest > since ? newest : since;
}
