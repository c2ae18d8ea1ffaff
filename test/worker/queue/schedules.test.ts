/** The schedules in Redis, laid by any number of workers and lost in every way. */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/common/logger.ts';
import { openQueues, type Queues } from '../../../src/worker/queue/queues.ts';
import { type ScheduleMap, Schedules } from '../../../src/worker/queue/schedules.ts';
import { type TestRedis, withRedis } from '../../support/worker/redis.ts';

const NEVER = new AbortController().signal;
const jitter = { serviceId: 'test', most: 0 };

interface Party {
  readonly schedules: Schedules;
  readonly queues: Queues;
}

/** As many workers as there are configurations, each with connections of its own. */
async function withParties(
  redis: TestRedis,
  configurations: readonly ScheduleMap[],
  body: (parties: readonly Party[]) => Promise<void>,
): Promise<void> {
  const links: Redis[] = [];
  const parties = configurations.map((configuration) => {
    const own = new Redis(redis.url);
    const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    links.push(own, connection);
    const queues = openQueues({ connection, jitter, skipVersionCheck: false });
    const log = createLogger({ level: 'silent', redact: (text) => text });
    return { schedules: new Schedules({ redis: own, queues, log }, configuration), queues };
  });
  try {
    await body(parties);
  } finally {
    for (const { queues } of parties) await queues.close();
    for (const link of links) link.disconnect();
  }
}

/** Pattern, zone and template by pipeline, of those whose next job is there. */
async function laid({ queues: { checks } }: Party): Promise<Record<string, unknown>> {
  const found = await checks.getJobSchedulers(0, -1, true);
  const delayed = new Set((await checks.getDelayed()).map((job) => job.id));
  return Object.fromEntries(
    found.map(({ key, name, pattern, tz, template, next }) => [
      key,
      { name, pattern, tz, data: template?.data, there: delayed.has(`repeat:${key}:${next}`) },
    ]),
  );
}

function expected(schedules: ScheduleMap): Record<string, unknown> {
  const entries = Object.entries(schedules).filter(([, pattern]) => pattern !== null);
  return Object.fromEntries(
    entries.map(([key, pattern]) => [
      key,
      { name: `check:${key}`, pattern, tz: 'UTC', data: { pipeline: key }, there: true },
    ]),
  );
}

const OLD: ScheduleMap = { a: '0 1 * * *', b: '0 2 * * *', c: '0 3 * * *', manual: null };
const NEW: ScheduleMap = { b: '0 2 * * *', c: '30 3 * * *', d: '*/30 0 4 * * *', manual: null };

test('added, changed and removed as the configuration says; what is right is left alone', async () => {
  await withRedis({}, (redis) =>
    withParties(redis, [OLD, OLD, NEW], async ([first, second, third]) => {
      if (first === undefined || second === undefined || third === undefined) throw new Error('three parties');
      expect(await first.schedules.settle(NEVER)).toEqual(['a', 'b', 'c']);
      expect(await laid(first)).toEqual(expected(OLD));
      expect(await second.schedules.settle(NEVER)).toEqual([]);
      expect(await third.schedules.settle(NEVER)).toEqual(['c', 'd']);
      expect(await laid(third)).toEqual(expected(NEW));
      // Workers with an older configuration keep the newer one up.
      for (const { schedules } of [first, second, third]) expect(await schedules.settle(NEVER)).toEqual([]);
      expect(await laid(first)).toEqual(expected(NEW));
      expect([await first.schedules.knows('d'), await first.schedules.knows('a')]).toEqual([true, false]);
    }),
  );
});

test('forty workers that start at once lay each schedule once', async () => {
  await withRedis({}, (redis) =>
    withParties(redis, Array(40).fill(NEW), async (parties) => {
      const all = await Promise.all(parties.map(({ schedules }) => schedules.settle(NEVER)));
      expect(all.flat().sort()).toEqual(['b', 'c', 'd']);
      const [first] = parties;
      if (first === undefined) throw new Error('forty parties');
      expect(await laid(first)).toEqual(expected(NEW));
      expect(await first.queues.checks.getDelayedCount()).toBe(3);
    }),
  );
});

test('a Redis that forgot gets the newest configuration back, whoever sees it first', async () => {
  await withRedis({}, (redis) =>
    withParties(redis, [OLD, NEW], async ([old, young]) => {
      if (old === undefined || young === undefined) throw new Error('two parties');
      await old.schedules.settle(NEVER);
      await young.schedules.settle(NEVER);
      await redis.client().flushall();
      expect(await old.schedules.settle(NEVER)).toEqual(['a', 'b', 'c']);
      expect(await young.schedules.settle(NEVER)).toEqual(['c', 'd']);
      expect(await old.schedules.settle(NEVER)).toEqual([]);
      expect(await laid(old)).toEqual(expected(NEW));
    }),
  );
});

test('a schedule whose next job is gone is laid again; one that is overdue is not, so that its tick is not lost', async () => {
  await withRedis({}, (redis) =>
    withParties(redis, [{ a: '0 1 * * *', b: '* * * * * *' }], async ([party]) => {
      if (party === undefined) throw new Error('one party');
      await party.schedules.settle(NEVER);
      const [job] = (await party.queues.checks.getDelayed()).filter(({ data }) => data.pipeline === 'a');
      const [id] = [job?.id ?? ''];
      await redis.client().zrem('bull:domainsync:delayed', id);
      await redis.client().del(`bull:domainsync:${id}`);
      expect(await party.schedules.settle(NEVER)).toEqual(['a']);
      // With no worker there, the tick of b is overdue by now, and waits.
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      const before = await party.queues.checks.getJobScheduler('b');
      expect(before?.next).toBeLessThan(Date.now());
      expect(await party.schedules.settle(NEVER)).toEqual([]);
      expect((await party.queues.checks.getJobScheduler('b'))?.next).toBe(before?.next);
    }),
  );
});

test('a configuration that is read again takes the place of the one before', async () => {
  await withRedis({}, (redis) =>
    withParties(redis, [OLD, OLD], async ([one, other]) => {
      if (one === undefined || other === undefined) throw new Error('two parties');
      await one.schedules.settle(NEVER);
      await other.schedules.settle(NEVER);
      one.schedules.replace(NEW);
      expect(await one.schedules.settle(NEVER)).toEqual(['c', 'd']);
      expect(await other.schedules.settle(NEVER)).toEqual([]);
      expect(await laid(other)).toEqual(expected(NEW));
    }),
  );
});
