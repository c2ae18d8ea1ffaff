/** How a failed command reports its error. */
import type { CommanderError } from 'commander';
import { DomainsyncError } from '../common/errors.ts';
import { errorDocument, formatError, printJson } from './output.ts';
import type { GlobalOptions } from './program.ts';

/** Commander has already written to stderr. `--json` promises a document in every case. @returns the exit code */
export function tellUsage(error: CommanderError, argv: readonly string[]): number {
  if (error.exitCode === 0) return 0;
  const usage = new DomainsyncError('USAGE', error.message);
  if (argv.includes('--json')) printJson(errorDocument(usage, (text) => text));
  return usage.exitCode;
}

/** @returns the exit code */
export function tellFailure(error: DomainsyncError, options: GlobalOptions, redact: (text: string) => string): number {
  if (options.json === true) printJson(errorDocument(error, redact));
  else
    process.stderr.write(`${formatError(error, redact, { debug: ['trace', 'debug'].includes(options.logLevel) })}\n`);
  return error.exitCode;
}
