/** A process of the bed. It dies with the process that started it, and can be killed, frozen and restarted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../until.ts';

const TIED = fileURLToPath(new URL('tied.py', import.meta.url));

export interface ProcessOptions {
  readonly command: readonly [string, ...string[]];
  /** Where it runs and its file `log` is. */
  readonly folder: string;
  /** Whether it answers; asked until it does. */
  isReady(): Promise<boolean>;
}

export class BedProcess {
  readonly #options: ProcessOptions;
  #child: ChildProcess | null = null;

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** null while it is down. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Starts it where it is down; resolves when it answers. @throws Error with the end of its log when it ended instead */
  async revive(): Promise<void> {
    if (this.#child !== null) return;
    const { command, folder, isReady } = this.#options;
    const log = openSync(join(folder, 'log'), 'a');
    const child = spawn('python3', [TIED, String(process.pid), ...command], {
      cwd: folder,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    // A process that is left over must not keep a test's process alive: it ends with it.
    child.unref();
    await once(child, 'spawn');
    this.#child = child;
    await until(async () => {
      if (this.#child !== child) throw new Error(`${command.join(' ')} was killed while it started`);
      if (!hasEnded(child)) return isReady();
      this.#child = null;
      const log = readFileSync(join(folder, 'log'), 'utf8');
      throw new Error(`${command.join(' ')} ended: ${log.slice(-2000)}`);
    });
  }

  /** kill -9, also of one that is frozen; resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    if (hasEnded(child)) return;
    child.ref();
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** It takes connections, and answers nothing, until it is thawed. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
