/** A download under faults drawn from a seed: cuts, stalls, lies, restarts, kills and replaced files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ErrorCode } from '../../../src/common/errors.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/service.ts';
import { cut, type Draw, misfortune, pick } from '../kill/misfortune.ts';
import { connector, DNS, download, noise, type Outcome, onDisk } from './downloads.ts';
import { random } from './zst.ts';

const DOWNLOADER = fileURLToPath(new URL('./downloader.ts', import.meta.url));
/** Revisions are cut out of this, so that two of them have no byte in common at the same place but by chance. */
const NOISE = noise(1_600_000, 7);
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** Shorter than any wait of a healthy server here, longer than a busy machine's pauses. */
const STALL_MS = 400;
const FAULTY_RUNS = 3;
/** Bytes sent where only cuts happen, as a share of the file. */
const MOST_FETCHED = 1.05;
const LONGEST = 500_000;
const LANES = 3;
const NAME = /^sandbox-dns-\d{4}-\d{2}-\d{2}\.jsonl\.zst$/;

/** What misfortune may end a run with. */
const RIGHT_ERRORS: readonly ErrorCode[] = [
  'SOURCE_UNAVAILABLE',
  'SOURCE_UNEXPECTED',
  'SOURCE_RATE_LIMITED',
  'FILE_CORRUPT',
];

/** A published edition of the file. */
interface Edition {
  readonly bytes: Buffer;
  readonly date: string;
  readonly etag: string | null;
  readonly lastModified: string | null;
}

export interface ScheduleReport {
  readonly kind: 'cuts' | 'anything';
  readonly size: number;
  /** Bytes of bodies that servers sent, but for the first byte that asks which file is newest. */
  readonly sent: number;
  /** How the runs before the last one ended. */
  readonly runs: readonly string[];
  /** What was wrong; empty: all was right. */
  readonly faults: readonly string[];
}

/** Runs the schedule of a seed to its end: faulty runs, and one in peace, which must complete. */
export async function runSchedule(seed: number): Promise<ScheduleReport> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-schedule-'));
  const schedule = new Schedule(seed, folder);
  try {
    const report = await schedule.run();
    const most = Math.floor(report.size * MOST_FETCHED);
    if (report.kind !== 'cuts' || report.sent <= most) return report;
    return { ...report, faults: [...report.faults, `${report.sent} bytes were sent, at most ${most} are right`] };
  } finally {
    await schedule.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs the schedules of many seeds, some at a time since they mostly wait, and tells of each as it ends. */
export async function runSchedules(
  seeds: { readonly first: number; readonly count: number },
  told: (seed: number, report: ScheduleReport) => void,
): Promise<void> {
  let next = seeds.first;
  const lane = async (): Promise<void> => {
    while (next < seeds.first + seeds.count) {
      const seed = next;
      next += 1;
      told(seed, await runSchedule(seed));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

class Schedule {
  readonly #draw: Draw;
  readonly #kind: 'cuts' | 'anything';
  readonly #validator: 'strong' | 'weak' | 'date' | 'none';
  readonly #folder: string;
  readonly #editions: Edition[] = [];
  readonly #faults: string[] = [];
  readonly #runs: string[] = [];
  #server: Sandbox | undefined;
  #sent = 0;
  #calm = false;
  #event: Promise<void> = Promise.resolve();

  constructor(seed: number, folder: string) {
    this.#draw = random(seed);
    this.#folder = folder;
    this.#kind = this.#draw() < 0.3 ? 'cuts' : 'anything';
    this.#validator = this.#kind === 'cuts' ? 'strong' : pick(this.#draw, ['strong', 'strong', 'weak', 'date', 'none']);
    this.#editions.push(this.#edition());
  }

  async run(): Promise<ScheduleReport> {
    await this.#start();
    for (let run = 0; run < FAULTY_RUNS; run += 1) {
      this.#misbehave();
      const outcome = this.#kind === 'anything' && this.#draw() < 0.05 ? await this.#killed() : await this.#once();
      this.#runs.push(outcome);
      if (outcome !== 'complete') continue;
      if (this.#kind === 'cuts') break;
      // What is complete is not asked for again: without a new edition the next run would meet nothing.
      await this.#replace();
    }
    this.#server?.behave();
    this.#calm = true;
    // What the last faulty run left may prove to be of another file; then it is gone, and a second run is clean.
    const ending = await this.#once();
    const last = ending === 'FILE_CORRUPT' ? await this.#once() : ending;
    if (last !== 'complete') this.#faults.push(`the run in peace ended with ${last}`);
    const size = this.#newest().bytes.length;
    const sent = this.#sent + bodies(this.#server);
    return { kind: this.#kind, size, sent, runs: this.#runs, faults: this.#faults };
  }

  async close(): Promise<void> {
    await this.#event;
    await this.#server?.close();
  }

  #newest(): Edition {
    return this.#editions.at(-1) as Edition;
  }

  /** The next edition: of the same date or the next, of the same size or another, with the schedule's kind of validator. */
  #edition(): Edition {
    const number = this.#editions.length;
    const before = this.#editions.at(-1);
    const size =
      before !== undefined && this.#draw() < 0.5 ? before.bytes.length : 1 + Math.floor(this.#draw() * LONGEST);
    const start = number * 100_000 + Math.floor(this.#draw() * 50_000);
    const bytes = zstdNoise(start, size);
    // The worst there is: all is as before but a few bytes, which only a validator can tell.
    const alike = this.#validator === 'strong' && before?.bytes.length === size && this.#draw() < 0.5;
    const day = before === undefined || this.#draw() < 0.7 ? (before?.date ?? '2026-01-01') : nextDay(before.date);
    const tag = `"edition-${number}"`;
    return {
      bytes: alike ? changedInside(before.bytes, this.#draw) : bytes,
      date: day,
      etag: this.#validator === 'strong' ? tag : this.#validator === 'weak' ? `W/${tag}` : null,
      lastModified: this.#validator === 'none' ? null : new Date(Date.UTC(2026, 0, 1, 6, 0, number)).toUTCString(),
    };
  }

  async #start(port = 0): Promise<void> {
    this.#server = await startSandbox({ rows: 1, port, cacheDir: this.#folder });
    await this.#publish();
  }

  async #publish(): Promise<void> {
    const { bytes, ...edition } = this.#newest();
    await this.#server?.publishFile({ target: 'dns', content: { bytes }, ...edition });
  }

  /** Faults for the next few requests that are not the question for the newest file. */
  #misbehave(): void {
    const size = this.#newest().bytes.length;
    const requests = 1 + Math.floor(this.#draw() * 6);
    for (let skip = 0; skip < requests; skip += 1) {
      for (const fault of this.#kind === 'cuts' ? [cut(this.#draw, size)] : misfortune(this.#draw, size)) {
        this.#server?.misbehave({ fault, probe: false, skip, times: 1 });
      }
    }
  }

  /** What happens once a reader has come so far: nothing, a new edition, or a restart of the server. */
  #happening(): (read: number) => void {
    const chance = this.#draw();
    const at = this.#draw() * this.#newest().bytes.length;
    let happened = this.#calm || this.#kind === 'cuts' || chance < 0.3;
    return (read) => {
      if (happened || read < at) return;
      happened = true;
      this.#event = chance < 0.75 ? this.#replace() : this.#restart();
    };
  }

  async #replace(): Promise<void> {
    if (this.#editions.length > 8) return;
    this.#editions.push(this.#edition());
    await this.#publish();
  }

  async #restart(): Promise<void> {
    const { port } = this.#server ?? {};
    this.#sent += bodies(this.#server);
    await this.#server?.close();
    await this.#start(port);
  }

  async #once(): Promise<string> {
    const source = connector(this.#server?.url ?? '', this.#folder, {
      apiKey: this.#server?.key,
      stallMs: STALL_MS,
      retryPolicy: { attempts: 5, firstDelay: 5, maxDelay: 40, maxRetryAfter: 1000 },
    });
    const outcome = await download(source, this.#happening());
    // As a run does with what it has loaded.
    if (outcome.error === null && outcome.file !== null) await source.prune(DNS, outcome.file);
    await source.close();
    await this.#event;
    await this.#check(outcome);
    return outcome.error?.code ?? 'complete';
  }

  /** What a reader got is of one edition, from its start; a complete file is one whole edition, also on the disk. */
  async #check({ file, bytes, error }: Outcome): Promise<void> {
    if (error !== null) {
      if (!RIGHT_ERRORS.includes(error.code)) this.#faults.push(`${error.code}: ${error.message} ${error.stack ?? ''}`);
      if (!this.#editions.some((edition) => edition.bytes.subarray(0, bytes.length).equals(bytes))) {
        this.#faults.push(`a reader got ${bytes.length} bytes that are of no one edition, then ${error.message}`);
      }
      return;
    }
    const edition = this.#editions.find((candidate) => candidate.bytes.equals(bytes));
    if (file === null || edition === undefined || edition.date !== file.date) {
      this.#faults.push(`${file?.name} completed with ${bytes.length} bytes that are no edition`);
      return;
    }
    const { bytes: there, names } = await onDisk(this.#folder, file.name);
    if (!there.equals(bytes)) this.#faults.push(`${file.name} differs on the disk from what was read`);
    if (names.some((name) => name.startsWith(`${file.name}.`) && name !== `${file.name}.json`)) {
      this.#faults.push(`${file.name} is complete, and beside it are ${names.join(' ')}`);
    }
    if (names.some((name) => name.endsWith('.zst') && !NAME.test(name)))
      this.#faults.push(`odd names: ${names.join()}`);
  }

  /** A run in a process that is killed once it has read so much, or at its start. */
  async #killed(): Promise<string> {
    const { url = '', key = '' } = this.#server ?? {};
    this.#server?.misbehave({ fault: { kind: 'slow', bytesPerSecond: 2_000_000 }, probe: false, times: 2 });
    const child = spawn(process.execPath, [DOWNLOADER, url, key, this.#folder, String(STALL_MS)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const at = this.#draw() * this.#newest().bytes.length;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (Number.parseInt(text, 10) >= at) child.kill('SIGKILL');
    });
    const [, signal] = await once(child, 'close');
    return signal === 'SIGKILL' ? 'killed' : 'ended before the kill';
  }
}

/** Noise that begins as zstd files do: something else may be taken for a page in place of a file. */
function zstdNoise(start: number, size: number): Buffer {
  const bytes = Buffer.from(NOISE.subarray(start, start + size));
  ZSTD_MAGIC.copy(bytes);
  return bytes;
}

function changedInside(bytes: Buffer, draw: Draw): Buffer {
  const changed = Buffer.from(bytes);
  const at = Math.min(bytes.length - 1, 4 + Math.floor(draw() * bytes.length));
  changed[at] = (changed[at] ?? 0) ^ 0xff;
  return changed;
}

function bodies(server: Sandbox | undefined): number {
  return (server?.log ?? []).reduce((sum, { range, bytes }) => sum + (range === 'bytes=0-0' ? 0 : bytes), 0);
}

function nextDay(date: string): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
}
