/** Faults for a file of `size` bytes, drawn from a seeded generator. */
import type { Fault } from '../../../src/sandbox/server/faults.ts';

/** Numbers in [0, 1). */
export type Draw = () => number;

/** One of the choices. */
export function pick<T>(draw: Draw, choices: readonly T[]): T {
  return choices[Math.floor(draw() * choices.length)] as T;
}

/** An answer that ends early. */
export function cut(draw: Draw, size: number): Fault {
  return { kind: 'cut', afterBytes: Math.floor(draw() * size) };
}

/** Up to three faults of one answer. */
export function misfortune(draw: Draw, size: number): Fault[] {
  const some = (): number => Math.floor(draw() * size);
  const kinds: (() => Fault)[] = [
    () => cut(draw, size),
    () => ({ kind: 'cut', afterBytes: some(), reset: true }),
    () => ({ kind: 'stall', afterBytes: some() }),
    () => ({ kind: 'drop' }),
    () => ({ kind: 'slow', bytesPerSecond: 3_000_000 }),
    () => ({ kind: 'ignore-range' }),
    () => ({ kind: 'wrong-offset', shift: some() - Math.floor(size / 2) }),
    () => ({ kind: 'wrong-total', total: draw() < 0.5 ? '*' : some() }),
    () => ({ kind: 'etag', value: pick(draw, [null, '"lie"', 'W/"lie"']) }),
    () => ({ kind: 'last-modified', value: pick(draw, [null, 'Thu, 01 Jan 2026 00:00:00 GMT']) }),
    () => ({ kind: 'chunked' }),
    () => ({ kind: 'status', status: pick(draw, [500, 502, 503, 429]), retryAfter: '0' }),
    () => ({ kind: 'html' }),
    () => ({ kind: 'delay', ms: 20 }),
  ];
  // A cut beside a lie, so that there is something to go on with.
  const faults = draw() < 0.6 ? [cut(draw, size)] : [];
  for (let more = Math.floor(draw() * 3); more > 0; more -= 1) faults.push(pick(draw, kinds)());
  return faults;
}
