/** A reader that polls all the while sees the old file or the new one, never a mixture. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

const FILES = 12;

/** Every row of a file carries its number; files have different numbers of rows, and most domains in common. */
function fileOf(number: number): { name: string; date: string; bytes: Buffer } {
  const lines = Array.from({ length: 2000 + number * 10 }, (_, index) =>
    JSON.stringify({
      Domain: `h${index + (number % 4) * 100}.example`,
      Registrar: `file ${number}`,
      'PR value': number,
    }),
  );
  const date = `2026-05-${String(number + 1).padStart(2, '0')}`;
  return { name: `marked-${date}.jsonl`, date, bytes: Buffer.from(lines.join('\n')) };
}

/** All that may be seen, in the order in which it must be seen. */
const WHOLE = [{ rows: 0, markers: [] }, ...markers()];

function markers(): { rows: number; markers: string[] }[] {
  return Array.from({ length: FILES }, (_, n) => ({ rows: 2000 + n * 10, markers: [`file ${n}/${n}`] }));
}

interface Poll {
  readonly seen: readonly unknown[];
  stop(): Promise<readonly unknown[]>;
}

/** Reads a view again and again; keeps what differs from what it saw last. */
function poll(table: string): Poll {
  const seen: unknown[] = [];
  let reads = 0;
  let going = true;
  const reading = (async () => {
    while (going) {
      const [state] = await lab.query(
        `SELECT toUInt32(count()) AS rows, arraySort(groupUniqArray(registrar || '/' || toString(pr_value))) AS markers FROM lab.${table}_live`,
      );
      reads += 1;
      if (JSON.stringify(state) !== JSON.stringify(seen.at(-1))) seen.push(state);
    }
  })();
  return {
    seen,
    async stop() {
      const before = reads;
      going = false;
      await reading;
      expect(before).toBeGreaterThan(0);
      return seen;
    },
  };
}

test('over one exchange and eleven attaches, each reader sees whole files in their order', async () => {
  // The view is there before the first load, as for a reader who waits for it.
  const broken = { ...fileOf(0), bytes: Buffer.from('{') };
  const refused = lab.load(lab.destination('polled', { maxRejected: 0 }), 'polled', broken);
  await expect(refused).rejects.toMatchObject({ code: 'FILE_TOO_MANY_REJECTED' });
  const polls = [poll('polled'), poll('polled')];
  for (let number = 0; number < FILES; number += 1) {
    const outcome = await lab.load(lab.destination('polled'), 'polled', fileOf(number), { blockBytes: 40_000 });
    expect(outcome).toMatchObject({ kind: 'loaded', result: { rowsWritten: 2000 + number * 10 } });
  }
  for (const { stop } of polls) expectOrdered(await stop());
  const [end] = await lab.query(
    `SELECT toUInt32(count()) AS rows, groupUniqArray(registrar || '/' || toString(pr_value)) AS markers FROM lab.polled_live`,
  );
  expect(end).toEqual(WHOLE.at(-1));
});

/** Everything seen is a whole file, and none comes before one that it replaced. */
function expectOrdered(seen: readonly unknown[]): void {
  const order = seen.map((state) => WHOLE.findIndex((whole) => JSON.stringify(whole) === JSON.stringify(state)));
  expect(seen.filter((_, index) => order[index] === -1)).toEqual([]);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(order.length).toBeGreaterThan(FILES / 2);
}
