/** CPU and memory of other processes, from /proc (Linux). */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Clock ticks a second in /proc; 100 on every Linux in use. */
const TICKS = 100;

export interface Usage {
  /** User and system time of all threads. */
  readonly cpuSeconds: number;
  /** Peak resident memory. */
  readonly peakMiB: number;
}

/** Usage since the process started; null when it is gone. */
export function usageOf(pid: number): Usage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS,
      peakMiB: Number(peak ?? 0) / 1024,
    };
  } catch {
    return null;
  }
}

export interface Finished extends Usage {
  readonly seconds: number;
  readonly exitCode: number | null;
  readonly stdout: string;
}

/** Runs a command to its end, sampling its usage until then. Its stderr goes to ours. */
export async function measured(command: string, args: readonly string[], cwd: string): Promise<Finished> {
  const started = performance.now();
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  let usage: Usage = { cpuSeconds: 0, peakMiB: 0 };
  const sample = setInterval(() => {
    const now = child.pid === undefined ? null : usageOf(child.pid);
    // A process that has ended but was not reaped yet has no memory any more.
    if (now !== null && now.peakMiB > 0) usage = now;
  }, 50);
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearInterval(sample);
  return { ...usage, seconds: (performance.now() - started) / 1000, exitCode, stdout };
}
