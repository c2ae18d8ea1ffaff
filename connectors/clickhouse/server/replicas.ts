/** What the replicas of a cluster show, asked from home; and waiting for them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { ClusterStatus } from '../../../src/types/index.ts';
import { CLAIMS_TABLE, literal } from '../sql/names.ts';
import { type Cluster, majorityOf } from './cluster.ts';
import type { Session } from './session.ts';
import { ASKED_SETTINGS } from './settings.ts';

/** Waiting asks ever more rarely, ms. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 2_000;

/** Codes of an answer that some replica does not give just now: it lacks a table, or went away amid it. */
const NOT_YET: ReadonlySet<string> = new Set(['60', '81', '209', '210', '218', '279', '32', '102', '236']);

/**
 * Asks all replicas.
 * @param select columns, of which `replica` is the position in `Cluster.replicas`
 * @param from a table, qualified; each replica reads its own
 * @returns the rows of those that answer
 */
export async function askReplicas<Row>(
  session: Session,
  { name }: Cluster,
  ask: { readonly select: string; readonly from: string; readonly rest?: string },
  params: Readonly<Record<string, unknown>> = {},
): Promise<(Row & { readonly replica: number })[]> {
  const rows = await session.query<Row & { readonly replica: string | number }>(
    `SELECT toUInt32(_shard_num) - 1 AS replica, ${ask.select}
FROM clusterAllReplicas(${literal(name)}, ${ask.from}) ${ask.rest ?? ''} ${ASKED_SETTINGS}`,
    params,
  );
  return rows.map((row) => ({ ...row, replica: Number(row.replica) }));
}

/** The replicas that answer, by their positions. */
export async function answeringReplicas(session: Session, cluster: Cluster): Promise<ReadonlySet<number>> {
  const rows = await askReplicas(session, cluster, { select: '1 AS n', from: 'system.one' });
  return new Set(rows.map(({ replica }) => replica));
}

/** Which replicas show what is waited for. */
export type Shows = () => Promise<ReadonlySet<number>>;

/**
 * Waits until every replica that is alive shows something, or, after the configured time, a majority does.
 * @param table replicated; ZooKeeper tells by it which replicas are alive
 * @param enough `majority`: does not wait for the others
 * @returns the names of those that do not show it
 * @throws DESTINATION_UNREACHABLE where it is less than a majority
 */
export async function awaitReplicas(
  session: Session,
  table: string,
  shows: Shows,
  enough: 'alive' | 'majority' = 'alive',
): Promise<readonly string[]> {
  const { cluster } = session;
  if (cluster === null) return [];
  const { replicas, timeoutMs } = cluster;
  const until = performance.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const shown = await shows().catch((error: unknown) => noneYet(error));
    const isMajority = shown.size >= majorityOf(cluster);
    const lagging = replicas.filter((_, n) => !shown.has(n)).map(({ name }) => name);
    if (lagging.length === 0) return [];
    if (isMajority && (enough === 'majority' || shown.size >= (await aliveReplicas(session, cluster, table))))
      return lagging;
    if (performance.now() > until) {
      if (isMajority) return lagging;
      throw withoutMajority(cluster, lagging);
    }
    await sleep(pause, undefined, { signal: session.signal });
  }
}

/** How many replicas are alive: those that have a session with ZooKeeper, or answer. */
async function aliveReplicas(session: Session, cluster: Cluster, table: string): Promise<number> {
  const active = await session.first<{ active: number }>(
    'SELECT active_replicas AS active FROM system.replicas WHERE database = {database:String} AND table = {table:String}',
    { database: session.database, table },
  );
  const answering = await answeringReplicas(session, cluster);
  return Math.max(Number(active?.active ?? 0), answering.size);
}

function noneYet(error: unknown): ReadonlySet<number> {
  const cause = error instanceof DomainsyncError ? (error.cause as { code?: string } | undefined) : undefined;
  if (NOT_YET.has(cause?.code ?? '')) return new Set();
  throw error;
}

/** Replicas that have so many rows of a table's parts. */
export function havingRows(session: Session, cluster: Cluster, table: string, rows: number): Shows {
  return async () => {
    const found = await askReplicas<{ n: string }>(
      session,
      cluster,
      {
        select: 'toString(sum(rows)) AS n',
        from: 'system.parts',
        rest: 'WHERE active AND database = {database:String} AND table = {table:String} GROUP BY replica',
      },
      { database: session.database, table },
    );
    if (rows === 0) return new Set((await tablesOf(session, cluster, [table])).map(({ replica }) => replica));
    return new Set(found.filter(({ n }) => Number(n) >= rows).map(({ replica }) => replica));
  };
}

/** Replicas on which at least so many rows of a table hold a condition. @param table bare */
export function showingRows(session: Session, cluster: Cluster, table: string, where: string, rows: number): Shows {
  if (rows === 0) return havingRows(session, cluster, table, 0);
  return async () => {
    const found = await askReplicas<{ n: string }>(session, cluster, {
      select: 'toString(count()) AS n',
      from: session.table(table),
      rest: `WHERE ${where} GROUP BY replica`,
    });
    return new Set(found.filter(({ n }) => Number(n) >= rows).map(({ replica }) => replica));
  };
}

/** Replicas on which a name stands for the table of a UUID. */
export function showingTable(session: Session, cluster: Cluster, table: string, uuid: string): Shows {
  return async () => {
    const found = await tablesOf(session, cluster, [table]);
    return new Set(found.filter((one) => one.uuid === uuid).map(({ replica }) => replica));
  };
}

/** A table as a replica has it. */
export interface ReplicaTable {
  readonly replica: number;
  readonly name: string;
  readonly uuid: string;
  readonly comment: string;
  /** Without name, UUID and comment. */
  readonly definition: string;
}

/** Tables of these names, on the replicas that answer and have them. */
export function tablesOf(session: Session, cluster: Cluster, names: readonly string[]): Promise<ReplicaTable[]> {
  return askReplicas<Omit<ReplicaTable, 'replica'>>(
    session,
    cluster,
    {
      select:
        "name, toString(uuid) AS uuid, comment, replaceRegexpOne(replaceRegexpOne(create_table_query, '^[^(]*', ''), ' COMMENT .*$', '') AS definition",
      from: 'system.tables',
      rest: 'WHERE database = {database:String} AND name IN {names:Array(String)}',
    },
    { database: session.database, names },
  );
}

/**
 * Waits until the home has all that has been entered into the logs of tables: their parts, and the definitions of those without rows.
 * @param tables bare names; those that do not exist are left out
 * @throws DESTINATION_UNREACHABLE when that takes too long
 */
export async function catchUp(session: Session, tables: readonly string[]): Promise<void> {
  const { cluster } = session;
  if (cluster === null) return;
  if (cluster.name === session.database) await session.catchUpDefinitions(cluster.timeoutMs);
  const found = await session.query<{ name: string }>(
    `SELECT name FROM system.tables
WHERE database = {database:String} AND name IN {tables:Array(String)} AND startsWith(engine, 'Replicated')`,
    { database: session.database, tables },
  );
  for (const { name } of found) await session.catchUp(name, name === CLAIMS_TABLE ? 'all' : 'parts', cluster.timeoutMs);
}

/** The replicas as home sees them. @param table bare name of the table that a file goes into */
export async function clusterStatus(session: Session, cluster: Cluster, table: string): Promise<ClusterStatus> {
  const answering = await answeringReplicas(session, cluster);
  const copies = await askReplicas<{ delay: string; queue: string }>(
    session,
    cluster,
    {
      select: 'toString(absolute_delay) AS delay, toString(queue_size) AS queue',
      from: 'system.replicas',
      rest: 'WHERE database = {database:String} AND table = {table:String}',
    },
    { database: session.database, table },
  );
  return {
    name: cluster.name,
    replicas: cluster.replicas.map(({ name, home }, n) => {
      const copy = copies.find(({ replica }) => replica === n);
      return {
        name,
        home,
        answers: answering.has(n),
        behindSeconds: copy === undefined ? null : Number(copy.delay),
        queue: copy === undefined ? null : Number(copy.queue),
      };
    }),
  };
}

function withoutMajority({ name, replicas }: Cluster, lagging: readonly string[]): DomainsyncError {
  const shown = replicas.length - lagging.length;
  return new DomainsyncError(
    'DESTINATION_UNREACHABLE',
    `${shown} of ${replicas.length} replicas of the cluster ${name} have the file, which is no majority; those that lack it: ${lagging.join(', ')}`,
    {
      hint: 'Start these replicas, or see why they do not follow (system.replicas, system.replication_queue), then run again: what has landed is kept. With two replicas, both are needed; with three, two.',
    },
  );
}
