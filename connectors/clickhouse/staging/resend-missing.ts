/**
 * Sends blocks again that the server has acknowledged and does not have. An insert's token is on the server's disk before
 * its part is: killed in between, the server takes the repeated insert for one that has landed [measured]. And what was
 * acknowledged without fsync may be gone after a loss of power, whether its token is or not.
 */
import { randomUUID } from 'node:crypto';
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { EncodedBlock, RereadBlocks } from '../../../src/types/index.ts';
import { missingBlocks } from './landed-blocks.ts';
import type { Staging } from './staging.ts';

/** Each further one needs a server that dies again, in the same moment of an insert. */
const MOST_PASSES = 3;
const NO_LINES = new Uint32Array(0);

/** What blocks are sent again with. */
export interface Resend {
  /** How many blocks the file has. */
  readonly blocks: number;
  readonly reread: RereadBlocks;
  /** Lands a block. @param attempt goes into its tokens, so that the server does not take it for one that it had */
  readonly land: (block: EncodedBlock, attempt: string, signal: AbortSignal) => Promise<void>;
}

/**
 * Takes a load whose blocks have been written to its end; where it finds that blocks are missing, they are sent again and the
 * end is tried once more.
 * @param end repeatable, and throws DESTINATION_VERIFY_FAILED before anything has become visible
 */
export async function endWithResend<T>(
  staging: Staging,
  { blocks, reread, land }: Resend,
  end: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (let pass = 1; ; pass += 1) {
    try {
      return await end();
    } catch (error) {
      const incomplete = error instanceof DomainsyncError && error.code === 'DESTINATION_VERIFY_FAILED';
      if (!incomplete || pass > MOST_PASSES) throw error;
      const missing = await missingBlocks(staging, blocks, signal);
      if (missing.size === 0) throw error;
      const attempt = randomUUID();
      await reread({
        only: async ({ number }) => (missing.has(number) ? null : NO_LINES),
        write: (block) => land(block, attempt, signal),
      });
    }
  }
}
