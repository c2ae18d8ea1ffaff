/** Errors of Kafka and of connections as domainsync's codes: by type and code, never by the words of a message. */
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';

/** The fields of kafkajs' errors. Each kind has some of them. */
interface KafkaError extends Error {
  /** The protocol's name of a broker's error code. */
  readonly type?: string;
  readonly code?: string | number;
  readonly retriable?: boolean;
  readonly broker?: string;
  readonly errors?: readonly KafkaError[];
}

/** Names of kafkajs' errors that mean that no response came. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  'KafkaJSNoBrokerAvailableError',
  'KafkaJSLockTimeout',
  'KafkaJSMetadataNotLoaded',
  'KafkaJSTopicMetadataNotLoaded',
  'KafkaJSPartialMessageError',
]);

/** The producer cannot go on: fenced by another, timed out, or unknown to a restarted broker. */
const LOST_PRODUCER: ReadonlySet<string> = new Set([
  'INVALID_PRODUCER_EPOCH',
  'INVALID_PRODUCER_ID_MAPPING',
  'INVALID_TXN_STATE',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'DUPLICATE_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'TRANSACTION_COORDINATOR_FENCED',
  // PRODUCER_FENCED (90) and all that is newer than kafkajs
  'KAFKAJS_UNKNOWN_ERROR_CODE',
]);

const CHECK = 'Check that the brokers run, and kafka.brokers, kafka.ssl and kafka.sasl.';
const SIGN_IN = 'Check kafka.sasl: mechanism, user and password.';

/** Hints for error codes that say what is wrong. */
const HINTS: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED:
    'Give the user of kafka.sasl the rights to read, write and describe the topic and its .progress topic, and to create them, or create both (cleanup.policy=compact; one partition for .progress).',
  CLUSTER_AUTHORIZATION_FAILED: 'Give the user of kafka.sasl the right that is missing, or create the topics yourself.',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    "Give the user of kafka.sasl the rights to write and describe the transactional ids that start with 'domainsync.'.",
  SASL_AUTHENTICATION_FAILED: SIGN_IN,
  UNSUPPORTED_SASL_MECHANISM: SIGN_IN,
  ILLEGAL_SASL_STATE: SIGN_IN,
  MESSAGE_TOO_LARGE:
    "The topic's max.message.bytes was lowered while the file was on its way: raise it to what it was, then run again.",
  UNKNOWN_TOPIC_OR_PARTITION: 'Run again: a topic that is gone is made anew, and everything is published into it.',
  INVALID_REPLICATION_FACTOR: 'Set replicationFactor of the pipeline to at most the number of brokers.',
  POLICY_VIOLATION: "The cluster's policy refuses the topic: create it yourself, with cleanup.policy=compact.",
  INVALID_TRANSACTION_TIMEOUT: 'Set transaction.max.timeout.ms of the brokers to 60000 or more.',
};

/** @returns INTERRUPTED (or the signal's own reason), DESTINATION_UNREACHABLE or DESTINATION_REFUSED. */
export function toDomainsyncError(thrown: unknown, signal: AbortSignal): DomainsyncError {
  if (thrown instanceof DomainsyncError) return thrown;
  if (signal.aborted) return asDomainsyncError(signal.reason);
  const error = innermost(thrown);
  if (error === undefined) return asDomainsyncError(thrown);
  const { type, name, message, broker } = error;
  if (type !== undefined) return protocolError(error, type);
  if (name === 'KafkaJSSASLAuthenticationError') {
    return new DomainsyncError('DESTINATION_REFUSED', `Kafka refused to sign in: ${message}`, {
      cause: error,
      hint: SIGN_IN,
    });
  }
  if (UNREACHABLE.has(name)) {
    const what = `Kafka${broker === undefined ? '' : ` (${broker})`} cannot be reached: ${message}`;
    return new DomainsyncError('DESTINATION_UNREACHABLE', what, { cause: error, hint: CHECK });
  }
  if (name.startsWith('KafkaJS')) {
    return new DomainsyncError('DESTINATION_REFUSED', `Kafka: ${message}`, { cause: error, hint: CHECK });
  }
  return asDomainsyncError(error);
}

function protocolError(error: KafkaError, type: string): DomainsyncError {
  const waiting = error.retriable === true || LOST_PRODUCER.has(type) || type === 'BROKER_NOT_AVAILABLE';
  const code = waiting ? 'DESTINATION_UNREACHABLE' : 'DESTINATION_REFUSED';
  const hint = HINTS[type] ?? (waiting ? CHECK : undefined);
  const message = `Kafka answered ${type}: ${error.message}`;
  return new DomainsyncError(code, message, { cause: error, ...(hint === undefined ? {} : { hint }) });
}

/** kafkajs wraps an error that it has retried, and those of several topics. */
function innermost(thrown: unknown): KafkaError | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const error = thrown as KafkaError;
  const wrapped = ['KafkaJSNumberOfRetriesExceeded', 'KafkaJSNonRetriableError'].includes(error.name);
  const cause = error.errors?.[0] ?? (wrapped ? error.cause : undefined);
  return cause instanceof Error && cause !== error ? (innermost(cause) ?? error) : error;
}

/** The protocol's name of the error code that a broker sent; undefined: it is another error. */
export function errorTypeOf(thrown: unknown): string | undefined {
  const error = innermost(thrown instanceof DomainsyncError ? thrown.cause : thrown);
  return error?.type;
}
