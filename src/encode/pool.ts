/** The encoding threads. They keep row work off the thread that holds locks and connections. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { BlockMemory } from '../common/block-memory.ts';
import { asDomainsyncError, DomainsyncError, interrupted } from '../common/errors.ts';
import type { SharedBlock } from '../pipeline/blocks.ts';
import type { EncodedBlock, Encoding } from '../types/index.ts';
import { type Answer, type EncodingSetup, fromFailure, type Job, type ThreadStart } from './protocol.ts';

/** The thread's entry beside this module: TypeScript in a checkout, JavaScript in a built package. */
const ENTRY = new URL(`./worker${extname(new URL(import.meta.url).pathname)}`, import.meta.url);

/**
 * Row data is short-lived, so a larger young generation would only hold more garbage between sweeps
 * [measured: from 8 to 32 MB no difference in speed]. The old generation keeps its default: one line of
 * 16 MiB may need much of it.
 */
const LIMITS = { maxYoungGenerationSizeMb: 16 };

export interface EncodePool {
  /**
   * Encodes a block in the first idle thread. Blocks start in the order of the calls. The pool takes over the block's
   * memory. The queue has no bound: the caller limits the blocks in flight, including payloads not yet written.
   * @throws the encoder's error; INTERRUPTED, or a signal's reason, as soon as one is aborted; UNEXPECTED for this
   * and every later block once a thread has died
   */
  encode(block: SharedBlock, signal: AbortSignal): Promise<EncodedBlock>;
  /** Stops the threads, even in the middle of a block. Blocks in flight fail with INTERRUPTED. Idempotent. */
  close(): Promise<void>;
}

export interface EncodePoolOptions {
  readonly threads: number;
  /** The encoding's writer module. The threads start with it, before the encoding is known. */
  readonly writerModule: string;
  /** Blocks wait for it. If it never comes, the caller abandons the blocks by closing the pool or by a signal. */
  readonly encoding: Promise<Encoding>;
  /** Takes back the memory of encoded blocks. */
  readonly memory: BlockMemory;
  /** Whether payloads and rejects reuse their block's memory if they fit. The caller returns it to `memory` after writing them. */
  readonly inPlace: boolean;
  /** Aborts all blocks in flight or queued, and refuses later ones. */
  readonly signal?: AbortSignal;
}

/** Starts the threads. They keep the process alive until the pool is closed. */
export function createEncodePool(options: EncodePoolOptions): EncodePool {
  return new ThreadPool(options);
}

/** Whether the payload or the rejects lie in the block's memory. */
function isInPlace({ payload, rejects }: EncodedBlock): boolean {
  return [payload, rejects].some(({ buffer }) => buffer instanceof SharedArrayBuffer);
}

/** A block in the pool until its promise settles. */
interface Task {
  readonly block: SharedBlock;
  readonly settle: (outcome: EncodedBlock | DomainsyncError) => void;
  settled: boolean;
}

/** A thread is idle, busy with a task (already settled if aborted), or dead with the whole pool. */
interface Thread {
  readonly worker: Worker;
  task: Task | undefined;
}

class ThreadPool implements EncodePool {
  readonly #threads: readonly Thread[];
  readonly #queue: Task[] = [];
  /** Whether the threads have the encoding. */
  #begun = false;
  readonly #memory: BlockMemory;
  readonly #inPlace: boolean;
  readonly #signal: AbortSignal | undefined;
  /** Why the pool has ended: a thread died, or the pool was closed. */
  #ended: DomainsyncError | undefined;

  constructor({ threads, writerModule, encoding, memory, inPlace, signal }: EncodePoolOptions) {
    this.#memory = memory;
    this.#inPlace = inPlace;
    this.#signal = signal;
    this.#threads = Array.from({ length: threads }, () => this.#start({ writerModule }));
    encoding.then(
      (known) => this.#begin({ encoding: known }),
      () => {},
    );
  }

  encode(block: SharedBlock, signal: AbortSignal): Promise<EncodedBlock> {
    const { promise, resolve, reject } = Promise.withResolvers<EncodedBlock>();
    const signals = this.#signal === undefined ? [signal] : [signal, this.#signal];
    const aborted = signals.find((one) => one.aborted);
    const refusal = this.#ended ?? (aborted === undefined ? undefined : asDomainsyncError(aborted.reason));
    if (refusal !== undefined) {
      reject(refusal);
      return promise;
    }
    const onAbort = (event: Event) => this.#drop(task, asDomainsyncError((event.target as AbortSignal).reason));
    const task: Task = {
      block,
      settled: false,
      settle: (outcome) => {
        if (task.settled) return;
        task.settled = true;
        for (const one of signals) one.removeEventListener('abort', onAbort);
        if (outcome instanceof DomainsyncError) reject(outcome);
        else resolve(outcome);
      },
    };
    for (const one of signals) one.addEventListener('abort', onAbort);
    this.#queue.push(task);
    this.#handOut();
    return promise;
  }

  async close(): Promise<void> {
    this.#end(interrupted(), new DomainsyncError('UNEXPECTED', 'the encoding pool is closed'));
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  #start(start: ThreadStart): Thread {
    const worker = new Worker(ENTRY, { workerData: start, name: 'encode', resourceLimits: LIMITS });
    const thread: Thread = { worker, task: undefined };
    worker.on('message', (answer: Answer) => {
      const { task } = thread;
      thread.task = undefined;
      if (task !== undefined) this.#answered(task, answer);
      this.#handOut();
    });
    // Without this, an unreadable answer would leave its block waiting forever.
    worker.on('messageerror', (error) => this.#died(error));
    worker.on('error', (error) => this.#died(error));
    worker.on('exit', (code) => this.#died(new Error(`it ended with exit code ${code}`)));
    return thread;
  }

  #begin(setup: EncodingSetup): void {
    for (const { worker } of this.#threads) worker.postMessage(setup);
    this.#begun = true;
    this.#handOut();
  }

  #handOut(): void {
    if (!this.#begun) return;
    for (const thread of this.#threads) {
      if (thread.task !== undefined) continue;
      const task = this.#queue.shift();
      if (task === undefined) return;
      thread.task = task;
      thread.worker.postMessage({ block: task.block, inPlace: this.#inPlace } satisfies Job);
    }
  }

  #answered({ block, settled, settle }: Task, answer: Answer): void {
    const inUse = 'encoded' in answer && isInPlace(answer.encoded);
    if (settled || !inUse) this.#memory.give(block.bytes.buffer);
    settle('encoded' in answer ? answer.encoded : fromFailure(answer.failed));
  }

  /** A queued task never reaches a thread. The answer to a running one finds it settled. */
  #drop(task: Task, reason: DomainsyncError): void {
    const queued = this.#queue.indexOf(task);
    if (queued !== -1) this.#queue.splice(queued, 1);
    task.settle(reason);
  }

  #died(cause: unknown): void {
    const message = cause instanceof Error ? cause.message : String(cause);
    const error = new DomainsyncError('UNEXPECTED', `an encoding thread died: ${message}`, { cause });
    this.#end(error, error);
  }

  /** Only the first call counts: closing makes the threads exit, and a thread that failed exits too. */
  #end(forWaiting: DomainsyncError, forLater: DomainsyncError): void {
    if (this.#ended !== undefined) return;
    this.#ended = forLater;
    for (const task of this.#queue.splice(0)) task.settle(forWaiting);
    for (const { task } of this.#threads) task?.settle(forWaiting);
  }
}
