/** What request limiters have in common, for one process or for all workers. */
import type { RateLimitReport, ServiceRoute } from '../types/index.ts';
import { DomainsyncError } from './errors.ts';

/**
 * Milliseconds. Half a second over a minute: a request may take longer to arrive than one sent a minute later, and count as later
 * at the service.
 */
export const WINDOW_MS = 60_500;
/** The longest wait for one request, in milliseconds. Beyond it the error reports the wait. */
export const MAX_WAIT_MS = 15 * 60_000;
/** The wait after a 429 without a time, as a share of the window: one retry budget's attempts then span the minute. */
const BLIND_SHARE = 1 / 6;

/** Milliseconds to wait after a refusal. */
export function waitAfterRefusal({ retryAfterMs, resetMs }: RateLimitReport, windowMs: number): number {
  return retryAfterMs ?? resetMs ?? windowMs * BLIND_SHARE;
}

/** @param wait milliseconds until a request could be sent */
export function usedUp(route: ServiceRoute, wait: number): DomainsyncError {
  const message = `the rate limit of ${route} requests is used up for another ${Math.ceil(wait / 1000)} s`;
  return new DomainsyncError('SOURCE_RATE_LIMITED', message, { retryAfter: wait });
}
