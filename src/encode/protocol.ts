/** Messages between the pool and its threads. They are plain data; blocks lie in shared memory. */
import { asDomainsyncError, DomainsyncError, type ErrorCode } from '../common/errors.ts';
import type { Block, EncodedBlock, Encoding } from '../types/index.ts';

/** A thread's start data. The thread imports the writer's module before the encoding is known. */
export interface ThreadStart {
  readonly writerModule: string;
}

/** The first message to a thread. It has no answer. */
export interface EncodingSetup {
  readonly encoding: Encoding;
}

/** To a thread: one block at a time, so answers need no number. */
export interface Job {
  readonly block: Block<SharedArrayBuffer>;
  /** Write the payload into the block's memory. A payload that does not fit gets its own, transferred buffer. */
  readonly inPlace: boolean;
}

/** From a thread. It no longer touches the block. */
export type Answer = { readonly encoded: EncodedBlock } | { readonly failed: Failure };

/** An error without its class. A structured clone would lose the class, code and hint. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly stack: string | undefined;
}

export function toFailure(thrown: unknown): Failure {
  const { code, message, hint, stack } = asDomainsyncError(thrown);
  return { code, message, hint, stack: thrown instanceof Error ? thrown.stack : stack };
}

/** Restores the thread's error, with the thread's stack. */
export function fromFailure({ code, message, hint, stack }: Failure): DomainsyncError {
  const error = new DomainsyncError(code, message, { hint });
  if (stack !== undefined) error.stack = stack;
  return error;
}
