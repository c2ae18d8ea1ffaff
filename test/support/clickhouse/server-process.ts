/**
 * The tests' ClickHouse server as a process: the embedded one, or a stock one with DOMAINSYNC_TEST_CLICKHOUSE=25.8 (or
 * another version that the bed has).
 */
import { type EmbeddedServer, leaseEmbeddedServer } from '../../../connectors/clickhouse/embedded/launch.ts';
import { ENGINES, type Engine } from '../bed/cache.ts';
import { drawPorts, StockServer } from '../bed/index.ts';
import { endServer } from './embedded-servers.ts';

/** Who signs in where. */
export interface Login {
  /** Absent: this machine. */
  readonly host?: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
}

/** A server as domainsync is configured for it. */
export interface ServerPlace {
  readonly folder: string;
  readonly login: Login;
  /** YAML of the section `clickhouse` without its database, as a part of a flow mapping. */
  readonly yaml: string;
}

export interface ServerProcess {
  /** Starts it where it is down, on the port that it had; resolves when it answers. */
  start(): Promise<Login>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Of the process that runs ClickHouse; null while it is down. */
  readonly pid: number | null;
}

/** The version of stock ClickHouse that tests run against; null: they run against the embedded one. */
export function stockEngine(): Engine | null {
  const named = process.env['DOMAINSYNC_TEST_CLICKHOUSE'];
  if (named === undefined) return null;
  const engine = ENGINES.find((one) => one === named);
  if (engine === undefined) throw new Error(`DOMAINSYNC_TEST_CLICKHOUSE is one of ${ENGINES.join(', ')}`);
  return engine;
}

/** How domainsync reaches the server on a folder that answers at a login. */
export function serverPlace(folder: string, login: Login): ServerPlace {
  const { port, username, password } = login;
  const yaml =
    stockEngine() === null
      ? `url: 'embedded:${folder}'`
      : `url: 'http://127.0.0.1:${port}', username: ${username}, password: '${password}'`;
  return { folder, login, yaml };
}

/** A server on a folder, made where it is missing; it is down. Both kinds read `config.d` and `users.d` in it. */
export async function serverProcess(folder: string): Promise<ServerProcess> {
  const engine = stockEngine();
  return engine === null ? new EmbeddedProcess(folder) : stockProcess(folder, engine);
}

class EmbeddedProcess implements ServerProcess {
  readonly #folder: string;
  #lease: EmbeddedServer | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** It takes the port that it had, while nobody else has it. */
  async start(): Promise<Login> {
    this.#lease ??= await leaseEmbeddedServer(this.#folder, AbortSignal.timeout(120_000));
    const { endpoint, username, password } = this.#lease;
    return { port: endpoint.httpPort, username, password };
  }

  get pid(): number | null {
    return this.#lease?.endpoint.pid ?? null;
  }

  async kill(): Promise<void> {
    const lease = this.#lease;
    if (lease === null) return;
    this.#lease = null;
    await endServer(lease.endpoint.pid);
    lease.release();
  }
}

async function stockProcess(folder: string, engine: Engine): Promise<ServerProcess> {
  const member = { name: 'stock', shard: 1, ports: await drawPorts() };
  const server = await StockServer.prepare({ engine, folder, member, cluster: null });
  let first = true;
  return {
    start: async () => {
      await (first ? server.start() : server.revive());
      first = false;
      return { port: server.port, username: 'default', password: '' };
    },
    kill: () => server.kill(),
    get pid() {
      return server.pid;
    },
  };
}
