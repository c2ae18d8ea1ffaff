/** Two runs of one pipeline at once, as two cron jobs that overlap: one works, the other one says so and goes. */
import { expect, test } from 'vitest';
import { jsonDocument } from '../../support/errors-shown.ts';
import { withProject } from '../../support/project.ts';
import { contentsOf, runsOf, stagingTables } from '../../support/tables.ts';

const ROUNDS = 10;
const ROWS = 2_000;

test('two runs at once: both end with 0, one says that the other is at work, the table is right', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    const { sandbox } = project;
    const size = (await sandbox.file({ dataset: 'dns' }))?.size ?? 0;
    // Long enough that both are under way before one is done.
    sandbox.misbehave({ fault: { kind: 'slow', bytesPerSecond: Math.ceil(size * 0.3) }, probe: false });
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round > 0) await sandbox.publish();
      const both = await Promise.all([project.run('sync', '--json'), project.run('sync', '--json')]);
      expect(
        both.map(({ code }) => code),
        both.map(({ stdout }) => stdout).join('\n'),
      ).toEqual([0, 0]);
      const reports = both.map((finished) => {
        const { pipelines } = jsonDocument<{ pipelines: { outcome: string; error?: { code: string } }[] }>(finished);
        return pipelines.map(({ outcome, error }) => error?.code ?? outcome).join();
      });
      expect(reports.sort()).toEqual(['RUN_ELSEWHERE', 'loaded']);
      expect(await stagingTables(project)).toEqual([]);
    }
    const together = await contentsOf(project);
    expect((await runsOf(project)).map(({ outcome }) => outcome)).toEqual(Array(ROUNDS).fill('loaded'));
    expect(await project.query('SELECT count() - uniqExact(domain) AS doubled FROM dns_live')).toEqual([
      { doubled: '0' },
    ]);
    // The same file into a table that nobody else is at.
    await project.configure('  calm: { dataset: dns, to: { clickhouse: { table: calm } } }');
    expect((await project.run('sync')).code).toBe(0);
    const alone = await contentsOf(project, 'calm');
    expect([together.rows, together.rowsHash]).toEqual([alone.rows, alone.rowsHash]);
  });
});

test('a person is told in words', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    const { sandbox } = project;
    sandbox.misbehave({ fault: { kind: 'delay', ms: 1500 }, probe: false });
    const both = await Promise.all([project.run('sync'), project.run('sync')]);
    const words = both.map(({ stdout }) => stdout.replace(/ (into|;|is at) .*/s, '').trim());
    expect(words.some((text) => text.startsWith('dns: loaded'))).toBe(true);
    expect(both.some(({ stdout }) => /^dns: another .*; nothing to do\n$/.test(stdout))).toBe(true);
  });
});

test('two pipelines of one slice in two processes: one download serves both', async () => {
  await withProject({ rows: ROWS }, async (project) => {
    const { sandbox } = project;
    await project.configure(`  one: { dataset: dns, to: { clickhouse: { table: one } } }
  two: { dataset: dns, columns: [country], to: { clickhouse: { table: two } } }`);
    const size = (await sandbox.file({ dataset: 'dns' }))?.size ?? 0;
    sandbox.misbehave({ fault: { kind: 'slow', bytesPerSecond: Math.ceil(size * 0.3) }, probe: false });
    const both = await Promise.all([project.run('sync', 'one'), project.run('sync', 'two')]);
    expect(both.map(({ code, stdout }) => [code, stdout.split(' ')[1]])).toEqual([
      [0, 'loaded'],
      [0, 'loaded'],
    ]);
    expect(
      await project.query('SELECT (SELECT count() FROM one_live) AS one, (SELECT count() FROM two_live) AS two'),
    ).toEqual([{ one: String(ROWS), two: String(ROWS) }]);
    // Each also asks for a byte, to see which file is newest.
    const asked = sandbox.bodyBytes('/api/download/') - size;
    expect([0, 1, 2]).toContain(asked);
  });
});
