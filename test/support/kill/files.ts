/** The files of a kill test: snapshots of the sandbox's world, of several blocks each, with everything a file can have. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_BLOCK_BYTES } from '../../../src/pipeline/blocks.ts';
import { compressTo } from '../../../src/sandbox/data/compress.ts';
import { generateRows, lineOf } from '../../../src/sandbox/data/generate.ts';
import { createWorld } from '../../../src/sandbox/data/world.ts';

/** The dataset of the pipeline. */
export const DATASET = 'all-data';

/** One file, as it is published. */
export interface KillFile {
  readonly date: string;
  readonly path: string;
}

/** Dates of the files: the third is another revision of the second. */
const DATES = ['2026-03-01', '2026-03-02', '2026-03-02', '2026-03-03', '2026-03-05'] as const;

/** Lines are widened by blanks, which cost next to nothing, until the rows fill the blocks. */
const SHORTEST_LINE = 1_500;
const BAD_LINES = ['{"Domain":"cut-off', '{"TLD":"com"}', '{"Domain":"two words"}', '[1,2]'] as const;

export interface KillFilesOptions {
  readonly seed: number;
  /** Of each file. */
  readonly rows: number;
  /** How many of the files; default all. */
  readonly files?: number;
  /** Of each file; default 3. */
  readonly blocks?: number;
}

export interface KillFiles {
  readonly folder: string;
  readonly files: readonly KillFile[];
}

/** Writes the files into a new folder, which the caller removes. */
export async function writeKillFiles({
  seed,
  rows,
  files = DATES.length,
  blocks = 3,
}: KillFilesOptions): Promise<KillFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-kill-files-'));
  const world = createWorld({ seed, rows });
  const width = Math.max(SHORTEST_LINE, Math.floor(((blocks - 0.5) * DEFAULT_BLOCK_BYTES) / rows));
  const written: KillFile[] = [];
  for (const [snapshot, date] of DATES.slice(0, files).entries()) {
    const path = join(folder, `${snapshot}.jsonl.zst`);
    await compressTo(path, linesOf(world, snapshot, width), { level: 1 });
    written.push({ date, path });
  }
  return { folder, files: written };
}

/** Lines of a snapshot; among them rejected ones, blank ones, and a later line for the domain of an earlier one. */
function* linesOf(world: ReturnType<typeof createWorld>, snapshot: number, width: number): Generator<Buffer> {
  let number = 0;
  let first: Record<string, unknown> | null = null;
  for (const row of generateRows({ world, snapshot, dataset: DATASET })) {
    first ??= row;
    yield wide(lineOf(row), width);
    number += 1;
    if (number % 3_000 === 0) yield Buffer.from(`${BAD_LINES[(number / 3_000) % BAD_LINES.length]}\n \n`);
  }
  if (first !== null)
    yield wide(JSON.stringify({ ...first, Registrar: `later in ${snapshot}`, Unknown: [snapshot] }), width);
}

function wide(line: string, width: number): Buffer {
  return Buffer.from(`{${' '.repeat(Math.max(0, width - Buffer.byteLength(line)))}${line.slice(1)}\n`);
}
