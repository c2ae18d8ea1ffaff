/** The log: pino, on stderr, as text lines or JSON, without secrets and control characters. */
import { type Logger, pino } from 'pino';
import { printable } from './printable.ts';

export type { Logger };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

interface LoggerOptions {
  readonly level: LogLevel;
  /** Removes secrets from each line (config/redact.ts). */
  readonly redact: (text: string) => string;
  /** Where lines go. Default: stderr. */
  readonly stream?: { write(text: string): unknown };
  /** `text` (default) for people, `json` for machines that collect logs. */
  readonly format?: 'text' | 'json';
}

/** A logger. `log.child({ pipeline })` adds the pipeline to each line; `log.error({ err }, text)` logs an error. */
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

/** The line stays valid JSON: what a terminal would act on is written as JSON escapes. */
function safeJson(line: string): string {
  return line.replace(/[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** `2026-01-31T10:20:30.123Z WARN  dns: what happened  key=value`, followed by an error's stack if requested. */
function toText(line: string, redact: (text: string) => string, stacks: boolean): string {
  const record = JSON.parse(line) as Record<string, unknown>;
  const { time, level, msg, pipeline, err, ...others } = record;
  const name = pino.levels.labels[Number(level)]?.toUpperCase() ?? String(level);
  // Redact before escaping: afterwards a secret with such a character would not be found.
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
