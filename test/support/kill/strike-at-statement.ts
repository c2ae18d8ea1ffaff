/** Runs in this process, struck at a chosen statement: killed there, or held up while another run takes over. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Server } from '../../../connectors/clickhouse/server/client.ts';
import { DomainsyncError } from '../../../src/common/errors.ts';

export interface Hit {
  /** The statements of the run that changed something, in short. */
  readonly done: readonly string[];
  /** Whether it has come so far. */
  readonly hit: boolean;
  /** What the body threw; undefined: it came to its end. */
  readonly error: unknown;
}

/**
 * Runs the body, of whose changing statements only the first `survive` happen. From then on nothing of it reaches the
 * server, as after kill -9: no statement, no question, no word of farewell. Between two changing statements the server's
 * state is the same wherever the kill falls, so these are all the kills there are, but for those within one statement.
 */
export function killedAfter(survive: number, body: () => Promise<unknown>): Promise<Hit> {
  return hitAfter(
    survive,
    () => {
      throw new DomainsyncError('DESTINATION_REFUSED', 'killed');
    },
    body,
  );
}

/**
 * Runs the body, and before its statement number `survive` + 1 everything of `event`: as when a process stands still for
 * so long that another takes its place, and then goes on.
 */
export function heldUpAfter(
  survive: number,
  event: () => Promise<unknown>,
  body: () => Promise<unknown>,
): Promise<Hit> {
  let happened: Promise<unknown> | undefined;
  return hitAfter(
    survive,
    async () => {
      happened ??= event();
      await happened;
    },
    body,
  );
}

/** Tells the statements of the body from those of others in this process. */
const inBody = new AsyncLocalStorage<boolean>();

async function hitAfter(survive: number, strike: () => unknown, body: () => Promise<unknown>): Promise<Hit> {
  const { command, insertBlock, query } = Server.prototype;
  const done: string[] = [];
  let hit = false;
  let last: Promise<void> = Promise.resolve();
  // One at a time, so that none is under way when the blow falls.
  const change = (sql: string, statement: () => Promise<void>): Promise<void> => {
    if (inBody.getStore() !== true) return statement();
    // A heartbeat may fall anywhere: it is no step of a run, but a dead process has none.
    const beat = sql.includes('_lease` SELECT now64');
    const result = last.then(async () => {
      if (!beat && done.length >= survive) hit = true;
      if (hit) await inBody.run(false, async () => strike());
      await statement();
      if (!beat) done.push(sql.replace(/\s+/g, ' ').slice(0, 160));
    });
    last = result.catch(() => {});
    return result;
  };
  Server.prototype.command = function (sql, ...rest) {
    return change(sql, () => command.call(this, sql, ...rest));
  };
  Server.prototype.insertBlock = function (sql, ...rest) {
    return change(sql, () => insertBlock.call(this, sql, ...rest));
  };
  Server.prototype.query = async function <Row>(this: Server, ...all: Parameters<Server['query']>): Promise<Row[]> {
    if (hit && inBody.getStore() === true) await inBody.run(false, async () => strike());
    return query.apply(this, all) as Promise<Row[]>;
  };
  let error: unknown;
  try {
    await inBody.run(true, body).catch((thrown: unknown) => {
      error = thrown;
    });
  } finally {
    Object.assign(Server.prototype, { command, insertBlock, query });
  }
  if (!hit && error !== undefined) throw error;
  return { done, hit, error };
}
