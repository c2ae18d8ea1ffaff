/**
 * What the machinery of src/ does for this connector. A connector may not import it (the arrows of the layout), so the
 * composition root hands it in: `{ GrowingFile, processIdentity, isAlive }` of src/spool.ts and src/process-identity.ts.
 */
import type { FileHandle } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { DomainsyncError } from '../../src/errors.ts';

/** A file that one writer lengthens and readers follow; src/spool.ts says more. */
export interface Growing {
  readonly written: number;
  readonly state: 'growing' | 'complete' | 'failed';
  advance(written: number): void;
  restart(): void;
  complete(): void;
  fail(failure: DomainsyncError): void;
  read(signal: AbortSignal): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

export interface Host {
  readonly GrowingFile: new (handle: FileHandle, written: number) => Growing;
  /** Names this process, as plain JSON. */
  processIdentity(): Promise<object>;
  isAlive(identity: unknown): 'alive' | 'dead' | 'unknown';
}

/** The part of a pino logger that is used. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn'>;
