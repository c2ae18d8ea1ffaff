/** The fault of a schedule: aimed at a statement of the struck run, dealt, and healed. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Statement, Verdict, Watcher } from '../clickhouse/proxy.ts';
import type { Replica, Replicas } from './replicas.ts';
import { type Fault, KINDS } from './schedule.ts';

const ANSWERED_WITHIN_MS = 5_000;

/** The last one: a run that has less to do than was aimed for is struck here. */
const LAST = /^INSERT INTO \S+domainsync_runs/;

export class Blow {
  readonly #replicas: Replicas;
  readonly #home: Replica;
  readonly #other: Replica;
  readonly #fault: Fault;
  /** Statements of an undisturbed run that change something. */
  readonly #statements: number;
  readonly #struck = Promise.withResolvers<void>();
  readonly #healed = Promise.withResolvers<void>();
  /** The statement that is held goes on. */
  readonly #released = Promise.withResolvers<void>();
  /** Statements of the next runs that change something. */
  #next = 0;
  #run: ChildProcess | null = null;
  #seen = -1;
  #chosen: Statement | null = null;
  #dealt: Promise<void> | null = null;
  #isHealed = false;
  /** What was hit; null: the run was over before. */
  hit: string | null = null;

  constructor(replicas: Replicas, homes: { home: Replica; other: Replica }, fault: Fault, statements: number) {
    this.#replicas = replicas;
    this.#home = homes.home;
    this.#other = homes.other;
    this.#fault = fault;
    this.#statements = statements;
  }

  /** Resolves when the fault is there. */
  get struck(): Promise<void> {
    return this.#struck.promise;
  }

  /** Whether the run was to be killed, and the blow has fallen. */
  get killedRun(): boolean {
    return (
      this.hit !== null && (this.#fault.andRun || (this.#fault.who === 'domainsync' && this.#fault.how === 'kill'))
    );
  }

  get frozeRun(): boolean {
    return this.hit !== null && this.#fault.who === 'domainsync' && this.#fault.how === 'freeze';
  }

  /** The statement that is carried out after the blow is healed; null: none. */
  get late(): Statement | null {
    return this.#fault.down === null ? this.#chosen : null;
  }

  /** For whom the run's statements pass. */
  aimAt(run: ChildProcess): Watcher {
    this.#run = run;
    return { before: (statement) => this.#before(statement), after: (statement) => this.#after(statement) };
  }

  /** Sees the statements of other runs: at one of them the late statement goes on, and is answered before this one is sent. */
  async besides({ changes }: Statement): Promise<Verdict> {
    const { release, who } = this.#fault;
    if (release === null || this.hit === null || !changes) return 'pass';
    this.#next += 1;
    if (this.#next !== 1 + Math.floor(release * this.#statements)) return 'pass';
    await this.#dealt;
    if (who === 'home') await this.#home.heal();
    this.#released.resolve();
    await this.lateAnswer();
    return 'pass';
  }

  /** Resolves when the late statement has been answered; it may never be where its sender is gone. @returns the status */
  async lateAnswer(): Promise<number | null> {
    for (let n = 0; n < ANSWERED_WITHIN_MS / 50 && this.late?.status === null; n += 1) await sleep(50);
    return this.late?.status ?? null;
  }

  /** Ends the fault, or prevents it. Idempotent. */
  async heal(): Promise<void> {
    this.#isHealed = true;
    await this.#dealt;
    const { zookeeper, all } = this.#replicas;
    zookeeper?.thaw();
    await zookeeper?.revive();
    for (const replica of all) await replica.heal();
    if (this.frozeRun) this.#run?.kill('SIGCONT');
    this.#healed.resolve();
    this.#released.resolve();
  }

  async #before(statement: Statement): Promise<Verdict> {
    if (!this.#isChosen(statement)) {
      // Of a process that stands still nothing comes.
      if (this.frozeRun && !this.#isHealed) await this.#healed.promise;
      return 'pass';
    }
    this.#chosen = statement;
    const { moment, into, down, who, how } = this.#fault;
    if (moment === 'during') {
      // Of a late one nobody waits for the answer; the server is to go on with it all the same.
      const hangUp = (): void => (down === null ? statement.hangUp() : undefined);
      setTimeout(() => void this.#deal(statement).then(hangUp), into);
      return 'pass';
    }
    if (moment === 'after') return 'pass';
    await this.#deal(statement);
    if (down === null) {
      // It goes its way, though nobody waits for it any more.
      if (this.killedRun) statement.hangUp();
      if (who === 'domainsync') await this.#released.promise;
      return 'pass';
    }
    if (this.frozeRun) await this.#healed.promise;
    return this.killedRun || (who === 'home' && how === 'kill') ? 'lose' : 'pass';
  }

  async #after(statement: Statement): Promise<Verdict> {
    if (statement !== this.#chosen || this.#fault.moment !== 'after') return 'pass';
    await this.#deal(statement);
    return this.killedRun || (this.#fault.who === 'home' && this.#fault.how === 'kill') ? 'lose' : 'pass';
  }

  #isChosen({ sql, changes }: Statement): boolean {
    if (this.#chosen !== null || !changes) return false;
    const { aim } = this.#fault;
    const counts = aim.kind === 'share' || KINDS[aim.like].test(sql);
    if (counts) this.#seen += 1;
    const nth = aim.kind === 'share' ? Math.floor(aim.share * this.#statements) : aim.nth;
    return (counts && this.#seen === nth) || LAST.test(sql);
  }

  async #deal(statement: Statement): Promise<void> {
    // The run was over sooner than the time to strike.
    if (this.#isHealed) return;
    this.hit = statement.sql;
    this.#dealt ??= this.#do().finally(() => this.#struck.resolve());
    await this.#dealt;
  }

  async #do(): Promise<void> {
    const { who, how, what, andRun } = this.#fault;
    const run = this.#run;
    if (who === 'domainsync') run?.kill(how === 'kill' ? 'SIGKILL' : 'SIGSTOP');
    if (who === 'zookeeper' && how === 'kill') await this.#replicas.zookeeper?.kill();
    if (who === 'zookeeper' && how === 'freeze') this.#replicas.zookeeper?.freeze();
    const victim = who === 'home' ? this.#home : who === 'other' ? this.#other : null;
    if (victim !== null && how === 'kill') await victim.kill();
    if (victim !== null && how === 'freeze') victim.freeze();
    if (victim !== null && how === 'stop') await victim.stop(what);
    if (andRun) run?.kill('SIGKILL');
  }
}
