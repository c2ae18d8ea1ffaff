/** Finds the embedded servers running on a folder in the machine's process list. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Process ids of everything whose command line names a folder. */
export async function processesOf(folder: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,args='], { maxBuffer: 1 << 24 });
  return stdout.split('\n').flatMap((line) => (line.includes(folder) ? [Number.parseInt(line, 10)] : []));
}

/** Ends a server whose tables nobody needs any more: one that is still ending would write into its folder again. */
export async function endServer(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      return;
    }
    await sleep(10);
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
