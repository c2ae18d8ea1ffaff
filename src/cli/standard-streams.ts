/** Handles failures of stdout and stderr. Running work continues, because a load matters more than its output. */
import { setImmediate } from 'node:timers/promises';
import { DomainsyncError } from '../common/errors.ts';
import { formatError } from './output.ts';

interface StandardStreams {
  /**
   * Waits until all of stdout is written, and reports lost output.
   * @param exitCode of the command
   * @returns the same; 1 if it is 0 and results were lost
   */
  end(exitCode: number): Promise<number>;
}

/** Keeps failures of both streams from ending the process. Call it once, before anything is written. */
export function keepStandardStreams(): StandardStreams {
  let lost: NodeJS.ErrnoException | null = null;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that stops early, such as `| head`, has what it wanted.
    if (error.code !== 'EPIPE') lost ??= error;
  });
  // There is nowhere left to report it.
  process.stderr.on('error', () => {});
  return {
    async end(exitCode) {
      if (process.stdout.writableLength > 0) {
        await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
      }
      // A write's error is emitted after the write.
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
