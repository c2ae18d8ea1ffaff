/** News for open status pages, sent as server-sent events. */
import type { Redis } from 'ioredis';
import { NEWS_CHANNEL } from '../redis/keys.ts';
import type { LiveRun, News } from '../redis/records.ts';

/** Each page gets the whole status this often, because time alone changes what it shows. */
const ANYWAY_MS = 10_000;
/** Changes within this time are sent together. */
const GATHER_MS = 150;

/** What a page has not been sent yet. Only the newest item of each kind is kept, so a slow page costs no memory. */
interface PendingNews {
  /** The whole status. */
  readonly status: boolean;
  readonly runs: readonly LiveRun[];
}

/** One open page. */
class Listener {
  #status = true;
  readonly #runs = new Map<string, LiveRun>();
  #wake: () => void = () => {};
  #ended = false;

  /** Waits until there is something to send. Null: the page or the worker is gone. */
  async next(): Promise<PendingNews | null> {
    while (!this.#ended && !this.#status && this.#runs.size === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#ended) return null;
    const pending = { status: this.#status, runs: [...this.#runs.values()] };
    this.#status = false;
    this.#runs.clear();
    return pending;
  }

  hear(news: News | null): void {
    if (news?.kind === 'live') this.#runs.set(news.run.pipeline, news.run);
    else this.#status = true;
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }
}

/** Receives the news of all workers through Redis. */
export class StatusBroadcaster {
  readonly #listeners = new Set<Listener>();
  readonly #timer: NodeJS.Timeout;
  #gathering: NodeJS.Timeout | null = null;

  /** @param onChange called with each pipeline that has changed */
  constructor(news: Redis, onChange: (pipeline: string) => void) {
    // ioredis resubscribes after every outage.
    news.subscribe(NEWS_CHANNEL).catch(() => {});
    news.on('message', (_channel, text) => {
      const heard = JSON.parse(text) as News;
      if (heard.kind === 'live') {
        for (const listener of this.#listeners) listener.hear(heard);
        return;
      }
      onChange(heard.pipeline);
      this.#gathering ??= setTimeout(() => this.#tellAll(), GATHER_MS);
    });
    this.#timer = setInterval(() => this.#tellAll(), ANYWAY_MS);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  open(): Listener {
    const listener = new Listener();
    this.#listeners.add(listener);
    return listener;
  }

  leave(listener: Listener): void {
    this.#listeners.delete(listener);
    listener.end();
  }

  close(): void {
    clearInterval(this.#timer);
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    for (const listener of [...this.#listeners]) this.leave(listener);
  }

  #tellAll(): void {
    this.#gathering = null;
    for (const listener of this.#listeners) listener.hear(null);
  }
}
