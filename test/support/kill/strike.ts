/** One run of domainsync, and its strike. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProject } from '../clickhouse/project.ts';
import type { Statement, Verdict, Watcher } from '../clickhouse/proxy.ts';
import type { Finished, Running } from '../project.ts';
import type { Strike } from './schedule.ts';

export interface StruckRun {
  readonly finished: Finished;
  /** What was hit; null: the run was over before. */
  readonly hit: string | null;
  readonly killedDomainsync: boolean;
  readonly killedClickHouse: boolean;
}

/** Runs `sync`, strikes once, and resolves when the run has ended and ClickHouse is up again. */
export async function struckRun(project: ServerProject, strike: Strike): Promise<StruckRun> {
  const run = project.start('sync');
  const blow = new Blow(project, run, strike);
  const timer = strike.aim.kind === 'time' ? setTimeout(() => void blow.strike('the time'), strike.aim.ms) : null;
  project.proxy.watcher = strike.aim.kind === 'time' ? {} : watcherOf(strike, blow);
  const finished = await run.finished;
  if (timer !== null) clearTimeout(timer);
  project.proxy.watcher = {};
  await blow.over;
  return { finished, hit: blow.hit, killedDomainsync: blow.killedDomainsync, killedClickHouse: blow.killedClickHouse };
}

/** What was hit and how the run ended, in a line. */
export function outcomeOf({ hit, finished: { code, signal, stdout, stderr } }: StruckRun): string {
  const end = signal ?? `${code} ${(code === 0 ? stdout : stderr).trim().split('\n')[0]}`;
  return `${hit === null ? 'missed' : `hit ${hit.slice(0, 120)}`}; ${end}`;
}

/** A run that was killed, that went on to its end, or that says that ClickHouse failed it. */
export function isRightEnd({ hit, finished: { code, signal }, killedDomainsync }: StruckRun): boolean {
  if (signal !== null) return killedDomainsync;
  return code === 0 || (code === 8 && hit !== null);
}

const LAST = /^INSERT INTO \S+domainsync_runs/;

class Blow {
  hit: string | null = null;
  killedDomainsync = false;
  killedClickHouse = false;
  /** Resolves when ClickHouse serves again. */
  over: Promise<void> = Promise.resolve();
  readonly #project: ServerProject;
  readonly #run: Running;
  readonly #strike: Strike;

  constructor(project: ServerProject, run: Running, strike: Strike) {
    this.#project = project;
    this.#run = run;
    this.#strike = strike;
  }

  /** Resolves when those who were to die are dead. */
  async strike(what: string): Promise<void> {
    if (this.hit !== null) return;
    this.hit = what;
    const { victim } = this.#strike;
    const deaths: Promise<unknown>[] = [];
    if (victim === 'domainsync' || victim === 'both') deaths.push(this.#killDomainsync());
    if (victim === 'clickhouse' || victim === 'both') deaths.push(this.#killClickHouse());
    await Promise.all(deaths);
  }

  async #killDomainsync(): Promise<void> {
    this.#run.child.kill('SIGKILL');
    const { signal } = await this.#run.finished;
    this.killedDomainsync = signal === 'SIGKILL';
  }

  async #killClickHouse(): Promise<void> {
    const { server, proxy } = this.#project;
    const dead = server.kill().then(() => proxy.refuse());
    this.killedClickHouse = true;
    this.over = (async () => {
      await dead;
      await sleep(this.#strike.down);
      await server.start();
      await proxy.accept();
    })();
    await dead;
  }
}

function watcherOf(strike: Strike, blow: Blow): Watcher {
  const { aim, moment, into, victim } = strike;
  let seen = -1;
  let chosen: Statement | null = null;
  const isChosen = (statement: Statement): boolean => {
    if (chosen !== null || !statement.changes) return false;
    // A run that had less to do than was aimed for is struck at its end, when all is applied and being recorded.
    if (LAST.test(statement.sql)) {
      chosen = statement;
      return true;
    }
    if (aim.kind === 'like' && !new RegExp(`^${aim.pattern}`).test(statement.sql)) return false;
    seen += 1;
    if (aim.kind === 'time' || seen !== aim.nth) return false;
    chosen = statement;
    return true;
  };
  return {
    before: async (statement): Promise<Verdict> => {
      if (!isChosen(statement)) return 'pass';
      if (moment === 'during') setTimeout(() => void blow.strike(statement.sql), into);
      if (moment !== 'before') return 'pass';
      await blow.strike(statement.sql);
      return 'lose';
    },
    after: async (statement): Promise<Verdict> => {
      if (statement !== chosen || moment === 'before' || moment === 'during') return 'pass';
      if (moment === 'half') {
        if (victim === 'answer') blow.hit = statement.sql;
        else setImmediate(() => void blow.strike(statement.sql));
        return 'half';
      }
      await blow.strike(statement.sql);
      return 'lose';
    },
  };
}
