/** Plays one schedule in a database of its own, with readers, and tells what was wrong. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Blow } from './blow.ts';
import { type Expectation, endFaults } from './end-state.ts';
import { ageHeartbeats } from './heartbeats.ts';
import { nameOf, quiet, type Sightings, shown, startReaders } from './readers.ts';
import type { Replicas } from './replicas.ts';
import { type Ended, endText, isLoaded, type RunPlan, Runs, type Started } from './runs.ts';
import type { Schedule } from './schedule.ts';
import { StatementLog } from './statement-log.ts';

/** A run that has not ended after so long hangs, ms. It is longer than an owner's heartbeat is waited for, or a server that is gone. */
const HANGS_AFTER_MS = 240_000;
/** Runs that may find ClickHouse away once all is well again. */
const MOST_LAST_RUNS = 6;
/** Replicas, and what is left of statements, come to rest in this time, ms; what is wrong after it is wrong. */
const REST_MS = 60_000;
/** Between two runs of which the first found another one at work. */
const PAUSE_MS = 1_000;

export interface RoundSettings {
  readonly replicas: Replicas;
  readonly folder: string;
  /** As in RunSettings. */
  readonly cluster: string | null;
  readonly expectation: Expectation;
  /** Statements that change something, of an undisturbed load of each file. */
  readonly statements: readonly number[];
}

export interface Played {
  readonly faults: readonly string[];
  /** Runs, and what was done, in order. */
  readonly story: readonly string[];
  readonly statements: StatementLog;
  readonly sightings: Sightings;
  readonly runs: readonly Ended[];
  /** The statement that was struck; null: the run was over before. */
  readonly hit: string | null;
  /** HTTP status of the answer to a statement that was carried out late; null: there was none, of either. */
  readonly late: number | null;
}

/** Plays it. The databases are there, and empty. */
export async function playRound(settings: RoundSettings, schedule: Schedule): Promise<Played> {
  const round = new Round(settings, schedule);
  const { replicas, expectation } = settings;
  const readers = startReaders(replicas.all, expectation.database, expectation.known);
  try {
    await round.play();
  } finally {
    await round.end();
    round.sightings = await readers.stop();
  }
  return round.played();
}

class Round {
  readonly #settings: RoundSettings;
  readonly #schedule: Schedule;
  readonly #runs: Runs;
  readonly #blow: Blow | null;
  readonly #faults: string[] = [];
  readonly #story: string[] = [];
  readonly #ended: Ended[] = [];
  readonly #statements: StatementLog;
  sightings: Sightings = { reads: 0, unanswered: 0, changes: 0, faults: [] };

  constructor(settings: RoundSettings, schedule: Schedule) {
    this.#settings = settings;
    this.#schedule = schedule;
    const { replicas, folder, cluster, expectation } = settings;
    const { mode, database } = expectation;
    this.#runs = new Runs({ replicas, folder, database, mode, cluster, replicaTimeout: schedule.replicaTimeout });
    this.#statements = new StatementLog(replicas.all);
    const { fault, homes, file } = schedule;
    const home = replicas.all[homes.struck];
    const other = replicas.all[(homes.struck + 1) % replicas.all.length];
    if (home === undefined || other === undefined) throw new Error('there is no such home');
    this.#blow = fault === null ? null : new Blow(replicas, { home, other }, fault, settings.statements[file] ?? 1);
  }

  played(): Played {
    const faults = [...this.#faults, ...this.sightings.faults];
    const { sightings } = this;
    const statements = this.#statements;
    const { hit = null, late = null } = this.#blow ?? {};
    return { faults, story: this.#story, statements, sightings, runs: this.#ended, hit, late: late?.status ?? null };
  }

  async play(): Promise<void> {
    const { file, homes } = this.#schedule;
    for (let earlier = 0; earlier < file; earlier += 1) {
      const ended = await this.#run({ way: 'others', home: homes.struck, file: earlier });
      if (!isLoaded(ended)) this.#faults.push(`in peace: ${endText(ended)}`);
    }
    await this.#strike();
    await this.#goOn();
    await this.#rest();
  }

  /** Whatever is still going on is over then. */
  async end(): Promise<void> {
    this.#runs.end();
    await this.#blow?.heal();
    this.#statements.close();
  }

  /** The struck run and those beside it; resolves when they have ended and all is healed. */
  async #strike(): Promise<void> {
    const { file, homes, next, fault } = this.#schedule;
    const struck = await this.#start({ way: 'struck', home: homes.struck, file });
    const over = struck.ended.then(() => {});
    const beside = next === 'together' ? this.#run({ way: 'others', home: homes.next, file }) : null;
    if (this.#blow !== null) {
      const blow = this.#blow;
      this.#statements.watch(blow.aimAt(struck.child), { before: (statement) => blow.besides(statement) });
      await Promise.race([this.#blow.struck, over]);
      this.#story.push(`struck: ${this.#blow.hit ?? 'nothing, it was over before'}`);
    }
    const healing = fault === null || fault.down === null ? null : sleep(fault.down).then(() => this.#heal());
    if (next === 'at once' && (this.#blow?.hit ?? null) !== null) await this.#nextRuns();
    await healing;
    await this.#heal();
    await this.#finish(struck);
    await beside;
    this.#statements.watch({});
    if (this.#blow?.late == null) return;
    const status = await this.#blow.lateAnswer();
    this.#story.push(`the late statement was answered with ${status ?? 'nothing'}`);
  }

  /** Those at the other home, while the fault lasts. */
  async #nextRuns(): Promise<void> {
    const { file, homes, later } = this.#schedule;
    const last = Math.min(file + later, this.#newest);
    for (let index = file; index <= last; index += 1) {
      if (this.#blow?.frozeRun) await ageHeartbeats(this.#settings.replicas.all);
      const ended = await this.#run({ way: 'others', home: homes.next, file: index });
      if (ended.outcome !== 'elsewhere' || !this.#blow?.frozeRun || this.#schedule.fault?.down !== null) continue;
      // The frozen run counts as at work until its heartbeats are old.
      await sleep(PAUSE_MS);
      index -= this.#waited(ended) ? 1 : 0;
    }
  }

  #patience = HANGS_AFTER_MS / PAUSE_MS / 3;
  #waited(ended: Ended): boolean {
    this.#patience -= 1;
    if (this.#patience < 0) this.#faults.push(`a run that stands still was not taken over: ${endText(ended)}`);
    return this.#patience >= 0;
  }

  /** Runs until the newest file is loaded, all being well. */
  async #goOn(): Promise<void> {
    const { file, homes, jumps } = this.#schedule;
    for (let index = jumps ? this.#newest : file; index <= this.#newest; index += 1) {
      let tries = 0;
      for (;;) {
        const ended = await this.#run({ way: 'others', home: homes.last, file: index });
        if (isLoaded(ended)) break;
        tries += ended.outcome === 'elsewhere' ? 0.1 : 1;
        if (tries > MOST_LAST_RUNS) {
          this.#faults.push(`the file was not loaded, all being well: ${endText(ended)}`);
          break;
        }
        await sleep(PAUSE_MS);
      }
    }
    // At every home once more: it has nothing to do, and tidies what the runs there have left.
    for (const home of this.#settings.replicas.all.keys()) {
      const ended = await this.#run({ way: 'others', home, file: this.#newest });
      if (ended.outcome !== 'current') this.#faults.push(`there was something left to do: ${endText(ended)}`);
    }
  }

  /** Compares every replica, when all has come to rest. */
  async #rest(): Promise<void> {
    const { replicas, expectation } = this.#settings;
    const wrong = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const replica of replicas.all) {
        found.push(...(await endFaults(replica, expectation).catch((error: Error) => [`${replica.name}: ${error}`])));
      }
      return found;
    };
    const until = performance.now() + REST_MS;
    await quiet(replicas.all);
    let found = await wrong();
    while (found.length > 0 && performance.now() < until) {
      await sleep(500);
      found = await wrong();
    }
    this.#faults.push(...found);
  }

  get #newest(): number {
    return this.#settings.expectation.files.all.length - 1;
  }

  async #heal(): Promise<void> {
    await this.#blow?.heal();
  }

  async #run(plan: { way: RunPlan['way']; home: number; file: number }): Promise<Ended> {
    return this.#finish(await this.#start(plan));
  }

  readonly #begun = new Map<Started, { readonly file: number; readonly disturbances: readonly number[] }>();

  async #start({ way, home, file }: { way: RunPlan['way']; home: number; file: number }): Promise<Started> {
    const { replicas, expectation } = this.#settings;
    const started = await this.#runs.start({ way, home, file: expectation.files.at(file) });
    // A replica that was disturbed a moment ago may not have come to itself yet; one that still is, does not count.
    const disturbances = replicas.all.map((replica) => (replica.isWell ? replica.disturbances : -1));
    this.#begun.set(started, { file, disturbances });
    return started;
  }

  /** Waits for a run's end and looks whether that was right, and whether the replicas show what it says. */
  async #finish(started: Started): Promise<Ended> {
    const hangs = new AbortController();
    const timer = sleep(HANGS_AFTER_MS, null, { signal: hangs.signal }).catch(() => null);
    const first = await Promise.race([started.ended, timer]);
    hangs.abort();
    if (first === null) {
      this.#faults.push(`a run did not end in ${HANGS_AFTER_MS / 1000} s`);
      started.child.kill('SIGKILL');
    }
    const ended = await started.ended;
    this.#ended.push(ended);
    this.#story.push(endText(ended));
    const wasStruck = ended.plan.way === 'struck' && this.#blow !== null && this.#blow.hit !== null;
    const isKilled = ended.signal === 'SIGKILL' && ((wasStruck && this.#blow?.killedRun) || first === null);
    if (ended.code !== 0 && ended.code !== 8 && !isKilled) this.#faults.push(`wrong end: ${endText(ended)}`);
    if (ended.code === 8 && this.#blow?.hit == null) this.#faults.push(`nothing was wrong, and yet: ${endText(ended)}`);
    if (isLoaded(ended)) await this.#check(ended, this.#begun.get(started));
    return ended;
  }

  /** After "loaded" no replica that was well all the time shows an older file, unless it was named. */
  async #check(ended: Ended, begun: { file: number; disturbances: readonly number[] } | undefined): Promise<void> {
    const { replicas, expectation } = this.#settings;
    if (begun === undefined) return;
    for (const [at, replica] of replicas.all.entries()) {
      const isSame = (): boolean => replica.isWell && replica.disturbances === begun.disturbances[at];
      if (!isSame() || ended.lagging.some((name) => replica.isNamed(name))) continue;
      const sees = await shown(replica, expectation.database, expectation.known).catch((error: Error) => error);
      if (!isSame()) continue;
      if (!(sees instanceof Error) && (sees ?? -1) >= begun.file) continue;
      const seen = sees instanceof Error ? sees.message : `${replica.name} showed ${nameOf(sees)}`;
      const what = `${seen}, after ${endText(ended)}`;
      // A run that finds the file on record says nothing of replicas: one that was away may still be catching up.
      if (ended.outcome === 'loaded') this.#faults.push(what);
      else this.#story.push(what);
    }
  }
}
