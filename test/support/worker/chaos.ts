/** Faults for workers, a Redis and a service, and the guarantees that must still hold. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { decompress } from '@mongodb-js/zstd';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { ServerPlace } from '../clickhouse/server-process.ts';
import { random } from '../download/zst.ts';
import { mismatches } from '../oracle/compare.ts';
import { expectedOf } from '../oracle/oracle.ts';
import { until } from '../until.ts';
import { type TestWorker, type WorkerLab, withWorkers } from './workers.ts';

/** Pipelines by name, with the dataset of each; three at once would load on three workers. */
const PIPELINES = { dns: 'dns', all: 'all-data', ranks: 'websites-ranking', tech: 'technologies' } as const;
const NAMES = Object.keys(PIPELINES) as (keyof typeof PIPELINES)[];
const WORKERS = 3;

export interface ChaosOptions {
  readonly seed: number;
  /** Files that the service publishes one after another. */
  readonly rounds: number;
  readonly rows: number;
  /** Folder of an embedded ClickHouse to use. */
  readonly clickhouse?: ServerPlace;
}

export interface ChaosReport {
  /** What is not as it must be; empty: all is. */
  readonly faults: readonly string[];
  /** What was done, in order. */
  readonly done: readonly string[];
  /** Bytes sent for all files, of those that they have. */
  readonly downloaded: number;
}

/** Runs one chaos. Throws nothing that a worker did wrong: that is in the report. */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  let report: ChaosReport | null = null;
  const { clickhouse, rows } = options;
  await withWorkers({ rows, ...(clickhouse === undefined ? {} : { clickhouse }) }, async (lab) => {
    report = await new Chaos(lab, options).run();
  });
  if (report === null) throw new Error('the chaos came to no end');
  return report;
}

class Chaos {
  readonly #lab: WorkerLab;
  readonly #options: ChaosOptions;
  readonly #draw: () => number;
  readonly #workers: TestWorker[] = [];
  readonly #done: string[] = [];
  readonly #faults: string[] = [];
  /** Bytes of the files that were published. */
  #published = 0;
  #schedules: Record<string, string> = {};

  constructor(lab: WorkerLab, options: ChaosOptions) {
    this.#lab = lab;
    this.#options = options;
    this.#draw = random(options.seed);
  }

  async run(): Promise<ChaosReport> {
    const { sandbox } = this.#lab.project;
    sandbox.misbehave({ fault: { kind: 'slow', bytesPerSecond: 400_000 }, route: 'download', probe: false });
    await this.#configure();
    for (let n = 0; n < WORKERS; n += 1) this.#workers.push(this.#lab.start());
    for (let round = 0; round < this.#options.rounds; round += 1) {
      if (round > 0) await sandbox.publish();
      for (const dataset of Object.values(PIPELINES)) this.#published += (await sandbox.file({ dataset }))?.size ?? 0;
      await this.#torment();
      await this.#untilLoaded(sandbox.date());
      await this.#checkTables();
      await this.#checkSchedules();
    }
    const downloaded = sandbox.bodyBytes('/api/download/') / this.#published;
    await this.#checkRuns();
    const ends = await Promise.all(this.#workers.map((worker) => worker.end('SIGTERM')));
    for (const { code, signal } of ends) if (code !== 0) this.#faults.push(`a worker ended with ${code ?? signal}`);
    return { faults: this.#faults, done: this.#done, downloaded };
  }

  /** A few misfortunes while the files are being loaded. */
  async #torment(): Promise<void> {
    const some = 2 + Math.floor(this.#draw() * 3);
    for (let n = 0; n < some; n += 1) {
      await sleep(this.#draw() * 900);
      const acts = [
        () => this.#kill(),
        () => this.#kill(),
        () => this.#restartRedis(),
        () => this.#flush(),
        () => this.#change(),
      ];
      await acts[Math.floor(this.#draw() * acts.length)]?.();
    }
  }

  async #kill(): Promise<void> {
    const n = Math.floor(this.#draw() * WORKERS);
    const signal = this.#draw() < 0.75 ? 'SIGKILL' : 'SIGTERM';
    this.#did(`${signal} to worker ${n}`);
    await this.#workers[n]?.end(signal);
    this.#workers[n] = this.#lab.start();
  }

  async #restartRedis(): Promise<void> {
    this.#did('Redis is killed');
    await this.#lab.redis.stop('SIGKILL');
    await sleep(this.#draw() * 1_000);
    await this.#lab.redis.start();
  }

  async #flush(): Promise<void> {
    this.#did('Redis forgets');
    await this.#lab.redis.client().flushall();
  }

  /** Another configuration, and a worker that starts with it. */
  async #change(): Promise<void> {
    this.#did('another configuration');
    await this.#configure();
    const n = Math.floor(this.#draw() * WORKERS);
    const worker = this.#workers[n];
    if (worker !== undefined) await hangUp(worker);
    if (n !== 0) return;
    await this.#workers[n]?.end('SIGTERM');
    this.#workers[n] = this.#lab.start();
  }

  async #configure(): Promise<void> {
    this.#schedules = Object.fromEntries(
      NAMES.map((name) => [name, `*/${1 + Math.floor(this.#draw() * 2)} * * * * *`]),
    );
    const lines = NAMES.map(
      (name) =>
        `  ${name}: { dataset: ${PIPELINES[name]}, schedule: '${this.#schedules[name]}', to: { clickhouse: { table: ${name}_rows } } }`,
    );
    await this.#lab.configure(lines.join('\n'));
  }

  async #untilLoaded(date: string): Promise<void> {
    await until(async () => {
      const { query } = this.#lab.project;
      if ((await query(`SHOW TABLES LIKE 'domainsync_runs'`)).length === 0) return false;
      const [row] = await query<{ n: string }>(
        `SELECT uniqExact(pipeline) AS n FROM domainsync_runs WHERE outcome = 'loaded' AND file_date = '${date}'`,
      );
      return Number(row?.n) === NAMES.length;
    });
  }

  async #checkTables(): Promise<void> {
    const { project } = this.#lab;
    for (const name of NAMES) {
      const file = await project.sandbox.file({ dataset: PIPELINES[name] });
      if (file === null) throw new Error(`there is no file for ${name}`);
      const expected = expectedOf(await decompress(await readFile(file.path)));
      const wrong = await mismatches((sql) => project.query(sql), `${name}_rows_live`, expected);
      if (wrong.length > 0) this.#faults.push(`${file.name} is not what ${name} holds: ${JSON.stringify(wrong[0])}`);
    }
  }

  /** Equal to the configuration that was read last, as soon as a worker has looked. */
  async #checkSchedules(): Promise<void> {
    const connection = new Redis(this.#lab.redis.url, { maxRetriesPerRequest: null });
    const queue = new Queue('domainsync', { connection });
    // Workers with an older configuration lay it where Redis forgot, until one with the newer comes by.
    for (const worker of this.#workers) await hangUp(worker);
    await until(async () => {
      const laid = await queue.getJobSchedulers(0, -1, true);
      const patterns = Object.fromEntries(laid.map(({ key, pattern }) => [key, pattern]));
      return NAMES.every((name) => patterns[name] === this.#schedules[name]) && laid.length === NAMES.length;
    });
    await queue.close();
    connection.disconnect();
  }

  /** Every file was loaded, and once. */
  async #checkRuns(): Promise<void> {
    const rows = await this.#lab.project.query<{ pipeline: string; file: string; n: string }>(
      `SELECT pipeline, file, count() AS n FROM domainsync_runs WHERE outcome = 'loaded' GROUP BY ALL`,
    );
    const wanted = NAMES.length * this.#options.rounds;
    if (rows.length !== wanted) this.#faults.push(`${rows.length} of ${wanted} files were loaded`);
    for (const { pipeline, file, n } of rows) if (n !== '1') this.#faults.push(`${pipeline} loaded ${file} ${n} times`);
    const left = await this.#lab.project.query(`SHOW TABLES LIKE 'domainsync_staging%'`);
    if (left.length > 0) this.#faults.push(`staging tables are left: ${JSON.stringify(left)}`);
  }

  #did(what: string): void {
    this.#done.push(what);
  }
}

/** Has a worker read its configuration again, once it has begun to listen: the signal ends a process that has not. */
async function hangUp(worker: TestWorker): Promise<void> {
  await worker.url();
  worker.child.kill('SIGHUP');
}
