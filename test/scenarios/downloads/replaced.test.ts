/** The service replaces its file while it is being downloaded: the run goes on with the new one, and holds it whole. */
import { expect, test } from 'vitest';
import { withProject } from '../../support/project.ts';
import { runsOf, stagingTables } from '../../support/tables.ts';

test.each(['revision', 'snapshot'] as const)('a file replaced by another %s in mid-download', async (by) => {
  await withProject({ rows: 20_000 }, async (project) => {
    const { sandbox } = project;
    const size = Number((await sandbox.file({ dataset: 'dns' }))?.size);
    const afterBytes = Math.floor(size / 2);
    sandbox.misbehave({
      fault: { kind: 'replace', afterBytes, by, cut: true },
      route: 'download',
      probe: false,
      times: 1,
    });
    const result = await project.run('sync');
    expect(result).toMatchObject({ code: 0 });
    const newest = await sandbox.file({ dataset: 'dns' });
    expect((await runsOf(project)).map((run) => run.outcome)).toEqual(['failed', 'loaded']);
    expect(await project.run('sync')).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to do') });
    expect(result.stdout).toContain(newest?.name ?? 'no file');
    expect(await stagingTables(project)).toEqual([]);
  });
});
