/** The replicas of a campaign: those of a bed, which can be killed and frozen, or given ones, whose processes are left alone. */
import { type Bed, type BedProcess, type Engine, type StockServer, startBed } from '../bed/index.ts';
import { ClickHouseProxy } from '../clickhouse/proxy.ts';
import { send } from '../clickhouse/server.ts';
import type { Login } from '../clickhouse/server-process.ts';

/** Runs reach a replica by one of two ways, so that what the struck run sends is told from what the others do. */
export type Way = 'struck' | 'others';

/** What a replica may be kept from, while it answers. */
export type Stoppable = 'FETCHES' | 'REPLICATION QUEUES';

/** A stop holds for the tables that are there: those made since are stopped as often as this, ms. */
const STOP_AGAIN_MS = 100;

/** How a cluster calls this replica, and how it is reached, disturbed and healed. Whatever is done to it is harmless when repeated. */
export class Replica {
  readonly name: string;
  readonly login: Login;
  readonly ways: Readonly<Record<Way, ClickHouseProxy>>;
  /** null: given. */
  readonly server: StockServer | null;
  /** `host:port`, as the cluster's definition has it; null: it is in none. */
  #nameInCluster: string | null = null;
  #disturbances = 0;
  #down = false;
  #frozen = false;
  #stopped: { readonly what: Stoppable; readonly timer: NodeJS.Timeout } | null = null;

  private constructor(name: string, login: Login, server: StockServer | null, ways: Record<Way, ClickHouseProxy>) {
    this.name = name;
    this.login = login;
    this.server = server;
    this.ways = ways;
  }

  static async at(name: string, login: Login, server: StockServer | null): Promise<Replica> {
    const target = { host: login.host ?? '127.0.0.1', port: login.port };
    const way = (): Promise<ClickHouseProxy> => ClickHouseProxy.start(() => target);
    return new Replica(name, login, server, { struck: await way(), others: await way() });
  }

  /** Another number after anything that explains an answer that was lost, late or old. */
  get disturbances(): number {
    return this.#disturbances;
  }

  get isUp(): boolean {
    return !this.#down;
  }

  get isFrozen(): boolean {
    return this.#frozen;
  }

  /** Nothing is done to it now. */
  get isWell(): boolean {
    return !this.#down && !this.#frozen && this.#stopped === null;
  }

  /** Whether a name of the cluster's definition, `host:port`, is this one's. */
  isNamed(name: string): boolean {
    return name === this.#nameInCluster;
  }

  /** @throws Error where it is no member of the cluster */
  async learnName(cluster: string): Promise<void> {
    const sql = `SELECT concat(host_name, ':', toString(port)) FROM system.clusters WHERE cluster = '${cluster}' AND is_local`;
    this.#nameInCluster = (await this.ask(sql)).trim();
    if (this.#nameInCluster === '') throw new Error(`${this.name} is in no cluster ${cluster}`);
  }

  /** A statement, around domainsync's ways. @throws StatementError, and what the socket throws */
  async ask(sql: string, database?: string): Promise<string> {
    return send(this.login, sql, database);
  }

  /** Rows of a SELECT, numbers of 64 bits as strings. */
  async rows<Row = Record<string, unknown>>(sql: string, database: string): Promise<Row[]> {
    const text = await this.ask(`${sql} FORMAT JSONEachRow`, database);
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Row]));
  }

  /** SIGKILL; connections to it are refused from then on. */
  async kill(): Promise<void> {
    if (this.#down) return;
    this.#down = true;
    this.#disturbances += 1;
    await this.server?.kill();
    this.#frozen = false;
    for (const way of Object.values(this.ways)) await way.refuse();
  }

  /** SIGSTOP: it takes connections and statements, and does and answers nothing. */
  freeze(): void {
    if (this.#frozen || this.#down) return;
    this.#frozen = true;
    this.#disturbances += 1;
    this.server?.freeze();
  }

  /** SYSTEM STOP of all its tables, also of those to come. */
  async stop(what: Stoppable): Promise<void> {
    if (this.#stopped !== null) return;
    this.#disturbances += 1;
    const again = (): void => void this.ask(`SYSTEM STOP ${what}`).catch(() => {});
    this.#stopped = { what, timer: setInterval(again, STOP_AGAIN_MS) };
    await this.ask(`SYSTEM STOP ${what}`).catch(() => {});
  }

  /** Undoes whatever was done to it; resolves when it answers. */
  async heal(): Promise<void> {
    if (this.isWell) return;
    if (this.#stopped !== null) clearInterval(this.#stopped.timer);
    if (this.#frozen) this.server?.thaw();
    this.#frozen = false;
    if (this.#down) {
      await this.server?.revive();
      for (const way of Object.values(this.ways)) await way.accept();
      this.#down = false;
    }
    if (this.#stopped !== null) await this.ask(`SYSTEM START ${this.#stopped.what}`);
    this.#stopped = null;
    this.#disturbances += 1;
  }

  async close(): Promise<void> {
    if (this.#stopped !== null) clearInterval(this.#stopped.timer);
    for (const way of Object.values(this.ways)) await way.close();
  }
}

export interface Replicas {
  readonly all: readonly Replica[];
  /** null where the replicas are given, or there is one alone. */
  readonly zookeeper: BedProcess | null;
  /** The cluster's name; null: there is one server alone. */
  readonly cluster: string | null;
  close(): Promise<void>;
}

export interface BedReplicas {
  readonly engine: Engine;
  /** 1: a server alone, without ZooKeeper. */
  readonly replicas: number;
}

export interface GivenReplicas {
  readonly urls: readonly string[];
  readonly cluster: string;
  /** For URLs that name no user. */
  readonly username: string;
  readonly password: string;
}

/** Starts a bed, or takes what is given. */
export async function openReplicas(options: BedReplicas | GivenReplicas): Promise<Replicas> {
  const bed = 'urls' in options ? null : await openBed(options);
  const all: Replica[] = [];
  const close = async (): Promise<void> => {
    for (const replica of all) await replica.close();
    await bed?.close();
  };
  try {
    if ('urls' in options) {
      for (const url of options.urls) all.push(await given(new URL(url), options));
    } else {
      for (const server of bed?.servers ?? []) {
        all.push(await Replica.at(server.name, { port: server.port, username: 'default', password: '' }, server));
      }
    }
    const cluster = 'urls' in options ? options.cluster : bed?.zookeeper === null ? null : 'c';
    if (cluster !== null) for (const replica of all) await replica.learnName(cluster);
    return { all, zookeeper: bed?.zookeeper ?? null, cluster, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function openBed({ engine, replicas }: BedReplicas): Promise<Bed> {
  return startBed(replicas === 1 ? { engine, alone: true } : { engine, replicas });
}

function given({ hostname, port, username, password }: URL, defaults: GivenReplicas): Promise<Replica> {
  const login: Login = {
    host: hostname,
    port: Number(port === '' ? 8123 : port),
    username: username === '' ? defaults.username : decodeURIComponent(username),
    password: username === '' ? defaults.password : decodeURIComponent(password),
  };
  return Replica.at(`${hostname}:${login.port}`, login, null);
}
