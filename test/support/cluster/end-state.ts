/** What every replica must hold in the end, whatever happened: nothing lost, nothing doubled, by the oracle. */

import { STATE_SQL } from '../kill/reader.ts';
import type { Mode } from '../kill/state.ts';
import { mismatches } from '../oracle/compare.ts';
import type { DatedFile, Files } from './files.ts';
import { shown, TABLE, VIEW } from './readers.ts';
import type { Replica } from './replicas.ts';

export interface Expectation {
  readonly files: Files;
  /** States of the view: of an empty table, then of each file. */
  readonly known: readonly string[];
  readonly mode: Mode;
  readonly database: string;
}

/** What is wrong on a replica when the newest file has been loaded; empty: nothing. @throws what the server answers */
export async function endFaults(replica: Replica, expectation: Expectation): Promise<string[]> {
  const faults = await new EndState(replica, expectation).faults();
  return faults.map((fault) => `${replica.name}: ${fault}`);
}

/**
 * What readers of all these replicas see of a file, as the oracle does: one state, for count and hashes.
 * @throws Error where a replica shows anything else
 */
export async function stateByOracle(replicas: readonly Replica[], database: string, file: DatedFile): Promise<string> {
  let seen: string | null = null;
  for (const replica of replicas) {
    const query = <Row>(sql: string): Promise<Row[]> => replica.rows<Row>(sql, database);
    const wrong = await mismatches(query, VIEW, file.expected);
    if (wrong.length > 0)
      throw new Error(`${replica.name} shows not what ${file.date} holds: ${JSON.stringify(wrong[0])}`);
    const [row] = await query<{ state: string }>(`${STATE_SQL} ${VIEW}`);
    seen ??= row?.state ?? '';
    if (row?.state !== seen) throw new Error(`${replica.name} shows ${row?.state}, another one ${seen}`);
  }
  return seen ?? '';
}

class EndState {
  readonly #replica: Replica;
  readonly #expectation: Expectation;

  constructor(replica: Replica, expectation: Expectation) {
    this.#replica = replica;
    this.#expectation = expectation;
  }

  async faults(): Promise<string[]> {
    const { files, known, mode, database } = this.#expectation;
    const newest = files.all.length - 1;
    const sees = await shown(this.#replica, database, known).catch((error: Error) => error.message);
    const faults = sees === newest ? [] : [`readers see ${sees} in place of file ${newest}`];
    // What follows would not be there.
    if (sees === null) return faults;
    const loaded = await this.#loadedOnce(faults);
    if (loaded.at(-1) !== newest) faults.push(`domainsync_runs has loads of the files ${loaded.join(', ')} only`);
    if (mode === 'sync') faults.push(...(await this.#rowsOnce(newest)), ...(await this.#feed(loaded)));
    if (mode === 'append') faults.push(...(await this.#partitions(loaded)));
    if (mode === 'replace') faults.push(...(await this.#previous(loaded)));
    faults.push(...(await this.#remnants()));
    return faults;
  }

  #rows<Row>(sql: string): Promise<Row[]> {
    return this.#replica.rows<Row>(sql, this.#expectation.database);
  }

  /** Numbers of the files that are on record as loaded, which each is once, with its figures. */
  async #loadedOnce(faults: string[]): Promise<number[]> {
    const { files, mode } = this.#expectation;
    const runs = await this.#rows<{ date: string; figures: readonly (readonly string[])[] }>(
      `SELECT toString(file_date) AS date, groupArray([toString(inserted), toString(updated), toString(deleted)]) AS figures
FROM domainsync_runs WHERE pipeline = '${TABLE}' AND outcome = 'loaded' GROUP BY date ORDER BY date`,
    );
    const loaded = runs.map(({ date }) => files.all.findIndex((file) => file.date === date));
    for (const [at, { date, figures }] of runs.entries()) {
      if (figures.length !== 1) faults.push(`domainsync_runs has ${figures.length} loads of ${date}`);
      if (mode !== 'sync' || at === 0) continue;
      const { inserted, updated, deleted } = files.difference(loaded[at - 1] ?? 0, loaded[at] ?? 0);
      const expected = [inserted, updated, deleted].join();
      if (figures[0]?.join() !== expected) {
        faults.push(`domainsync_runs says of ${date} ${figures[0]?.join()}, and ${expected} would be right`);
      }
    }
    return loaded;
  }

  /** Counts over the table itself, without the view. */
  async #rowsOnce(newest: number): Promise<string[]> {
    const expected = String(this.#expectation.files.at(newest).expected.rows.size);
    const [row] = await this.#rows<{ n: string; domains: string }>(
      `SELECT count() AS n, uniqExact(domain) AS domains FROM ${TABLE} FINAL WHERE _deleted = 0`,
    );
    const found = `${row?.n} rows of ${row?.domains} domains`;
    return found === `${expected} rows of ${expected} domains` ? [] : [`FINAL gives ${found} in place of ${expected}`];
  }

  /** The change feed: of each file, all its changes since the file that was loaded before it, once. */
  async #feed(loaded: readonly number[]): Promise<string[]> {
    const { files } = this.#expectation;
    const found = await this.#rows<{ line: string }>(
      `SELECT concat(toString(file_date), ' ', toString(previous_file_date), ' ', domain, ' ', op, ' ',
arrayStringConcat(arraySort(arrayMap(column -> toString(column), columns)), ',')) AS line FROM ${TABLE}_changes`,
    );
    const expected = loaded.slice(1).flatMap((after, at) => {
      const before = loaded[at] ?? 0;
      const dates = `${files.at(after).date} ${files.at(before).date}`;
      const { changes } = files.difference(before, after);
      return changes.map(({ domain, op, columns }) => `${dates} ${domain} ${op} ${columns.join()}`);
    });
    return difference(
      found.map(({ line }) => line),
      expected,
    ).map((text) => `the change feed has ${text}`);
  }

  /** Mode append: of each file all rows, once. */
  async #partitions(loaded: readonly number[]): Promise<string[]> {
    const { files, known, database } = this.#expectation;
    const columns = await this.#rows<{ name: string }>(
      `SELECT name FROM system.columns WHERE database = '${database}' AND table = '${VIEW}' ORDER BY position`,
    );
    const select = columns.map(({ name }) => `\`${name}\``).join(', ');
    const faults: string[] = [];
    for (const index of loaded) {
      const { date } = files.at(index);
      const sql = `${STATE_SQL} (SELECT ${select} FROM ${TABLE} WHERE _file_date = '${date}')`;
      const [row] = await this.#rows<{ state: string }>(sql);
      if (row?.state !== known[index + 1])
        faults.push(`the rows of ${date} are ${row?.state}, not ${known[index + 1]}`);
    }
    return faults;
  }

  /** Mode replace: the table before the last one. */
  async #previous(loaded: readonly number[]): Promise<string[]> {
    const { known, database } = this.#expectation;
    const before = loaded.at(-2);
    const sql = `SELECT 1 FROM system.tables WHERE database = '${database}' AND name = '${TABLE}_previous'`;
    const isThere = (await this.#rows(sql)).length > 0;
    if (before === undefined) return isThere ? [`${TABLE}_previous is there after one load`] : [];
    if (!isThere) return [`${TABLE}_previous is missing`];
    const columns = await this.#rows<{ name: string }>(
      `SELECT name FROM system.columns WHERE database = '${database}' AND table = '${VIEW}' ORDER BY position`,
    );
    const select = columns.map(({ name }) => `\`${name}\``).join(', ');
    const [row] = await this.#rows<{ state: string }>(`${STATE_SQL} (SELECT ${select} FROM ${TABLE}_previous)`);
    return row?.state === known[before + 1] ? [] : [`${TABLE}_previous is not the table of file ${before}`];
  }

  /** What only a run at work, or one that waits to go on, leaves. */
  async #remnants(): Promise<string[]> {
    const { database } = this.#expectation;
    const found = await this.#rows<{ name: string }>(
      `SELECT name FROM system.tables WHERE database = '${database}' AND startsWith(name, 'domainsync_staging_')
UNION ALL SELECT name FROM system.columns
WHERE database = '${database}' AND table = 'domainsync_claims' AND match(name, '/(loading|ready)$') ORDER BY name`,
    );
    return found.length === 0 ? [] : [`left over: ${found.map(({ name }) => name).join(', ')}`];
  }
}

/** Lines that one list has more often than the other, the first few of them. */
function difference(found: readonly string[], expected: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of found) counts.set(line, (counts.get(line) ?? 0) + 1);
  for (const line of expected) counts.set(line, (counts.get(line) ?? 0) - 1);
  const wrong = [...counts].filter(([, count]) => count !== 0);
  const told = wrong
    .slice(0, 5)
    .map(([line, count]) => `${Math.abs(count)} ${count > 0 ? 'too many' : 'missing'}: ${line}`);
  return wrong.length > told.length ? [...told, `${wrong.length} such lines`] : told;
}
