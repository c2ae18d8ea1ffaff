/** The body of a download, with a watchdog: a connection that went silent would otherwise be waited for for ever. */
import { DomainsyncError } from '../../src/errors.ts';
import type { Answer } from './client.ts';

/**
 * The chunks of a body as they come. Only time spent waiting for one counts, so that a slow disk is no stall. Leaving
 * early breaks the body off.
 * @param stallMs milliseconds without a byte after which the body is broken off
 * @throws SOURCE_UNAVAILABLE when it stalled; what the connection throws
 */
export async function* watched(body: Answer['body'], stallMs: number): AsyncGenerator<Buffer, void, undefined> {
  const iterator: AsyncIterator<Buffer> = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let stalled = false;
  const breakOff = (): void => {
    stalled = true;
    body.destroy();
  };
  try {
    for (;;) {
      const timer = setTimeout(breakOff, stallMs);
      const result = await iterator.next().finally(() => clearTimeout(timer));
      if (result.done === true) break;
      yield result.value;
    }
  } catch (error) {
    if (!stalled) throw error;
  } finally {
    body.destroy();
  }
  if (stalled) {
    const message = `the service sent nothing for ${stallMs / 1000} s in the middle of the file`;
    throw new DomainsyncError('SOURCE_UNAVAILABLE', message);
  }
}
