/** Readers that poll `<table>_live` on every replica. Each may see whole files only, and never an older one after a later one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { STATE_SQL } from '../kill/reader.ts';
import { until } from '../until.ts';
import type { Replica } from './replicas.ts';

/** Time between a reader's answer and its next question, ms. */
const PAUSE_MS = 20;

/** Before an empty table. */
const NO_TABLE = -2;

/** The table, and the pipeline. */
export const TABLE = 'dns';
export const VIEW = `${TABLE}_live`;

/** The number of the file that a replica shows; -1: an empty table; null: it has no such view yet. @throws Error for anything else */
export async function shown(replica: Replica, database: string, known: readonly string[]): Promise<number | null> {
  return (await hasView(replica, database)) ? shownByView(replica, database, known) : null;
}

/** Likewise, where there is the view. */
async function shownByView(replica: Replica, database: string, known: readonly string[]): Promise<number> {
  const state = (await replica.rows<{ state: string }>(`${STATE_SQL} ${VIEW}`, database))[0]?.state ?? '';
  const index = known.indexOf(state);
  if (index === -1) throw new MixtureError(`${replica.name} shows ${state}, which is no file's table`);
  return index - 1;
}

/** Neither the old file nor the new one. */
export class MixtureError extends Error {}

async function hasView(replica: Replica, database: string): Promise<boolean> {
  const sql = `SELECT 1 FROM system.tables WHERE database = '${database}' AND name = '${VIEW}'`;
  return (await replica.rows(sql, database)).length > 0;
}

export interface Sightings {
  reads: number;
  /** Questions without an answer, for what was done to the server. */
  unanswered: number;
  /** What each saw that differed from what it had seen before. */
  changes: number;
  readonly faults: string[];
}

/** Starts them. @param known states of an empty table and then of each file */
export function startReaders(
  replicas: readonly Replica[],
  database: string,
  known: readonly string[],
): { stop(): Promise<Sightings> } {
  const sightings: Sightings = { reads: 0, unanswered: 0, changes: 0, faults: [] };
  const stopping = new AbortController();
  const readers = replicas.map((replica) => new Reader(replica, database, known, sightings).run(stopping.signal));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(readers);
      return sightings;
    },
  };
}

class Reader {
  readonly #replica: Replica;
  readonly #database: string;
  readonly #known: readonly string[];
  readonly #sightings: Sightings;
  /** null: it has seen no table yet. */
  #last: number | null = null;
  /** What was not the server's fault: one of a kind is enough. */
  readonly #told = new Set<string>();

  constructor(replica: Replica, database: string, known: readonly string[], sightings: Sightings) {
    this.#replica = replica;
    this.#database = database;
    this.#known = known;
    this.#sightings = sightings;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { disturbances, isUp } = this.#replica;
      try {
        // Once it is there, the view is never gone.
        const see = this.#last === null ? shown : shownByView;
        if (isUp) this.#look(await see(this.#replica, this.#database, this.#known));
      } catch (error) {
        if (error instanceof MixtureError) this.#tell(`${error.message}; before it showed ${nameOf(this.#last)}`);
        else if (this.#isExplained(disturbances)) this.#sightings.unanswered += 1;
        else this.#tell(`a reader of ${this.#replica.name} got ${error}`);
      }
      await sleep(PAUSE_MS);
    }
  }

  /** Something was done to the server between the question and now. */
  #isExplained(disturbances: number): boolean {
    const { isUp, isFrozen } = this.#replica;
    return !isUp || isFrozen || this.#replica.disturbances !== disturbances;
  }

  #look(now: number | null): void {
    this.#sightings.reads += 1;
    if (now === this.#last) return;
    this.#sightings.changes += 1;
    if ((now ?? NO_TABLE) < (this.#last ?? NO_TABLE)) {
      this.#tell(`${this.#replica.name} showed ${nameOf(now)} after ${nameOf(this.#last)}`);
    }
    this.#last = now;
  }

  #tell(fault: string): void {
    if (this.#told.has(fault)) return;
    this.#told.add(fault);
    this.#sightings.faults.push(fault);
  }
}

/** As people say it. */
export function nameOf(shown: number | null): string {
  if (shown === null) return 'no table';
  return shown === -1 ? 'an empty table' : `file ${shown}`;
}

/** Resolves when no server is at work with anything that changes something. */
export async function quiet(replicas: readonly Replica[]): Promise<void> {
  const running = "SELECT 1 FROM system.processes WHERE query_kind NOT IN ('Select', 'System', 'None')";
  for (const replica of replicas) await until(async () => (await replica.rows(running, 'default')).length === 0);
}
