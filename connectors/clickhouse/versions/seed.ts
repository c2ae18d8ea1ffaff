/** A table of versions begins: with the rows that the live table shows, whose parts are hard-linked. */
import { randomUUID } from 'node:crypto';
import type { FileDate } from '../../../src/types/index.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { awaitReplicas, havingRows } from '../server/replicas.ts';
import { literal } from '../sql/names.ts';
import { engineAndKeys, ONE_SERVER, type Placing } from '../sql/schema.ts';
import { historyDefinition, historyNames } from '../sql/versions.ts';
import { attachRows, loadedColumns, type RowTarget } from '../staging/partition.ts';
import type { Staging } from '../staging/staging.ts';
import { type LiveTable, tableFacts } from '../state/live-table.ts';
import { dropDoomed, findDoomed } from './doomed.ts';
import { type HistoryRecord, type HistoryTable, historyComment, newestHeld, readHistory, refuseGap } from './record.ts';
import { ensureHistoryViews, type ViewedTable } from './views.ts';

/** The live table whose versions are kept. */
export interface KeptTable extends ViewedTable {
  /** The live table, qualified and quoted. */
  readonly live: string;
}

/** The table of versions, as rows are moved into it. */
export function historyTarget(staging: Staging, { name, columns }: KeptTable): RowTarget {
  const { history } = historyNames(name);
  return {
    name: history,
    table: staging.table(history),
    columns: loadedColumns('sync', columns),
    plain: engineAndKeys('replace'),
  };
}

/**
 * The table of versions beside a live one, with its views; it begins where there is none. Fenced, and harmless when repeated: it is filled
 * under a staging name, and whole when it is renamed.
 * @param live as it is now
 * @param coming date of the file that is being loaded, from which it is known where nothing was loaded before
 * @param shown rows that readers of the live table see, where that is known: as many as it has means that each is one of them
 * @throws DESTINATION_REFUSED where versions were missed
 */
export async function ensureHistory(
  staging: Staging,
  table: KeptTable,
  live: LiveTable,
  coming: FileDate,
  shown: number | null = null,
): Promise<HistoryTable> {
  const found = await readHistory(staging, table.name);
  if (found !== null) {
    refuseGap(staging, table.name, found, live);
    return found;
  }
  const isClean = shown !== null && shown === live.facts.rows;
  const masked = !isClean && (await findDoomed(staging, table.live, null)) > 0;
  await fillHistory(staging, table, { from: table.live, masked });
  const loaded = Object.entries(live.sources);
  await sealHistory(staging, {
    id: randomUUID(),
    of: live.id,
    since: newestHeld(live) ?? coming,
    // Rows whose hashes are of another layout are hashed anew before the next load, see fit.ts.
    layout: loaded.every(([, { layout }]) => layout === live.layout) ? live.layout : '',
    began: Object.fromEntries(loaded.map(([source, { run }]) => [source, run.id])),
  });
  const { history } = historyNames(table.name);
  const rename = `RENAME TABLE ${staging.part(staging.shown('history'))} TO ${staging.table(history)}${staging.placing.onCluster}`;
  await staging.defineOnce(rename).catch((error: unknown) => {
    // Another pipeline of the same table was faster: its history has what ours would have.
    if (serverCode(error) !== SERVER_CODES.TABLE_ALREADY_EXISTS) throw error;
  });
  const begun = await readHistory(staging, table.name);
  if (begun === null) throw new Error(`${history} is gone just after it was made`);
  refuseGap(staging, table.name, begun, live);
  await ensureHistoryViews(staging, table, begun);
  return begun;
}

/**
 * Makes the staging table `history` (on a cluster `rhistory`) of the rows of another one.
 * @param of `masked`: without those that findDoomed has found
 */
export async function fillHistory(
  staging: Staging,
  table: KeptTable,
  { from, masked }: { readonly from: string; readonly masked: boolean },
): Promise<void> {
  const { columns } = historyTarget(staging, table);
  const part = staging.shown('history');
  const fill = async (of: 'history' | typeof part, rows: string, placing: Placing): Promise<string> => {
    const made = await staging.recreate(of, historyDefinition(from, placing));
    await attachRows(staging, { table: made, columns }, { partition: 'tuple()', from: rows });
    return made;
  };
  if (!masked) {
    await fill(part, from, staging.placing);
    return;
  }
  const home = await fill('history', from, ONE_SERVER);
  await dropDoomed(staging, home);
  // The mask is in the parts: the replicas get what home has.
  if (part !== 'history') await fill(part, home, staging.placing);
}

/** Writes down what the staging table is; on a cluster once a majority has it. @throws DESTINATION_UNREACHABLE */
export async function sealHistory(staging: Staging, record: Omit<HistoryRecord, 'uuid'>): Promise<void> {
  const { cluster } = staging;
  const part = staging.shown('history');
  const name = staging.partName(part);
  const uuid = (await tableFacts(staging, [name])).get(name)?.uuid ?? '';
  const comment = literal(historyComment({ ...record, uuid }));
  await staging.define(`ALTER TABLE ${staging.part(part)}${staging.placing.onCluster} MODIFY COMMENT ${comment}`);
  await staging.refuseUndefined();
  if (cluster === null) return;
  const rows = await staging.number(
    'SELECT sum(rows) AS n FROM system.parts WHERE active AND database = {database:String} AND table = {table:String}',
    { database: staging.database, table: name },
  );
  await awaitReplicas(staging, name, havingRows(staging, cluster, name, rows), 'majority');
}
