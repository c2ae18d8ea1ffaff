/** The configuration as commands receive it (docs/contract.md, "Configuration"). The file's schema: sections.ts and pipeline.ts. */
import type { Target, Where } from '../src/types/index.ts';

/** A checked, frozen configuration. Paths are absolute, URLs have no trailing slash, times are in milliseconds. */
export interface Config {
  /** The file's path as given. */
  readonly path: string;
  /** Undefined only if the command does not need it and a variable or the whole section is missing. */
  readonly service: ServiceConfig | undefined;
  readonly clickhouse: ClickHouseConfig;
  readonly kafka: KafkaConfig;
  /** The URL may hold a user and a password. */
  readonly redis: { readonly url: string };
  readonly dataDir: string;
  readonly download: DownloadConfig;
  readonly history: {
    /** Retention of the table of runs, in milliseconds. */
    readonly runs: number;
    /** The same of rejected lines. */
    readonly rejects: number;
    /** Days after which a row's version is forgotten that another replaced; null: never. */
    readonly versions: number | null;
  };
  readonly worker: WorkerConfig;
  /** In the order of the file. */
  readonly pipelines: readonly Pipeline[];
}

interface ServiceConfig {
  readonly url: string;
  /** Undefined only if the command does not need it. */
  readonly apiKey: string | undefined;
  /** From the environment; undefined: connections are direct. */
  readonly proxy: ProxyConfig | undefined;
}

/** Proxies by the scheme of the request, as URLs that may hold a user and a password; empty: none. */
export interface ProxyConfig {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Hosts that bypass the proxy. */
  readonly noProxy: string;
}

/** ClickHouse settings, sent with every statement. */
export type ClickHouseSettings = Readonly<Record<string, string | number | boolean>>;

export type ClickHouseConfig =
  | {
      readonly kind: 'embedded';
      /** Its data folder. */
      readonly path: string;
      readonly database: string;
      readonly settings: ClickHouseSettings;
    }
  | {
      readonly kind: 'server';
      /** At least one. Of several, replicas of one cluster, a run takes the first that answers as its home. */
      readonly urls: readonly string[];
      /** A name in system.clusters, or a macro in braces; undefined: one server, or a database of engine Replicated. */
      readonly cluster: string | undefined;
      /** How long a load waits for replicas that lag, in milliseconds. */
      readonly replicaTimeout: number;
      readonly database: string;
      readonly username: string;
      readonly password: string;
      readonly settings: ClickHouseSettings;
    };

interface KafkaConfig {
  /** Each `host:port`. */
  readonly brokers: readonly string[];
  readonly ssl: boolean | KafkaTls | undefined;
  readonly sasl: KafkaSasl | undefined;
}

/** As `tls.connect` takes them: certificates and keys as PEM text. */
interface KafkaTls {
  readonly rejectUnauthorized?: boolean | undefined;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly passphrase?: string | undefined;
  readonly servername?: string | undefined;
}

/** As kafkajs takes them. Keys that the mechanism does not use are absent. */
interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512' | 'aws';
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly authorizationIdentity?: string | undefined;
  readonly accessKeyId?: string | undefined;
  readonly secretAccessKey?: string | undefined;
  readonly sessionToken?: string | undefined;
}

interface DownloadConfig {
  /** Number of verified files kept for each target; 0: remove them once loaded. */
  readonly keep: number;
  /** Largest zstd window, as a power of two. */
  readonly maxWindowLog: number;
}

interface WorkerConfig {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly token: string | undefined;
}

export interface Pipeline {
  readonly name: string;
  /** The slice's key is in lower case; a country also keeps its original spelling. Includes the file names if the pipeline gives them. */
  readonly target: Target;
  /** Cron in UTC; undefined: the worker runs it only on request. */
  readonly schedule: string | undefined;
  /** Values in lower case; empty: all rows. */
  readonly where: Where;
  /** Names in the schema's order, `domain` among them; undefined: all. */
  readonly columns: readonly string[] | undefined;
  readonly maxRejected: number;
  readonly minRows: number;
  /** At least one is defined. */
  readonly to: { readonly clickhouse: ClickHouseTable | undefined; readonly kafka: KafkaTopic | undefined };
}

interface ClickHouseTable {
  readonly table: string;
  readonly mode: 'sync' | 'replace' | 'append';
  /** False outside mode `sync`. */
  readonly deletes: boolean;
  /** False outside mode `sync`. */
  readonly changes: boolean;
  /** Keep the versions of rows; false outside mode `sync`. */
  readonly history: boolean;
}

interface KafkaTopic {
  readonly topic: string;
  readonly publish: 'changes' | 'snapshot';
  readonly compression: 'zstd' | 'gzip' | 'none';
  readonly partitions: number;
  readonly replicationFactor: number;
}
