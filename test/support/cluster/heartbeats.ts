/** Heartbeats of runs that stand still, made old: nobody has to wait for that minute. */
import { glob, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Replica } from './replicas.ts';

const AGE_SECONDS = 120;

/**
 * Puts back all heartbeats on the replicas that answer, as if that time had passed for whoever sent them: those in the tables, and the
 * times of the tables themselves, which other homes go by.
 */
export async function ageHeartbeats(replicas: readonly Replica[]): Promise<void> {
  for (const replica of replicas.filter(({ isUp, isFrozen }) => isUp && !isFrozen)) {
    const leases = await replica.rows<{ name: string }>(
      "SELECT concat(database, '.', name) AS name FROM system.tables WHERE match(name, '^domainsync_staging_.*_lease$')",
      'default',
    );
    for (const { name } of leases) {
      // Another run may be about to drop it.
      await replica.ask(`TRUNCATE TABLE ${name}`).catch(() => {});
      await replica.ask(`INSERT INTO ${name} SELECT now64() - toIntervalSecond(${AGE_SECONDS})`).catch(() => {});
    }
    if (replica.server !== null) await ageDefinitions(join(replica.server.folder, 'data', 'metadata'));
  }
}

async function ageDefinitions(folder: string): Promise<void> {
  const then = Date.now() / 1000 - AGE_SECONDS;
  for await (const path of glob(join(folder, '*', 'domainsync_staging_*_lease.sql'))) {
    await utimes(path, then, then).catch(() => {});
  }
}
