/**
 * ClickHouse without room: it answers CREATE and ALTER with success and keeps no definition of the table, so that it does not start
 * again. No such table is left by a run, or by what a killed run left and the next one found.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { compressToBuffer } from '../../../src/sandbox/data/compress.ts';
import { generateLines } from '../../../src/sandbox/data/generate.ts';
import { createWorld } from '../../../src/sandbox/data/world.ts';
import { openServerProject, type ServerProject } from '../../support/clickhouse/project.ts';
import type { Verdict } from '../../support/clickhouse/proxy.ts';
import { shownErrors } from '../../support/errors-shown.ts';
import { endState } from '../../support/kill/state.ts';

const WORLD = createWorld({ rows: 400 });
const DATES = ['2026-02-01', '2026-02-02'] as const;

/** That much has to stay free, which the server does not have. */
const NO_ROOM =
  '<storage_configuration><disks><default><keep_free_space_bytes>1000000000000000</keep_free_space_bytes></default></disks></storage_configuration>';

let project: ServerProject;
let close: () => Promise<void>;
let databases = 0;

beforeAll(async () => {
  ({ project, close } = await openServerProject({ rows: 1 }));
});

afterEach(async () => {
  project.proxy.watcher = {};
  await project.server.start();
  await project.server.fillDisk(false);
  // No other test meets what this one has left.
  await project.server.command(`DROP DATABASE IF EXISTS ${project.database} SYNC`);
});

afterAll(() => close());

async function publish(snapshot: 0 | 1): Promise<void> {
  const bytes = await compressToBuffer(generateLines({ world: WORLD, snapshot, dataset: 'dns' }));
  await project.sandbox.publishFile({ target: 'dns', date: DATES[snapshot], content: { bytes } });
}

async function sync(): Promise<void> {
  const { code, stderr } = await project.run('sync');
  expect(code, stderr).toBe(0);
}

/** A database of its own, which the first run makes; with a first file in it, or before that. */
async function begin(file: 'first' | 'second'): Promise<void> {
  databases += 1;
  project.database = `disk_${databases}`;
  await project.configure();
  await publish(0);
  if (file === 'first') return;
  await sync();
  await publish(1);
}

/** Does something at the first statement that matches, before the server sees it. */
function at(pattern: RegExp, trouble: () => Promise<void> | void): { readonly met: () => boolean } {
  let met = false;
  project.proxy.watcher = {
    before: async ({ sql }): Promise<Verdict> => {
      if (!met && pattern.test(sql)) {
        met = true;
        await trouble();
      }
      return 'pass';
    },
  };
  return { met: () => met };
}

async function undefinedTables(): Promise<string[]> {
  const rows = await project.server.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = '${project.database}' AND create_table_query = ''`,
  );
  return rows.map(({ name }) => name);
}

/** The server starts again, and a run loads what is newest. */
async function expectMended(): Promise<void> {
  await project.server.restart();
  await project.configure();
  await sync();
  const { left } = await endState(project, 'dns', 'sync');
  expect([left, await undefinedTables()]).toEqual([[], []]);
  await project.server.restart();
}

const FIRST = /^CREATE DATABASE /;
const AMID: [string, 'first' | 'second', RegExp][] = [
  ['the database', 'first', FIRST],
  ['the record of runs', 'first', /^CREATE TABLE IF NOT EXISTS \S+`domainsync_runs`/],
  ['the table', 'first', /^CREATE TABLE IF NOT EXISTS \S+`dns` /],
  ['the view', 'first', /^CREATE VIEW /],
  ['the table that rows land in', 'first', /^CREATE TABLE \S+_rows` /],
  ['the record of blocks', 'second', /^CREATE TABLE IF NOT EXISTS \S+_blocks` /],
  ['the table that takes its place', 'first', /^CREATE TABLE \S+_next` /],
  ['the comment of that', 'first', /^ALTER TABLE \S+_next` MODIFY COMMENT/],
  ['the difference', 'second', /^CREATE TABLE \S+_diff` /],
];

/** Where a kill is worth its time. */
const KILLED = ['the record of runs', 'the table that rows land in', 'the comment of that', 'the difference'];

test.each(AMID)('room goes as it makes %s: an error, nothing is left, and on it goes', async (_what, file, pattern) => {
  await begin(file);
  const trouble = at(pattern, () => project.server.fillDisk(true));
  const failed = await project.run('sync');
  project.proxy.watcher = {};
  expect([trouble.met(), failed.code], failed.stderr).toEqual([true, 8]);
  expect(shownErrors(failed)).toMatchObject([{ code: 'DESTINATION_REFUSED' }]);
  const [left] = await project.server.query<{ n: string }>(
    `SELECT count() AS n FROM system.databases WHERE name = '${project.database}'`,
  );
  expect([left?.n, await undefinedTables()]).toEqual([pattern === FIRST ? '0' : '1', []]);
  await project.server.fillDisk(false);
  await expectMended();
});

test.each(AMID.filter(([what]) => KILLED.includes(what)))(
  'room goes as it makes %s, and the run is killed: the next run finds what is left',
  async (_what, file, pattern) => {
    await begin(file);
    const run = project.start('sync');
    let filled = false;
    project.proxy.watcher = {
      before: async ({ sql }): Promise<Verdict> => {
        if (!pattern.test(sql)) return 'pass';
        filled = true;
        await project.server.fillDisk(true);
        return 'pass';
      },
      after: ({ sql }) => {
        if (filled && pattern.test(sql)) run.child.kill('SIGKILL');
        return 'pass';
      },
    };
    expect((await run.finished).signal).toBe('SIGKILL');
    project.proxy.watcher = {};
    await project.server.quiet();
    expect(await undefinedTables()).not.toEqual([]);
    await project.server.fillDisk(false);
    await sync();
    await expectMended();
  },
);

test('no room from the beginning: nothing is made, and the error says what to do', async () => {
  await begin('first');
  await project.server.configure('config.d', NO_ROOM);
  await project.server.restart();
  await project.configure();
  project.proxy.log = [];
  const failed = await project.run('sync');
  expect(failed.code).toBe(8);
  expect(shownErrors(failed)).toMatchObject([
    {
      code: 'DESTINATION_REFUSED',
      message: 'the disk of the ClickHouse server is full',
      hint: expect.stringMatching(/^Make room on the disk/),
    },
  ]);
  expect(project.proxy.log.filter(({ changes, sql }) => changes && !sql.startsWith('CHECK GRANT'))).toEqual([]);
  await project.server.configure('config.d', null);
  await expectMended();
});

test('a table with rows that has lost its definition is not dropped: the error says what to do', async () => {
  await begin('second');
  await project.server.fillDisk(true);
  await project.command("ALTER TABLE domainsync_runs MODIFY COMMENT 'other'");
  await project.server.fillDisk(false);
  const failed = await project.run('sync');
  expect(shownErrors(failed)).toMatchObject([
    {
      code: 'DESTINATION_REFUSED',
      message: expect.stringContaining(`the definition of ${project.database}.domainsync_runs is empty`),
      hint: expect.stringContaining('DROP TABLE'),
    },
  ]);
  await project.command('DROP TABLE domainsync_runs SYNC');
  await sync();
  await expectMended();
});
