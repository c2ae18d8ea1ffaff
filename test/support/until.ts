/** Waits for another process by polling. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again and again until the answer is neither null, undefined nor false. The runner bounds a hang. */
export async function until<T>(ask: () => Promise<T> | T): Promise<Exclude<T, null | undefined | false>> {
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) {
      return answer as Exclude<T, null | undefined | false>;
    }
    await sleep(10);
  }
}
