/** Errors of ClickHouse and of the connection, as domainsync's codes. Told by code, never by the words of a message. */
import { ClickHouseError } from '@clickhouse/client';
import { asDomainsyncError, DomainsyncError, UNTRUSTED_ISSUER_CODES } from '../../../src/common/errors.ts';

/** From ClickHouse's ErrorCodes.cpp. */
export const SERVER_CODES = {
  BAD_ARGUMENTS: '36',
  UNKNOWN_TABLE: '60',
  UNKNOWN_DATABASE: '81',
  TABLE_ALREADY_EXISTS: '57',
  SYNTAX_ERROR: '62',
  INCOMPATIBLE_COLUMNS: '122',
  CANNOT_GET_CREATE_TABLE_QUERY: '390',
  TABLE_SIZE_EXCEEDS_MAX_DROP_SIZE_LIMIT: '359',
  ACCESS_DENIED: '497',
  KEEPER_EXCEPTION: '999',
} as const;

/** Codes for a table or database that does not exist. */
const MISSING_CODES: ReadonlySet<string> = new Set([
  SERVER_CODES.UNKNOWN_TABLE,
  SERVER_CODES.UNKNOWN_DATABASE,
  SERVER_CODES.CANNOT_GET_CREATE_TABLE_QUERY,
]);

/** Codes which say that the server is there but cannot serve now: waiting may help. */
const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  '159', // TIMEOUT_EXCEEDED
  '202', // TOO_MANY_SIMULTANEOUS_QUERIES
  '209', // SOCKET_TIMEOUT
  '210', // NETWORK_ERROR
  '225', // NO_ZOOKEEPER
  '216', // QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING, an earlier try of it
  '241', // MEMORY_LIMIT_EXCEEDED
  '242', // TABLE_IS_READ_ONLY, while a replica has no session with ZooKeeper
  '252', // TOO_MANY_PARTS
  '279', // ALL_CONNECTION_TRIES_FAILED
  '285', // TOO_FEW_LIVE_REPLICAS
  '286', // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
  '319', // UNKNOWN_STATUS_OF_INSERT
  '425', // SYSTEM_ERROR
  '341', // UNFINISHED, of an ALTER
  '439', // CANNOT_SCHEDULE_TASK
  '571', // DATABASE_REPLICATION_FAILED
  '745', // SERVER_OVERLOADED
  '999', // KEEPER_EXCEPTION
]);

export const FULL_DISK_HINT =
  'Make room on the disk of the ClickHouse server, then run again: what has landed is kept.';

const TABLE_GONE = 'If somebody dropped or renamed a table amid the run, run again: what is missing is made anew.';

export const KEEPER_HINT =
  'Look at ZooKeeper or Keeper, which the servers of the cluster need; then run again: what has landed is kept.';
const REPLICAS =
  'Start the replicas that are away: a record counts when a majority has it. Then run again: what has landed is kept.';

const LIMIT =
  'Raise the limit that the message names in the profile of the user of clickhouse.username, or in clickhouse.settings; what has landed is kept.';

/** Hints, where a code tells more than that the statement was refused. */
const HINTS: Readonly<Record<string, string>> = {
  '60': TABLE_GONE, // UNKNOWN_TABLE
  '115': 'Correct clickhouse.settings: this server does not know the setting that the message names.',
  '158': LIMIT, // TOO_MANY_ROWS
  '159':
    'Raise max_execution_time where the message names it, or try when less runs on the server; what has landed is kept.',
  '160': LIMIT, // TOO_SLOW
  '161': LIMIT, // TOO_MANY_COLUMNS
  '164': 'The server or its user is read-only: permit writing, or name another user in clickhouse.username.',
  '168': LIMIT, // TOO_BIG_AST
  '191': LIMIT, // SET_SIZE_LIMIT_EXCEEDED
  '192': 'Check clickhouse.username and clickhouse.password.',
  '193': 'Check clickhouse.username and clickhouse.password.',
  '201':
    'The quota of the user of clickhouse.username is used up: wait for its next interval, or let it be raised, then run again: what has landed is kept.',
  '202':
    'Raise max_concurrent_queries_for_user or max_concurrent_queries where the message names it, or try when less runs on the server.',
  '218': TABLE_GONE, // TABLE_IS_DROPPED
  '241': 'Raise the limit that the message names, or try when less runs on the server; what has landed is kept.',
  '225': KEEPER_HINT,
  '242':
    'The table is read-only on the server: its replica has no session with ZooKeeper or Keeper, or its disk is read-only; the log of the server tells. A table without rows that stays so was being made when ZooKeeper went away: DROP TABLE ... SYNC on that server, and run again.',
  '243': FULL_DISK_HINT,
  '307': LIMIT, // TOO_MANY_BYTES
  '390': TABLE_GONE, // CANNOT_GET_CREATE_TABLE_QUERY, of CREATE TABLE ... AS
  '396': LIMIT, // TOO_MANY_ROWS_OR_BYTES
  '452':
    'The profile of the user does not let it have that setting: take it out of clickhouse.settings if it stands there, or loosen the constraint.',
  '285': REPLICAS,
  '286': REPLICAS,
  [SERVER_CODES.KEEPER_EXCEPTION]: KEEPER_HINT,
  '469':
    'The file has a row that a constraint of the table forbids: drop the constraint, or leave such rows out with where.', // VIOLATED_CONSTRAINT
  '497': 'Give the user of clickhouse.username the right that the message names, or name another user.',
  '516': 'Check clickhouse.username and clickhouse.password.',
};

/** Errors of the socket and of name resolution: the statement may or may not have reached the server. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
]);

const UNTRUSTED_HINT =
  'Where the server has a certificate of your own CA, name the CA in the environment: NODE_EXTRA_CA_CERTS=/path/ca.pem.';
const OTHER_PROTOCOL_HINT =
  'Check clickhouse.url: whether the port is that of the HTTP interface, and speaks http or https.';

/** Hints for certificates and for another protocol than expected: a retry does not help. */
const CONNECTION_HINTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED:
    "The certificate has expired: check this machine's clock; if it is right, the server needs a new one.",
  CERT_NOT_YET_VALID: "The certificate is not valid yet: check this machine's clock.",
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is that of another host: check the host in clickhouse.url.',
  // OpenSSL and the HTTP parser name bytes of another protocol so.
  EPROTO: OTHER_PROTOCOL_HINT,
  HPE_INVALID_CONSTANT: OTHER_PROTOCOL_HINT,
};

/** Errors of a connection that was never made. */
const NOT_SENT_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** The connection failed, or the server went away. */
export function isOfNetwork({ cause }: DomainsyncError): boolean {
  return cause instanceof Error && !(cause instanceof ClickHouseError) && NETWORK_CODES.has(codeOf(cause));
}

/** The statement certainly did not reach the server. */
export function wasNotSent({ cause }: DomainsyncError): boolean {
  return cause instanceof Error && NOT_SENT_CODES.has(codeOf(cause));
}

/** The connection was made and cannot be used: a retry gives the same. */
export function isOfConnection({ cause }: DomainsyncError): boolean {
  return cause instanceof Error && !(cause instanceof ClickHouseError) && connectionHint(codeOf(cause)) !== undefined;
}

function connectionHint(code: string): string | undefined {
  if (UNTRUSTED_ISSUER_CODES.has(code)) return UNTRUSTED_HINT;
  return CONNECTION_HINTS[code];
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** ClickHouse's number of a statement's error; undefined for any other error. */
export function serverCode(error: unknown): string | undefined {
  const cause = error instanceof DomainsyncError ? error.cause : error;
  return cause instanceof ClickHouseError ? cause.code : undefined;
}

/** The server knows no such table or database. */
export function isMissing(error: unknown): boolean {
  return MISSING_CODES.has(serverCode(error) ?? '');
}

/** @returns INTERRUPTED (or the signal's own reason), DESTINATION_UNREACHABLE or DESTINATION_REFUSED. */
export function toDomainsyncError(error: unknown, signal: AbortSignal): DomainsyncError {
  if (error instanceof DomainsyncError) return error;
  if (signal.aborted) return asDomainsyncError(signal.reason);
  if (error instanceof ClickHouseError) {
    const message = `ClickHouse answered ${error.type ?? 'an error'} (${error.code}): ${firstLine(error.message)}`;
    const code = RETRYABLE_CODES.has(error.code) ? 'DESTINATION_UNREACHABLE' : 'DESTINATION_REFUSED';
    const hint = HINTS[error.code];
    return new DomainsyncError(code, message, { cause: error, ...(hint === undefined ? {} : { hint }) });
  }
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const hint = connectionHint(code);
  // The client's own time-out has no code, only this message.
  const unreachable =
    hint !== undefined || NETWORK_CODES.has(code) || code.startsWith('ERR_TLS') || code.startsWith('CERT_');
  if (unreachable || message === 'Timeout error.') {
    // OpenSSL's own message is a number and a place in its source.
    const reason =
      code === 'EPROTO' ? 'what answers does not speak TLS as expected (EPROTO)' : firstLine(message) || code;
    const what = `ClickHouse cannot be reached: ${reason}`;
    return new DomainsyncError('DESTINATION_UNREACHABLE', what, {
      cause: error,
      ...(hint === undefined ? {} : { hint }),
    });
  }
  return new DomainsyncError('DESTINATION_REFUSED', `ClickHouse: ${firstLine(message)}`, { cause: error });
}

/** The message without the server's stack trace and version, at a length that a person reads. */
function firstLine(message: string): string {
  const line = message.split('\n')[0] ?? '';
  return line.length > 500 ? `${line.slice(0, 500)}…` : line;
}
