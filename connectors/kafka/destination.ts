/**
 * The Kafka destination of one pipeline: what it holds, and the load of a file from its start or from where a run left it.
 */
import { createHash } from 'node:crypto';
import { DomainsyncError } from '../../src/common/errors.ts';
import {
  CODEC_VERSION,
  type Destination,
  type DestinationStatus,
  type Load,
  type LoadedSnapshot,
  type LoadRequest,
  MAX_REVISION,
  type PublishedLoad,
  type PublishedMark,
  type RecordedReject,
  type Sent,
  sourceKey,
  supersedes,
} from '../../src/types/index.ts';
import { KafkaLoad } from './load.ts';
import type { KafkaDestinationOptions } from './options.ts';
import { Publisher } from './producer/publisher.ts';
import type { Connection } from './protocol/connection.ts';
import { keysOf } from './reader/rebuild.ts';
import { hasPublished, loadedSnapshotOf, type ProgressRecord, readProgress, samePoint } from './topics/progress.ts';
import { ensureTopics, partitionCount, type TopicFacts } from './topics/topics.ts';

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
    return record !== null && (await hasPublished(this.#connection, topic, record, signal))
      ? loadedSnapshotOf(record)
      : null;
  }

  preflight(signal: AbortSignal): Promise<void> {
    return this.#options.index.preflight(signal);
  }

  async recover(keepUnfinished: boolean, signal: AbortSignal): Promise<void> {
    const load = await this.#options.index.claim(signal);
    if (load === null) return;
    await this.#releaseOnError(load, async () => {
      const exists = (await partitionCount(this.#connection, this.#options.topic, signal)) !== null;
      const published = exists ? await this.#publisher(load).start(signal) : null;
      if (await this.#finishSent(load, published, signal)) return;
      const { plan, file } = load.work;
      const held = loadedSnapshotOf(published);
      const begun = published?.plan === plan;
      const needless = held !== null && supersedes(held, file, held.partial !== undefined);
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
    // The pipelines share the connection. Who opened it closes it.
  }

  /** Continues a load that a run left. Null: the load is not the requested one, and was ended. */
  async #resumed(
    load: PublishedLoad,
    request: LoadRequest,
    facts: TopicFacts,
    signal: AbortSignal,
  ): Promise<KafkaLoad | null> {
    return this.#releaseOnError(load, async () => {
      const publisher = this.#publisher(load);
      const published = await publisher.start(signal);
      if (await this.#finishSent(load, published, signal)) return null;
      const { plan, phase, key } = load.work;
      const begun = published !== null && published.plan === plan;
      if (
        key === this.#loadKey(request, facts) &&
        (phase === 'loading' || begun || (await this.#indexMatches(published, signal)))
      ) {
        if (phase === 'loading') await this.#ensureIndex(load, published, signal);
        return this.#load(load, publisher, facts, request);
      }
      // The sent part stays in the topic, so the index must have it before the rest is dropped.
      if (begun) await load.applyPart(sentOf(published), signal);
      await load.discard(signal);
      return null;
    });
  }

  /** Starts a new load. @throws RUN_ELSEWHERE when another run was faster */
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
    return this.#releaseOnError(load, async () => {
      const publisher = this.#publisher(load);
      const published = await publisher.start(signal);
      const held = loadedSnapshotOf(published);
      const needless = held !== null && supersedes(held, file, request.force || held.partial !== undefined);
      // Another run may have published a file since this run decided to publish its own.
      if (needless || !samePoint(publisher.found, before)) {
        await load.drop(signal);
        throw new DomainsyncError('RUN_ELSEWHERE', `another run of pipeline ${pipeline} is at work`);
      }
      await this.#ensureIndex(load, published, signal);
      return this.#load(load, publisher, facts, request);
    });
  }

  /** Ends a load whose plan a killed run had sent to its last message. @returns whether it is such a load */
  async #finishSent(load: PublishedLoad, published: ProgressRecord | null, signal: AbortSignal): Promise<boolean> {
    if (published?.plan !== load.work.plan || !published.finished) return false;
    await load.finish(markOf(published), published.held?.rows ?? 0, signal);
    return true;
  }

  /** Whether the index reflects what was published. */
  async #indexMatches(published: ProgressRecord | null, signal: AbortSignal): Promise<boolean> {
    const mark = await this.#options.index.mark(signal);
    if (published === null || mark === null) return false;
    return mark.plan === published.plan && mark.messages === published.messages;
  }

  /** Rebuilds from the topic an index that is lost or of another topic. Publishes nothing. */
  async #ensureIndex(load: PublishedLoad, published: ProgressRecord | null, signal: AbortSignal): Promise<void> {
    if (await this.#indexMatches(published, signal)) return;
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

  /** Releases the load where the body fails: this process must not count as its owner any more. */
  async #releaseOnError<T>(load: PublishedLoad, body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      await load.release(AbortSignal.timeout(RELEASE_TIMEOUT_MS)).catch(() => {});
      throw error;
    }
  }

  /** Identifies a load: the file, and everything that its staged keys and its plan depend on. */
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
