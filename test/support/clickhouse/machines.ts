/** Runs on several machines, which cannot see each other's processes. What they write on the server tells them apart. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ServerProject } from './project.ts';
import { ClickHouseProxy } from './proxy.ts';

/** What process-identity.ts takes for this machine's identity. */
function ownIdentity(): string[] {
  try {
    return [hostname(), readFileSync('/proc/sys/kernel/random/boot_id', 'ascii').trim()];
  } catch {
    return [hostname()];
  }
}

/** A machine of that name: all that its runs write names it in place of this one. The caller closes the proxy. */
export async function startMachine(project: ServerProject, name: string): Promise<ClickHouseProxy> {
  const proxy = await ClickHouseProxy.start(() => project.server.port);
  const own = ownIdentity();
  proxy.rewrite = (sql) => own.reduce((text, part) => text.replaceAll(`"${part}"`, `"${name}"`), sql);
  return proxy;
}

/** Puts all heartbeats back by two minutes, as if that time had passed for whoever sent them. */
export async function ageHeartbeats({ query, command, database }: ServerProject): Promise<void> {
  const leases = await query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = '${database}' AND match(name, '^domainsync_staging_.*_lease$')`,
  );
  for (const { name } of leases) {
    await command(`TRUNCATE TABLE ${name}`);
    await command(`INSERT INTO ${name} SELECT now64() - toIntervalMinute(2)`);
  }
}
