/** A limit of open files that is too low: it is named, with what to do, and nothing is left waiting. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import { withProject } from '../../support/project.ts';

const BIN = fileURLToPath(new URL('../../../src/bin.js', import.meta.url));

/** Runs domainsync where so many files may be open. */
async function within(limit: number, cwd: string, ...args: string[]): Promise<{ code: number; stderr: string }> {
  const shell = ['-c', `ulimit -n ${limit}; exec "$@"`, 'sh', process.execPath, BIN, ...args];
  const child = spawn('sh', shell, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  const closed = once(child, 'close');
  const stderr = await text(child.stderr);
  const [code] = (await closed) as [number];
  return { code, stderr };
}

test.each([30, 64, 255])('the embedded server is not started where %s files may be open', async (limit) => {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-files-'));
  try {
    const config =
      "clickhouse: { url: 'embedded:./ch' }\npipelines: { p: { dataset: dns, to: { clickhouse: { table: t } } } }\n";
    await writeFile(join(folder, 'c.yaml'), config);
    const { code, stderr } = await within(limit, folder, '-c', 'c.yaml', 'status');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        `LOCAL_OPEN_FILES: the embedded ClickHouse needs up to 256 open files, but the limit is ${limit}`,
      ),
    ]);
    expect(stderr).toContain('ulimit -n 1024');
    expect(await readdir(join(folder, 'ch'))).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('with a server elsewhere a load works, or says that the limit of open files keeps it from that', () =>
  withProject({ rows: 300 }, async ({ folder, sandbox, clickhouse, database, query }) => {
    const { httpPort } = JSON.parse(await readFile(join(clickhouse, 'endpoint.json'), 'utf8'));
    const password = await readFile(join(clickhouse, 'password'), 'utf8');
    const ended: Record<number, number> = {};
    for (const limit of [22, 24, 26, 28, 30, 35, 40, 64]) {
      const config = `service: { url: '${sandbox.url}', apiKey: '${sandbox.key}' }
clickhouse: { url: 'http://127.0.0.1:${httpPort}', username: domainsync, password: '${password}', database: ${database} }
dataDir: './data-${limit}'
pipelines: { p${limit}: { dataset: dns, to: { clickhouse: { table: t${limit} } } } }
`;
      await writeFile(join(folder, 'limited.yaml'), config);
      const { code, stderr } = await within(limit, folder, '-c', 'limited.yaml', 'sync');
      ended[limit] = code;
      if (code === 0) continue;
      expect([limit, code, stderr]).toEqual([limit, 1, expect.stringContaining('error LOCAL_OPEN_FILES: ')]);
      expect(stderr).toContain('ulimit -n 1024');
      expect(stderr).not.toContain('fault of domainsync');
    }
    expect([ended[22], ended[64]]).toEqual([1, 0]);
    expect(await query('SELECT count() > 0 AS rows FROM t64_live')).toEqual([{ rows: 1 }]);
  }));

test('whatever failed for want of open files is told as that; words of others are not', () => {
  const lack = Object.assign(new Error('open /d/f'), { code: 'EMFILE' });
  const source = new DomainsyncError('SOURCE_UNAVAILABLE', 'no answer', { cause: new AggregateError([lack]) });
  expect(asDomainsyncError(source)).toMatchObject({
    code: 'LOCAL_OPEN_FILES',
    exitCode: 1,
    message: expect.stringMatching(/^no answer: no more than (\d+|so many) files and connections may be open at once$/),
  });
  const told = asDomainsyncError(lack);
  expect(asDomainsyncError(told)).toBe(told);
  const system = asDomainsyncError(Object.assign(new Error('open'), { code: 'ENFILE' }));
  expect([system.code, system.hint]).toEqual(['LOCAL_OPEN_FILES', expect.stringContaining('fs.file-max')]);
  const abort = new DOMException('This operation was aborted', 'AbortError');
  expect(asDomainsyncError(abort).code).toBe('INTERRUPTED');
  const quoted = new DomainsyncError('SOURCE_UNAVAILABLE', 'it answered 500; it says "EMFILE: too many open files"');
  expect(asDomainsyncError(quoted)).toBe(quoted);
});
