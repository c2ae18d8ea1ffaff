/** Versions that were replaced long ago are dropped, all at once: a table without them takes the place of the one that has them. */
import type { FileDate } from '../../../src/types/index.ts';
import { awaitReplicas, showingTable } from '../server/replicas.ts';
import { historyNames } from '../sql/versions.ts';
import type { Staging } from '../staging/staging.ts';
import { tableFacts } from '../state/live-table.ts';
import { findDoomed } from './doomed.ts';
import { type HistoryTable, readHistory } from './record.ts';
import { fillHistory, type KeptTable, sealHistory } from './seed.ts';
import { ensureHistoryViews } from './views.ts';

const DAY_MS = 86_400_000;

/** A table is made anew when this part of its time can be forgotten, and not for every file: 24 days of two years. */
const FORGOTTEN_AT_ONCE = 1 / 30;

/**
 * Forgets versions whose successor is as old as the edge, so many days before the newest file, or older. What was current at the edge
 * stays. Fenced, and harmless when repeated: readers are told of the later beginning first.
 * @param days that are known whole
 */
export async function forgetVersions(
  staging: Staging,
  table: KeptTable,
  history: HistoryTable,
  { newest, days }: { readonly newest: FileDate; readonly days: number },
): Promise<void> {
  const edge = daysBefore(newest, days);
  if (edgeMoved(history.since, edge) < Math.max(1, Math.floor(days * FORGOTTEN_AT_ONCE))) return;
  const { history: name } = historyNames(table.name);
  const from = staging.table(name);
  if ((await findDoomed(staging, from, edge)) === 0) return;
  await fillHistory(staging, table, { from, masked: true });
  await sealHistory(staging, { ...history, since: edge });
  await ensureHistoryViews(staging, table, { since: edge });
  const part = staging.shown('history');
  await staging.defineOnce(`EXCHANGE TABLES ${staging.part(part)} AND ${from}${staging.placing.onCluster}`);
  const { cluster } = staging;
  if (cluster !== null) {
    const uuid = (await tableFacts(staging, [name])).get(name)?.uuid ?? '';
    await awaitReplicas(staging, name, showingTable(staging, cluster, name, uuid), 'majority');
  }
  if ((await readHistory(staging, table.name))?.since !== edge) throw new Error(`${name} was not exchanged`);
  for (const one of new Set([part, 'history', 'doomed'] as const)) await staging.recreate(one, null);
}

function daysBefore(date: FileDate, days: number): FileDate {
  return new Date(Date.parse(`${date}T00:00:00Z`) - days * DAY_MS).toISOString().slice(0, 10);
}

/** Days from one date to another. */
function edgeMoved(from: FileDate, to: FileDate): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS;
}
