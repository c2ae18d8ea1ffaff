/** What every destination does, whatever it is made of: each passes this suite. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Destination, EncodedBlock, Load } from '../../../src/types/index.ts';
import type { Lab, LabFile } from '../../support/clickhouse/lab.ts';
import { dateOf, fileOf } from '../../support/clickhouse/two-files.ts';
import { expectedOf } from '../../support/oracle/oracle.ts';

/** A destination that is put to the test. */
export interface Candidate {
  readonly lab: Lab;
  destination(pipeline: string, gates?: { readonly maxRejected?: number; readonly minRows?: number }): Destination;
  /** What readers see: registrar by domain. */
  rows(pipeline: string): Promise<Map<string, string>>;
  close(): Promise<void>;
}

/** What a destination cannot do; each flag is a sentence about it. */
export interface Flags {
  /** Rows of a file are not visible all at once, but in parts, in order of the file. */
  readonly visibleInParts: boolean;
}

/** Blocks of the test files. */
const BLOCKS = 3;

/** Registers the suite for a destination. */
export function certify(name: string, open: () => Promise<Candidate>, flags: Flags): void {
  let candidate: Candidate;
  let pipelines = 0;

  beforeAll(async () => {
    candidate = await open();
  });

  afterAll(() => candidate?.close());

  const next = (): string => {
    pipelines += 1;
    return `${name}${pipelines}`;
  };
  const load = (pipeline: string, file: LabFile, to = candidate.destination(pipeline), options = {}) =>
    candidate.lab.load(to, pipeline, file, options);

  test('a first file: its rows, the later of two lines, the rejects on record', async () => {
    const pipeline = next();
    const file = fileOf('a', dateOf(0));
    expect(await load(pipeline, file)).toMatchObject({
      kind: 'loaded',
      result: { rowsRead: 204, inserted: 200, updated: 0, deleted: 0, unchanged: 0, rejected: 3, filtered: 0 },
    });
    expect(await candidate.rows(pipeline)).toEqual(expectedRows(file));
    const to = candidate.destination(pipeline);
    expect(await to.loadedSnapshot(NEVER)).toMatchObject({ file: file.name, date: file.date, revision: 0, rows: 200 });
    const rejects = await to.rejects(10, NEVER);
    expect(rejects.map(({ reason, raw }) => ({ reason, raw }))).toEqual(
      [239, 159, 79].map((n) => ({ reason: 'invalid-json', raw: `{"Domain":"host-${n}"` })),
    );
    expect(await to.status(NEVER)).toMatchObject({ rejected: 3, lastRun: { outcome: 'loaded', errorCode: '' } });
  });

  test('a second file: what is new, changed and gone', async () => {
    const pipeline = next();
    await load(pipeline, fileOf('a', dateOf(0)));
    const file = fileOf('b', dateOf(1));
    expect(await load(pipeline, file)).toMatchObject({
      result: { inserted: 40, updated: 32, deleted: 40, unchanged: 128 },
    });
    expect(await candidate.rows(pipeline)).toEqual(expectedRows(file));
  });

  test('the same file again, an older one, and another revision of its date', async () => {
    const pipeline = next();
    const file = fileOf('a', dateOf(5));
    await load(pipeline, file);
    expect((await load(pipeline, file)).kind).toBe('current');
    expect((await load(pipeline, fileOf('b', dateOf(4)))).kind).toBe('older');
    expect((await load(pipeline, fileOf('b', dateOf(4)), undefined, { force: true })).kind).toBe('older');
    expect(await candidate.rows(pipeline)).toEqual(expectedRows(file));
    const revision = { ...fileOf('b', dateOf(5)), name: file.name };
    expect((await load(pipeline, revision)).kind).toBe('loaded');
    expect(await candidate.destination(pipeline).loadedSnapshot(NEVER)).toMatchObject({ revision: 1, date: dateOf(5) });
    expect(await candidate.rows(pipeline)).toEqual(expectedRows(revision));
  });

  test('--force loads what is held, and readers see the same', async () => {
    const pipeline = next();
    const file = fileOf('a', dateOf(0));
    await load(pipeline, file);
    expect(await load(pipeline, file, undefined, { force: true })).toMatchObject({
      kind: 'loaded',
      result: { inserted: 0, updated: 0, deleted: 0, unchanged: 200 },
    });
    expect(await candidate.rows(pipeline)).toEqual(expectedRows(file));
  });

  test('a file that a gate refuses changes nothing, and is told of', async () => {
    const pipeline = next();
    const first = fileOf('a', dateOf(0));
    await load(pipeline, first);
    const strict = candidate.destination(pipeline, { maxRejected: 0.001 });
    await expect(load(pipeline, fileOf('b', dateOf(1)), strict)).rejects.toMatchObject({
      code: 'FILE_TOO_MANY_REJECTED',
    });
    const short: LabFile = { ...first, date: dateOf(2), bytes: Buffer.from('{"Domain":"one.example"}\n') };
    const full = candidate.destination(pipeline, { minRows: 0.5 });
    await expect(load(pipeline, short, full)).rejects.toMatchObject({ code: 'FILE_TOO_FEW_ROWS' });
    expect(await candidate.rows(pipeline)).toEqual(expectedRows(first));
    expect(await full.status(NEVER)).toMatchObject({
      held: { date: dateOf(0) },
      lastRun: { outcome: 'failed', errorCode: 'FILE_TOO_FEW_ROWS' },
    });
    expect(await leftOf(candidate, pipeline)).toEqual([]);
    expect((await load(pipeline, short, full, { force: true })).kind).toBe('loaded');
    expect([...(await candidate.rows(pipeline)).keys()]).toEqual(['one.example']);
  });

  test('interrupted between blocks: what has landed stays, is not written again, and nothing was visible', async () => {
    const pipeline = next();
    const file = fileOf('a', dateOf(0));
    const controller = new AbortController();
    const interrupted = new Observed(candidate.destination(pipeline), (written) => {
      if (written === 1) controller.abort(new DomainsyncError('INTERRUPTED', 'the run was interrupted'));
    });
    await expect(load(pipeline, file, interrupted, { signal: controller.signal })).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
    expect(await candidate.rows(pipeline)).toEqual(new Map());
    expect((await candidate.destination(pipeline).status(NEVER)).lastRun?.outcome).toBe('interrupted');
    const again = new Observed(candidate.destination(pipeline), () => {});
    expect((await load(pipeline, file, again)).kind).toBe('loaded');
    // A block that was under way when the interruption came may have landed too.
    expect(again.landed).toEqual(expect.arrayContaining(interrupted.written));
    expect([...again.landed, ...again.written].sort()).toEqual(Array.from({ length: BLOCKS }, (_, n) => n));
    expect(await candidate.rows(pipeline)).toEqual(expectedRows(file));
    expect(await leftOf(candidate, pipeline)).toEqual([]);
  });

  test('a damaged file leaves nothing behind but its record', async () => {
    const pipeline = next();
    const damaged = {
      ...fileOf('a', dateOf(0)),
      name: `odd-${dateOf(0)}.jsonl.zst`,
      bytes: Buffer.from('no zstd frame'),
    };
    await expect(load(pipeline, damaged)).rejects.toMatchObject({ code: 'FILE_CORRUPT' });
    expect(await leftOf(candidate, pipeline)).toEqual([]);
    expect((await candidate.destination(pipeline).status(NEVER)).lastRun).toMatchObject({
      outcome: 'failed',
      errorCode: 'FILE_CORRUPT',
    });
    expect(await candidate.rows(pipeline)).toEqual(new Map());
  });

  test('of two runs at once one loads, and the other has nothing to do', async () => {
    const pipeline = next();
    const file = fileOf('a', dateOf(0));
    const both = await Promise.allSettled([load(pipeline, file), load(pipeline, file)]);
    const ends = both.map((end) =>
      end.status === 'fulfilled' ? end.value.kind : (end.reason as DomainsyncError).code,
    );
    expect(ends, String(both.map((end) => end.status === 'rejected' && end.reason.stack))).toContain('loaded');
    expect(['RUN_ELSEWHERE', 'TAKEN_OVER', 'current']).toContain(ends.find((end) => end !== 'loaded'));
    expect(await candidate.rows(pipeline)).toEqual(expectedRows(file));
  });

  test.skipIf(flags.visibleInParts)('readers see all of a file, or nothing', async () => {
    const pipeline = next();
    await load(pipeline, fileOf('a', dateOf(0)));
    const file = fileOf('b', dateOf(1));
    let seen: Map<string, string> | undefined;
    const watched = new Observed(candidate.destination(pipeline), async (written) => {
      if (written === BLOCKS) seen = await candidate.rows(pipeline);
    });
    await load(pipeline, file, watched);
    expect(seen).toEqual(expectedRows(fileOf('a', dateOf(0))));
  });
}

const NEVER = new AbortController().signal;

function expectedRows(file: Pick<LabFile, 'bytes'>): Map<string, string> {
  const rows = [...expectedOf(file.bytes).rows].map(([domain, row]) => [domain, String(row['registrar'])] as const);
  return new Map(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Staging tables that a pipeline left. */
async function leftOf({ lab }: Candidate, pipeline: string): Promise<unknown[]> {
  return lab.query(
    `SELECT name FROM system.tables WHERE database = 'lab' AND match(name, '^domainsync_staging_${pipeline}[._]')`,
  );
}

/** A destination that tells after each block how many were written. */
class Observed implements Destination {
  readonly name;
  readonly writerModule;
  /** Numbers of the blocks that were written; and of those that had landed before. */
  readonly written: number[] = [];
  readonly landed: number[] = [];
  readonly #of: Destination;
  readonly #told: (written: number) => unknown;

  constructor(of: Destination, told: (written: number) => unknown) {
    this.name = of.name;
    this.writerModule = of.writerModule;
    this.#of = of;
    this.#told = told;
  }

  loadedSnapshot = (signal: AbortSignal) => this.#of.loadedSnapshot(signal);
  recover = (keep: boolean, signal: AbortSignal) => this.#of.recover(keep, signal);
  status = (signal: AbortSignal) => this.#of.status(signal);
  rejects = (limit: number, signal: AbortSignal) => this.#of.rejects(limit, signal);
  close = () => this.#of.close();

  async open(request: Parameters<Destination['open']>[0], signal: AbortSignal): Promise<Load> {
    const load = await this.#of.open(request, signal);
    const write = async (block: EncodedBlock, until: AbortSignal): Promise<void> => {
      await load.write(block, until);
      this.written.push(block.number);
      await this.#told(this.written.length);
    };
    return {
      encoding: load.encoding,
      landed: (block) => {
        const counts = load.landed(block);
        if (counts !== undefined) this.landed.push(block);
        return counts;
      },
      write,
      finish: (...all) => load.finish(...all),
      abandon: (...all) => load.abandon(...all),
    };
  }
}
