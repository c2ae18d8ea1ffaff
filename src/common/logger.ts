/** The log: pino, on stderr, as lines for people or as JSON, without secrets and without control characters. */
import { type Logger, pino } from 'pino';
import { printable } from './printable.ts';

export type { Logger };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

interface LoggerOptions {
  readonly level: LogLevel;
  /** Takes secrets out of each line (config/redact.ts). */
  readonly redact: (text: string) => string;
  /** Where lines go. Default: stderr. */
  readonly stream?: { write(text: string): unknown };
  /** `text` (default) for people, `json` for machines that collect logs. */
  readonly format?: 'text' | 'json';
}

/** A logger. `log.child({ pipeline })` names the pipeline in each of its lines; `log.error({ err }, text)` tells an error. */
export function createLogger({ level, redact, stream = process.stderr, format = 'text' }: LoggerOptions): Logger {
  const stacks = level === 'trace' || level === 'debug';
  const destination = {
    write(line: string): void {
      const text = format === 'json' ? safeJson(redact(line.trimEnd())) : toText(line, redact, stacks);
      stream.write(`${text}\n`);
    },
  };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/** JSON stays JSON: what a terminal would act on is escaped as JSON does it. */
function safeJson(line: string): string {
  return line.replace(/[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** `2026-01-31T10:20:30.123Z WARN  dns: what happened  key=value`, with an error's stack below where asked for. */
function toText(line: string, redact: (text: string) => string, stacks: boolean): string {
  const record = JSON.parse(line) as Record<string, unknown>;
  const { time, level, msg, pipeline, err, ...others } = record;
  const name = pino.levels.labels[Number(level)]?.toUpperCase() ?? String(level);
  // Redacted before characters are escaped: a secret with such a character would not be found after.
  const clean = (value: unknown): string =>
    printable(redact(typeof value === 'string' ? value : JSON.stringify(value)));
  const parts = [`${String(time)} ${name.padEnd(5)}`];
  if (pipeline !== undefined) parts.push(`${clean(pipeline)}:`);
  if (msg !== undefined) parts.push(clean(msg));
  const error = isRecord(err) ? err : undefined;
  if (error !== undefined && error['message'] !== msg) {
    parts.push(clean(`${String(error['code'] ?? error['type'])}: ${String(error['message'])}`));
  }
  const pairs = Object.entries(others).map(([key, value]) => ` ${clean(key)}=${clean(value)}`);
  const first = [...parts, ...pairs].join(' ');
  const stack = stacks ? String(error?.['stack'] ?? '') : '';
  if (stack === '') return first;
  return [first, ...stack.split('\n').map((frame) => `    ${clean(frame.trim())}`)].join('\n');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
