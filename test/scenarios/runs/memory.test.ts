/** Memory of a load is bounded whatever the lines hold: files of nothing but what takes most of it. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress } from 'node:zlib';
import { expect, test } from 'vitest';
import { usageOf } from '../../bench/processes.ts';
import { type Project, withProject } from '../../support/project.ts';

/** What README.md promises, with two threads that encode. */
const MOST_MIB = 400;

interface Case {
  readonly what: string;
  readonly lines: number;
  readonly line: (n: number) => string;
  readonly rejected: boolean;
}

const CASES: readonly Case[] = [
  { what: 'short lines that are rejected', lines: 600_000, line: (n) => `{"Domain":"a${n}.com",}`, rejected: true },
  {
    what: 'lines of 1 KiB that are rejected',
    lines: 200_000,
    line: (n) => `{"Domain":"a${n}.com","x":"${'abcdefgh'.repeat(120)}",}`,
    rejected: true,
  },
  {
    what: 'lines of 64 KiB that are rejected',
    lines: 3_000,
    line: (n) => `{"Domain":"a${n}.com","x":"${'abcdefgh'.repeat(8190)}",}`,
    rejected: true,
  },
  { what: 'rows of nothing but a domain', lines: 1_000_000, line: (n) => `{"Domain":"a${n}.de"}`, rejected: false },
  {
    what: 'rows with a registrar and a technology of their own',
    lines: 500_000,
    line: (n) => `{"Domain":"a${n}.de","Registrar":"registrar ${n}","Technologies":{"technology ${n}":"1"}}`,
    rejected: false,
  },
  {
    what: 'lines of several kinds that are rejected',
    lines: 600_000,
    line: (n) =>
      [
        `{"Domain":"a${n}.com",}`,
        `{"TLD":"com","n":${n}}`,
        `{"Domain":"a b${n}.com"}`,
        `{"x":"${'abcdefgh'.repeat(120)}",}`,
        'x',
      ][n % 5] ?? '',
    rejected: true,
  },
];

function* linesOf({ lines, line }: Case): Generator<Buffer> {
  let part = '';
  for (let n = 0; n < lines; n += 1) {
    part += `${line(n)}\n`;
    if (part.length < 1 << 20 && n < lines - 1) continue;
    yield Buffer.from(part);
    part = '';
  }
}

async function peakOf(project: Project, path: string): Promise<number> {
  const { child, finished } = project.start(['sync', '--force', '--from-file', path]);
  let peak = 0;
  const sample = setInterval(() => {
    peak = Math.max(peak, usageOf(child.pid ?? 0)?.peakMiB ?? 0);
  }, 20);
  const { code, stderr } = await finished;
  clearInterval(sample);
  expect(code, stderr).toBe(0);
  return peak;
}

test('the process stays within what is promised, and every line is there', async () => {
  await withProject({ rows: 1 }, async (project) => {
    await project.configure('  dns: { dataset: dns, maxRejected: 1, minRows: 0, to: { clickhouse: { table: dns } } }');
    for (const [n, one] of CASES.entries()) {
      const date = `2026-01-0${n + 1}`;
      const path = join(project.folder, `memory-${date}.jsonl.zst`);
      await pipeline(Readable.from(linesOf(one)), createZstdCompress(), createWriteStream(path));
      expect(await peakOf(project, path), one.what).toBeLessThan(MOST_MIB);
      const [rows] = await project.query<{ n: string }>(`SELECT count() AS n FROM dns_live`);
      const [rejects] = await project.query<{ n: string }>(
        `SELECT uniqExact(line) AS n FROM domainsync_rejects WHERE file_date = '${date}'`,
      );
      const [expected, other] = one.rejected ? [rejects, rows] : [rows, rejects];
      expect([Number(expected?.n), Number(other?.n)], one.what).toEqual([one.lines, 0]);
    }
  });
});
