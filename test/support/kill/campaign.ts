/**
 * Rounds of loads under kills. Each round loads the same files one after the other into its own table. Each load is struck
 * several times, then left alone, and must end as in a round without kills. A reader polls throughout.
 */
import { rm } from 'node:fs/promises';
import { type ServerProject, withServerProject } from '../clickhouse/project.ts';
import { random } from '../download/zst.ts';
import { BlockLedger } from './blocks.ts';
import { DATASET, type KillFile, type KillFilesOptions, writeKillFiles } from './files.ts';
import type { Draw } from './misfortune.ts';
import { type Sightings, startReader } from './reader.ts';
import { drawStrike, strikeText } from './schedule.ts';
import { differences, type EndState, endState, type Mode } from './state.ts';
import { isRightEnd, outcomeOf, type StruckRun, struckRun } from './strike.ts';

export interface CampaignOptions {
  /** The first round's; the next ones count on, so that each can be played again as a first. */
  readonly seed: number;
  /** At least so many, of either victim. */
  readonly kills: number;
  readonly mode: Mode;
  readonly files: Omit<KillFilesOptions, 'seed'>;
  readonly told?: (line: string) => void;
}

export interface CampaignReport {
  readonly figures: {
    killsOfDomainsync: number;
    killsOfClickHouse: number;
    lostAnswers: number;
    /** Strikes that found the run over already. */
    missed: number;
    runs: number;
    /** Of runs that were struck, how many went on to a good end by themselves. */
    wentOn: number;
    loads: number;
    blocksSent: number;
    reads: number;
    readsUnanswered: number;
    statesSeen: number;
    seconds: number;
  };
  /** What was wrong, in the round of `seed`; empty: nothing. */
  readonly faults: readonly string[];
  readonly seed: number;
  /** The strikes of the file that went wrong, with the end of each run. */
  readonly schedule: readonly string[];
}

/** The table and the pipeline. */
const TABLE = 'dns';
/** Contents of the world are the same for every seed: the schedule alone is drawn. */
const WORLD_SEED = 5;
const MOST_STRIKES = 8;

interface Reference {
  /** After each file. */
  readonly states: readonly EndState[];
  /** What readers may see, in order: nothing, then each file. */
  readonly known: readonly string[];
  /** Statements that change something, of the longest load. */
  readonly statements: number;
}

export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const { folder, files } = await writeKillFiles({ seed: WORLD_SEED, ...options.files });
  try {
    let report: CampaignReport | undefined;
    await withServerProject({ rows: 1 }, async (project) => {
      await project.configure({
        pipelines: `  ${TABLE}: { dataset: ${DATASET}, maxRejected: 0.01, to: { clickhouse: { table: ${TABLE}, mode: ${options.mode} } } }`,
      });
      report = await new Campaign(project, files, options).run();
    });
    if (report === undefined) throw new Error('the campaign came to no end');
    return report;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class Campaign {
  readonly #project: ServerProject;
  readonly #files: readonly KillFile[];
  readonly #options: CampaignOptions;
  readonly #figures: CampaignReport['figures'] = {
    killsOfDomainsync: 0,
    killsOfClickHouse: 0,
    lostAnswers: 0,
    missed: 0,
    runs: 0,
    wentOn: 0,
    loads: 0,
    blocksSent: 0,
    reads: 0,
    readsUnanswered: 0,
    statesSeen: 0,
    seconds: 0,
  };
  #faults: string[] = [];
  #schedule: string[] = [];

  constructor(project: ServerProject, files: readonly KillFile[], options: CampaignOptions) {
    this.#project = project;
    this.#files = files;
    this.#options = options;
  }

  async run(): Promise<CampaignReport> {
    const started = performance.now();
    const reference = await this.#undisturbed();
    let { seed } = this.#options;
    for (; ; seed += 1) {
      await this.#round(seed, reference);
      const { killsOfDomainsync, killsOfClickHouse, lostAnswers, runs } = this.#figures;
      this.#options.told?.(
        `seed ${seed}: ${this.#faults.length === 0 ? 'right' : 'WRONG'}; so far ${killsOfDomainsync} kills of domainsync and ${killsOfClickHouse} of ClickHouse, ${lostAnswers} lost answers, ${runs} runs`,
      );
      if (this.#faults.length > 0 || this.#killsLeft() <= 0) break;
    }
    this.#figures.seconds = Math.round((performance.now() - started) / 1000);
    return { figures: this.#figures, faults: this.#faults, seed, schedule: this.#schedule };
  }

  #killsLeft(): number {
    return this.#options.kills - this.#figures.killsOfDomainsync - this.#figures.killsOfClickHouse;
  }

  /** Another database, so that everything starts anew. */
  async #database(name: string): Promise<void> {
    this.#project.database = name;
    await this.#project.server.command(`CREATE DATABASE ${name}`);
    await this.#project.configure();
  }

  async #publish({ date, path }: KillFile): Promise<void> {
    await this.#project.sandbox.publishFile({ target: DATASET, date, content: { path } });
    this.#project.proxy.log = [];
  }

  async #undisturbed(): Promise<Reference> {
    await this.#database('calm');
    const states: EndState[] = [];
    let statements = 0;
    for (const file of this.#files) {
      await this.#publish(file);
      const { code, stderr } = await this.#project.run('sync');
      if (code !== 0) throw new Error(`a run in peace ended with ${code}: ${stderr}`);
      statements = Math.max(statements, this.#project.proxy.log.filter(({ changes }) => changes).length);
      states.push(await endState(this.#project, TABLE, this.#options.mode));
    }
    // Nothing yet: of no rows there is no sum.
    const known = ['0/0', ...states.map(({ live }) => live)];
    if (new Set(known).size !== known.length) throw new Error('two files give the same table');
    return { states, known, statements };
  }

  async #round(seed: number, reference: Reference): Promise<void> {
    const draw = random(seed);
    await this.#database(`round_${seed}`);
    const ledger = new BlockLedger();
    let reader: ReturnType<typeof startReader> | null = null;
    const readable = async (): Promise<void> => {
      const view = `SELECT 1 FROM system.tables WHERE database = '${this.#project.database}' AND name = '${TABLE}_live'`;
      if (reader !== null || (await this.#project.query(view)).length === 0) return;
      reader = startReader(this.#project, `${TABLE}_live`, reference.known);
    };
    for (const [index, file] of this.#files.entries()) {
      await this.#publish(file);
      ledger.nextFile();
      this.#schedule = [`file ${index} of ${file.date}`];
      const share = Math.ceil(this.#killsLeft() / (this.#files.length - index));
      const strikes = Math.min(1 + Math.floor(draw() * MOST_STRIKES), share);
      await this.#load(draw, strikes, reference.statements, ledger, readable);
      await this.#compare(index, reference.states[index]);
      if (this.#faults.length > 0) break;
    }
    this.#faults.push(...ledger.faults);
    this.#figures.blocksSent += ledger.sent;
    if (reader !== null) this.#sighted(await (reader as ReturnType<typeof startReader>).stop());
  }

  /** Loads the newest file: struck until it has been struck often enough or is loaded, then in peace. */
  async #load(
    draw: Draw,
    strikes: number,
    statements: number,
    ledger: BlockLedger,
    readable: () => Promise<void>,
  ): Promise<void> {
    let loaded = false;
    for (let n = 0; n < strikes && !loaded; n += 1) {
      const strike = drawStrike(draw, statements);
      const run = await struckRun(this.#project, strike);
      loaded = run.finished.code === 0;
      this.#count(run);
      this.#schedule.push(`${strikeText(strike)}: ${outcomeOf(run)}`);
      if (!isRightEnd(run)) this.#faults.push(`a struck run ended with ${run.finished.code}: ${run.finished.stderr}`);
      ledger.add(this.#project.proxy.log.splice(0));
      await readable();
    }
    // Also after a load that went through: the next run finds nothing to do, and tidies what there is.
    const { code, stdout, stderr } = await this.#project.run('sync');
    this.#figures.runs += 1;
    this.#figures.loads += 1;
    this.#schedule.push(`in peace: ${code}, ${stdout.trim()}`);
    if (code !== 0) this.#faults.push(`a run in peace ended with ${code}: ${stderr}`);
    ledger.add(this.#project.proxy.log.splice(0));
    await readable();
  }

  async #compare(index: number, expected: EndState | undefined): Promise<void> {
    await this.#project.server.quiet();
    const found = await endState(this.#project, TABLE, this.#options.mode);
    if (expected === undefined) throw new Error(`file ${index} has no expected state`);
    this.#faults.push(...differences(found, expected).map((text) => `after file ${index}: ${text}`));
  }

  #count({ hit, finished, killedDomainsync, killedClickHouse }: StruckRun): void {
    const figures = this.#figures;
    figures.runs += 1;
    if (hit === null) figures.missed += 1;
    else if (!killedDomainsync && !killedClickHouse) figures.lostAnswers += 1;
    if (hit !== null && finished.code === 0) figures.wentOn += 1;
    if (killedDomainsync) figures.killsOfDomainsync += 1;
    if (killedClickHouse) figures.killsOfClickHouse += 1;
  }

  #sighted({ reads, unanswered, seen, faults }: Sightings): void {
    this.#figures.reads += reads;
    this.#figures.readsUnanswered += unanswered;
    this.#figures.statesSeen += seen.length;
    this.#faults.push(...faults);
  }
}
