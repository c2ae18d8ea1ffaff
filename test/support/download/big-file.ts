/** Files of many bytes and few rows, which make several blocks or a long download cheap for a test. */
import { randomFillSync } from 'node:crypto';
import { join } from 'node:path';
import { type CompressOptions, compressTo } from '../../../src/sandbox/data/compress.ts';
import type { Project } from '../project.ts';

export interface BigFile {
  readonly date: string;
  readonly rows: number;
  /** Bytes of a row's text. */
  readonly rowBytes: number;
  /** Which of two files it is: the second one differs as `differences` says. */
  readonly edition?: 1 | 2;
  /** Text that does not compress. */
  readonly random?: boolean;
  readonly compression?: CompressOptions;
}

/** What edition 2 changes against edition 1 of as many rows. */
export function differences(rows: number): { inserted: number; updated: number; deleted: number } {
  const deleted = count(rows, isGone);
  return { inserted: deleted, updated: count(rows, (row) => isOther(row) && !isGone(row)), deleted };
}

const isGone = (row: number): boolean => row % 50 === 7;
const isOther = (row: number): boolean => row % 10 === 3;

function count(rows: number, is: (row: number) => boolean): number {
  let found = 0;
  for (let row = 0; row < rows; row += 1) if (is(row)) found += 1;
  return found;
}

/** Publishes such a file for the dataset `dns`. @returns its size */
export async function publishBigFile({ sandbox, folder }: Project, file: BigFile): Promise<number> {
  const path = join(folder, `published-${file.date}`);
  const size = await compressTo(path, lines(file), file.compression);
  await sandbox.publishFile({ target: 'dns', date: file.date, content: { path } });
  return size;
}

function* lines({ rows, rowBytes, edition = 1, random = false }: BigFile): Generator<Buffer> {
  const noise = Buffer.alloc(Math.ceil((rowBytes * 3) / 4));
  const filler = 'x'.repeat(rowBytes);
  for (let row = 0; row < rows; row += 1) {
    const text = random ? randomFillSync(noise).toString('base64') : filler;
    const name = edition === 2 && isGone(row) ? `new${row}` : `d${row}`;
    const mark = edition === 2 && isOther(row) ? 'two' : 'one';
    // Written by hand: JSON.stringify of such texts would be most of the time.
    yield Buffer.from(`{"Domain":"${name}.com","TLD":"com","DNS records":{"TXT":["${mark}","${text}"]}}\n`);
  }
}
