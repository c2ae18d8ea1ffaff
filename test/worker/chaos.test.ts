/** Three workers, four pipelines, a service that publishes, kills, and a Redis that is restarted and flushed. */
import { expect, test } from 'vitest';
import { chaos } from '../support/worker/chaos.ts';

test('every file is loaded once and the tables are right, whatever is killed and forgotten', async () => {
  const { faults, done, downloaded } = await chaos({ seed: 8, rounds: 3, rows: 2_000 });
  expect(faults, done.join(', ')).toEqual([]);
  expect(done.length).toBeGreaterThanOrEqual(6);
  // Each file is downloaded once by all workers together; a kill costs the bytes that were on their way.
  expect(downloaded).toBeGreaterThanOrEqual(1);
  expect(downloaded).toBeLessThan(1.2);
});
