/** What a command gets, over a service on a real socket, and what it printed. */
import { tmpdir } from 'node:os';
import { pino } from 'pino';
import { nearest } from '../../../config/nearest.ts';
import { createDatasetService } from '../../../connectors/dataset-service/index.ts';
import type { App } from '../../../src/cli/app.ts';
import { createProgress } from '../../../src/cli/progress.ts';

export interface TestApp {
  readonly app: App;
  /** Everything on stdout so far. */
  printed(): string;
  close(): Promise<void>;
}

export interface TestAppOptions {
  readonly url: string;
  readonly apiKey?: string;
  readonly json?: boolean;
  /** Columns of the terminal; none: it is no terminal. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
}

export function openApp({ url, apiKey, json = false, columns, signal }: TestAppOptions): TestApp {
  const log = pino({ level: 'silent' });
  const service = createDatasetService({
    url,
    apiKey,
    dataDir: tmpdir(),
    keep: 1,
    userAgent: 'domainsync/test',
    retryPolicy: { attempts: 2, firstDelay: 1, maxDelay: 2, maxRetryAfter: 1000 },
    log,
  });
  let text = '';
  const app: App = {
    pipelines: [],
    source: () => service,
    api: () => service.api,
    diskSpace: (target, file) => service.diskSpace(target, file),
    requestsLeft: () => service.requestsLeft(),
    orphans: async () => [],
    nearest,
    settings: { maxWindowLog: 27, blockBytes: 6000, threads: 1 },
    log,
    progress: createProgress({ stream: process.stderr, isTTY: false, log, quiet: true }),
    out: {
      write: (part: string) => {
        text += part;
      },
      columns,
    },
    json,
    redact: (part) => (apiKey === undefined ? part : part.replaceAll(apiKey, '***')),
    signal: signal ?? new AbortController().signal,
  };
  return { app, printed: () => text, close: () => service.close() };
}
