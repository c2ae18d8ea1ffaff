/** Versions of a table that was loaded before they were switched on, and views that somebody dropped. */
import type { Session } from '../server/session.ts';
import type { StagingPlace } from '../staging/staging-sets.ts';
import { createStaging } from '../staging/take-over.ts';
import type { LiveTable } from '../state/live-table.ts';
import { readLiveState } from '../state/loaded-files.ts';
import { layoutOf, newWork } from '../state/table-comment.ts';
import { readHistory } from './record.ts';
import { ensureHistory, type KeptTable } from './seed.ts';
import { ensureAppendView, ensureHistoryViews } from './views.ts';

/** Key of staging tables that exist for the versions' sake, not for a load. */
const BEGIN_KEY = 'history';

/** The live table of a pipeline that has such views, or keeps versions. */
interface RecoveredTable extends KeptTable {
  readonly history: boolean;
}

/**
 * What a run does of it before it looks for a file.
 * @param prepare makes what a load would make, or refuses what it would
 * @throws RUN_ELSEWHERE
 */
export async function recoverHistory(
  session: Session,
  place: StagingPlace,
  table: RecoveredTable,
  live: LiveTable,
  prepare: () => Promise<void>,
): Promise<void> {
  if (table.history && (await isToBegin(session, live))) {
    await prepare();
    await beginHistory(session, place, table, live);
  } else await restoreViews(session, table, live);
}

/** Whether a table holds something, and has no versions yet. */
async function isToBegin(session: Session, live: LiveTable): Promise<boolean> {
  if (live.misplaced || live.mode !== 'sync' || Object.keys(live.sources).length === 0) return false;
  return (await readHistory(session, live.facts.name)) === null;
}

/** Begins the versions with the rows that the table shows, as the owner of the pipeline's staging tables. */
async function beginHistory(session: Session, place: StagingPlace, table: KeptTable, live: LiveTable): Promise<void> {
  const [first] = Object.entries(live.sources);
  if (first === undefined) return;
  const [source, { file: name, date, size, etag, revision }] = first;
  const file = { name, date, size, etag, lastModified: null };
  const begun = newWork({
    key: BEGIN_KEY,
    source,
    table: live.id,
    into: table.name,
    file,
    revision,
    previousDate: null,
  });
  const model = { table: table.live, mode: 'sync' } as const;
  const staging = await createStaging(session, place, model, { ...begun, ended: true }, 0);
  await staging.releaseOnFailure(async () => {
    // Another run may have loaded a file since.
    const now = await readLiveState(staging, table.name);
    if (now !== null) await ensureHistory(staging, table, now, date);
    await staging.drop();
  });
}

/** Makes views again, also when there is nothing to load. The next file brings columns that the pipeline has got since. */
async function restoreViews(session: Session, table: RecoveredTable, live: LiveTable): Promise<void> {
  if (live.layout !== layoutOf(table.columns)) return;
  if (live.mode === 'append') return ensureAppendView(session, table);
  const history = table.history && live.mode === 'sync' ? await readHistory(session, table.name) : null;
  if (history?.of === live.id) await ensureHistoryViews(session, table, history);
}
