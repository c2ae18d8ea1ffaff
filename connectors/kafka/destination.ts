/** The Kafka destination of one pipeline. */
import { createHash } from 'node:crypto';
import { DomainsyncError } from '../../src/common/errors.ts';
import {
  CODEC_VERSION,
  type Column,
  type Destination,
  type DestinationStatus,
  type Load,
  type LoadedSnapshot,
  type LoadRequest,
  MAX_REVISION,
  type PublishedIndex,
  type PublishedLoad,
  type PublishedMark,
  type RecordedReject,
  type Sent,
  sameFile,
  sourceKey,
  type Target,
  type Where,
} from '../../src/types/index.ts';
import { KafkaLoad } from './load.ts';
import type { Log } from './log.ts';
import { endsMatch, Publisher } from './producer/publisher.ts';
import type { Compression } from './protocol/compression.ts';
import type { Connection } from './protocol/connection.ts';
import { keysOf } from './reader/rebuild.ts';
import { loadedSnapshotOf, type ProgressRecord, readProgress, samePoint } from './topics/progress.ts';
import { ensureTopics, partitionCount, type TopicFacts } from './topics/topics.ts';

/** What a pipeline's configuration says of this destination. */
export interface KafkaDestinationOptions {
  readonly pipeline: string;
  readonly target: Target;
  readonly topic: string;
  readonly publish: 'changes' | 'snapshot';
  readonly compression: Compression;
  /** These two when the topic is made. */
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly columns: readonly Column[];
  readonly where: Where;
  readonly maxRejected: number;
  readonly minRows: number;
  /** A transaction that has so many bytes is ended. Default: 16 MiB. */
  readonly transactionBytes?: number;
  /** What was published last, in ClickHouse. */
  readonly index: PublishedIndex;
  readonly log: Log;
  /** URLs of the modules with the row writers of both passes, for the encoding threads. */
  readonly keyWriterModule: string;
  readonly messageWriterModule: string;
}

const RELEASE_TIMEOUT_MS = 20_000;

export class KafkaDestination implements Destination {
  readonly name = 'kafka';
  readonly writerModule: string;
  readonly #connection: Connection;
  readonly #options: KafkaDestinationOptions;

  constructor(connection: Connection, options: KafkaDestinationOptions) {
    this.#connection = connection;
    this.#options = options;
    this.writerModule = options.keyWriterModule;
  }

  async loadedSnapshot(signal: AbortSignal): Promise<LoadedSnapshot | null> {
    const { topic, pipeline } = this.#options;
    if ((await partitionCount(this.#connection, topic, signal)) === null) return null;
    const record = await readProgress(this.#connection, topic, pipeline, signal);
    return record !== null && (await endsMatch(this.#connection, topic, record, signal))
      ? loadedSnapshotOf(record)
      : null;
  }

  preflight(signal: AbortSignal): Promise<void> {
    return this.#options.index.preflight(signal);
  }

  async recover(keepUnfinished: boolean, signal: AbortSignal): Promise<void> {
    const load = await this.#options.index.claim(signal);
    if (load === null) return;
    await this.#owned(load, async () => {
      const known = (await partitionCount(this.#connection, this.#options.topic, signal)) !== null;
      const published = known ? await this.#publisher(load).start(signal) : null;
      if (await this.#finished(load, published, signal)) return;
      const { plan, file } = load.work;
      const held = loadedSnapshotOf(published);
      const begun = published?.plan === plan;
      const needless = held !== null && (held.date > file.date || (held.partial === undefined && sameFile(held, file)));
      if (needless && !begun && !keepUnfinished) await load.discard(signal);
      else await load.release(signal);
    });
  }

  async open(request: LoadRequest, signal: AbortSignal): Promise<Load> {
    const { index, log } = this.#options;
    await index.prepare(signal);
    const facts = await ensureTopics(this.#connection, this.#options, log, signal);
    const claimed = await index.claim(signal);
    const resumed = claimed === null ? null : await this.#resumed(claimed, request, facts, signal);
    return resumed ?? this.#begun(request, facts, signal);
  }

  async status(signal: AbortSignal): Promise<DestinationStatus> {
    const { topic, index } = this.#options;
    const report = await index.report(await this.loadedSnapshot(signal), signal);
    return { destination: this.name, object: topic, ...report };
  }

  rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]> {
    return this.#options.index.rejects(limit, signal);
  }

  async close(): Promise<void> {
    // The connection is shared by the pipelines and closed by whoever opened it.
  }

  /** Goes on with a load that a run left; null when it is of no use for the request, and gone. */
  async #resumed(
    load: PublishedLoad,
    request: LoadRequest,
    facts: TopicFacts,
    signal: AbortSignal,
  ): Promise<KafkaLoad | null> {
    return this.#owned(load, async () => {
      const publisher = this.#publisher(load);
      const published = await publisher.start(signal);
      if (await this.#finished(load, published, signal)) return null;
      const { plan, phase, key } = load.work;
      const begun = published !== null && published.plan === plan;
      if (
        key === this.#loadKey(request, facts) &&
        (phase === 'loading' || begun || (await this.#indexIs(published, signal)))
      ) {
        if (phase === 'loading') await this.#checkIndex(load, published, signal);
        return this.#load(load, publisher, facts, request);
      }
      // What was sent of it stays in the topic: the index must tell so before the rest is given up.
      if (begun) await load.applyPart(sentOf(published), signal);
      await load.discard(signal);
      return null;
    });
  }

  /** Starts a load anew. @throws RUN_ELSEWHERE when another run was faster, or has made it needless */
  async #begun(request: LoadRequest, facts: TopicFacts, signal: AbortSignal): Promise<KafkaLoad> {
    const { index, topic, pipeline } = this.#options;
    const { file } = request;
    const before = await readProgress(this.#connection, topic, pipeline, signal);
    const revision = before?.file_date === file.date ? before.revision + 1 : 0;
    if (revision > MAX_REVISION) {
      const what = `the files of ${file.date} have been published ${revision} times: more revisions of one date cannot be told apart`;
      throw new DomainsyncError('DESTINATION_REFUSED', what, { hint: 'Wait for the file of another date.' });
    }
    const load = await index.begin({ request, key: this.#loadKey(request, facts), revision }, signal);
    return this.#owned(load, async () => {
      const publisher = this.#publisher(load);
      const published = await publisher.start(signal);
      const held = loadedSnapshotOf(published);
      const current = held !== null && held.partial === undefined && sameFile(held, file) && !request.force;
      const needless = held !== null && (held.date > file.date || current);
      // Another run may have published a file, perhaps a later one, since this run decided to publish its own.
      if (needless || !samePoint(publisher.found, before)) {
        await load.drop(signal);
        throw new DomainsyncError('RUN_ELSEWHERE', `another run of pipeline ${pipeline} is at work`);
      }
      await this.#checkIndex(load, published, signal);
      return this.#load(load, publisher, facts, request);
    });
  }

  /** Ends a load whose plan was sent to its last message by a run that was killed then. */
  async #finished(load: PublishedLoad, published: ProgressRecord | null, signal: AbortSignal): Promise<boolean> {
    if (published?.plan !== load.work.plan || !published.finished) return false;
    await load.finish(markOf(published), published.held?.rows ?? 0, signal);
    return true;
  }

  /** Whether the index reflects what was published. */
  async #indexIs(published: ProgressRecord | null, signal: AbortSignal): Promise<boolean> {
    const mark = await this.#options.index.mark(signal);
    if (published === null || mark === null) return false;
    return mark.plan === published.plan && mark.messages === published.messages;
  }

  /** An index that is lost, or of another topic, is made anew from the topic; nothing is published for that. */
  async #checkIndex(load: PublishedLoad, published: ProgressRecord | null, signal: AbortSignal): Promise<void> {
    if (await this.#indexIs(published, signal)) return;
    const { topic, pipeline, columns, log } = this.#options;
    if (published !== null) log.info({ pipeline }, `the index of what was published is made anew from topic ${topic}`);
    const mark = published === null ? null : markOf(published);
    await load.rebuild(mark, keysOf(this.#connection, topic, pipeline, columns, signal), signal);
  }

  #load(load: PublishedLoad, publisher: Publisher, facts: TopicFacts, { force }: LoadRequest): KafkaLoad {
    return new KafkaLoad({ options: this.#options, topic: facts, publisher, load, force });
  }

  #publisher(load: PublishedLoad): Publisher {
    const { topic, pipeline, log } = this.#options;
    return new Publisher({
      connection: this.#connection,
      topic,
      pipeline,
      log,
      confirm: (signal) => load.confirm(signal),
    });
  }

  /** When what follows on becoming the owner fails, this process does not go on counting as at work. */
  async #owned<T>(load: PublishedLoad, body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      await load.release(AbortSignal.timeout(RELEASE_TIMEOUT_MS)).catch(() => {});
      throw error;
    }
  }

  /** Tells a load apart from every other: the file, and all that its staged keys and its plan depend on. */
  #loadKey({ file, target, blockBytes, blockLines }: LoadRequest, { maxMessageBytes }: TopicFacts): string {
    const { topic, publish, compression, columns, where } = this.#options;
    const { name, date, size, etag, lastModified } = file;
    const names = columns.map((column) => column.name);
    const message = [topic, publish, compression, maxMessageBytes, names, where];
    const blocks = [blockBytes, blockLines];
    const parts = [sourceKey(target), name, date, size, etag, lastModified, message, blocks, CODEC_VERSION];
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
  }
}

function markOf({ plan, messages }: ProgressRecord): PublishedMark {
  return { plan, messages };
}

function sentOf(record: ProgressRecord): Sent {
  return { mark: markOf(record), line: record.line, deletedTo: record.deleted_to };
}
