/** What a user adds to a table stays and works, load after load; what cannot is refused before anything is downloaded. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { compressToBuffer } from '../../../src/sandbox/data/compress.ts';
import { generateLines } from '../../../src/sandbox/data/generate.ts';
import { createWorld } from '../../../src/sandbox/data/world.ts';
import { openServerProject, type ServerProject } from '../../support/clickhouse/project.ts';
import { stockEngine } from '../../support/clickhouse/server-process.ts';
import { shownErrors } from '../../support/errors-shown.ts';

const WORLD = createWorld({ rows: 300 });
const MODES = ['sync', 'replace', 'append'] as const;
type Mode = (typeof MODES)[number];

/** Text indexes and statistics are experiments in 25.8, which a user has to switch on. */
const IS_NEWER = stockEngine() === null;
const ADDED_SINCE = IS_NEWER
  ? ["ADD INDEX four domain TYPE text(tokenizer = 'splitByNonAlpha')", 'ADD STATISTICS tld TYPE uniq']
  : [];
const MATERIALISED = [
  ...(IS_NEWER ? ['INDEX four', 'STATISTICS tld'] : []),
  'INDEX one',
  'PROJECTION counted',
  'PROJECTION sorted',
];
const ADDED = [
  ...ADDED_SINCE,
  'ADD INDEX one tld TYPE minmax',
  'ADD INDEX two domain TYPE bloom_filter',
  'ADD INDEX three tld TYPE set(10)',
  'MODIFY COLUMN domain CODEC(ZSTD(3))',
  "COMMENT COLUMN tld 'mine'",
  'MODIFY TTL _file_date + INTERVAL 50 YEAR',
  'MODIFY COLUMN tld LowCardinality(String) TTL _file_date + INTERVAL 50 YEAR',
  "ADD COLUMN note String DEFAULT 'n'",
  'ADD COLUMN plain UInt8',
  'ADD COLUMN upper String MATERIALIZED upper(domain)',
  'ADD COLUMN lower String ALIAS lower(domain)',
  "ADD COLUMN given String EPHEMERAL ''",
  "ADD CONSTRAINT named CHECK domain != ''",
  'MODIFY SETTING min_bytes_for_wide_part = 1',
  'ADD PROJECTION counted (SELECT tld, count() GROUP BY tld)',
  'ADD PROJECTION sorted (SELECT * ORDER BY tld)',
];

let project: ServerProject;
let close: () => Promise<void>;
let databases = 0;

beforeAll(async () => {
  ({ project, close } = await openServerProject({ rows: 1 }));
});

afterEach(() => project.server.command(`DROP DATABASE IF EXISTS ${project.database} SYNC`));

afterAll(() => close());

/** Two pipelines of one dataset: into `dns`, which is changed, and into `peace`, which is not. */
async function begin(mode: Mode): Promise<void> {
  databases += 1;
  project.database = `changes_${databases}`;
  const into = (table: string): string =>
    `  ${table}: { dataset: dns, columns: [tld, dns_status, dns_records], to: { clickhouse: { table: ${table}, mode: ${mode} } } }`;
  await project.configure({ pipelines: `${into('dns')}\n${into('peace')}` });
}

async function publish(date: string, bytes: Buffer): Promise<void> {
  await project.sandbox.publishFile({ target: 'dns', date, content: { bytes: await compressToBuffer([bytes]) } });
}

async function snapshot(number: 0 | 1): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of generateLines({ world: WORLD, snapshot: number, dataset: 'dns' })) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** With a domain that stands twice, as in a file with a fault. */
async function withOneTwice(number: 0 | 1): Promise<Buffer> {
  const bytes = await snapshot(number);
  return Buffer.concat([bytes, bytes.subarray(0, bytes.indexOf('\n') + 1)]);
}

async function change(mode: Mode): Promise<void> {
  // As ClickHouse asks for where rows replace one another.
  const merges = mode === 'sync' ? ["MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild'"] : [];
  for (const what of [...merges, ...ADDED]) await project.command(`ALTER TABLE dns ${what}`);
}

async function definition(): Promise<string> {
  const [row] = await project.server.query<{ q: string }>(
    `SELECT create_table_query AS q FROM system.tables WHERE database = '${project.database}' AND name = 'dns'`,
  );
  return (row?.q ?? '').replace(/ COMMENT '\{.*$/s, '');
}

/** Loads a file into both tables: afterwards they hold the same, and what was added is there. */
async function expectLoaded(date: string, bytes: Buffer): Promise<void> {
  const before = await definition();
  await publish(date, bytes);
  const { code, stderr } = await project.run('sync');
  expect(code, stderr).toBe(0);
  const [rows, peace] = await Promise.all(
    ['dns', 'peace'].map((table) =>
      project.query<{ n: string }>(
        `SELECT count() AS n, sum(cityHash64(domain, tld, toString(dns_status), toString(dns_records))) AS hash FROM ${table}_live`,
      ),
    ),
  );
  expect(rows).toEqual(peace);
  expect(Number(rows?.[0]?.n)).toBeGreaterThan(290);
  expect(await definition()).toBe(before);
  const added = "note = 'n' AND plain = 0 AND upper = upper(domain) AND lower = domain";
  const [own] = await project.query<{ n: string; same: string }>(
    `SELECT count() AS n, countIf(${added}) AS same FROM dns WHERE _deleted = 0`,
  );
  expect(own?.same).toBe(own?.n);
}

const WHEN = ['between two loads', 'between two loads, materialised', 'before the first load'] as const;
const CASES = MODES.flatMap((mode) => WHEN.map((when): [Mode, (typeof WHEN)[number]] => [mode, when])).filter(
  ([mode, when]) => mode === 'sync' || when !== WHEN[1],
);

test.each(CASES)(
  'mode %s: indexes, codecs, TTLs, columns, constraints and projections added %s',
  async (mode, when) => {
    await begin(mode);
    const first =
      when === 'before the first load' ? Buffer.from('{"Tables":"are made, and this is rejected"}\n') : null;
    await publish('2026-02-01', first ?? (await snapshot(0)));
    expect((await project.run('sync')).code).toBe(first === null ? 0 : 7);
    await change(mode);
    if (when === 'between two loads, materialised') {
      for (const what of MATERIALISED) {
        await project.command(`ALTER TABLE dns MATERIALIZE ${what} SETTINGS mutations_sync = 2`);
      }
    }
    await expectLoaded('2026-02-02', await snapshot(1));
    await expectLoaded('2026-02-03', await withOneTwice(0));
  },
);

test.each(MODES)(
  'mode %s: a sorting key that a user made longer is refused before the download, until it is put back',
  async (mode) => {
    await begin(mode);
    await publish('2026-02-01', await snapshot(0));
    expect((await project.run('sync')).code).toBe(0);
    const [key, longer] =
      mode === 'append' ? ['(domain, _file_date)', 'domain, _file_date, k'] : ['domain', 'domain, k'];
    await project.command(`ALTER TABLE dns ADD COLUMN k UInt8, MODIFY ORDER BY (${longer})`);
    await publish('2026-02-02', await snapshot(1));
    const requests = project.sandbox.log.length;
    for (const command of ['check', 'sync']) {
      const failed = await project.run(command, 'dns');
      expect(failed.code).toBe(8);
      expect(failed.stderr + failed.stdout).toContain(`it is sorted by ${longer} and partitioned by`);
      expect(failed.stderr + failed.stdout).toContain(`\`dns\` MODIFY ORDER BY ${key}`);
    }
    const downloads = project.sandbox.log.slice(requests).filter(({ path }) => path.startsWith('/api/download'));
    expect(downloads.map(({ range }) => range)).toEqual(['bytes=0-0', 'bytes=0-0']);
    await project.command(`ALTER TABLE dns MODIFY ORDER BY ${key}`);
    expect((await project.run('sync')).code).toBe(0);
  },
);

test('a constraint that the file breaks: an error that says so, and the table stays as it is', async () => {
  await begin('sync');
  await publish('2026-02-01', await snapshot(0));
  expect((await project.run('sync')).code).toBe(0);
  const count = 'SELECT count() AS n FROM dns_live';
  const before = await project.query(count);
  await project.command("ALTER TABLE dns ADD CONSTRAINT never CHECK tld = 'nowhere'");
  await publish('2026-02-02', await snapshot(1));
  expect(shownErrors(await project.run('sync', 'dns'))).toMatchObject([
    {
      code: 'DESTINATION_REFUSED',
      message: expect.stringContaining('VIOLATED_CONSTRAINT'),
      hint: expect.stringContaining('drop the constraint'),
    },
  ]);
  expect(await project.query(count)).toEqual(before);
});
