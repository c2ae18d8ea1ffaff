/**
 * What a lab runs on: one server, or two replicas with ZooKeeper where DOMAINSYNC_TEST_CLUSTER says so:
 * - `atomic`      a database of engine Atomic, whose definitions go ON CLUSTER
 * - `replicated`  a database of engine Replicated
 * With DOMAINSYNC_TEST_CLUSTER_URLS (addresses with a comma in between) and DOMAINSYNC_TEST_CLUSTER_NAME these servers are used
 * in place of a bed. Their user is `default`, without a password.
 */
import { join } from 'node:path';
import { type Bed, startBed } from '../bed/index.ts';
import { configureServer } from '../bed/stock-server.ts';
import { KillableServer } from './server.ts';
import type { ServerPlace } from './server-process.ts';

export interface LabServers {
  /** Of each replica, the home first. */
  readonly urls: readonly string[];
  readonly username: string;
  readonly password: string;
  /** null: one server. */
  readonly cluster: { readonly cluster: string | undefined; readonly timeoutMs: number } | null;
  /** Where the one server is. @throws on a cluster */
  place(): ServerPlace;
  /** Makes a database, on every replica. */
  createDatabase(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Longer than ZooKeeper takes to notice that a replica is gone. */
const REPLICA_TIMEOUT_MS = 30_000;

/**
 * @param users XML that is merged into the servers' users
 * @param database of a cluster; by default what the environment says
 */
export async function startLabServers(
  folder: string,
  users: string | null,
  database = process.env['DOMAINSYNC_TEST_CLUSTER'],
): Promise<LabServers> {
  if (database === undefined) return oneServer(join(folder, 'clickhouse'), users);
  if (database !== 'atomic' && database !== 'replicated') {
    throw new Error('DOMAINSYNC_TEST_CLUSTER is one of atomic, replicated');
  }
  const named = process.env['DOMAINSYNC_TEST_CLUSTER_URLS'];
  const bed = named === undefined ? await startBed({ replicas: 2, ...(users === null ? {} : { users }) }) : null;
  const urls = bed === null ? (named ?? '').split(',') : bed.servers.map(({ url }) => url);
  return replicas(urls, database, bed);
}

async function oneServer(folder: string, users: string | null): Promise<LabServers> {
  await configureServer(folder, 'users.d', users);
  const server = await KillableServer.start(folder);
  const { port, username, password } = server.login;
  return {
    urls: [`http://127.0.0.1:${port}`],
    username,
    password,
    cluster: null,
    place: () => server.place,
    createDatabase: (name) => server.command(`CREATE DATABASE ${name}`),
    close: () => server.kill(),
  };
}

function replicas(urls: readonly string[], kind: 'atomic' | 'replicated', bed: Bed | null): LabServers {
  const cluster = process.env['DOMAINSYNC_TEST_CLUSTER_NAME'] ?? 'c';
  const send = async (url: string, sql: string): Promise<void> => {
    const answer = await fetch(`${url}/?wait_end_of_query=1`, { method: 'POST', body: sql });
    if (!answer.ok) throw new Error(`${sql}: ${await answer.text()}`);
  };
  const [home = ''] = urls;
  return {
    urls,
    username: 'default',
    password: '',
    cluster: { cluster: kind === 'atomic' ? cluster : undefined, timeoutMs: REPLICA_TIMEOUT_MS },
    place: () => {
      throw new Error('a test that needs the one server of a lab does not run on a cluster');
    },
    createDatabase: async (name) => {
      const drop = `DROP DATABASE IF EXISTS ${name}`;
      if (kind === 'atomic') {
        await send(home, `${drop} ON CLUSTER ${cluster} SYNC`);
        await send(home, `CREATE DATABASE ${name} ON CLUSTER ${cluster} ENGINE = Atomic`);
        return;
      }
      const path = `/clickhouse/databases/${name}-${Date.now()}`;
      for (const url of urls) {
        await send(url, `${drop} SYNC`);
        await send(url, `CREATE DATABASE ${name} ENGINE = Replicated('${path}', '{shard}', '{replica}')`);
      }
    },
    close: async () => bed?.close(),
  };
}
