/** Waits that have an end: what is only shown must not hang with what it shows. */
import type { DomainsyncError } from '../common/errors.ts';

/**
 * Runs the body with a signal that aborts with `late` after so long. Rejects then even where the body does not listen.
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

/** Waits for work to end, but not for ever. Its failure is an end too. @returns whether it has ended */
export async function atMost(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), milliseconds);
  const ended = work.then(
    () => true,
    () => true,
  );
  const result = await Promise.race([ended, late.promise]);
  // Left running, it would keep the process alive.
  clearTimeout(timer);
  return result;
}
