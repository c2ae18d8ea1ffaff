/** A slice of a country that the service knows in upper case only, through the commands. */
import { expect, test } from 'vitest';
import { withProject } from '../../support/project.ts';

const pipeline = (key: string): string =>
  `  us: { dataset: technologies, slice: { scope: country, key: ${key} }, to: { clickhouse: { table: us } } }`;

test('check and sync find it however it is written, and what is held stays what it is', () =>
  withProject({ rows: 300, countries: 'upper' }, async ({ configure, run, query, sandbox }) => {
    await configure(pipeline('us'));
    expect(await run('check')).toMatchObject({ code: 0, stdout: expect.stringContaining('would load it') });
    expect((await run('sync')).code).toBe(0);
    const rows = await query("SELECT count() AS n, countIf(country != 'US') AS others FROM us_live");
    expect(Number(rows[0]?.['n'])).toBeGreaterThan(0);
    expect(Number(rows[0]?.['others'])).toBe(0);
    await configure(pipeline('US'));
    const again = await run('--json', 'sync');
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({ pipelines: [{ outcome: 'current' }] });
    const [table] = await query<{ comment: string }>(
      "SELECT comment FROM system.tables WHERE database = currentDatabase() AND name = 'us'",
    );
    expect(table?.comment).toContain('"technologies/country/us"');
    expect(sandbox.log.at(-1)).toMatchObject({ path: '/api/download/technologies/country/US', status: 206 });
  }));
