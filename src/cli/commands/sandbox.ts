/** `domainsync sandbox`: runs the stand-in service in the foreground. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startSandbox } from '../../sandbox/service.ts';

interface SandboxCommandOptions {
  readonly port: number;
  readonly rows: number;
  readonly seed: number;
  /** Seconds between snapshots. Absent: only the first is published. */
  readonly publishEvery?: number;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Serves until the signal aborts. Throws USAGE when the port is taken. */
export async function sandboxCommand(options: SandboxCommandOptions): Promise<void> {
  const { port, rows, seed, publishEvery, print, signal } = options;
  if (signal.aborted) return;
  const sandbox = await startSandbox({ port, rows, seed });
  try {
    print(`A stand-in for the dataset service, with invented data, listens on ${sandbox.url}`);
    print(`Its newest files are of ${sandbox.date()} (${rows} domains). To point domainsync at it:`);
    print('');
    print(`  export DOMAINSYNC_URL=${sandbox.url}`);
    print(`  export DOMAINSYNC_API_KEY=${sandbox.key}`);
    print('');
    print(`The next snapshot: curl -X POST ${sandbox.url}/sandbox/publish`);
    print('Ctrl-C ends it.');
    while (await pause(publishEvery, signal)) {
      print(`Published the files of ${await sandbox.publish()}.`);
    }
  } finally {
    await sandbox.close();
  }
}

/** Waits this many seconds, or for ever. Returns false if the signal came first. */
async function pause(seconds: number | undefined, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  if (seconds === undefined) {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    return false;
  }
  try {
    await sleep(seconds * 1000, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}
