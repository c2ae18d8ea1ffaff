/** When a schedule comes due: its cron expression in UTC, shifted by a per-pipeline share of time. */
import { createHash } from 'node:crypto';
import { getNextMillis } from 'bullmq';

/** Largest shift as a share of the time between two ticks, so that a schedule of each minute is not shifted by a minute. */
const SHARE = 0.1;

export interface Jitter {
  /** Distinguishes one service and key from another. The pipelines of one are spread. */
  readonly serviceId: string;
  /** The largest shift in milliseconds. */
  readonly most: number;
}

/** From 0 to 1, always the same for a pipeline of a service. */
export function spread(serviceId: string, pipeline: string): number {
  return createHash('sha256').update(`${serviceId}\n${pipeline}`).digest().readUInt32BE(0) / 2 ** 32;
}

/**
 * The next tick after `now`, in milliseconds since 1970; null: never again. Without the shift, pipelines everywhere that are due
 * together, such as on the hour, would hit the service at once.
 */
export function nextTick(pattern: string, pipeline: string, { serviceId, most }: Jitter, now: number): number | null {
  const part = spread(serviceId, pipeline);
  // A tick whose unshifted time has passed may still be ahead.
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

/** Milliseconds until the next unshifted tick; null: there is none. */
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
