/** stdout and stderr that fail: what is under way goes on, since a load is worth more than what is told of it. */
import { setImmediate } from 'node:timers/promises';
import { DomainsyncError } from '../common/errors.ts';
import { formatError } from './output.ts';

interface StandardStreams {
  /**
   * Waits until all of stdout is written, and tells what was lost of it.
   * @param exitCode of the command
   * @returns the same; 1 where it is 0 and results were lost
   */
  end(exitCode: number): Promise<number>;
}

/** Keeps both from ending the process. To be called once, before anything is written. */
export function keepStandardStreams(): StandardStreams {
  let lost: NodeJS.ErrnoException | null = null;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Who reads no further, such as `| head`, has what they wanted.
    if (error.code !== 'EPIPE') lost ??= error;
  });
  // There is nowhere left to tell it.
  process.stderr.on('error', () => {});
  return {
    async end(exitCode) {
      if (process.stdout.writableLength > 0) {
        await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
      }
      // What a write failed with is told after it.
      await setImmediate();
      if (lost === null) return exitCode;
      const message = `the results cannot be written to stdout: ${lost.code ?? lost.message}`;
      const hint = 'What was done stays done. Make room where stdout leads, then run the command again to read it.';
      const error = new DomainsyncError('LOCAL_DISK', message, { cause: lost, hint });
      process.stderr.write(`${formatError(error, (text) => text)}\n`);
      return exitCode === 0 ? error.exitCode : exitCode;
    },
  };
}
