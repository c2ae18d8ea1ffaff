/** Kafka as a user meets it: on the command line, beside ClickHouse, and when it is not there. */
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publishBigFile } from '../../support/download/big-file.ts';
import { jsonDocument, shownErrors } from '../../support/errors-shown.ts';
import { endsOf } from '../../support/kafka/admin.ts';
import { startBroker, type TestBroker } from '../../support/kafka/broker.ts';
import { isOfOthers, NEVER_TIMES_OUT, untilOthersAreRead } from '../../support/kafka/other-producers.ts';
import { messagesOf, tableOf } from '../../support/kafka/reader.ts';
import { type Project, withProject } from '../../support/project.ts';
import { until } from '../../support/until.ts';

let broker: TestBroker;

beforeAll(async () => {
  broker = await startBroker({ properties: NEVER_TIMES_OUT });
});

afterAll(() => broker?.close());

/** A pipeline into a table and into a topic, with downloads that are not kept. */
function configure(project: Project, topic: string, brokers = broker.address): Promise<void> {
  return project.configure(
    `  dns: { dataset: dns, to: { clickhouse: { table: dns }, kafka: { topic: ${topic} } } }`,
    `kafka: { brokers: ['${brokers}'] }\ndownload: { keep: 0 }`,
  );
}

interface Status {
  readonly pipelines: readonly {
    readonly destination: string;
    readonly object: string;
    readonly held: { readonly file: string; readonly rows: number } | null;
    readonly lastRun: { readonly outcome: string } | null;
  }[];
}

test('both destinations hold the same after each of three files; one download serves both', async () => {
  await withProject({ rows: 300 }, async (project) => {
    await configure(project, 'both');
    for (let day = 0; day < 3; day += 1) {
      if (day > 0) await project.sandbox.publish();
      const run = await project.run('sync');
      expect(run, run.stderr).toMatchObject({ code: 0 });
      expect(run.stderr).not.toContain('Warning');
      expect(run.stdout).toMatch(/into clickhouse: .*\n.*into kafka: /);
      // Without downloads of its own, the second one read the first one's.
      expect(run.stderr.match(/download complete/g)).toHaveLength(1);
      expect(await readdir(project.dataDir).catch(() => [])).toEqual([]);
      const rows = await project.query<{ domain: string }>('SELECT domain FROM dns_live');
      const table = tableOf(await messagesOf(broker.address, 'both'));
      expect([...table.keys()].toSorted()).toEqual(rows.map(({ domain }) => domain).toSorted());
    }
    const status = jsonDocument<Status>(await project.run('--json', 'status'));
    const [clickhouse, kafka] = status.pipelines;
    expect([clickhouse?.destination, kafka?.destination, kafka?.object]).toEqual(['clickhouse', 'kafka', 'both']);
    expect(kafka?.held).toEqual({ ...clickhouse?.held, loadedAt: expect.any(String) });
    expect(kafka?.lastRun?.outcome).toBe('loaded');
    const runs = await project.query<Record<string, unknown>>(
      `SELECT inserted, updated, deleted, unchanged, outcome FROM domainsync_runs
WHERE destination = 'kafka' ORDER BY file_date`,
    );
    expect(runs).toEqual(
      await project.query(`SELECT inserted, updated, deleted, unchanged, outcome FROM domainsync_runs
WHERE destination = 'clickhouse' ORDER BY file_date`),
    );
    expect(runs).toHaveLength(3);
    expect((await project.run('sync')).stdout).toMatch(
      /clickhouse holds .*; nothing to do\n.*kafka holds .*; nothing to do/,
    );
  });
});

test('no broker: exit code 8, and ClickHouse is loaded all the same', async () => {
  await withProject({ rows: 100 }, async (project) => {
    await configure(project, 'away', '127.0.0.1:1');
    const run = await project.run('sync');
    expect(run.code).toBe(8);
    expect(shownErrors(run)).toEqual([
      {
        code: 'DESTINATION_UNREACHABLE',
        message: expect.stringMatching(/^Kafka .*127\.0\.0\.1:1.* cannot be reached/),
        hint: 'Check that the brokers run, and kafka.brokers, kafka.ssl and kafka.sasl.',
      },
    ]);
    expect(run.stdout).toContain('into clickhouse: ');
    await configure(project, 'away');
    const again = await project.run('sync');
    expect(again, again.stderr).toMatchObject({ code: 0 });
    expect(await messagesOf(broker.address, 'away')).toHaveLength(
      (await project.query('SELECT domain FROM dns_live')).length,
    );
  });
});

test('publish: snapshot sends every row of each file', async () => {
  await withProject({ rows: 100 }, async (project) => {
    const to = '{ kafka: { topic: whole, publish: snapshot, compression: gzip, partitions: 2 } }';
    await project.configure(`  dns: { dataset: dns, to: ${to} }`, `kafka: { brokers: ['${broker.address}'] }`);
    await project.run('sync');
    const first = (await messagesOf(broker.address, 'whole')).length;
    await project.sandbox.publish();
    const run = await project.run('sync');
    expect(run, run.stderr).toMatchObject({ code: 0 });
    const messages = await messagesOf(broker.address, 'whole');
    const gone = messages.filter(({ payload }) => payload === null).length;
    expect(messages).toHaveLength(first + tableOf(messages).size + gone);
    expect(new Set(messages.map(({ partition }) => partition))).toEqual(new Set([0, 1]));
  });
});

test('SIGTERM amid a transaction: readers of a topic that others write to as well do not wait for it', async () => {
  await withProject({ rows: 100 }, async (project) => {
    const to = '{ kafka: { topic: ended, compression: none, partitions: 3 } }';
    await project.configure(`  dns: { dataset: dns, to: ${to} }`, `kafka: { brokers: ['${broker.address}'] }`);
    await publishBigFile(project, { date: '2027-01-01', rows: 12_000, rowBytes: 10_000 });
    const run = project.start(['sync']);
    await until(async () => (await endsOf(broker.address, 'ended').catch(() => [])).some((end) => end > 0));
    run.child.kill('SIGTERM');
    const { code, signal } = await run.finished;
    expect([code, signal]).toEqual([130, null]);
    await untilOthersAreRead(broker.address, 'ended');
    const again = await project.run('sync');
    expect(again, again.stderr).toMatchObject({ code: 0 });
    const own = (await messagesOf(broker.address, 'ended')).filter((message) => !isOfOthers(message));
    expect([own.length, tableOf(own).size]).toEqual([12_000, 12_000]);
  });
});
