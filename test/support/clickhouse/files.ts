/** Files of several blocks for tests with ClickHouse failures, made once for each test file. */
import { rm } from 'node:fs/promises';
import { DATASET, type KillFiles, writeKillFiles } from '../kill/files.ts';
import { type ProjectConfig, type ServerProject, withServerProject } from './project.ts';

/** Few rows, so that a test is short, in as many blocks as ever. */
export const ROWS = 3_000;

/** The pipeline and its table are called `dns`, as in other projects. */
export const BLOCKS_PIPELINE: Partial<ProjectConfig> = {
  pipelines: `  dns: { dataset: ${DATASET}, maxRejected: 0.01, to: { clickhouse: { table: dns } } }`,
};

let files: Promise<KillFiles> | null = null;

/** Serves one of the files as the newest. */
export async function publishFile({ sandbox }: ServerProject, index: number): Promise<void> {
  files ??= writeKillFiles({ seed: 1, rows: ROWS, files: 1 });
  const file = (await files).files[index];
  if (file === undefined) throw new Error(`there is no file ${index}`);
  await sandbox.publishFile({ target: DATASET, date: file.date, content: { path: file.path } });
}

/** For `afterAll`. */
export async function removeFiles(): Promise<void> {
  if (files !== null) await rm((await files).folder, { recursive: true, force: true });
  files = null;
}

/** A project that loads such files; the first `loaded` of them are in the table already. */
export async function withBlocks(loaded: number, body: (project: ServerProject) => Promise<void>): Promise<void> {
  await withServerProject({ rows: 1 }, async (project) => {
    await project.configure(BLOCKS_PIPELINE);
    for (let index = 0; index < loaded; index += 1) {
      await publishFile(project, index);
      const { code, stderr } = await project.run('sync');
      if (code !== 0) throw new Error(stderr);
    }
    project.proxy.log = [];
    await body(project);
  });
}
