/** Versions that were replaced long ago are dropped. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { FileDate } from '../../../src/types/index.ts';
import { awaitReplicas, showingTable } from '../server/replicas.ts';
import type { Session } from '../server/session.ts';
import { literal } from '../sql/names.ts';
import type { Staging } from '../staging/staging.ts';
import { tableFacts } from '../state/live-table.ts';
import { dropDoomed, findDoomed } from './doomed.ts';
import { type HistoryTable, historyComment, readHistory } from './record.ts';
import { fillHistory, type KeptTable, sealHistory } from './seed.ts';
import { ensureHistoryViews } from './views.ts';

const DAY_MS = 86_400_000;

/** A table is made anew when this part of its time can be forgotten, and not for every file: 24 days of two years. */
const FORGOTTEN_AT_ONCE = 1 / 30;

/** @throws DESTINATION_REFUSED for a table of several pipelines on a cluster: what one of them forgets another might just be giving it */
export function refuseForgetting(
  session: Session,
  { history, shared, retention }: { history: boolean; shared: boolean; retention: { versions: number | null } },
): void {
  if (session.cluster === null || !history || !shared || retention.versions === null) return;
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    'history.versions is not supported on a cluster for a table that several pipelines load into',
    { hint: 'Leave history.versions out, or give each pipeline a table of its own.' },
  );
}

/**
 * Forgets versions whose successor is as old as the edge, so many days before the newest file, or older. What was current at the edge
 * stays. Fenced, and harmless when repeated: readers are told of the later beginning first.
 * @param days that are known whole
 */
export async function forgetVersions(
  staging: Staging,
  table: KeptTable & { readonly shared: boolean },
  history: HistoryTable,
  { newest, days }: { readonly newest: FileDate; readonly days: number },
): Promise<void> {
  const edge = daysBefore(newest, days);
  if (edgeMoved(history.since, edge) < Math.max(1, Math.floor(days * FORGOTTEN_AT_ONCE))) return;
  const from = staging.table(history.facts.name);
  if ((await findDoomed(staging, from, edge)) === 0) return;
  if (table.shared) await forgetInPlace(staging, table, history, edge);
  else await exchangeHistory(staging, table, history, edge);
  for (const part of new Set([staging.shown('history'), 'history', 'doomed'] as const))
    await staging.recreate(part, null);
}

async function exchangeHistory(
  staging: Staging,
  table: KeptTable,
  history: HistoryTable,
  edge: FileDate,
): Promise<void> {
  const { name } = history.facts;
  const from = staging.table(name);
  await fillHistory(staging, table, { from, masked: true });
  await sealHistory(staging, { ...history, since: edge });
  await ensureHistoryViews(staging, table, { since: edge });
  const made = staging.part(staging.shown('history'));
  await staging.defineOnce(`EXCHANGE TABLES ${made} AND ${from}${staging.placing.onCluster}`);
  const { cluster } = staging;
  if (cluster !== null) {
    const uuid = (await tableFacts(staging, [name])).get(name)?.uuid ?? '';
    await awaitReplicas(staging, name, showingTable(staging, cluster, name, uuid), 'majority');
  }
  if ((await readHistory(staging, table.name))?.since !== edge) throw new Error(`${name} was not exchanged`);
}

/**
 * Other pipelines may give the table versions just now, which an exchange would lose: they are dropped where they are. Part by part: so
 * first what was replaced or deleted, and the delete marks when nothing is left before them.
 */
async function forgetInPlace(staging: Staging, table: KeptTable, history: HistoryTable, edge: FileDate): Promise<void> {
  const from = staging.table(history.facts.name);
  // First, for the others to see. What a kill leaves goes with what is forgotten next.
  const comment = literal(historyComment({ ...history, since: edge }));
  await staging.define(`ALTER TABLE ${from} MODIFY COMMENT ${comment}`);
  await ensureHistoryViews(staging, table, { since: edge });
  await dropDoomed(staging, from, '_deleted = 0');
  await dropDoomed(staging, from, '_deleted = 1');
}

function daysBefore(date: FileDate, days: number): FileDate {
  return new Date(Date.parse(`${date}T00:00:00Z`) - days * DAY_MS).toISOString().slice(0, 10);
}

/** Days from one date to another. */
function edgeMoved(from: FileDate, to: FileDate): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS;
}
