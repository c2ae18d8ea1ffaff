/**
 * A cluster of one shard, as the home server describes it: which replicas there are, and how statements reach all of them. What is
 * seen there: docs/decisions/0009-cluster.md.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { identifier } from '../sql/names.ts';
import type { Placing } from '../sql/schema.ts';
import type { Server } from './client.ts';

/** Replicas that hold the configured database. */
export interface Cluster extends Placing {
  readonly name: string;
  /** In the order of the cluster's definition. */
  readonly replicas: readonly Replica[];
  /** The most that a load waits for replicas that lag, ms. */
  readonly timeoutMs: number;
  /** Database of the tables that the home alone has. */
  readonly stagingDatabase: string;
}

interface Replica {
  /** `host:port`, as the cluster's definition has it. */
  readonly name: string;
  /** It is the server that this process sends its statements to. */
  readonly home: boolean;
}

/** What the configuration says of where the server stands. */
export interface ClusterOptions {
  /** A name of `system.clusters`, or a macro in braces. */
  readonly cluster: string | undefined;
  readonly timeoutMs: number;
  /** Several addresses are configured. */
  readonly several: boolean;
}

/** More than half of all replicas, those that are away too. */
export function majorityOf({ replicas }: Pick<Cluster, 'replicas'>): number {
  return Math.floor(replicas.length / 2) + 1;
}

export function homeOf({ replicas }: Cluster): string {
  return replicas.find(({ home }) => home)?.name ?? '';
}

/**
 * Finds the cluster that a database is on; null: it is on this server alone. Changes nothing.
 * @throws CONFIG_INVALID for several addresses without a cluster, DESTINATION_REFUSED for a cluster that is not fit
 */
export async function findCluster(
  server: Server,
  { cluster, timeoutMs, several }: ClusterOptions,
  signal: AbortSignal,
): Promise<Cluster | null> {
  const { database } = server;
  const [row] = await server.query<{ engine: string }>(
    'SELECT engine FROM system.databases WHERE name = {database:String}',
    signal,
    { database },
  );
  if (row?.engine === 'Replicated') {
    const replicas = await replicasOf(server, database, signal);
    return {
      name: database,
      replicas,
      timeoutMs,
      stagingDatabase: `${database}_staging`,
      onCluster: '',
      replicated: true,
      namesUuid: false,
    };
  }
  if (cluster === undefined) {
    if (several) throw withoutCluster(database);
    return null;
  }
  const name = await expanded(server, cluster, signal);
  const replicas = await replicasOf(server, name, signal);
  const onCluster = ` ON CLUSTER ${identifier(name)}`;
  return { name, replicas, timeoutMs, stagingDatabase: database, onCluster, replicated: true, namesUuid: true };
}

/** The value of a macro, where the name is one. */
async function expanded(server: Server, name: string, signal: AbortSignal): Promise<string> {
  const macro = /^\{(.+)\}$/.exec(name)?.[1];
  if (macro === undefined) return name;
  const [row] = await server.query<{ substitution: string }>(
    'SELECT substitution FROM system.macros WHERE macro = {macro:String}',
    signal,
    { macro },
  );
  if (row !== undefined) return row.substitution;
  throw unfit(
    `the ClickHouse server has no macro ${macro}, which clickhouse.cluster names`,
    'Name a macro that each replica has (system.macros), or the cluster itself.',
  );
}

async function replicasOf(server: Server, name: string, signal: AbortSignal): Promise<readonly Replica[]> {
  const rows = await server.query<{ shard: number; host: string; port: number; local: 0 | 1 }>(
    `SELECT shard_num AS shard, host_name AS host, port, is_local AS local FROM system.clusters
WHERE cluster = {name:String} ORDER BY shard_num, replica_num`,
    signal,
    { name },
  );
  if (rows.length === 0) throw await unknownCluster(server, name, signal);
  if (rows.some(({ shard }) => shard !== rows[0]?.shard)) {
    const what = `the cluster ${name} has several shards: domainsync loads into a cluster of one shard and any number of replicas`;
    throw unfit(
      what,
      'Name a cluster of one shard in clickhouse.cluster (system.clusters lists them), or a server of its own.',
    );
  }
  if (!rows.some(({ local }) => local === 1)) {
    const what = `the server that clickhouse.url names is no replica of the cluster ${name}: ${rows.map(({ host, port }) => `${host}:${port}`).join(', ')}`;
    throw unfit(what, "Name addresses of the cluster's replicas in clickhouse.url.");
  }
  return rows.map(({ host, port, local }) => ({ name: `${host}:${port}`, home: local === 1 }));
}

async function unknownCluster(server: Server, name: string, signal: AbortSignal): Promise<DomainsyncError> {
  const known = await server.query<{ cluster: string }>(
    'SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster LIMIT 20',
    signal,
  );
  const names = known.map(({ cluster }) => cluster).join(', ') || 'none';
  return unfit(`the ClickHouse server knows no cluster ${name}; it knows: ${names}`, 'Correct clickhouse.cluster.');
}

function withoutCluster(database: string): DomainsyncError {
  return new DomainsyncError(
    'CONFIG_INVALID',
    `clickhouse.url names several addresses, and the database ${database} is on each of them by itself: clickhouse.cluster is missing`,
    {
      hint: 'Name the cluster of these servers in clickhouse.cluster (system.clusters lists them), or one address in clickhouse.url.',
    },
  );
}

function unfit(what: string, hint: string): DomainsyncError {
  return new DomainsyncError('DESTINATION_REFUSED', what, { hint });
}
