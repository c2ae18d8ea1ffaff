/** Runs of the command for a schedule: each in a process of its own, with a configuration that names the replicas in the order of its choice. */

import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DATASET } from '../kill/files.ts';
import type { Mode } from '../kill/state.ts';
import { startDomainsync } from '../project.ts';
import type { DatedFile } from './files.ts';
import { TABLE } from './readers.ts';
import type { Replica, Replicas, Way } from './replicas.ts';

export interface RunPlan {
  readonly way: Way;
  /** Index of the replica that is named first. */
  readonly home: number;
  readonly file: DatedFile;
}

export interface Ended {
  readonly plan: RunPlan;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** `loaded`, `current`, `older`, `elsewhere`, `failed`, ...; null: it said nothing. */
  readonly outcome: string | null;
  /** Code and message of an error; null: none. */
  readonly error: string | null;
  /** Replicas that it said are behind. */
  readonly lagging: readonly string[];
  readonly seconds: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  /** Never rejects. */
  readonly ended: Promise<Ended>;
}

export interface RunSettings {
  readonly replicas: Replicas;
  readonly folder: string;
  readonly database: string;
  readonly mode: Mode;
  /** What the configuration names; null: one server alone, or a database of engine Replicated, which tells it itself. */
  readonly cluster: string | null;
  readonly replicaTimeout: string;
}

/** The runs of one schedule. */
export class Runs {
  readonly #settings: RunSettings;
  readonly #running = new Set<ChildProcess>();
  #configurations = 0;

  constructor(settings: RunSettings) {
    this.#settings = settings;
  }

  async start(plan: RunPlan): Promise<Started> {
    const { folder } = this.#settings;
    this.#configurations += 1;
    const config = join(folder, `${this.#configurations}.yaml`);
    await writeFile(config, this.#configuration(plan));
    const args = ['--config', config, 'sync', TABLE, '--json', '--from-file', plan.file.path, '--file-date'];
    const { child, finished } = startDomainsync([...args, plan.file.date], folder, {});
    const began = performance.now();
    this.#running.add(child);
    const ended = finished.then(({ code, signal, stdout, stderr }): Ended => {
      this.#running.delete(child);
      const seconds = Math.round((performance.now() - began) / 100) / 10;
      return { plan, code, signal, ...reportOf(stdout), seconds, stdout, stderr };
    });
    return { child, ended };
  }

  async run(plan: RunPlan): Promise<Ended> {
    return (await this.start(plan)).ended;
  }

  /** SIGKILL of those that are left. */
  end(): void {
    for (const child of this.#running) child.kill('SIGKILL');
  }

  #configuration({ way, home }: RunPlan): string {
    const { replicas, folder, database, mode, cluster, replicaTimeout } = this.#settings;
    const { all } = replicas;
    const order = [...all.slice(home), ...all.slice(0, home)];
    const { username, password } = all[0]?.login ?? { username: '', password: '' };
    const urls = order.map((replica: Replica) => `'http://127.0.0.1:${replica.ways[way].port}'`);
    const named = cluster === null ? '' : `cluster: ${cluster}, `;
    const place = urls.length === 1 ? urls[0] : `[${urls.join(', ')}], ${named}replicaTimeout: ${replicaTimeout}`;
    return `clickhouse: { url: ${place}, database: ${database}, username: ${username}, password: '${password}' }
dataDir: '${join(folder, `data-${way}`)}'
pipelines:
  ${TABLE}: { dataset: ${DATASET}, maxRejected: 0.01, to: { clickhouse: { table: ${TABLE}, mode: ${mode} } } }
`;
  }
}

interface Report {
  readonly outcome: string;
  readonly error?: { readonly code: string; readonly message: string };
  readonly result?: { readonly lagging?: readonly string[] };
}

function reportOf(stdout: string): Pick<Ended, 'outcome' | 'error' | 'lagging'> {
  const [report] = stdout.startsWith('{') ? (JSON.parse(stdout) as { pipelines: readonly Report[] }).pipelines : [];
  const { outcome = null, error, result } = report ?? {};
  return {
    outcome,
    error: error === undefined ? null : `${error.code}: ${error.message}`,
    lagging: result?.lagging ?? [],
  };
}

/** Whether a run found or brought the file, or a later one, in the table. */
export function isLoaded({ code, outcome }: Pick<Ended, 'code' | 'outcome'>): boolean {
  return code === 0 && ['loaded', 'current', 'older'].includes(outcome ?? '');
}

/** In a line. */
export function endText({ plan, code, signal, outcome, error, lagging, seconds, stderr }: Ended): string {
  const said = [signal ?? code, outcome, error, lagging.length > 0 ? `lagging ${lagging.join(', ')}` : null];
  const words = said.filter((word) => word !== null).join(' ');
  const why = error !== null || code === 0 || signal !== null ? '' : `: ${stderr.trim().slice(0, 500)}`;
  return `${plan.way === 'struck' ? 'struck run' : 'run'} of ${plan.file.date} at home ${plan.home}: ${words}${why} (${seconds} s)`;
}
