/**
 * libchdb.so, a whole ClickHouse as a library, shipped in the npm packages @chdb/lib-<platform>. Its C entry
 * `query_stable_v2(argc, argv)` runs `clickhouse local` with a command line. Called through ffi-rs on a thread of its own
 * (koffi moves the stack, and ClickHouse refuses that), so that this process's event loop stays free.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { DomainsyncError } from '../../../src/common/errors.ts';

const require = createRequire(import.meta.url);

/** npm's name of the package that holds the library for this machine. */
function libraryPackage(): string {
  const libc = process.platform === 'linux' ? '-gnu' : '';
  return `@chdb/lib-${process.platform}-${process.arch}${libc}`;
}

/** @throws EMBEDDED_UNAVAILABLE when the package is not installed, or there is none for this platform. */
export function libraryPath(): string {
  const name = libraryPackage();
  try {
    require.resolve('ffi-rs');
    return join(dirname(require.resolve(`${name}/package.json`)), 'libchdb.so');
  } catch (cause) {
    throw new DomainsyncError('EMBEDDED_UNAVAILABLE', `the embedded ClickHouse (${name}) is not installed`, { cause });
  }
}

/** From <sys/file.h>, the same on Linux and macOS. */
const LOCK_EXCLUSIVE_NOW = 2 | 4;

/**
 * Locks an open file for this process's life, however it ends; false when another process holds it. ClickHouse locks
 * its folder too, but the library crashes and hangs where it should say that the lock is taken.
 */
export async function lockForLife(fd: number): Promise<boolean> {
  const { DataType, load, open } = await import('ffi-rs');
  const library = 'libc';
  open({ library, path: process.platform === 'darwin' ? '/usr/lib/libSystem.B.dylib' : 'libc.so.6' });
  const result: number = load({
    library,
    funcName: 'flock',
    retType: DataType.I32,
    paramsType: [DataType.I32, DataType.I32],
    paramsValue: [fd, LOCK_EXCLUSIVE_NOW],
  });
  return result === 0;
}

/** Runs `clickhouse local` with these arguments; resolves, with its error message or null, only when it ends. */
export async function runClickHouseLocal(args: readonly string[]): Promise<string | null> {
  const { DataType, load, open } = await import('ffi-rs');
  const library = 'chdb';
  open({ library, path: libraryPath() });
  const argv = ['clickhouse', ...args];
  const result: { error: string | null } = await load({
    library,
    funcName: 'query_stable_v2',
    // local_result_v2 of chdb.h; only the message is of use here.
    retType: {
      buffer: DataType.External,
      length: DataType.U64,
      vector: DataType.External,
      elapsed: DataType.Double,
      rows: DataType.U64,
      bytes: DataType.U64,
      error: DataType.String,
    },
    paramsType: [DataType.I32, DataType.StringArray],
    paramsValue: [argv.length, argv],
    runInNewThread: true,
  });
  return result.error;
}
