/** Runs domainsync in a folder as a user does, with the test's environment and without this machine's proxies. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Finished } from './project.ts';

const BIN = fileURLToPath(new URL('../../src/bin.js', import.meta.url));
const OWN = /^(?:https?_proxy|no_proxy|node_extra_ca_certs|domainsync_.*)$/i;

/** Runs `domainsync <args>` to its end. */
export async function runCommand(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN.test(name)));
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inherited, ...env },
  });
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code, signal] = (await closed) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}
