/** Replicas whose tables are not those of home: a definition did not reach them, or somebody changed one of them alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { homeOf } from './cluster.ts';
import { KEEPER_HINT } from './errors.ts';
import { answeringReplicas, type ReplicaTable, tablesOf } from './replicas.ts';
import type { Session } from './session.ts';

/** A definition that is under way reaches a replica by then, ms. One that was away for long may need another run. */
const UNDER_WAY_MS = 15_000;
const PAUSE_MS = 500;

/**
 * On a cluster, refuses tables that are not the same on every replica that answers.
 * @param names bare
 * @throws DESTINATION_REFUSED with what to do
 */
export async function refuseDivergence(session: Session, names: readonly string[]): Promise<void> {
  await refuseReadOnly(session, names);
  const until = performance.now() + UNDER_WAY_MS;
  for (;;) {
    const found = await firstDivergence(session, names);
    if (found === null) return;
    if (performance.now() > until) throw found;
    await sleep(PAUSE_MS, undefined, { signal: session.signal });
  }
}

/** @throws DESTINATION_UNREACHABLE where home has no session with ZooKeeper: it could not change anything */
async function refuseReadOnly(session: Session, names: readonly string[]): Promise<void> {
  if (session.cluster === null) return;
  const found = await session.query<{ table: string }>(
    'SELECT table FROM system.replicas WHERE database = {database:String} AND table IN {names:Array(String)} AND is_readonly',
    { database: session.database, names },
  );
  const [first] = found;
  if (first === undefined) return;
  const what = `the table ${session.database}.${first.table} is read-only on ${homeOf(session.cluster)}, which has no session with ZooKeeper`;
  throw new DomainsyncError('DESTINATION_UNREACHABLE', what, { hint: KEEPER_HINT });
}

async function firstDivergence(session: Session, names: readonly string[]): Promise<DomainsyncError | null> {
  const { cluster } = session;
  if (cluster === null) return null;
  const answering = await answeringReplicas(session, cluster);
  const atHome = cluster.replicas.findIndex(({ home }) => home);
  const all = await tablesOf(session, cluster, names);
  for (const name of names) {
    const tables = all.filter((table) => table.name === name);
    const home = tables.find(({ replica }) => replica === atHome);
    for (const replica of answering) {
      const there = tables.find((table) => table.replica === replica);
      const what = difference(home, there);
      if (what !== null)
        return diverged(`${session.database}.${name}`, cluster.replicas[replica]?.name ?? '', what, home === undefined);
    }
  }
  return null;
}

function difference(home: ReplicaTable | undefined, there: ReplicaTable | undefined): string | null {
  if (home === undefined)
    return there === undefined ? null : 'is there, and not on the replica that clickhouse.url names';
  if (there === undefined) return 'is missing';
  if (there.uuid !== home.uuid) return `is another table (UUID ${there.uuid} in place of ${home.uuid})`;
  if (there.definition !== home.definition) return 'has other columns, keys or settings';
  return there.comment === home.comment ? null : 'has another comment, which says what it holds';
}

function diverged(table: string, replica: string, what: string, missingAtHome: boolean): DomainsyncError {
  const where = missingAtHome ? `on ${replica}` : `on the replica ${replica}`;
  return new DomainsyncError('DESTINATION_REFUSED', `${table} ${what}: ${where}`, {
    hint: 'If the replica was away and is catching up, wait and run again. Otherwise make its table the same as on the other replicas: docs/clusters.md, "A replica with another table", has the statements.',
  });
}
