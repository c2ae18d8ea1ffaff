/** Owners of loads, against a real server: one of many wins, one that was taken over is fenced, foreign tables are left alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Session } from '../../../../connectors/clickhouse/server/session.ts';
import type { Staging } from '../../../../connectors/clickhouse/staging/staging.ts';
import { listSets, type StagingSet } from '../../../../connectors/clickhouse/staging/staging-sets.ts';
import { createStaging, takeOver } from '../../../../connectors/clickhouse/staging/take-over.ts';
import type { WorkState } from '../../../../connectors/clickhouse/state/table-comment.ts';
import { DomainsyncError, interrupted } from '../../../../src/common/errors.ts';
import { parseProcessStat, processIdentity } from '../../../../src/common/process-identity.ts';
import { type Lab, type LabFile, NEVER, openLab } from '../../../support/clickhouse/lab.ts';
import { createLoad, MODEL, newestSet, placeOf, WORK } from '../../../support/clickhouse/staging.ts';

let lab: Lab;
let session: Session;
let pipelines = 0;

beforeAll(async () => {
  lab = await openLab();
  session = new Session(lab.server, NEVER);
  // Makes the tables that staging is made after.
  await lab.load(lab.destination('model'), 'model', fileOf(1));
});

afterAll(() => lab.close());

function fileOf(rows: number): LabFile {
  const lines = Array.from({ length: rows }, (_, n) => `{"Domain":"h${n}.example","Registrar":"${'r'.repeat(90)}"}\n`);
  return { name: 'file-2026-01-01.jsonl', date: '2026-01-01', bytes: Buffer.from(lines.join('')) };
}

function freshPipeline(): string {
  pipelines += 1;
  return `p${pipelines}`;
}

const create = (pipeline: string): Promise<Staging> => createLoad(session, pipeline);
const newest = (pipeline: string): Promise<StagingSet> => newestSet(session, pipeline);

/** How many of several attempts at once came to what: 'won', or an error's code. */
async function outcomes(attempts: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status, ...rest } of await Promise.allSettled(attempts)) {
    const reason = 'reason' in rest ? (rest.reason as unknown) : null;
    const name = status === 'fulfilled' ? 'won' : reason instanceof DomainsyncError ? reason.code : String(reason);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

test('of eight that start a load at once, one gets it', async () => {
  for (let round = 0; round < 3; round += 1) {
    const pipeline = freshPipeline();
    expect(await outcomes(Array.from({ length: 8 }, () => create(pipeline)))).toEqual({ won: 1, RUN_ELSEWHERE: 7 });
    const sets = await listSets(session, placeOf(pipeline));
    expect(sets.map(({ epoch, parts }) => [epoch, parts.toSorted()])).toEqual([[1, ['blocks', 'lease', 'rows']]]);
    expect(sets[0]?.work).toMatchObject(WORK);
  }
});

test('of eight that take a load over at once, one gets it', async () => {
  for (let round = 0; round < 3; round += 1) {
    const pipeline = freshPipeline();
    (await create(pipeline)).release();
    const set = await newest(pipeline);
    const attempts = Array.from({ length: 8 }, () => takeOver(session, placeOf(pipeline), set, MODEL));
    expect(await outcomes(attempts)).toEqual({ won: 1, RUN_ELSEWHERE: 7 });
    expect((await listSets(session, placeOf(pipeline))).map(({ epoch }) => epoch)).toEqual([2]);
  }
});

test('who was taken over can do nothing more, and what it left is whole', async () => {
  const pipeline = freshPipeline();
  const old = await create(pipeline);
  old.release();
  const now = await takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL);
  expect(now.epoch).toBe(old.epoch + 1);
  const statements = [
    () => old.save(WORK as WorkState),
    () => old.command(`INSERT INTO ${old.part('rows')} (domain) VALUES ('late')`),
    () => old.command(`EXCHANGE TABLES ${old.part('rows')} AND lab.model`),
    () => old.command(`ALTER TABLE lab.model ATTACH PARTITION tuple() FROM ${old.part('rows')}`),
    () => old.query(`SELECT * FROM ${old.part('blocks')}`),
  ];
  for (const statement of statements) await expect(statement()).rejects.toMatchObject({ code: 'TAKEN_OVER' });
  await old.drop();
  expect((await newest(pipeline)).parts.toSorted()).toEqual(['blocks', 'lease', 'rows']);
  await now.drop();
  // What is missing without anybody having taken over is no take-over.
  await expect(now.save(WORK as WorkState)).rejects.toMatchObject({ code: 'DESTINATION_REFUSED' });
  expect(await listSets(session, placeOf(pipeline))).toEqual([]);
});

test('the load of a living process is its own; that of a dead one is for whoever comes', async () => {
  const pipeline = freshPipeline();
  const staging = await create(pipeline);
  await expect(takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL)).rejects.toMatchObject({
    code: 'RUN_ELSEWHERE',
  });
  staging.release();
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  const self = await processIdentity();
  // Only Linux tells when a process started.
  const started = self.started && parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.started;
  const owner = { process: { ...self, pid, started }, nonce: 'of the child' };
  await setOwner(pipeline, owner);
  await expect(takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL)).rejects.toMatchObject({
    code: 'RUN_ELSEWHERE',
  });
  child.kill('SIGKILL');
  await once(child, 'close');
  const taken = await takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL);
  taken.release();
});

test('an owner on another machine is at work as long as its heart beats', async () => {
  const pipeline = freshPipeline();
  const staging = await create(pipeline);
  staging.release();
  await setOwner(pipeline, { process: { host: 'elsewhere', pid: 1, boot: 'another' }, nonce: 'of elsewhere' });
  await expect(takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL)).rejects.toMatchObject({
    code: 'RUN_ELSEWHERE',
  });
  await lab.command(`TRUNCATE TABLE ${staging.part('lease')}`);
  await lab.command(`INSERT INTO ${staging.part('lease')} SELECT now64() - 61`);
  const taken = await takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL);
  taken.release();
});

async function setOwner(pipeline: string, owner: unknown): Promise<void> {
  const { epoch, work } = await newest(pipeline);
  const comment = JSON.stringify({ ...work, owner })
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'");
  await lab.command(`ALTER TABLE lab.domainsync_staging_${pipeline}_${epoch}_rows MODIFY COMMENT '${comment}'`);
}

test('a failure while becoming the owner does not keep this process from trying again', async () => {
  const pipeline = freshPipeline();
  const aborted = new AbortController();
  const { command } = lab.server;
  lab.server.command = async (sql, ...rest) => {
    if (/CREATE TABLE IF NOT EXISTS \S+_blocks/.test(sql)) aborted.abort(interrupted());
    return command.call(lab.server, sql, ...rest);
  };
  try {
    const failing = createStaging(
      new Session(lab.server, aborted.signal),
      placeOf(pipeline),
      { table: 'lab.model', mode: 'sync' },
      WORK,
      0,
    );
    await expect(failing).rejects.toMatchObject({ code: 'INTERRUPTED' });
  } finally {
    lab.server.command = command;
  }
  const taken = await takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL);
  expect(taken.epoch).toBe(2);
  taken.release();
});

test('a table that domainsync did not make is refused and left as it is', async () => {
  for (const [table, comment] of [
    ['foreign', ''],
    ['foreign2', 'my own table'],
    ['foreign3', '{"domainsync":2}'],
  ] as const) {
    await lab.command(`CREATE TABLE lab.${table} (x String) ENGINE = MergeTree ORDER BY x COMMENT '${comment}'`);
    await lab.command(`INSERT INTO lab.${table} VALUES ('mine')`);
    const load = (force: boolean) => lab.load(lab.destination(table), table, fileOf(3), { force });
    await expect(load(false)).rejects.toMatchObject({ code: 'DESTINATION_FOREIGN_TABLE' });
    await expect(load(true)).rejects.toMatchObject({ code: 'DESTINATION_FOREIGN_TABLE' });
    expect(await lab.query(`SELECT * FROM lab.${table}`)).toEqual([{ x: 'mine' }]);
    expect(await lab.query(`SHOW TABLES FROM lab LIKE '%${table}%'`)).toEqual([{ name: table }]);
  }
});

test('so is one that has the name of the view or of the change feed', async () => {
  for (const name of ['named_live', 'named_changes']) {
    await lab.command(`CREATE TABLE lab.${name} (x String) ENGINE = MergeTree ORDER BY x`);
    const refused = lab.load(lab.destination('named'), 'named', fileOf(3));
    await expect(refused).rejects.toMatchObject({ code: 'DESTINATION_FOREIGN_TABLE' });
    expect(await lab.query(`SHOW TABLES FROM lab LIKE '%named%'`)).toEqual([{ name }]);
    await lab.command(`DROP TABLE lab.${name}`);
  }
  // A view of the user's own under that name is one that users query: it is left as it is.
  await lab.command(`CREATE VIEW lab.named_live AS SELECT 1 AS mine`);
  expect((await lab.load(lab.destination('named'), 'named', fileOf(3))).kind).toBe('loaded');
  expect(await lab.query('SELECT * FROM lab.named_live')).toEqual([{ mine: 1 }]);
});

test('an interrupted load says so, keeps what has landed, and the next run goes on from there', async () => {
  const controller = new AbortController();
  const { insertBlock } = lab.server;
  const sent: string[] = [];
  lab.server.insertBlock = async (sql, payload, token, signal) => {
    await insertBlock.call(lab.server, sql, payload, token, signal);
    if (token.startsWith('rows/')) sent.push(token);
    if (token.startsWith('block/') && sent.length >= 3) controller.abort(interrupted());
  };
  const file = fileOf(600);
  try {
    const first = lab.load(lab.destination('cut'), 'cut', file, { signal: controller.signal });
    await expect(first).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const [staged] = await lab.query<{ blocks: string }>(
      `SELECT count() AS blocks FROM lab.domainsync_staging_cut_1_blocks`,
    );
    const landed = Number(staged?.blocks);
    expect(landed).toBeGreaterThan(0);
    sent.length = 0;
    const second = await lab.load(lab.destination('cut'), 'cut', file);
    expect(second).toMatchObject({ kind: 'loaded', result: { rowsWritten: 600, inserted: 600 } });
    const blocks = Math.ceil(file.bytes.length / 6000);
    expect(new Set(sent).size).toBe(sent.length);
    // Fewer by what had landed, and by what was under way just then and landed after all.
    expect(sent.length).toBeLessThanOrEqual(blocks - landed);
  } finally {
    lab.server.insertBlock = insertBlock;
  }
  expect(
    await lab.query(`SELECT outcome, error_code FROM lab.domainsync_runs WHERE pipeline = 'cut' ORDER BY finished_at`),
  ).toEqual([
    { outcome: 'interrupted', error_code: 'INTERRUPTED' },
    { outcome: 'loaded', error_code: '' },
  ]);
  expect(await lab.query('SELECT count() AS rows, uniqExact(domain) AS domains FROM lab.cut_live')).toEqual([
    { rows: '600', domains: '600' },
  ]);
});

test('another file, or other blocks, start a load anew', async () => {
  const stop = async (file: LabFile, blockBytes?: number): Promise<void> => {
    const controller = new AbortController();
    const { insertBlock } = lab.server;
    lab.server.insertBlock = async (...all) => {
      await insertBlock.apply(lab.server, all);
      if (all[2].startsWith('block/')) controller.abort(interrupted());
    };
    const options = { signal: controller.signal, ...(blockBytes === undefined ? {} : { blockBytes }) };
    try {
      await expect(lab.load(lab.destination('anew'), 'anew', file, options)).rejects.toMatchObject({
        code: 'INTERRUPTED',
      });
    } finally {
      lab.server.insertBlock = insertBlock;
    }
  };
  const first = fileOf(600);
  const later = { ...fileOf(500), name: 'file-2026-01-02.jsonl', date: '2026-01-02' };
  await stop(first);
  await stop(first, 9000);
  await stop(later);
  const outcome = await lab.load(lab.destination('anew'), 'anew', { ...later, etag: '"other"' });
  expect(outcome).toMatchObject({ kind: 'loaded', result: { rowsRead: 500, rowsWritten: 500, inserted: 500 } });
  expect(await lab.query('SELECT count() AS rows FROM lab.anew_live')).toEqual([{ rows: '500' }]);
  expect(await lab.query(`SHOW TABLES FROM lab LIKE 'domainsync_staging_anew_%'`)).toEqual([]);
});
