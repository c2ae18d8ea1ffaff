/** Waits with a deadline, so that a display does not hang with what it shows. */
import type { DomainsyncError } from '../common/errors.ts';

/**
 * Runs the body with a signal that aborts with `late` after the given time. It then rejects even if the body ignores the signal.
 * @throws what the body throws, the reason of the outer signal, or `late`
 */
export async function within<T>(
  milliseconds: number,
  outer: AbortSignal,
  late: () => DomainsyncError,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(late()), milliseconds);
  const signal = AbortSignal.any([outer, controller.signal]);
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([body(signal), promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits a limited time for work to end. A failure counts as an end. @returns whether it has ended */
export async function atMost(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), milliseconds);
  const ended = work.then(
    () => true,
    () => true,
  );
  const result = await Promise.race([ended, late.promise]);
  // A running timer would keep the process alive.
  clearTimeout(timer);
  return result;
}
