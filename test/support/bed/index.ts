/**
 * A test bed of real ClickHouse servers on one machine: a single one, or replicas and shards with ZooKeeper. Each bed has
 * free ports and its own folder. Nothing of it outlives the process that started it.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answers, freePort } from '../network/ports.ts';
import { until } from '../until.ts';
import { type Engine, fetchJars } from './cache.ts';
import { type Cluster, type Member, type ServerPorts, zookeeperConfig } from './configuration.ts';
import { BedProcess } from './process.ts';
import { StockServer } from './stock-server.ts';

export { type Engine, lackOfBed } from './cache.ts';
export { BedProcess } from './process.ts';
export { StockServer } from './stock-server.ts';

export interface BedOptions {
  /** Default 25.8. */
  readonly engine?: Engine;
  /** Of each shard; default 2. */
  readonly replicas?: number;
  /** Default 1. */
  readonly shards?: number;
  /** One server without ZooKeeper. */
  readonly alone?: boolean;
  /** XML that is merged into config.xml of each server: what stands inside <clickhouse>. */
  readonly config?: string;
  /** Likewise into its users. */
  readonly users?: string;
  /** Ends the bed, also while it starts. */
  readonly signal?: AbortSignal;
}

export interface Bed {
  /** r1, r2, ..., shard by shard. */
  readonly servers: readonly StockServer[];
  /** null where the server is alone. */
  readonly zookeeper: BedProcess | null;
  /** Ends all processes and removes their folders. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts a bed; resolves when all its servers answer. Clusters are called `c` (all shards) and `c1`, `c2`, ... (one shard
 * each), macros {cluster}, {shard} and {replica}. @throws Error that says what to install, or why a server does not start
 */
export async function startBed(options: BedOptions = {}): Promise<Bed> {
  const { engine = '25.8', alone = false, signal } = options;
  signal?.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-bed-'));
  const processes: BedProcess[] = [];
  const close = async (): Promise<void> => {
    for (const process of processes.toReversed()) await process.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  signal?.addEventListener('abort', () => void close(), { once: true });
  try {
    const members = await drawMembers(alone ? 1 : (options.shards ?? 1), alone ? 1 : (options.replicas ?? 2));
    const cluster: Cluster | null = alone ? null : { zookeeperPort: await freePort(), members };
    const zookeeper = cluster === null ? null : await zookeeperOn(join(folder, 'zookeeper'), cluster.zookeeperPort);
    if (zookeeper !== null) {
      processes.push(zookeeper);
      await zookeeper.revive();
    }
    const servers: StockServer[] = [];
    // One after another: what they share in ZooKeeper is made by the first.
    for (const member of members) {
      signal?.throwIfAborted();
      const at = join(folder, member.name);
      const server = await StockServer.prepare({ engine, folder: at, member, cluster });
      await server.configure('config.d', options.config ?? null);
      await server.configure('users.d', options.users ?? null);
      servers.push(server);
      processes.push(server);
      await server.start();
    }
    if (!alone) for (const server of servers) await untilOnClusterWorks(server);
    signal?.throwIfAborted();
    return { servers, zookeeper, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function drawMembers(shards: number, replicas: number): Promise<Member[]> {
  const members: Member[] = [];
  for (let n = 1; n <= shards * replicas; n += 1) {
    members.push({ name: `r${n}`, shard: Math.ceil(n / replicas), ports: await drawPorts() });
  }
  return members;
}

/** Free ones. */
export async function drawPorts(): Promise<ServerPorts> {
  return { http: await freePort(), tcp: await freePort(), interserver: await freePort() };
}

async function zookeeperOn(folder: string, port: number): Promise<BedProcess> {
  const jars = await fetchJars();
  await mkdir(folder);
  await writeFile(join(folder, 'zoo.cfg'), zookeeperConfig(folder, port));
  const main = 'org.apache.zookeeper.server.ZooKeeperServerMain';
  const command = ['java', '-Xmx128m', '-cp', `${jars}/*`, main, 'zoo.cfg'] as const;
  return new BedProcess({ command: [...command], folder, isReady: () => answers(port) });
}

/** A server listens before it takes part in statements ON CLUSTER; the statement waits for all the others. */
async function untilOnClusterWorks({ url }: StockServer): Promise<void> {
  await until(async () => {
    const body = 'DROP DATABASE IF EXISTS bed_is_ready ON CLUSTER c';
    return (await fetch(`${url}/?wait_end_of_query=1`, { method: 'POST', body })).ok;
  });
}
