import { expect, test } from 'vitest';
import { parseRateLimit } from '../../../../connectors/dataset-service/http/rate-limit-headers.ts';

const NOW = Date.UTC(2026, 0, 31);
const DATE = 'Sat, 31 Jan 2026 00:00:00 GMT';

function report(status: number, headers: Readonly<Record<string, string>>, now = NOW): unknown[] {
  const { limited, remaining, resetMs, retryAfterMs } = parseRateLimit(status, (name) => headers[name] ?? null, now);
  return [limited, remaining, resetMs, retryAfterMs];
}

test.each<[Record<string, string>, number | null, number | null]>([
  [{}, null, null],
  // Drafts up to 06, and the headers from before them.
  [{ 'ratelimit-limit': '30', 'ratelimit-remaining': '12', 'ratelimit-reset': '40' }, 12, 40_000],
  [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7' }, 0, 7000],
  [{ 'x-rate-limit-remaining': '3', 'x-rate-limit-reset': '1.5' }, 3, 1500],
  [{ 'x-ratelimit-remaining': '3, 3;w=60', 'x-ratelimit-reset': '1' }, 3, 1000],
  // Moments in place of seconds from now: seconds and milliseconds since 1970.
  [{ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': String(NOW / 1000 + 5) }, 1, 5000],
  [{ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': String(NOW + 5500) }, 1, 5500],
  [{ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': String(NOW / 1000 - 5) }, 1, 0],
  // Draft 07: a dictionary.
  [{ ratelimit: 'limit=30, remaining=4, reset=50', 'ratelimit-policy': '30;w=60' }, 4, 50_000],
  // Later drafts: an item for each policy, of which the scarcest counts.
  [{ ratelimit: '"default";r=50;t=30' }, 50, 30_000],
  [{ ratelimit: '"a, b;r=1";r=9;t=5, "day";r=2;t=3600' }, 2, 3_600_000],
  [{ ratelimit: '"a";r=0;t=5, "b";r=0;t=9' }, 0, 9000],
  [{ ratelimit: '"default";r=3', 'ratelimit-policy': '"other";q=1;w=1, "default";q=30;w=60' }, 3, 60_000],
  [{ ratelimit: '"default";r=3' }, 3, null],
  // One that goes before the others, or says nothing.
  [{ ratelimit: '"default";r=3;t=4', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '9' }, 3, 4000],
  [{ ratelimit: 'nonsense', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '8' }, 9, 8000],
  [{ 'ratelimit-remaining': 'many', 'ratelimit-reset': '-1' }, null, null],
])('%o tells %s left for %s ms', (headers, remaining, reset) => {
  expect(report(200, headers)).toEqual([false, remaining, reset, null]);
});

test.each<[Record<string, string>, number | null]>([
  [{ 'retry-after': '7' }, 7000],
  [{ 'retry-after': 'Sat, 31 Jan 2026 00:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Fri, 30 Jan 2026 00:00:30 GMT' }, 0],
  [{ 'retry-after': '-1' }, null],
  [{ 'retry-after': 'soon' }, null],
])('%o asks to wait %s ms', (headers, wait) => {
  expect(report(429, headers)).toEqual([true, null, null, wait]);
});

test("moments are of the service's clock, where it tells the time", () => {
  const headers = {
    date: DATE,
    'retry-after': 'Sat, 31 Jan 2026 00:00:30 GMT',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(NOW / 1000 + 10),
  };
  expect(report(429, headers, NOW + 3_600_000)).toEqual([true, 0, 10_000, 30_000]);
});

test.each([
  [{ 'retry-after': '7' }, 7000],
  [{ 'retry-after': 'Sat, 31 Jan 2026 00:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Sat, 31 Jan 2026 00:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon', 'x-ratelimit-reset': '1769817605' }, 5000],
  [{ 'ratelimit-reset': '12' }, 12_000],
  [{ 'retry-after': '3', 'ratelimit-reset': '12' }, 3000],
  [{}, undefined],
])('a response that refuses, %o, asks to wait %s ms', (headers, wait) => {
  const header = (name: string): string | null => (headers as Record<string, string>)[name] ?? null;
  const { retryAfterMs, resetMs } = parseRateLimit(429, header, NOW);
  expect(retryAfterMs ?? resetMs ?? undefined).toBe(wait);
});
