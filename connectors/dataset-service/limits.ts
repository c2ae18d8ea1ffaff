/** How long the service asks to wait. Pure. */

/** Larger numbers are seconds since 1970, not seconds from now: no service asks for thirty years. */
const EPOCH_SECONDS = 1_000_000_000;

/**
 * Milliseconds to wait by the headers of an answer: Retry-After (seconds or an HTTP date), else RateLimit-Reset and
 * X-RateLimit-Reset (seconds, from now or since 1970); undefined when none says.
 * @param header looks a header up by its name in lower case
 * @param now milliseconds since 1970
 */
export function askedToWait(header: (name: string) => string | null, now: number): number | undefined {
  for (const name of ['retry-after', 'ratelimit-reset', 'x-ratelimit-reset']) {
    const value = header(name)?.trim();
    if (value === undefined || value === '') continue;
    if (/^\d{1,15}(\.\d+)?$/u.test(value)) {
      const seconds = Number(value);
      return Math.max(0, name !== 'retry-after' && seconds > EPOCH_SECONDS ? seconds * 1000 - now : seconds * 1000);
    }
    const date = Date.parse(value);
    if (name === 'retry-after' && !Number.isNaN(date)) return Math.max(0, date - now);
  }
  return undefined;
}
