/**
 * zod schemas for single configuration values. No message holds a value: it may be a secret, or come from the
 * environment.
 */
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { suggestion } from './nearest.ts';
import { EnvText } from './substitute.ts';

/** A value's fault, without the value. */
export class Bad {
  readonly message: string;
  /** True if there is no value, or its variable is empty or not set. */
  readonly absent: boolean;

  constructor(message: string, absent = false) {
    this.message = message;
    this.absent = absent;
  }
}

/** A place in the configuration and its fault. */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** The value is missing. That is no fault for a command that does not need this section. */
  readonly absent: boolean;
}

/** Builds the schema of a single value. `read` gets a variable's text as a string, with `fromEnv` true. */
export function leaf<T>(read: (value: unknown, fromEnv: boolean) => T | Bad) {
  return z.unknown().transform((input, context): T => {
    const fail = (message: string, absent = false): never => {
      context.addIssue({ code: 'custom', message, params: { absent } });
      return z.NEVER;
    };
    if (input === undefined) return fail('is missing', true);
    if (input === null) return fail('is empty: give it a value or remove the line');
    if (input instanceof EnvText && input.fault !== null) return fail(input.fault, input.unset);
    const result = input instanceof EnvText ? read(input.text, true) : read(input, false);
    return result instanceof Bad ? fail(result.message, result.absent) : result;
  });
}

/** Non-empty text. `check` may change or refuse it. */
export function text(check: (value: string) => string | Bad = (value) => value) {
  return leaf((value, fromEnv) => {
    if (typeof value === 'number' || typeof value === 'boolean') return new Bad('must be text: put it in quotes');
    if (typeof value !== 'string') return new Bad('must be text');
    return value === '' ? new Bad('must not be empty', fromEnv) : check(value);
  });
}

/** Text that may be empty. */
export function optionalText() {
  return leaf((value) => {
    if (typeof value === 'string') return value;
    return new Bad(typeof value === 'object' ? 'must be text' : 'must be text: put it in quotes');
  });
}

/** Text of a fixed form. */
export function matching(pattern: RegExp, what: string) {
  return text((value) => (pattern.test(value) ? value : new Bad(`must be ${what}`)));
}

/** A number in a range; `what` describes it in words. */
export function number(rule: { readonly min: number; readonly max: number; readonly whole: boolean }, what: string) {
  return leaf((value, fromEnv) => {
    const read = fromEnv && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(String(value)) ? Number(value) : value;
    const fits = typeof read === 'number' && read >= rule.min && read <= rule.max;
    return fits && (!rule.whole || Number.isInteger(read)) ? read : new Bad(`must be ${what}`);
  });
}

/** A share from 0 to 1. */
export function share() {
  return number({ min: 0, max: 1, whole: false }, 'a share from 0 to 1');
}

/** `true` or `false`. */
export function flag() {
  return leaf((value, fromEnv) => {
    if (typeof value === 'boolean') return value;
    return fromEnv && (value === 'true' || value === 'false') ? value === 'true' : new Bad('must be true or false');
  });
}

/** One of a few words. */
export function oneOf<const T extends string>(words: readonly T[]) {
  return leaf((value): T | Bad => {
    const word = words.find((known) => known === value);
    return word ?? new Bad(`must be ${listed(words)}`);
  });
}

/** One name of a longer list. The fault suggests a near name, which reveals only that the value is near it. */
export function nameOf(names: readonly string[], what: string) {
  return text((value) => (names.includes(value) ? value : new Bad(`is no ${what}${suggestion(value, names)}`)));
}

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;

/** A time such as `365d`, `12h`, `30m`, in milliseconds; more than 0 and at most 100 years. */
export function duration() {
  return time(/^(\d{1,8})([dhm])$/, 36_525 * UNITS.d, 'must be a time such as 365d, 12h or 30m, at most 36525d');
}

/** A time in whole days, such as `730d`, as their number; at most 100 years. */
export function days() {
  const fault = 'must be a number of days such as 730d, at most 36525d';
  return leaf((value) => {
    const count = Number(/^(\d{1,5})d$/.exec(String(value))?.[1]);
    return count > 0 && count <= 36_525 ? count : new Bad(fault);
  });
}

/** How long to wait for something, such as `5m` or `30s`, in milliseconds; more than 0 and at most a day, which a timer can do. */
export function patience() {
  return time(/^(\d{1,8})([dhms])$/, UNITS.d, 'must be a time such as 5m or 30s, at most 1d');
}

function time(form: RegExp, most: number, fault: string) {
  return leaf((value) => {
    const [, count, unit] = form.exec(String(value)) ?? [];
    const milliseconds = Number(count) * UNITS[(unit ?? 'm') as keyof typeof UNITS];
    return milliseconds > 0 && milliseconds <= most ? milliseconds : new Bad(fault);
  });
}

/** `host:port`, with `[...]` around an IPv6 address. */
export function hostAndPort(lowest: number) {
  return leaf((value): { readonly host: string; readonly port: number } | Bad => {
    const [, bracketed, plain, digits] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(String(value)) ?? [];
    const port = Number(digits);
    const host = bracketed ?? plain;
    if (host === undefined || port < lowest || port > 65_535) return new Bad('must be host:port');
    return { host, port };
  });
}

/** True for 127.0.0.0/8, ::1 and localhost; with or without the brackets of a URL. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}

/** An http or https URL without user, password, query and fragment. Trailing slashes are removed. */
export function webUrl(value: string, what: string): string | Bad {
  if (!/^https?:\/\/[^/]/i.test(value) || !URL.canParse(value)) return new Bad(`must be ${what}`);
  const url = new URL(value);
  // Parsing drops lone delimiters (`http://@host`, `http://host?`), so check the text.
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/]*@/i.test(value)) {
    return new Bad('must hold no user and no password');
  }
  if (/[?#]/.test(value)) return new Bad('must hold no query and no fragment');
  return url.href.replace(/\/+$/, '');
}

/** A section: a mapping with these keys and no other. */
export function section<T extends z.core.$ZodLooseShape>(shape: T) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    // One line for each key: `faultsOf` turns each into a fault.
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => `unknown key${suggestion(key, known)}`).join('\n')
        : notA('mapping', issue.input),
  });
}

/** A list of values. */
export function list<T extends z.ZodType>(item: T) {
  return z.array(item, { error: (issue) => notA('list', issue.input) }).min(1, { error: 'must not be empty' });
}

/** One schema or another, by the form of the value. Their faults keep their places. */
export function oneOrOther<A extends z.ZodType, B extends z.ZodType>(
  isOther: (value: unknown) => boolean,
  one: A,
  other: B,
) {
  return z.unknown().transform((input, context): z.output<A> | z.output<B> => {
    const result = isOther(input) ? other.safeParse(input) : one.safeParse(input);
    if (result.success) return result.data;
    for (const { message, path, absent } of faultsOf(result.error, [])) {
      context.addIssue({ code: 'custom', message, path: [...path], params: { absent } });
    }
    return z.NEVER;
  });
}

export function notA(wanted: string, input: unknown): string {
  if (input === undefined) return 'is missing';
  return input === null ? 'is empty: give it a value or remove the line' : `must be a ${wanted}`;
}

/** Whether a value is a mapping. Its keys are unchecked. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof EnvText);
}

/**
 * Adds a rule over several keys. Its fault names the key `path`, or the whole. The rule also runs if other keys have
 * faults, to report all faults at once.
 */
export function rule<T extends z.ZodType>(
  schema: T,
  path: string | null,
  message: string,
  holds: (value: Loose) => boolean,
): T {
  const check = (value: unknown): boolean => !isMapping(value) || holds(value);
  return schema.refine(check, { path: path === null ? [] : [path], error: message, when: () => true });
}

/** A mapping whose faulty keys are undefined. */
export type Loose = Readonly<Record<string, unknown>>;

/** zod's faults, under the path of the checked value. */
export function faultsOf(error: z.ZodError, under: Fault['path']): Fault[] {
  return error.issues.flatMap((issue): Fault[] => {
    const path = [...under, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    if (issue.code === 'unrecognized_keys') {
      const messages = issue.message.split('\n');
      return issue.keys.map((key, n) => ({ path: [...path, key], message: messages[n] ?? '', absent: false }));
    }
    const absent = issue.code === 'custom' && issue.params?.['absent'] === true;
    return [{ path, message: issue.message, absent }];
  });
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
