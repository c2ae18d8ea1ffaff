/**
 * Schedules of faults against a cluster. Each loads three files into a database of its own, is struck at one of them, and must end
 * with what the oracle expects on every replica. Readers poll every replica throughout.
 */
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mode } from '../kill/state.ts';
import { endFaults, stateByOracle } from './end-state.ts';
import { Files } from './files.ts';
import { type BedReplicas, type GivenReplicas, openReplicas, type Replicas } from './replicas.ts';
import { type Played, playRound } from './round.ts';
import { endText, isLoaded, Runs } from './runs.ts';
import { drawSchedule, type Schedule, scheduleText } from './schedule.ts';
import { StatementLog } from './statement-log.ts';

export interface CampaignOptions {
  /** The first schedule's; the next ones count on, so that each can be played again as a first. */
  readonly seed: number;
  readonly schedules: number;
  readonly mode: Mode;
  readonly database: 'atomic' | 'replicated';
  readonly servers: BedReplicas | GivenReplicas;
  /** Of each file. */
  readonly rows: number;
  readonly told?: (line: string) => void;
  /** Also what happened in schedules that went right. */
  readonly tellsAll?: boolean;
}

export interface CampaignReport {
  readonly figures: Readonly<Record<string, number>>;
  /** Schedules by kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** What was wrong, each with its seed, the schedule, what happened, and where statements and logs are kept. */
  readonly failures: readonly string[];
}

export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-cluster-'));
  const files = await Files.write(options.rows);
  let replicas: Replicas | null = null;
  try {
    replicas = await openReplicas(options.servers);
    return await new Campaign(options, replicas, files, folder).run();
  } finally {
    await replicas?.close();
    await files.remove();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

class Campaign {
  readonly #options: CampaignOptions;
  readonly #replicas: Replicas;
  readonly #files: Files;
  readonly #folder: string;
  readonly #figures: Record<string, number> = {};
  readonly #kinds: Record<string, number> = {};
  readonly #failures: string[] = [];
  #known: string[] = [];
  readonly #statements: number[] = [];

  constructor(options: CampaignOptions, replicas: Replicas, files: Files, folder: string) {
    this.#options = options;
    this.#replicas = replicas;
    this.#files = files;
    this.#folder = folder;
  }

  async run(): Promise<CampaignReport> {
    const started = performance.now();
    const { seed, schedules, told } = this.#options;
    await this.#inPeace();
    for (let n = seed; n < seed + schedules; n += 1) {
      const schedule = drawSchedule(n, {
        replicas: this.#replicas.all.length,
        files: this.#files.all.length,
        ownsServers: !('urls' in this.#options.servers),
        hasZookeeper: this.#replicas.zookeeper !== null,
      });
      const began = performance.now();
      const played = await this.#play(schedule);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      const verdict = played.faults.length === 0 ? 'right' : 'WRONG';
      told?.(
        `seed ${n}: ${verdict}, ${seconds} s; ${schedule.kind}${played.hit === null && schedule.fault !== null ? ' (missed)' : ''}`,
      );
      if (this.#options.tellsAll) told?.([scheduleText(schedule), ...played.story].join('\n  '));
      if (played.faults.length > 0) {
        const failure = await this.#keep(schedule, played);
        this.#failures.push(failure);
        told?.(failure);
      }
    }
    this.#figures['seconds'] = Math.round((performance.now() - started) / 1000);
    return { figures: this.#figures, kinds: this.#kinds, failures: this.#failures };
  }

  /** Loads all files undisturbed: what readers may see, by the oracle on every replica, and how many statements a load has. */
  async #inPeace(): Promise<void> {
    const database = await this.#createDatabase('calm');
    const { all } = this.#replicas;
    const { mode } = this.#options;
    const [folder, cluster] = [this.#folder, this.#cluster];
    const settings = { replicas: this.#replicas, folder, database, mode, cluster, replicaTimeout: '60s' };
    const runs = new Runs(settings);
    const states: string[] = [];
    for (const file of this.#files.all) {
      const log = new StatementLog(all);
      const ended = await runs.run({ way: 'struck', home: 0, file });
      this.#statements.push(log.changes);
      log.close();
      if (!isLoaded(ended)) throw new Error(`in peace: ${endText(ended)}${ended.stderr}\n${log.text(true)}`);
      states.push(await stateByOracle(all, database, file));
    }
    // Of no rows there is no sum.
    this.#known = ['0/0', ...states];
    if (new Set(this.#known).size !== this.#known.length) throw new Error('two files give the same table');
    for (const replica of all) {
      const faults = await endFaults(replica, { files: this.#files, known: this.#known, mode, database });
      if (faults.length > 0) throw new Error(`in peace: ${faults.join('\n')}`);
    }
    this.#options.told?.(`in peace loads have ${this.#statements.join(', ')} statements that change something`);
    await this.#dropDatabase(database);
  }

  /** What the configuration names. */
  get #cluster(): string | null {
    return this.#options.database === 'replicated' ? null : this.#replicas.cluster;
  }

  async #play(schedule: Schedule): Promise<Played> {
    const database = await this.#createDatabase(`round_${schedule.seed}`);
    const { mode } = this.#options;
    const folder = join(this.#folder, database);
    await mkdir(folder);
    const expectation = { files: this.#files, known: this.#known, mode, database };
    const played = await playRound(
      { replicas: this.#replicas, folder, cluster: this.#cluster, expectation, statements: this.#statements },
      schedule,
    );
    await this.#dropDatabase(database);
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    this.#count(schedule, played);
    return played;
  }

  #count({ kind, fault }: Schedule, { hit, late, runs, sightings, faults }: Played): void {
    this.#kinds[kind] = (this.#kinds[kind] ?? 0) + 1;
    const add = (name: string, n = 1): void => {
      this.#figures[name] = (this.#figures[name] ?? 0) + n;
    };
    add('schedules');
    if (faults.length > 0) add('wrong');
    if (hit === null && fault !== null) add('missed');
    if (late !== null) add(`late statements answered with ${late}`);
    for (const { signal, code, outcome, lagging } of runs) {
      add(`runs that ended with ${signal ?? `${code}${outcome === null ? '' : ` ${outcome}`}`}`);
      if (lagging.length > 0) add('runs that named replicas');
    }
    add('reads', sightings.reads);
    add('reads without an answer', sightings.unanswered);
    add('changes that readers saw', sightings.changes);
  }

  /** Keeps what tells how it went wrong. @returns all of it in lines */
  async #keep(schedule: Schedule, { faults, story, statements }: Played): Promise<string> {
    const kept = await mkdtemp(join(tmpdir(), `domainsync-cluster-failed-${schedule.seed}-`));
    await writeFile(join(kept, 'statements.txt'), statements.text(true));
    for (const { server, name } of this.#replicas.all) {
      if (server !== null) await copyFile(join(server.folder, 'log'), join(kept, `${name}.log`));
    }
    const lines = [scheduleText(schedule), 'wrong:', ...faults, 'what happened:', ...story];
    return [`seed ${schedule.seed}: ${lines.join('\n  ')}`, `statements and logs of servers: ${kept}`].join('\n');
  }

  async #createDatabase(name: string): Promise<string> {
    const database = `domainsync_${this.#options.mode}_${process.pid}_${name}`;
    const engine =
      this.#options.database === 'replicated'
        ? ` ENGINE = Replicated('/domainsync-test/${database}', '{shard}', '{replica}')`
        : '';
    for (const replica of this.#replicas.all) await replica.ask(`CREATE DATABASE ${database}${engine}`);
    return database;
  }

  async #dropDatabase(database: string): Promise<void> {
    for (const replica of this.#replicas.all) await replica.ask(`DROP DATABASE IF EXISTS ${database} SYNC`);
  }
}
