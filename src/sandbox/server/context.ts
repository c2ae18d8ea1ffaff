/** State shared by the routes of one sandbox. */
import type { IncomingMessage } from 'node:http';
import type { Fault, FaultBook } from './faults.ts';
import type { SandboxKey } from './keys.ts';
import type { RateLimiter } from './limits.ts';
import type { Route } from './routes.ts';
import type { Store } from './store.ts';

/** A started download, as /api/v1/me/downloads lists it. */
export interface Download {
  readonly id: string;
  readonly dataset: string;
  readonly scope: string | null;
  readonly key: string | null;
  readonly file: string;
  readonly downloadedAt: string;
}

/** A request in the log. */
export interface LogEntry {
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Id of the key, never the key. */
  readonly key: string | null;
  readonly range: string | null;
  readonly ifRange: string | null;
  /** 0 until there is an answer. Stays 0 if the connection drops without one. */
  status: number;
  /** Bytes of the body that the socket has taken so far. */
  bytes: number;
}

export interface Context {
  readonly store: Store;
  readonly keys: readonly SandboxKey[];
  readonly limiter: RateLimiter;
  readonly faults: FaultBook;
  readonly log: LogEntry[];
  /** By id of the key, oldest first. */
  readonly downloads: Map<string, Download[]>;
}

/** One request to the service. */
export interface Call {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly route: Route;
  readonly faults: readonly Fault[];
}
