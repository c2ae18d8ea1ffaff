/** The rate limit in the headers of a response, in every form that is in use (none is specified). Pure. */
import type { RateLimitReport } from '../../../src/types/index.ts';
import type { HeaderOf } from './content.ts';

/** Larger numbers are seconds since 1970, not seconds from now: no service asks for thirty years. */
const EPOCH_SECONDS = 1_000_000_000;
/** Larger numbers are milliseconds since 1970: as seconds they would be in the year 5138. */
const EPOCH_MILLISECONDS = 100_000_000_000;

/**
 * Reads Retry-After (seconds or an HTTP date), and the first of these that is there: `RateLimit` (structured fields; drafts 07
 * and later of the IETF's ratelimit-headers), `RateLimit-*` (earlier drafts), `X-RateLimit-*` (seconds from now or since 1970).
 * @param now milliseconds since 1970; replaces a missing Date header
 */
export function parseRateLimit(status: number, header: HeaderOf, now: number): RateLimitReport {
  // Dates are of the service's clock, which may differ from ours.
  const date = Date.parse(header('date') ?? '');
  const then = Number.isNaN(date) ? now : date;
  const { remaining, resetMs } = structured(header) ?? plain(header, then);
  const retryAfterMs = retryAfter(header('retry-after'), then);
  return { limited: status === 429, remaining, resetMs, retryAfterMs };
}

type Quota = Pick<RateLimitReport, 'remaining' | 'resetMs'>;

function retryAfter(value: string | null, then: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d{1,15}(\.\d+)?$/u.test(text)) return Number(text) * 1000;
  // Date.parse takes `-1` for a year.
  const date = /^[A-Za-z]/u.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - then);
}

function plain(header: HeaderOf, then: number): Quota {
  const quota: { remaining: number | null; resetMs: number | null } = { remaining: null, resetMs: null };
  for (const prefix of ['ratelimit', 'x-ratelimit', 'x-rate-limit']) {
    quota.remaining ??= count(header(`${prefix}-remaining`));
    quota.resetMs ??= moment(header(`${prefix}-reset`), then);
  }
  return quota;
}

function count(value: string | null): number | null {
  const [, digits] = /^\s*(\d{1,15})(?:\.\d+)?\s*(?:[,;]|$)/u.exec(value ?? '') ?? [];
  return digits === undefined ? null : Number(digits);
}

function moment(value: string | null, then: number): number | null {
  const text = value?.trim() ?? '';
  if (!/^\d{1,15}(\.\d+)?$/u.test(text)) return null;
  const number = Number(text);
  if (number > EPOCH_MILLISECONDS) return Math.max(0, number - then);
  return number > EPOCH_SECONDS ? Math.max(0, number * 1000 - then) : number * 1000;
}

/**
 * `RateLimit: "name";r=50;t=30`, one item for each policy. The policy with the fewest requests left counts; its window
 * replaces a missing `t`. Draft 07 has `limit=100, remaining=50, reset=30`. Null: there is no such header.
 */
function structured(header: HeaderOf): Quota | null {
  const value = header('ratelimit');
  if (value === null) return null;
  const members = membersOf(value);
  const dictionary = new Map(members.map(({ name }) => pair(name)));
  if (dictionary.has('remaining')) {
    return { remaining: dictionary.get('remaining') ?? null, resetMs: milliseconds(dictionary.get('reset')) };
  }
  const windows = new Map(membersOf(header('ratelimit-policy') ?? '').map(({ name, of }) => [name, of('w')]));
  const quotas = members.flatMap(({ name, of }): Quota[] => {
    const remaining = of('r');
    return remaining === null ? [] : [{ remaining, resetMs: milliseconds(of('t') ?? windows.get(name)) }];
  });
  quotas.sort((a, b) => (a.remaining ?? 0) - (b.remaining ?? 0) || (b.resetMs ?? 0) - (a.resetMs ?? 0));
  return quotas[0] ?? null;
}

interface Member {
  readonly name: string;
  /** A numeric parameter of the item. */
  of(parameter: string): number | null;
}

/** The items of a list of structured fields (RFC 9651). Commas and semicolons in quotes do not separate. */
function membersOf(value: string): Member[] {
  const items = value.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/gu) ?? [];
  return items.map((item) => {
    const parts = (item.match(/(?:"(?:[^"\\]|\\.)*"|[^;"])+/gu) ?? []).map((part) => part.trim());
    const parameters = new Map(parts.slice(1).map(pair));
    return { name: parts[0] ?? '', of: (parameter) => parameters.get(parameter) ?? null };
  });
}

function pair(text: string): [string, number | null] {
  const [, name = '', digits] = /^\s*([a-z*][a-z0-9_.*-]*)\s*=\s*(-?\d{1,15})(?:\.\d+)?\s*$/iu.exec(text) ?? [];
  return [name.toLowerCase(), digits === undefined ? null : Math.max(0, Number(digits))];
}

function milliseconds(seconds: number | null | undefined): number | null {
  return seconds === null || seconds === undefined ? null : seconds * 1000;
}
