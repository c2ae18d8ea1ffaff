/** Runs the connector against any file server, with short waits, and reports the outcome of a download. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { createDatasetService, type DatasetServiceOptions } from '../../../connectors/dataset-service/index.ts';
import { asDomainsyncError, type DomainsyncError } from '../../../src/common/errors.ts';
import type { RemoteFile, Source, Target } from '../../../src/types/index.ts';
import { random } from './zst.ts';

export const DNS: Target = { dataset: 'dns' };
export const NEVER: AbortSignal = new AbortController().signal;

/** A connector for tests: what it says is not shown. */
export function connector(
  url: string,
  dataDir: string,
  options: Partial<DatasetServiceOptions> & Pick<DatasetServiceOptions, 'apiKey'>,
): Source {
  return createDatasetService({
    url,
    dataDir,
    keep: 1,
    userAgent: 'domainsync/test',
    retryPolicy: { attempts: 4, firstDelay: 1, maxDelay: 5, maxRetryAfter: 1000 },
    log: pino({ level: 'silent' }),
    ...options,
  });
}

export interface Outcome {
  /** Null: it did not come so far. */
  readonly file: RemoteFile | null;
  /** All that a reader got. */
  readonly bytes: Buffer;
  /** Null: the file is complete. */
  readonly error: DomainsyncError | null;
}

/** Downloads the newest file and reads it as it comes. Never rejects. */
export async function download(source: Source, onBytes: (read: number) => void = () => {}): Promise<Outcome> {
  const parts: Buffer[] = [];
  let file: RemoteFile | null = null;
  let error: DomainsyncError | null = null;
  let read = 0;
  try {
    const spooled = await source.open(DNS, await source.newest(DNS, NEVER), NEVER);
    file = spooled.file;
    try {
      for await (const part of spooled.read(NEVER)) {
        parts.push(part);
        read += part.length;
        onBytes(read);
      }
      await spooled.complete;
    } catch (thrown) {
      // As a run does with a file that proves to be damaged.
      if (asDomainsyncError(thrown).code === 'FILE_CORRUPT') await spooled.discard();
      throw thrown;
    } finally {
      await spooled.close();
    }
  } catch (thrown) {
    error = asDomainsyncError(thrown);
  }
  return { file, bytes: Buffer.concat(parts), error };
}

/** The complete file on disk, and the names of all that lies beside it. */
export async function onDisk(dataDir: string, name: string): Promise<{ bytes: Buffer; names: string[] }> {
  return { bytes: await readFile(join(dataDir, name)), names: (await readdir(dataDir)).sort() };
}

/** Bytes that do not compress, the same for the same seed. */
export function noise(length: number, seed: number): Buffer {
  const draw = random(seed);
  const bytes = Buffer.alloc(Math.ceil(length / 4) * 4);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(Math.floor(draw() * 2 ** 32), at);
  return bytes.subarray(0, length);
}
