/**
 * Every error a user can meet: a closed list of codes. Each has its exit code (docs/contract.md, "Commands and exit codes"),
 * whether a retry can fix it, and what to do.
 */

import { openFilesCode, openFilesLimit } from './open-files.ts';

interface ErrorKind {
  readonly exitCode: number;
  readonly retryable: boolean;
  /** What to do, for a person. A thrower that knows better passes its own hint. */
  readonly hint: string;
}

function kind(exitCode: number, hint: string, retryable = false): ErrorKind {
  return { exitCode, retryable, hint };
}

export const ERROR_KINDS = {
  UNEXPECTED: kind(1, 'This is a fault of domainsync: run again with --log-level debug and report what it prints.'),
  LOCAL_DISK: kind(1, 'Make room or permit writing at the path named, then run again: what is on disk is kept.'),
  LOCAL_OPEN_FILES: kind(
    1,
    'Raise the limit of open files (ulimit -n 1024 in the shell, LimitNOFILE=1024 in a unit of systemd), then run again: what has landed is kept.',
  ),
  USAGE: kind(2, 'Run with --help to see the commands and options.'),
  CONFIG_INVALID: kind(2, 'Correct the places named; nothing has been opened or changed.'),
  SOURCE_KEY_MISSING: kind(
    2,
    'Set service.apiKey, or the environment variable that it names: keys are made in your account with the service.',
  ),
  SOURCE_NAME_MISMATCH: kind(
    2,
    'Check that dataset and slice of the pipeline name what you mean; if they do, set its fileName to accept the name.',
  ),
  SOURCE_KEY_REJECTED: kind(
    3,
    "Check service.apiKey: it may be wrong, rotated or revoked, or the account's IP allow-list lacks this address.",
  ),
  SOURCE_IP_BLOCKED: kind(
    3,
    "The key is restricted to certain addresses: add this machine's public address to the key's IP allow-list in the account, or run from one that is on it.",
  ),
  SOURCE_NO_ACCESS: kind(4, 'The key is good, but has no active paid access to this dataset: renew or buy it.'),
  SOURCE_NOT_FOUND: kind(
    5,
    'Check dataset and slice of the pipeline; if they are right, the file is not published yet: try later.',
  ),
  SOURCE_UNAVAILABLE: kind(
    6,
    'The service cannot be reached or fails: check service.url and the network, try later.',
    true,
  ),
  SOURCE_RATE_LIMITED: kind(
    6,
    'The rate limit of the key is used up: wait, or share the key among fewer programs.',
    true,
  ),
  SOURCE_UNEXPECTED: kind(6, 'The service answered what its specification does not allow: check service.url.'),
  FILE_CORRUPT: kind(
    7,
    'The file is damaged. Nothing was changed; the local copy was removed, so the next run downloads it anew. If that fails too, the file is bad at the service: tell them.',
  ),
  FILE_WINDOW_TOO_LARGE: kind(7, 'Raise download.maxWindowLog (a window takes 2^n bytes of memory), at most 31.'),
  FILE_TOO_MANY_REJECTED: kind(
    7,
    "Look at them with 'domainsync rejects'; raise the pipeline's maxRejected if they may be left out. Nothing was changed.",
  ),
  FILE_TOO_FEW_ROWS: kind(7, 'If the file is right, run once with --force, or lower minRows. Nothing was changed.'),
  DESTINATION_UNREACHABLE: kind(8, 'Check that the server runs and that its url, user and password are right.', true),
  DESTINATION_REFUSED: kind(8, 'The server refused a statement: its message says why. Nothing half-done is visible.'),
  DESTINATION_FOREIGN_TABLE: kind(
    8,
    'A table of that name exists that domainsync did not make: it is left alone. Choose another table name or move it.',
  ),
  DESTINATION_VERIFY_FAILED: kind(
    8,
    'What landed is not what was read, so nothing was made visible. Run again; the load starts anew.',
  ),
  EMBEDDED_UNAVAILABLE: kind(
    8,
    'Install the optional dependencies (npm install without --omit=optional) on a supported platform, or set clickhouse.url to a server.',
  ),
  RUN_ELSEWHERE: kind(0, 'Another run of this pipeline is at work: nothing to do.'),
  TAKEN_OVER: kind(0, 'Another run took this load over and goes on with it: nothing to do.'),
  INTERRUPTED: kind(130, 'Run again to go on: what has landed is kept.'),
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;

/** An error with a code of the closed list. `message` says what happened, `hint` what to do. Neither contains a secret. */
export class DomainsyncError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly retryable: boolean;
  /** Milliseconds that the other side asked to wait, if it did. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly hint?: string; readonly retryAfter?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DomainsyncError';
    this.code = code;
    this.hint = options.hint ?? ERROR_KINDS[code].hint;
    this.retryable = ERROR_KINDS[code].retryable;
    this.retryAfter = options.retryAfter;
  }

  get exitCode(): number {
    return ERROR_KINDS[this.code].exitCode;
  }
}

/**
 * Converts anything thrown to a DomainsyncError: an abort to INTERRUPTED, any failure for lack of open files to LOCAL_OPEN_FILES,
 * and foreign errors to UNEXPECTED.
 */
export function asDomainsyncError(thrown: unknown): DomainsyncError {
  const lacking = openFilesCode(thrown);
  if (lacking !== null) return tooFewOpenFiles(thrown as Error, lacking === 'EMFILE');
  if (thrown instanceof DomainsyncError) return thrown;
  if (thrown instanceof Error && thrown.name === 'AbortError') {
    return thrown.cause instanceof DomainsyncError ? thrown.cause : interrupted();
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new DomainsyncError('UNEXPECTED', message, { cause: thrown });
}

/** @param own the limit is this process's; else the system's */
function tooFewOpenFiles(cause: Error, own: boolean): DomainsyncError {
  if (cause instanceof DomainsyncError && cause.code === 'LOCAL_OPEN_FILES') return cause;
  if (own) {
    const message = `${cause.message}: no more than ${openFilesLimit() ?? 'so many'} files and connections may be open at once`;
    return new DomainsyncError('LOCAL_OPEN_FILES', message, { cause });
  }
  const message = `${cause.message}: the system has as many files open as it may`;
  const hint = 'Raise the limit of the whole system (fs.file-max), or end what holds so many files, then run again.';
  return new DomainsyncError('LOCAL_OPEN_FILES', message, { cause, hint });
}

/**
 * For work that is known to need many files: it is better to fail before than in the middle.
 * @throws LOCAL_OPEN_FILES if this process and its children may not open that many
 */
export function needOpenFiles(least: number, what: string): void {
  const limit = openFilesLimit();
  if (limit === null || limit >= least) return;
  throw new DomainsyncError('LOCAL_OPEN_FILES', `${what} needs up to ${least} open files, but the limit is ${limit}`);
}

/** The reason in an aborted run's signal. */
export function interrupted(): DomainsyncError {
  return new DomainsyncError('INTERRUPTED', 'the run was interrupted');
}

/** Codes of OpenSSL and Node on connection errors for a certificate from an unknown issuer. */
export const UNTRUSTED_ISSUER_CODES: ReadonlySet<string> = new Set([
  'CERT_UNTRUSTED',
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
