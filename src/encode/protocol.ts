/** What the pool and its threads say to each other. Plain data; blocks lie in shared memory. */
import { asDomainsyncError, DomainsyncError, type ErrorCode } from '../common/errors.ts';
import type { Block, EncodedBlock, Encoding } from '../types/index.ts';

/** What a thread is started with: it imports the writer's module while it is not known yet what is to be written with it. */
export interface ThreadStart {
  readonly writerModule: string;
}

/** To a thread, first of all: no answer. */
export interface Beginning {
  readonly encoding: Encoding;
}

/** To a thread: one block at a time, so that an answer needs no number. */
export interface Job {
  readonly block: Block<SharedArrayBuffer>;
  /** The payload is to lie where the block was. It is moved, in a buffer of its own, where it does not fit. */
  readonly inPlace: boolean;
}

/** From a thread, which does not touch the block any more. */
export type Answer = { readonly encoded: EncodedBlock } | { readonly failed: Failure };

/** An error without its class, which a structured clone would lose together with code and hint. */
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

/** The error as the thread threw it, with the thread's stack. */
export function fromFailure({ code, message, hint, stack }: Failure): DomainsyncError {
  const error = new DomainsyncError(code, message, { hint });
  if (stack !== undefined) error.stack = stack;
  return error;
}
