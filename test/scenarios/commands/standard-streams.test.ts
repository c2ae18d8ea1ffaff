/** stdout and stderr that are closed, full, or read by nobody: the load goes on, and ends with its right exit code. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type Project, withProject } from '../../support/project.ts';

const BIN = fileURLToPath(new URL('../../../src/bin.js', import.meta.url));

const TWO = `
  one: { dataset: dns, to: { clickhouse: { table: one } } }
  two: { dataset: technologies, to: { clickhouse: { table: two } } }`;

interface Ended {
  readonly code: number;
  /** Of stdout and stderr, what was not led elsewhere. */
  readonly told: string;
}

/** Runs a line of the shell with domainsync's exit code kept in a file, and `$D` for domainsync. */
async function shell({ folder }: Project, line: string): Promise<Ended> {
  const child = spawn('sh', ['-c', line], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, D: `${process.execPath} ${BIN} -c domainsync.yaml` },
  });
  const closed = once(child, 'close');
  const told = await text(child.stdout);
  await closed;
  return { code: Number(await readFile(join(folder, 'code'), 'utf8')), told };
}

const SAVE = 'echo $? >code';

test('a load ends as it would have ended, whatever becomes of stdout and stderr', () =>
  withProject({ rows: 300 }, async (project) => {
    const { configure, query, command } = project;
    await configure(TWO);
    const loaded = async (): Promise<unknown> => {
      const counts = await query(
        'SELECT (SELECT count() > 0 FROM one_live) AS one, (SELECT count() > 0 FROM two_live) AS two',
      );
      for (const name of ['one', 'two']) {
        for (const part of ['', '_live', '_changes']) await command(`DROP TABLE ${name}${part} SYNC`);
      }
      return counts;
    };
    const both = [{ one: 1, two: 1 }];
    for (const [line, code] of [
      [`$D sync 2>/dev/full; ${SAVE}`, 0],
      [`{ $D --log-format json sync 2>&1 >/dev/null; ${SAVE}; } | true`, 0],
      [`$D sync 2>&-; ${SAVE}`, 0],
      [`{ $D sync 2>&1; ${SAVE}; } | true`, 0],
      [`{ $D sync; ${SAVE}; } 2>/dev/null | true`, 0],
      [`$D sync >&- 2>&-; ${SAVE}`, 0],
    ] as const) {
      expect([line, (await shell(project, line)).code]).toEqual([line, code]);
      expect([line, await loaded()]).toEqual([line, both]);
    }
    for (const flags of ['', '--json ']) {
      const full = await shell(project, `$D ${flags}sync 2>&1 >/dev/full; ${SAVE}`);
      expect(full).toMatchObject({
        code: 1,
        told: expect.stringContaining('error LOCAL_DISK: the results cannot be written to stdout: ENOSPC'),
      });
      expect(await loaded()).toEqual(both);
    }
    expect((await shell(project, `$D sync >/dev/full 2>/dev/full; ${SAVE}`)).code).toBe(1);
    expect(await loaded()).toEqual(both);
  }));

test('what fails keeps its own exit code', () =>
  withProject({ rows: 300 }, async (project) => {
    await project.configure('  gone: { dataset: gone, to: { clickhouse: { table: gone } } }');
    for (const line of [
      '$D sync 2>/dev/full',
      '$D --json sync >/dev/full 2>&1',
      '$D check >/dev/full',
      '$D sync >&- 2>&-',
    ]) {
      expect([line, (await shell(project, `${line}; ${SAVE}`)).code]).toEqual([line, 5]);
    }
    expect((await shell(project, `{ $D check; ${SAVE}; } 2>&1 | true`)).code).toBe(5);
    const nothing = await shell(project, `$D sync 2>&1 >/dev/full; ${SAVE}`);
    expect(nothing.told).toContain('error SOURCE_NOT_FOUND: ');
    expect(nothing.told).not.toContain('results cannot be written');
    // Nobody reads the rest: that is no fault.
    for (const line of ['$D --help', '$D status', '$D datasets', '$D --json me']) {
      expect([line, (await shell(project, `{ ${line}; ${SAVE}; } 2>&1 | true`)).code]).toEqual([line, 0]);
      expect([line, (await shell(project, `${line} >/dev/full; ${SAVE}`)).code]).toEqual([line, 1]);
    }
  }));
