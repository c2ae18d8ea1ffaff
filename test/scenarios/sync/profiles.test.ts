/**
 * Profiles that a user of a server may have: with settings that change what SQL means, loads of every mode bring what they
 * bring without, and what is asked of them is answered.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClickHouseDestinationOptions } from '../../../connectors/clickhouse/destination.ts';
import { type Lab, NEVER, openLab } from '../../support/clickhouse/lab.ts';
import { dateOf, fileOf, stateOf } from '../../support/clickhouse/two-files.ts';
import { usersXml } from '../../support/clickhouse/users.ts';
import { killedAfter } from '../../support/kill/strike-at-statement.ts';

/** Settings of each; `usual` has none. */
const PROFILES = {
  usual: {},
  analyzer: { settings: '<enable_analyzer>0</enable_analyzer>' },
  older: { settings: '<compatibility>22.8</compatibility>' },
  cache: { settings: '<use_query_cache>1</use_query_cache>' },
  unusual: {
    settings: `<join_default_strictness>ANY</join_default_strictness><force_primary_key>1</force_primary_key>
<aggregate_functions_null_for_empty>1</aggregate_functions_null_for_empty><transform_null_in>1</transform_null_in>
<input_format_json_named_tuples_as_objects>0</input_format_json_named_tuples_as_objects>`,
  },
  // Whoever has set this is answered what was there before.
  stale: {
    settings: `<use_query_cache>1</use_query_cache><query_cache_ttl>3600</query_cache_ttl>
<query_cache_nondeterministic_function_handling>save</query_cache_nondeterministic_function_handling>
<query_cache_system_table_handling>save</query_cache_system_table_handling>`,
  },
};

let lab: Lab;
let usual: unknown;

beforeAll(async () => {
  lab = await openLab(usersXml(PROFILES));
  usual = await lives('usual');
});

afterAll(() => lab.close());

/** Loads in each mode, with a kill, a rollback and all that can be asked. @returns what is seen and told */
async function lives(profile: keyof typeof PROFILES): Promise<unknown> {
  const as = lab.signIn(profile);
  const pipeline = (mode: 'sync' | 'replace' | 'append', options: Partial<ClickHouseDestinationOptions> = {}) => {
    const name = `${profile}-${mode}`;
    const table = name.replace('-', '_');
    const to = lab.destination(name, { table, mode, changes: mode === 'sync', ...options }, as);
    const load = async (marker: 'a' | 'b', day: number): Promise<unknown> => {
      const outcome = await lab.load(to, name, fileOf(marker, dateOf(day)));
      return outcome.kind === 'loaded' ? outcome.result : outcome.kind;
    };
    return { name, table, to, load };
  };
  const [sync, replace, append] = [pipeline('sync'), pipeline('replace'), pipeline('append')];
  const told = [
    await sync.load('a', 0),
    await sync.load('a', 0),
    (await killedAfter(20, () => sync.load('b', 1))).hit,
    await sync.load('b', 1),
    await sync.load('a', 2),
    await sync.to.preflight(NEVER),
    (await sync.to.rejects(10, NEVER)).map(({ line, reason, raw }) => [line, reason, raw]),
    await replace.load('a', 0),
    await replace.load('b', 1),
    (await replace.to.rollback(NEVER)).to.file,
    await replace.load('b', 1),
    await append.load('a', 1),
    await append.load('b', 2),
    await append.load('b', 0),
  ];
  for (const { name, table, to } of [sync, replace, append]) {
    const { held, rejected, lastRun } = await to.status(NEVER);
    const runs = `SELECT file_date, outcome, inserted, updated, deleted, unchanged, rejected FROM lab.domainsync_runs
WHERE pipeline = '${name}' ORDER BY finished_at`;
    told.push([held?.file, held?.rows, rejected, lastRun?.outcome, await lab.query(runs)]);
    told.push(await as.query(`SELECT * FROM lab.${table}_live ORDER BY domain`, NEVER));
  }
  const { live, own, changes } = await stateOf(lab, sync.table, dateOf(2));
  return [...told, live, own, changes];
}

test.each(['analyzer', 'older', 'cache', 'stale', 'unusual'] as const)('%s', async (profile) => {
  expect(await lives(profile)).toEqual(usual);
});
