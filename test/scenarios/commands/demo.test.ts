/** `domainsync demo`: everything in one go, with nothing of the user's, and nothing left running. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { processesOf } from '../../support/clickhouse/embedded-servers.ts';
import { expectNoSecrets, jsonDocument } from '../../support/errors-shown.ts';
import { type Finished, type Project, withProject } from '../../support/project.ts';
import { until } from '../../support/until.ts';

const SENTENCE =
  /all-data: loaded \S+ into clickhouse: ([\d,]+) rows read, ([\d,]+) inserted, ([\d,]+) updated, ([\d,]+) deleted/g;

/** The demo's own folder, in the directory in which it is run. */
const demoIn = (project: Project): string => join(project.folder, 'data', 'demo');

async function nothingRuns(project: Project): Promise<void> {
  await until(async () => (await processesOf(demoIn(project))).length === 0);
}

function expectTour(project: Project, { code, stdout, stderr }: Finished): void {
  expect(code, stderr).toBe(0);
  const number = (text = ''): number => Number(text.replaceAll(',', ''));
  const [first, second, ...more] = [...stdout.matchAll(SENTENCE)].map((found) => found.slice(1).map(number));
  expect(first).toEqual([50_000, 50_000, 0, 0]);
  const [, inserted, updated, deleted] = second ?? [];
  for (const count of [inserted, updated, deleted]) expect(count).toBeGreaterThan(0);
  expect(more).toEqual([]);
  const changes = [...stdout.matchAll(/^(insert|update|delete) +([\d,]+) /gm)].map(([, op, n]) => [op, number(n)]);
  expect(Object.fromEntries(changes)).toEqual({ insert: inserted, update: updated, delete: deleted });
  expect(stdout).toContain('FROM demo.domains_live');
  const versions = [...stdout.matchAll(/^(\S+) {2,}(\S.*?) {2,}(2026-01-15|2026-01-16)(?: +(2026-01-16))? *$/gm)].map(
    (found) => found.slice(1),
  );
  const [[domain = '', then] = [], [, now] = []] = versions;
  expect(versions).toEqual([
    [domain, then, '2026-01-15', '2026-01-16'],
    [domain, now, '2026-01-16', undefined],
  ]);
  expect(now).not.toBe(then);
  expect(stdout).toMatch(/^com +[\d,]+ +[\d,]+$/m);
  expect(stdout).toContain(`npx domainsync clickhouse --config ${join(demoIn(project), 'domainsync.yaml')}`);
}

test('the demo tells of a first load and of what changed, twice in a row, and leaves nothing running', async () => {
  await withProject({ rows: 10 }, async (project) => {
    expectTour(project, await project.run('demo'));
    const again = await project.run('demo', '--log-level', 'debug');
    expectTour(project, again);
    expectNoSecrets(again, [await readFile(join(demoIn(project), 'clickhouse', 'password'), 'utf8')]);
    await nothingRuns(project);
    expect(project.sandbox.log).toEqual([]);
    // What it leaves can be gone on with.
    const status = await project.run('status', '--json', '-c', join(demoIn(project), 'domainsync.yaml'));
    expect(jsonDocument(status)).toMatchObject({
      pipelines: [{ pipeline: 'all-data', lastRun: { outcome: 'loaded' } }],
    });
    await nothingRuns(project);
  });
});

test('an interrupted demo ends with 130, and leaves nothing running', async () => {
  await withProject({ rows: 10 }, async (project) => {
    const { child, finished } = project.start(['demo']);
    let told = '';
    child.stdout?.on('data', (text: string) => {
      told += text;
    });
    await until(() => told.includes('2. First load'));
    child.kill('SIGINT');
    const { code, stdout } = await finished;
    expect(code).toBe(130);
    expect(stdout).toContain('The demo was interrupted.');
    await nothingRuns(project);
  });
});
