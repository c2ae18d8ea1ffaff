/**
 * ClickHouse is there, but will not or cannot do what it is asked: exit code 8 and what to do about it, readers see what they
 * saw before, `status` and `check` tell how it is, and after the repair the next run ends as if nothing had been.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compressToBuffer } from '../../../src/sandbox/data/compress.ts';
import { generateLines } from '../../../src/sandbox/data/generate.ts';
import { createWorld } from '../../../src/sandbox/data/world.ts';
import { openServerProject, type ServerProject } from '../../support/clickhouse/project.ts';
import type { Verdict } from '../../support/clickhouse/proxy.ts';
import { type ErrorSummary, jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { type EndState, endState } from '../../support/kill/state.ts';
import type { Finished } from '../../support/project.ts';

const WORLD = createWorld({ rows: 400 });
const DATES = ['2026-02-01', '2026-02-02'] as const;
const NAMES = DATES.map((date) => `sandbox-dns-${date}.jsonl.zst`);

const DISK_FULL =
  '<storage_configuration><disks><default><keep_free_space_bytes>1000000000000000</keep_free_space_bytes></default></disks></storage_configuration>';
const ALL_RIGHTS = '<query>GRANT ALL ON *.*</query>';

let project: ServerProject;
let close: () => Promise<void>;
/** What the tables are after the first file, and after the second. */
let peace: readonly EndState[];

beforeAll(async () => {
  ({ project, close } = await openServerProject({ rows: 1 }));
  await signIn(ALL_RIGHTS);
  await database('peace');
  peace = [await loaded(0), await loaded(1)];
});

afterAll(() => close());

/** Runs sign in as a user of their own, so that something can be taken from it; the server is started anew. */
async function signIn(grants: string, profile = ''): Promise<void> {
  await project.server.configure(
    'users.d',
    `<profiles><etl>${profile}</etl></profiles>
<users><etl><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>etl</profile><quota>default</quota>
<grants>${grants}</grants></etl></users>`,
  );
  await project.server.restart();
}

async function database(name: string): Promise<void> {
  project.database = name;
  await project.server.command(`CREATE DATABASE ${name}`);
  await project.configure({ username: 'etl', password: 'secret' });
}

async function publish(snapshot: 0 | 1): Promise<void> {
  const bytes = await compressToBuffer(generateLines({ world: WORLD, snapshot, dataset: 'dns' }));
  await project.sandbox.publishFile({ target: 'dns', date: DATES[snapshot], content: { bytes } });
}

async function loaded(snapshot: 0 | 1): Promise<EndState> {
  await publish(snapshot);
  const { code, stderr } = await project.run('sync');
  expect(code, stderr).toBe(0);
  return endState(project, 'dns', 'sync');
}

/** Loads the first file, then runs into trouble with the second, at the first statement that matches or before the run. */
async function runInto(name: string, trouble: () => Promise<void>, at: RegExp | null): Promise<Finished> {
  await database(name);
  await loaded(0);
  await publish(1);
  let met = at === null;
  if (at === null) await trouble();
  project.proxy.watcher = {
    before: async ({ sql }): Promise<Verdict> => {
      if (met || at?.test(sql) !== true) return 'pass';
      met = true;
      await trouble();
      return 'pass';
    },
  };
  const finished = await project.run('sync');
  project.proxy.watcher = {};
  expect(met).toBe(true);
  expect(finished.code, finished.stderr).toBe(8);
  return finished;
}

interface Status {
  readonly held: { readonly file: string } | null;
  readonly lastRun: { readonly outcome: string; readonly file: string; readonly errorCode: string } | null;
}

interface Check {
  readonly newest: { readonly name: string };
  readonly held: { readonly file: string } | null;
  readonly action: string;
  readonly error?: ErrorSummary;
}

async function told(): Promise<{ status: Status; check: Check; code: number | null }> {
  const status = await project.run('status', '--json');
  const check = await project.run('check', '--json');
  expect(status.code, status.stderr).toBe(0);
  const [one] = jsonDocument<{ pipelines: Status[] }>(status).pipelines;
  const [two] = jsonDocument<{ pipelines: Check[] }>(check).pipelines;
  if (one === undefined || two === undefined) throw new Error('nothing was told of the pipeline');
  return { status: one, check: two, code: check.code };
}

async function expectReadersSee(file: 0 | 1): Promise<void> {
  const { live, history } = await endState(project, 'dns', 'sync');
  expect([live, history]).toEqual([peace[file]?.live, peace[file]?.history]);
}

/** The next run loads the second file, and all is as in peace. */
async function expectRepaired(): Promise<void> {
  const { code, stderr } = await project.run('sync');
  expect(code, stderr).toBe(0);
  expect(await endState(project, 'dns', 'sync')).toEqual(peace[1]);
  const { status, check } = await told();
  expect([status.held?.file, status.lastRun?.outcome, check.action]).toEqual([NAMES[1], 'loaded', 'current']);
}

const LANDING = /^INSERT INTO \S+_rows` /;

test('its disk is full', async () => {
  const failed = await runInto(
    'disk_full',
    async () => {
      await project.server.configure('config.d', DISK_FULL);
      await project.server.restart();
    },
    LANDING,
  );
  expect(shownErrors(failed)).toMatchObject([
    {
      code: 'DESTINATION_REFUSED',
      message: expect.stringContaining('NOT_ENOUGH_SPACE'),
      hint: expect.stringMatching(/^Make room on the disk/),
    },
  ]);
  await expectReadersSee(0);
  const { status, check } = await told();
  // There is no room for the record of the run either.
  expect([status.held?.file, check.held?.file, check.newest.name]).toEqual([NAMES[0], NAMES[0], NAMES[1]]);
  await project.server.configure('config.d', null);
  await project.server.restart();
  await expectRepaired();
});

test.each([
  ['read-only', ALL_RIGHTS, '<readonly>2</readonly>', 'READONLY', /read-only: permit writing/],
  [
    'without a right',
    '<query>GRANT SELECT, SHOW, CREATE, ALTER, DROP ON *.*</query>',
    '',
    'ACCESS_DENIED',
    /the right that the message names/,
  ],
])('its user is %s from some moment on', async (what, grants, profile, type, hint) => {
  const failed = await runInto(what.replaceAll(/\W/g, '_'), () => signIn(grants, profile), LANDING);
  expect(shownErrors(failed)).toMatchObject([
    { code: 'DESTINATION_REFUSED', message: expect.stringContaining(type), hint: expect.stringMatching(hint) },
  ]);
  await expectReadersSee(0);
  const { status, check } = await told();
  expect([status.held?.file, check.held?.file, check.newest.name]).toEqual([NAMES[0], NAMES[0], NAMES[1]]);
  await signIn(ALL_RIGHTS);
  await expectRepaired();
});

test('its user may not even choose settings: status and check say so', async () => {
  await runInto('no_settings', () => signIn(ALL_RIGHTS, '<readonly>1</readonly>'), LANDING);
  for (const command of ['status', 'check']) {
    const { code, stdout } = await project.run(command, '--json');
    expect(code).toBe(8);
    expect(stdout).toContain('READONLY (164)');
    expect(stdout).toContain('permit writing');
  }
  await signIn(ALL_RIGHTS);
  await expectRepaired();
});

test.each([
  ['while blocks land', LANDING],
  ['when all has landed', /^CREATE TABLE \S+_diff` /],
  ['when the difference is being applied', /`dns` ATTACH PARTITION /],
])('the table is dropped %s: the next run loads the whole file into a new one', async (when, at) => {
  const failed = await runInto(when.replaceAll(' ', '_'), () => project.command('DROP TABLE dns SYNC'), at);
  expect(shownErrors(failed)).toMatchObject([
    {
      code: 'DESTINATION_REFUSED',
      message: expect.stringContaining('dns'),
      hint: expect.stringMatching(/[Rr]un again/),
    },
  ]);
  const { status, check } = await told();
  expect([status.held, status.lastRun?.outcome, status.lastRun?.file]).toEqual([null, 'failed', NAMES[1]]);
  expect([check.held, check.action]).toEqual([null, 'load']);
  const { code, stderr } = await project.run('sync');
  expect(code, stderr).toBe(0);
  const { live, history, left } = await endState(project, 'dns', 'sync');
  // A first load records no changes.
  expect([live, history, left]).toEqual([peace[1]?.live, peace[0]?.history, []]);
});

test("a user changed a column's type between two runs", async () => {
  const retyped = (type: string): Promise<void> => project.command(`ALTER TABLE dns MODIFY COLUMN dns_status ${type}`);
  const failed = await runInto('retyped', () => retyped('Nullable(UInt8)'), null);
  expect(shownErrors(failed)).toMatchObject([
    {
      code: 'DESTINATION_REFUSED',
      message: expect.stringContaining('dns_status has the type Nullable(UInt8) in place of Nullable(Bool)'),
      hint: expect.stringMatching(/columns that the table was made with/),
    },
  ]);
  const { status, check, code } = await told();
  expect(status.held?.file).toBe(NAMES[0]);
  expect([check.newest.name, check.action, code]).toEqual([NAMES[1], 'fail', 8]);
  expect(check.error?.message).toContain('dns_status has the type Nullable(UInt8)');
  await retyped('Nullable(Bool)');
  await expectReadersSee(0);
  await expectRepaired();
});
