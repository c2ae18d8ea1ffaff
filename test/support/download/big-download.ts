/**
 * Downloads a large file in its own process and prints speed and memory:
 * `npm run test:big-download -- [--mib 2048]`. The file is sparse; a download does not look into it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startSandbox } from '../../../src/sandbox/service.ts';
import { connector, DNS, NEVER } from './downloads.ts';

const SELF = fileURLToPath(import.meta.url);
const MIB = 1024 * 1024;
/** Between two bytes that are not zero: one in each chunk that a reader gets, so that a wrong place shows. */
const MARK_EVERY = MIB;

export interface BigDownload {
  readonly bytes: number;
  readonly seconds: number;
  /** Most resident memory above that at the start. */
  readonly grewMiB: number;
  /** Marks that were found at their place. */
  readonly marks: number;
}

/** Serves such a file and has a process of its own download it. */
export async function downloadBig(mebibytes: number): Promise<BigDownload> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-big-'));
  const sandbox = await startSandbox({ rows: 1, cacheDir: folder });
  try {
    const path = join(folder, 'served');
    const file = await open(path, 'w');
    await file.truncate(mebibytes * MIB);
    for (let mark = 0; mark < mebibytes; mark += 1) await file.write(markOf(mark), 0, 4, mark * MARK_EVERY);
    await file.close();
    await sandbox.publishFile({ target: 'dns', date: '2026-01-01', content: { path } });
    const child = spawn(process.execPath, [SELF, '--child', sandbox.url, sandbox.key, join(folder, 'data')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    await once(child, 'close');
    return JSON.parse(text) as BigDownload;
  } finally {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Four bytes that begin as a zstd file does, and tell their place. */
function markOf(number: number): Buffer {
  const bytes = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
  if (number > 0) bytes.writeUInt32LE(number);
  return bytes;
}

async function child(url: string, apiKey: string, dataDir: string): Promise<BigDownload> {
  const source = connector(url, dataDir, { apiKey });
  const before = process.memoryUsage.rss();
  let most = before;
  const sample = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 10);
  const started = performance.now();
  const file = await source.open(DNS, await source.newest(DNS, NEVER), NEVER);
  let bytes = 0;
  let marks = 0;
  for await (const part of file.read(NEVER)) {
    for (let at = (MARK_EVERY - (bytes % MARK_EVERY)) % MARK_EVERY; at + 4 <= part.length; at += MARK_EVERY) {
      if (part.subarray(at, at + 4).equals(markOf((bytes + at) / MARK_EVERY))) marks += 1;
    }
    bytes += part.length;
  }
  await file.complete;
  const seconds = (performance.now() - started) / 1000;
  clearInterval(sample);
  await file.close();
  await source.close();
  return { bytes, seconds, grewMiB: (most - before) / MIB, marks };
}

if (process.argv[1] === SELF) {
  const [flag, url = '', key = '', dataDir = ''] = process.argv.slice(2);
  if (flag === '--child') process.stdout.write(JSON.stringify(await child(url, key, dataDir)));
  else {
    const { values } = parseArgs({ options: { mib: { type: 'string', default: '2048' } } });
    console.log(await downloadBig(Number(values.mib)));
  }
}
