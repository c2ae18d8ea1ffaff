/** A production server, as a company has one: users with few rights, read-only ones, https with a CA of its own, settings. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compressToBuffer } from '../../../src/sandbox/data/compress.ts';
import { generateLines } from '../../../src/sandbox/data/generate.ts';
import { createWorld } from '../../../src/sandbox/data/world.ts';
import {
  type Company,
  done,
  expectLoaded,
  company as openCompany,
  PASSWORD,
  type Run,
  refused,
  told,
  WRONG,
} from '../../support/clickhouse/company.ts';
import { openServerProject, type ServerProject } from '../../support/clickhouse/project.ts';
import { shownErrors } from '../../support/errors-shown.ts';
import { createAuthority } from '../../support/network/certificates.ts';
import { startTlsProxy, type TlsProxy } from '../../support/network/tls-proxy.ts';

const WORLD = createWorld({ rows: 300 });
const DATES = ['2026-02-01', '2026-02-02', '2026-02-03'] as const;
const AUTHORITY = createAuthority();

/** All that a load of any mode needs, on a server that wants a grant for everything. */
const LEAST = ['SELECT', 'INSERT', 'CREATE TABLE', 'DROP TABLE', 'ALTER MODIFY COMMENT', 'ALTER DELETE', 'OPTIMIZE'];
const SYSTEM = ['SELECT ON system.parts', 'SELECT ON system.merge_tree_settings'];
const ENGINES = ['MergeTree', 'ReplacingMergeTree', 'Memory'].map((engine) => `TABLE ENGINE ON ${engine}`);

/** Rights on any database, so that one start of the server does for all tests. */
const onData = (rights: readonly string[]): string => `${rights.join(', ')} ON data_*.*`;
const without = (...rights: string[]): string => onData(LEAST.filter((right) => !rights.includes(right)));
const USERS: Readonly<Record<string, { readonly grants: readonly string[]; readonly profile?: string }>> = {
  least: { grants: [onData(LEAST), ...SYSTEM, ...ENGINES] },
  no_insert: { grants: [without('INSERT'), ...SYSTEM, ...ENGINES] },
  no_system: { grants: [without('OPTIMIZE', 'ALTER DELETE'), ...ENGINES] },
  reader: { grants: ['ALL ON *.*'], profile: 'reader' },
};

let project: ServerProject;
let close: () => Promise<void>;
let tls: TlsProxy;
let expired: TlsProxy;

beforeAll(async () => {
  ({ project, close } = await openServerProject({ rows: 1 }));
  const { server, folder } = project;
  await server.configure(
    'config.d',
    `<access_control_improvements>
  <select_from_system_db_requires_grant>true</select_from_system_db_requires_grant>
  <table_engines_require_grant>true</table_engines_require_grant>
</access_control_improvements>
<max_table_size_to_drop>1</max_table_size_to_drop><max_partition_size_to_drop>1</max_partition_size_to_drop>`,
  );
  const password = PASSWORD.replaceAll('&', '&amp;');
  const users = Object.entries(USERS).map(([name, { grants, profile = 'etl' }]) => {
    const queries = grants.map((grant) => `<query>GRANT ${grant}</query>`).join('');
    return `<${name}><password>${password}</password><networks><ip>127.0.0.1</ip></networks><profile>${profile}</profile>
<quota>default</quota><grants>${queries}</grants></${name}>`;
  });
  await server.configure(
    'users.d',
    `<profiles><etl/><reader><readonly>2</readonly></reader></profiles><users>${users.join('')}</users>`,
  );
  await server.restart();
  await writeFile(join(folder, 'ca.pem'), AUTHORITY.ca);
  tls = await startTlsProxy(AUTHORITY.issue(), server.login.port);
  expired = await startTlsProxy(AUTHORITY.issue(true), server.login.port);
});

afterAll(async () => {
  await tls?.close();
  await expired?.close();
  await close?.();
});

const company = (options: Partial<Company>): Promise<Run> => openCompany(project, options);

async function publish(snapshot: 0 | 1 | 2): Promise<void> {
  const bytes = await compressToBuffer(generateLines({ world: WORLD, snapshot, dataset: 'dns' }));
  await project.sandbox.publishFile({ target: 'dns', date: DATES[snapshot], content: { bytes } });
}

async function rows(of: string): Promise<string> {
  const [row] = await project.query<{ state: string }>(
    `SELECT concat(toString(count()), ' ', toString(sum(cityHash64(*)))) AS state FROM ${of}`,
  );
  return row?.state ?? '';
}

test.each(['sync', 'replace', 'append'] as const)(
  'mode %s: the least rights do, also where everything wants a grant and nothing may be dropped by mistake',
  async (mode) => {
    const run = await company({ mode });
    for (const snapshot of [0, 1, 2] as const) {
      await publish(snapshot);
      await done(run, 'sync');
    }
    await done(run, 'sync', '--force');
    await expectLoaded(run, DATES[2]);
    if (mode !== 'replace') return;
    await done(run, 'rollback', 'dns');
    expect((await told(run, 'check', 0)).action).toBe('rolled-back');
    expect((await told(run, 'status', 0)).lastRun?.outcome).toBe('rolled-back');
  },
);

const RUINOUS = `{ async_insert: 1, wait_end_of_query: 0, join_use_nulls: 1, union_default_mode: DISTINCT, optimize_on_insert: 1,
  max_insert_block_size: 100, min_insert_block_size_rows: 100, min_insert_block_size_bytes: 1, insert_deduplicate: 0, final: 1, limit: 7,
  offset: 1, data_type_default_nullable: 1, prefer_column_name_to_alias: 1, empty_result_for_aggregation_by_empty_set: 1,
  output_format_json_quote_64bit_integers: 0, output_format_json_array_of_rows: 1,
  default_format: JSON, result_overflow_mode: break, log_comment: the user's own }`;

test('settings are passed with every statement; those that would ruin a load do not', async () => {
  const states: string[][] = [];
  for (const settings of ['{}', RUINOUS]) {
    const run = await company({ settings });
    const found: string[] = [];
    for (const snapshot of [0, 1] as const) {
      await publish(snapshot);
      await done(run, 'sync');
      found.push(await rows('dns_live'), await rows('dns_changes'));
    }
    states.push(found);
    await expectLoaded(run, DATES[1]);
  }
  expect(states[1]).toEqual(states[0]);
  // One that does no harm is seen where a column asks for it.
  await project.command("ALTER TABLE dns ADD COLUMN told String DEFAULT getSetting('log_comment')");
  await publish(2);
  await done(await company({ settings: RUINOUS, database: project.database }), 'sync');
  const told = await project.query(`SELECT DISTINCT told FROM dns WHERE _file_date = '${DATES[2]}'`);
  expect(told).toEqual([{ told: "the user's own" }]);
});

test('a setting that the server does not know is named', async () => {
  const run = await company({ settings: '{ no_such_setting: 1 }' });
  await publish(0);
  expect(await refused(run)).toEqual({
    code: 'DESTINATION_REFUSED',
    message: expect.stringContaining('no_such_setting'),
    hint: expect.stringMatching(/^Correct clickhouse\.settings/),
  });
  expect((await run('status', '--json')).code).toBe(8);
});

test.each([
  ['wrong password', { password: WRONG }],
  ['unknown user', { username: 'nobody' }],
])('%s: the error names what to correct', async (_, login) => {
  const run = await company(login);
  await publish(0);
  expect(await refused(run)).toEqual({
    code: 'DESTINATION_REFUSED',
    message: expect.stringContaining('AUTHENTICATION_FAILED'),
    hint: 'Check clickhouse.username and clickhouse.password.',
  });
  expect((await run('status', '--json')).code).toBe(8);
});

test('a database that the user may not create: who may, and how; once it is there, all goes well', async () => {
  const run = await company({ database: 'data_missing' });
  await publish(0);
  const { database } = project;
  expect(await refused(run)).toEqual({
    code: 'DESTINATION_REFUSED',
    message: `the user least sees no database ${database} on the ClickHouse server, and may not create it`,
    hint: `Let somebody who may run CREATE DATABASE \`${database}\`; or GRANT CREATE DATABASE ON \`${database}\`.* TO \`least\`;`,
  });
  expect(await told(run, 'status', 0)).toMatchObject({ held: null, lastRun: null });
  await project.server.command(`CREATE DATABASE ${database}`);
  await done(run, 'sync');
  await expectLoaded(run, DATES[0]);
});

test.each([
  ['no_insert', 'INSERT ON `data`.*'],
  ['no_system', 'OPTIMIZE, ALTER DELETE ON `data`.*; SELECT ON system.parts; SELECT ON system.merge_tree_settings'],
])('the user %s is told which rights it lacks, before anything is made', async (username, lacks) => {
  const run = await company({ username });
  await publish(0);
  const rights = lacks.replace('data', project.database).split('; ');
  expect(await refused(run)).toEqual({
    code: 'DESTINATION_REFUSED',
    message: `the user ${username} of the ClickHouse server lacks rights that a load needs: ${rights.join('; ')}`,
    hint: rights.map((right) => `GRANT ${right} TO \`${username}\`;`).join(' '),
  });
  expect(await project.query(`SELECT name FROM system.tables WHERE database = '${project.database}'`)).toEqual([]);
});

test('a server that cannot be asked for rights: what the user may not do is told when it is done', async () => {
  // As a server takes CHECK GRANT that does not know it.
  project.proxy.rewrite = (sql) => sql.replace(/^CHECK GRANT/, 'CHECK GRANTED');
  try {
    await publish(0);
    const run = await company({ username: 'no_insert' });
    expect(await told(run, 'check', 0)).toMatchObject({ action: 'load' });
    const [denied] = shownErrors(await run('sync'));
    expect(denied).toMatchObject({ code: 'DESTINATION_REFUSED', message: expect.stringContaining('INSERT') });
    expect(denied?.hint).toMatch(/^Give the user of clickhouse\.username the right/);
    const [missing] = shownErrors(await (await company({ database: 'data_none' }))('sync'));
    expect(missing?.message).toBe(
      'the user least sees no database data_none on the ClickHouse server, and may not create it',
    );
    const least = await company({});
    await done(least, 'sync');
    await expectLoaded(least, DATES[0]);
  } finally {
    project.proxy.rewrite = (sql) => sql;
  }
});

test('a read-only user: nothing to do is no fault, and of a new file check and sync say the same', async () => {
  const writer = await company({});
  await publish(0);
  await done(writer, 'sync');
  const run = await company({ username: 'reader', database: project.database });
  await done(run, 'sync');
  await expectLoaded(run, DATES[0]);
  await publish(1);
  expect(await refused(run)).toEqual({
    code: 'DESTINATION_REFUSED',
    message: 'the user reader of the ClickHouse server is read-only',
    hint: expect.stringContaining('clickhouse.username'),
  });
  expect((await told(run, 'check', 8)).held?.date).toBe(DATES[0]);
  expect((await told(run, 'status', 0)).held?.date).toBe(DATES[0]);
  await done(writer, 'sync');
  await expectLoaded(run, DATES[1]);
});

test('https with a CA of its own: told how to trust it, and so is a url of the other protocol', async () => {
  const url = `https://127.0.0.1:${tls.port}`;
  await publish(0);
  const stranger = await company({ url });
  expect(await refused(stranger)).toEqual({
    code: 'DESTINATION_UNREACHABLE',
    message: expect.stringContaining('certificate'),
    hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
  });
  expect(await refused(await company({ url: `https://127.0.0.1:${project.server.login.port}` }))).toEqual({
    code: 'DESTINATION_UNREACHABLE',
    message: expect.stringContaining('does not speak TLS'),
    hint: expect.stringMatching(/http or https/),
  });
  const env = { NODE_EXTRA_CA_CERTS: join(project.folder, 'ca.pem') };
  expect(await refused(await company({ url: `https://127.0.0.1:${expired.port}`, env }))).toMatchObject({
    code: 'DESTINATION_UNREACHABLE',
    hint: expect.stringMatching(/^The certificate has expired/),
  });
  const trusted = await company({ url, env });
  await done(trusted, 'sync');
  await expectLoaded(trusted, DATES[0]);
});
