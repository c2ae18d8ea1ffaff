import type { Logger } from 'pino';

/** The part of a pino logger that connectors use. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn'>;
