/** What the owner of a server lets its users have: it is used up in mid-load, and the load goes on when there is more. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, NEVER, openLab } from '../../support/clickhouse/lab.ts';
import { dateOf, fileOf, stateOf, type TableState, undisturbed } from '../../support/clickhouse/two-files.ts';
import { usersXml } from '../../support/clickhouse/users.ts';

/** Users with a quota, by what it is of: few, so that they fall upon different moments of a load. */
const QUOTAS: Readonly<Record<string, readonly number[]>> = {
  queries: [25, 40, 55, 70],
  written_bytes: [9_000, 30_000, 60_000],
};
const LIMITS = {
  rows: { settings: '<max_rows_to_read>150</max_rows_to_read>', hint: /^Raise the limit that the message names/ },
  sets: { settings: '<max_rows_in_set>20</max_rows_in_set>', hint: /^Raise the limit that the message names/ },
  ddl: { settings: '<allow_ddl>0</allow_ddl>', hint: /^Set allow_ddl to 1 in the profile of the user/ },
} as const;

const nameOf = (what: string, amount: number): string => `${what.slice(0, 1)}${amount}`;
let lab: Lab;
let peace: readonly [TableState, TableState, TableState];

beforeAll(async () => {
  const quotas = Object.entries(QUOTAS).flatMap(([what, amounts]) =>
    amounts.map((amount) => [nameOf(what, amount), { quota: `<${what}>${amount}</${what}>` }] as const),
  );
  lab = await openLab(usersXml({ ...Object.fromEntries(quotas), ...LIMITS }));
  peace = await undisturbed(lab, 'peace');
});

afterAll(() => lab.close());

/** What readers see, without what another run than the last one has left. */
function seen({ live, own, changes }: TableState): unknown {
  return { live, own, changes };
}

test.each(Object.keys(QUOTAS))(
  'the quota of %s is used up: nothing half-done is seen, and the next run goes on',
  async (what) => {
    let usedUp = 0;
    for (const amount of QUOTAS[what] ?? []) {
      const user = nameOf(what, amount);
      const pipeline = `of${user}`;
      await lab.load(lab.destination(pipeline), pipeline, fileOf('a', dateOf(0)));
      const before = await stateOf(lab, pipeline, dateOf(0));
      const [name, file] = [pipeline, fileOf('b', dateOf(1))];
      const run = lab.load(lab.destination(name, {}, lab.signIn(user)), name, file).catch((error: unknown) => error);
      const told = await run;
      if (told instanceof Error) {
        usedUp += 1;
        expect(told).toMatchObject({
          code: 'DESTINATION_REFUSED',
          message: expect.stringContaining('QUOTA_EXCEEDED (201)'),
          hint: expect.stringMatching(/^The quota of the user of clickhouse.username is used up/),
        });
      }
      // Either file, as a whole.
      const { live } = await stateOf(lab, pipeline, dateOf(1));
      const registrars = new Set((live as { registrar: string }[]).map(({ registrar }) => registrar.slice(0, 1)));
      expect([...registrars].filter((letter) => letter !== '')).toHaveLength(1);
      if (registrars.has('a')) expect(live).toHaveLength(before.live.length);
      // The owner has raised it: here, another user goes on.
      await lab.load(lab.destination(pipeline), pipeline, file);
      const after = await stateOf(lab, pipeline, dateOf(1));
      expect(seen(after), `after ${amount} ${what}`).toEqual(seen(peace[1]));
      expect(after.left).toEqual([]);
      expect(after.rejects).toEqual(peace[1].rejects);
    }
    expect(usedUp).toBeGreaterThan(1);
  },
);

test.each(Object.entries(LIMITS))(
  'a limit on %s: what to do is said, and readers see what they saw',
  async (user, { hint }) => {
    const pipeline = `limit-${user}`;
    const to = (as = lab.server) => lab.destination(pipeline, { table: `limit_${user}` }, as);
    await lab.load(to(), pipeline, fileOf('a', dateOf(0)));
    const limited = lab.load(to(lab.signIn(user)), pipeline, fileOf('b', dateOf(1)));
    await expect(limited).rejects.toMatchObject({ code: 'DESTINATION_REFUSED', hint: expect.stringMatching(hint) });
    expect((await to().loadedSnapshot(NEVER))?.date).toBe(dateOf(0));
    expect(await lab.query(`SELECT count() AS n FROM lab.limit_${user}_live`)).toEqual([{ n: '200' }]);
    await lab.load(to(), pipeline, fileOf('b', dateOf(1)));
    expect(seen(await stateOf(lab, `limit_${user}`, dateOf(1)))).toEqual(seen(peace[1]));
  },
);
