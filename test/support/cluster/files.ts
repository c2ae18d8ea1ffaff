/** The dated files of a campaign, and what the oracle expects of them. */
import { readFile, rm } from 'node:fs/promises';
import { zstdDecompressSync } from 'node:zlib';
import { writeKillFiles } from '../kill/files.ts';
import { differenceOf, type ExpectedDifference } from '../oracle/difference.ts';
import { type ExpectedFile, expectedOf } from '../oracle/oracle.ts';

export interface DatedFile {
  readonly date: string;
  readonly path: string;
  readonly expected: ExpectedFile;
}

/** Three files of three dates, oldest first. */
export class Files {
  readonly all: readonly DatedFile[];
  readonly #folder: string;
  readonly #differences = new Map<string, ExpectedDifference>();

  private constructor(folder: string, all: readonly DatedFile[]) {
    this.#folder = folder;
    this.all = all;
  }

  static async write(rows: number): Promise<Files> {
    // Half a block: lines are then as short as they are.
    const { folder, files } = await writeKillFiles({ seed: 5, rows, files: 4, blocks: 0.5 });
    // Of two revisions of one date the larger is no later file: a run of the first after the second would load it again.
    const dated = [...new Map(files.map((file) => [file.date, file])).values()];
    const all: DatedFile[] = [];
    for (const { date, path } of dated) {
      all.push({ date, path, expected: expectedOf(zstdDecompressSync(await readFile(path))) });
    }
    return new Files(folder, all);
  }

  /** @throws Error when there is none */
  at(index: number): DatedFile {
    const file = this.all[index];
    if (file === undefined) throw new Error(`there is no file ${index}`);
    return file;
  }

  /** What the change feed holds when the second file is loaded after the first one. */
  difference(before: number, after: number): ExpectedDifference {
    const key = `${before}/${after}`;
    const known = this.#differences.get(key) ?? differenceOf(this.at(before).expected, this.at(after).expected);
    this.#differences.set(key, known);
    return known;
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
