/**
 * Rounds of drawn files, each loaded by real processes that are struck, as is the server, until it is loaded. What `<table>_live` shows
 * is stored after each file; `_asof` of every day, `_versions`, `_history` and `_changes_values` must agree with it and with the oracle.
 */
import { compressToBuffer } from '../../../src/sandbox/data/compress.ts';
import { type ServerProject, withServerProject } from '../clickhouse/project.ts';
import { StatementError } from '../clickhouse/server.ts';
import { random } from '../download/zst.ts';
import { type Draw, pick } from '../kill/misfortune.ts';
import { drawStrike, type Strike, strikeText } from '../kill/schedule.ts';
import { isRightEnd, outcomeOf, struckRun } from '../kill/strike.ts';
import { mismatches } from '../oracle/compare.ts';
import {
  asof,
  columnsOf,
  dateAfter,
  daysBetween,
  errorOf,
  historyFaults,
  rowDifferences,
  valueChangeFaults,
  versionFaults,
} from './checks.ts';
import { type DrawnFile, drawFiles } from './files.ts';
import { historyOf, type LoadedFile, loadedFiles, versionsOf } from './versions.ts';

export interface HistoryCampaignOptions {
  /** The first round's; the next ones count on, so that each can be played again as a first. */
  readonly seed: number;
  readonly files: number;
  readonly rows: number;
  /** At least so many, of either victim; 0: one round in peace. */
  readonly kills: number;
  /** Of the pipeline; default true. */
  readonly deletes?: boolean;
  /** Two pipelines share the table, each with a slice of it; default false. */
  readonly slices?: boolean;
  readonly told?: (line: string) => void;
}

export interface HistoryCampaignReport {
  readonly figures: {
    rounds: number;
    files: number;
    runs: number;
    killsOfDomainsync: number;
    killsOfClickHouse: number;
    lostAnswers: number;
    versions: number;
    seconds: number;
  };
  /** What was wrong, in the round of `seed`; empty: nothing. */
  readonly faults: readonly string[];
  readonly seed: number;
  /** What happened at each file of that round. */
  readonly schedule: readonly string[];
}

const TABLE = 'dns';
const DATASET = 'all-data';
const TLDS = ['de', 'fr'];
const MOST_STRIKES = 6;
/** Statements of a load, about; one that is aimed behind the last hits that. */
const STATEMENTS = 60;

export async function runHistoryCampaign(options: HistoryCampaignOptions): Promise<HistoryCampaignReport> {
  let report: HistoryCampaignReport | undefined;
  await withServerProject({ rows: 1 }, async (project) => {
    const to = `{ table: ${TABLE}, history: true, deletes: ${options.deletes ?? true} }`;
    const rest = `minRows: 0, to: { clickhouse: ${to} } }`;
    const slices = TLDS.map((key) => `  ${key}: { dataset: ${DATASET}, slice: { scope: tld, key: ${key} }, ${rest}`);
    const whole = `  ${TABLE}: { dataset: ${DATASET}, ${rest}`;
    await project.configure({ pipelines: options.slices === true ? slices.join('\n') : whole });
    report = await new HistoryCampaign(project, options).run();
  });
  if (report === undefined) throw new Error('the campaign came to no end');
  return report;
}

class HistoryCampaign {
  readonly #project: ServerProject;
  readonly #options: HistoryCampaignOptions;
  readonly #figures: HistoryCampaignReport['figures'] = {
    rounds: 0,
    files: 0,
    runs: 0,
    killsOfDomainsync: 0,
    killsOfClickHouse: 0,
    lostAnswers: 0,
    versions: 0,
    seconds: 0,
  };
  #faults: string[] = [];
  #schedule: string[] = [];
  /** The stored copy of what each file left. */
  #copies: string[] = [];

  constructor(project: ServerProject, options: HistoryCampaignOptions) {
    this.#project = project;
    this.#options = options;
  }

  async run(): Promise<HistoryCampaignReport> {
    const started = performance.now();
    const figures = this.#figures;
    let { seed } = this.#options;
    for (; ; seed += 1) {
      await this.#round(seed).catch((error: unknown) => {
        // What the server refuses to answer is a fault too, so that the report tells what happened before.
        if (!(error instanceof StatementError)) throw error;
        this.#faults.push(error.message);
      });
      figures.rounds += 1;
      const { killsOfDomainsync, killsOfClickHouse, versions, runs } = figures;
      this.#options.told?.(
        `seed ${seed}: ${this.#faults.length === 0 ? 'right' : 'WRONG'}; so far ${killsOfDomainsync} kills of domainsync and ${killsOfClickHouse} of ClickHouse, ${runs} runs, ${versions} versions`,
      );
      if (this.#faults.length > 0 || this.#killsLeft() <= 0) break;
    }
    figures.seconds = Math.round((performance.now() - started) / 1000);
    return { figures, faults: this.#faults, seed, schedule: this.#schedule };
  }

  #killsLeft(): number {
    return this.#options.kills - this.#figures.killsOfDomainsync - this.#figures.killsOfClickHouse;
  }

  async #round(seed: number): Promise<void> {
    const { server } = this.#project;
    const { files: count, rows, deletes } = this.#options;
    const files = drawFiles({ seed, files: count, rows, tlds: this.#tlds() });
    const loaded = loadedFiles(files, deletes);
    const draw = random(seed ^ 0x5eed);
    const database = `round_${seed}`;
    this.#project.database = database;
    for (const name of [database, `${database}_copies`]) await server.command(`CREATE DATABASE ${name}`);
    await this.#project.configure();
    this.#schedule = [];
    this.#copies = [];
    for (const [n, file] of files.entries()) {
      this.#schedule.push(`file ${n} of ${file.date}, ${file.kind}`);
      await this.#publish(file, n);
      const share = Math.ceil(this.#killsLeft() / (files.length - n));
      await this.#load(draw, Math.min(Math.floor(draw() * MOST_STRIKES), share), loaded.slice(0, n));
      await server.quiet();
      await this.#store(n);
      await this.#look(loaded.slice(0, n + 1));
      if (this.#faults.length > 0) return;
      // As merges do, of which a short test sees few.
      for (const table of [TABLE, `${TABLE}_history`]) {
        if (draw() < 0.15) await this.#project.command(`OPTIMIZE TABLE ${table} FINAL`);
      }
      this.#figures.files += 1;
    }
    await this.#compare(loaded);
    if (this.#faults.length > 0) return;
    for (const name of [database, `${database}_copies`]) await server.command(`DROP DATABASE ${name} SYNC`);
  }

  #tlds(): readonly string[] {
    return this.#options.slices === true ? TLDS : ['example'];
  }

  async #publish({ date, bytes }: DrawnFile, n: number): Promise<void> {
    const { sandbox, proxy } = this.#project;
    // Another validator for each: also a file that is the same as the one before is a revision.
    const publish = async (target: string, content: Buffer): Promise<unknown> =>
      sandbox.publishFile({ target, date, content: { bytes: await compressToBuffer([content]) }, etag: `"${n}"` });
    if (this.#options.slices !== true) await publish(DATASET, bytes);
    else {
      const lines = bytes.toString().split('\n');
      for (const tld of TLDS) {
        const own = lines.filter((line) => line.includes(`"TLD":"${tld}"`));
        await publish(`${DATASET}/tld/${tld}`, Buffer.from(`${own.join('\n')}\n`));
      }
    }
    proxy.log = [];
  }

  /** Struck until it has been struck often enough or is loaded, then in peace. @param before the files loaded so far */
  async #load(draw: Draw, strikes: number, before: readonly LoadedFile[]): Promise<void> {
    const figures = this.#figures;
    for (let n = 0; n < strikes; n += 1) {
      const strike = drawHistoryStrike(draw);
      const run = await struckRun(this.#project, strike);
      figures.runs += 1;
      if (run.killedDomainsync) figures.killsOfDomainsync += 1;
      if (run.killedClickHouse) figures.killsOfClickHouse += 1;
      if (run.hit !== null && !run.killedDomainsync && !run.killedClickHouse) figures.lostAnswers += 1;
      this.#schedule.push(`  ${strikeText(strike)}: ${outcomeOf(run)}`);
      if (!isRightEnd(run)) this.#faults.push(`a struck run ended with ${run.finished.code}: ${run.finished.stderr}`);
      await this.#lookBack(draw, before);
      if (run.finished.code === 0) break;
    }
    const { code, stdout, stderr } = await this.#project.run('sync');
    figures.runs += 1;
    this.#schedule.push(`  in peace: ${code}, ${stdout.trim()}`);
    if (code !== 0) this.#faults.push(`a run in peace ended with ${code}: ${stderr}`);
  }

  async #store(n: number): Promise<void> {
    const copy = `${this.#project.database}_copies.file_${n}`;
    this.#copies.push(copy);
    await this.#project.command(
      `CREATE TABLE ${copy} ENGINE = MergeTree ORDER BY domain AS SELECT * FROM ${TABLE}_live`,
    );
  }

  /** After a file: it is what the file has, and what `_asof` shows of its date. */
  async #look(loaded: readonly LoadedFile[]): Promise<void> {
    const [n, file] = [loaded.length - 1, loaded.at(-1)];
    if (file === undefined) return;
    const { query } = this.#project;
    const expected = { rows: file.rows, rejects: [], read: 0, accepted: 0 };
    const wrong = (await mismatches(query, `${TABLE}_live`, expected)).map((one) => JSON.stringify(one));
    const differs = await rowDifferences(query, asof(TABLE, file.date), this.#copies[n] ?? '');
    this.#faults.push(...[...wrong, ...differs].map((text) => `after file ${n}: ${text}`));
  }

  /** Amid a load that was struck: a date before its own shows what it showed. */
  async #lookBack(draw: Draw, before: readonly LoadedFile[]): Promise<void> {
    const last = before.at(-1)?.date ?? '';
    const earlier = before.flatMap(({ date }, n) => (date < last && before[n + 1]?.date !== date ? [n] : []));
    if (earlier.length === 0) return;
    const n = pick(draw, earlier);
    const is = asof(TABLE, before[n]?.date ?? '');
    const differs = await rowDifferences(this.#project.query, is, this.#copies[n] ?? '');
    this.#faults.push(...differs.map((text) => `amid file ${before.length}: ${text}`));
  }

  async #compare(loaded: readonly LoadedFile[]): Promise<void> {
    const { query } = this.#project;
    const [first, last] = [loaded[0]?.date ?? '', loaded.at(-1)?.date ?? ''];
    for (const day of daysBetween(first, dateAfter(last, 2))) {
      const n = loaded.findLastIndex(({ date }) => date <= day);
      this.#faults.push(...(await rowDifferences(query, asof(TABLE, day), this.#copies[n] ?? '')));
    }
    const live = await columnsOf(query, `${TABLE}_live`);
    const then = await columnsOf(query, asof(TABLE, last));
    if (live.join() !== then.join())
      this.#faults.push(`_asof has the columns ${then.join()} in place of ${live.join()}`);
    const error = await errorOf(query, `SELECT * FROM ${asof(TABLE, dateAfter(first, -1))}`);
    if (error?.includes(first) !== true) this.#faults.push(`_asof of the day before the first file: ${error}`);
    const versions = versionsOf(loaded);
    this.#figures.versions += versions.length;
    for (const tld of this.#tlds()) {
      const own = `(SELECT * FROM ${TABLE}_history WHERE endsWith(domain, '.${tld}'))`;
      const entries = historyOf(loaded).map((file) => file.filter(({ domain }) => domain.endsWith(`.${tld}`)));
      this.#faults.push(...(await historyFaults(query, own, loaded, entries)));
    }
    this.#faults.push(
      ...(await versionFaults(query, TABLE, versions)),
      ...(await valueChangeFaults(query, TABLE, loaded, this.#copies)),
    );
  }
}

/** Some are aimed at what has to do with the history, which a load has few statements of. */
function drawHistoryStrike(draw: Draw): Strike {
  const strike = drawStrike(draw, STATEMENTS);
  if (draw() >= 0.4 || strike.aim.kind === 'time') return strike;
  return { ...strike, aim: { kind: 'like', pattern: '.*_history`', nth: Math.floor(draw() * 4) } };
}
