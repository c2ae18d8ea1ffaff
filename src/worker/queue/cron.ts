/** When a schedule falls due: its cron expression in UTC, moved by a share of time that is a pipeline's own. */
import { createHash } from 'node:crypto';
import { getNextMillis } from 'bullmq';

/** At most this share of the time between two ticks: a schedule of each minute is not moved by a minute. */
const SHARE = 0.1;

export interface Jitter {
  /** Tells one service and key from another: those of one are spread. */
  readonly serviceId: string;
  /** Milliseconds at most. */
  readonly most: number;
}

/** From 0 to 1, always the same for a pipeline of a service. */
export function spread(serviceId: string, pipeline: string): number {
  return createHash('sha256').update(`${serviceId}\n${pipeline}`).digest().readUInt32BE(0) / 2 ** 32;
}

/**
 * The next moment after `now`, in milliseconds since 1970; null: never again. What is due together everywhere, such as at
 * the full hour, would otherwise reach the service as a herd.
 */
export function nextTick(pattern: string, pipeline: string, { serviceId, most }: Jitter, now: number): number | null {
  const part = spread(serviceId, pipeline);
  // One whose moment in the expression has passed may still be to come.
  let base = tick(pattern, now - most);
  while (base !== null) {
    const next = tick(pattern, base);
    const moved = Math.floor(base + part * Math.min(most, next === null ? most : (next - base) * SHARE));
    if (moved > now) return moved;
    base = next;
  }
  return null;
}

function tick(pattern: string, after: number): number | null {
  return getNextMillis(after, { pattern, tz: 'UTC' }) ?? null;
}

/** Milliseconds until the next tick, without what moves it; null: there is none. */
export function untilTick(pattern: string, now: number): number | null {
  const next = tick(pattern, now);
  return next === null ? null : next - now;
}

/** Milliseconds between the next two ticks; null: there are none. */
export function intervalOf(pattern: string, now: number): number | null {
  const first = tick(pattern, now);
  const second = first === null ? null : tick(pattern, first);
  return first === null || second === null ? null : second - first;
}
