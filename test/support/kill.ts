/**
 * Kills that hit a chosen statement. From the n-th statement that changes something, nothing of this process reaches the
 * server any more, as after kill -9: no statement, no question, no word of farewell. Between two changing statements the
 * server's state is the same wherever the kill falls, so these are all the kills there are, but for those within one.
 */
import { Server } from '../../connectors/clickhouse/client.ts';
import { DomainsyncError } from '../../src/errors.ts';

export interface Killing {
  /** The statements that changed something until now, in short; the one that was prevented is not among them. */
  readonly done: readonly string[];
  /** Whether the kill has come. */
  readonly killed: boolean;
}

/** Runs the body, of whose changing statements only the first `survive` happen; one at a time, so that none is under way. */
export async function killedAfter(survive: number, body: () => Promise<unknown>): Promise<Killing> {
  const { command, insertBlock, query } = Server.prototype;
  const done: string[] = [];
  let killed = false;
  let last: Promise<void> = Promise.resolve();
  const change = (sql: string, statement: () => Promise<void>): Promise<void> => {
    // A heartbeat may fall anywhere: it is no step of a run, but a dead process has none.
    const beat = sql.includes('_lease` SELECT now64');
    const result = last.then(async () => {
      if (!beat && done.length >= survive) killed = true;
      if (killed) throw new DomainsyncError('DESTINATION_REFUSED', 'killed');
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
    if (killed) throw new DomainsyncError('DESTINATION_REFUSED', 'killed');
    return query.apply(this, all) as Promise<Row[]>;
  };
  try {
    await body().catch((error: unknown) => {
      if (!killed) throw error;
    });
  } finally {
    Object.assign(Server.prototype, { command, insertBlock, query });
  }
  return { done, killed };
}
