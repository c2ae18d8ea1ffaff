/** Versions on two replicas: each shows the same, whatever they came from. */
import { expect, test } from 'vitest';
import { type Lab, NEVER, openLab } from '../../support/clickhouse/lab.ts';

type Row = Readonly<Record<string, unknown>>;

test.each(['atomic', 'replicated'] as const)('database %s: begun, kept, forgotten, begun late', async (database) => {
  const lab = await openLab(null, database);
  try {
    const first = [row('a', 'one'), row('b', 'one'), row('c', 'one')];
    const second = [row('a', 'two'), row('c', 'one'), row('d', 'two')];
    await load(lab, '2026-01-01', first);
    expect(await everywhere(lab, VERSIONS)).toEqual(first.map(({ Domain }) => [Domain, 'one', '2026-01-01', null]));
    await load(lab, '2026-01-03', second);
    await load(lab, '2026-01-03', [row('a', 'three'), row('c', 'one'), row('d', 'two')]);
    await load(lab, '2026-01-06', second, { retention: { runs: 86_400, rejects: 86_400, versions: 3 } });
    expect(await everywhere(lab, VERSIONS)).toEqual([
      ['a', 'three', '2026-01-03', '2026-01-06'],
      ['a', 'two', '2026-01-06', null],
      ['c', 'one', '2026-01-01', null],
      ['d', 'two', '2026-01-03', null],
    ]);
    expect(await everywhere(lab, "SELECT domain, registrar FROM lab.dns_asof(at = '2026-01-04') ORDER BY ALL")).toEqual(
      [
        ['a', 'three'],
        ['c', 'one'],
        ['d', 'two'],
      ],
    );
    await expect(everywhere(lab, "SELECT * FROM lab.dns_asof(at = '2026-01-02')")).rejects.toThrow(
      'begins on 2026-01-03',
    );
    await lab.command(`RENAME TABLE lab.dns_history TO lab.kept${database === 'atomic' ? ' ON CLUSTER c' : ''}`);
    const again = await load(lab, '2026-01-06', second);
    expect(again.kind).toBe('current');
    await load(lab, '2026-01-07', [row('a', 'four'), row('c', 'one'), row('d', 'two')]);
    expect(await everywhere(lab, VERSIONS)).toEqual([
      ['a', 'four', '2026-01-07', null],
      ['a', 'two', '2026-01-06', '2026-01-07'],
      ['c', 'one', '2026-01-01', null],
      ['d', 'two', '2026-01-03', null],
    ]);
  } finally {
    await lab.close();
  }
});

const VERSIONS = 'SELECT domain, registrar, valid_from, valid_to FROM lab.dns_versions ORDER BY ALL';

function row(Domain: string, Registrar: string): Row {
  return { Domain, Registrar };
}

function load(lab: Lab, date: string, rows: readonly Row[], options = {}): ReturnType<Lab['load']> {
  const text = rows.map((one) => `${JSON.stringify(one)}\n`).join('');
  const file = { name: `f-${date}.jsonl`, date, bytes: Buffer.from(text), etag: text };
  return lab.load(lab.destination('dns', { history: true, ...options }), 'dns', file);
}

/** What every replica answers: the same. */
async function everywhere(lab: Lab, sql: string): Promise<unknown[][]> {
  const answers = await Promise.all(lab.replicas.map((replica) => replica.query<Record<string, unknown>>(sql, NEVER)));
  const [first = []] = answers;
  for (const answer of answers) expect(answer).toEqual(first);
  return first.map((one) => Object.values(one));
}
