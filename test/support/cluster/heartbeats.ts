/** Heartbeats of runs that stand still, made old: nobody has to wait for that minute. */
import { utimes } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Replica } from './replicas.ts';

const AGE_SECONDS = 120;

/**
 * Puts back all heartbeats on the replicas that answer, as if that time had passed for whoever sent them: those in the tables, and the
 * times of the tables' definitions, which other homes go by. The latter needs the servers' files.
 */
export async function ageHeartbeats(replicas: readonly Replica[]): Promise<void> {
  const then = Date.now() / 1000 - AGE_SECONDS;
  for (const replica of replicas.filter(({ isUp, isFrozen }) => isUp && !isFrozen)) {
    const leases = await replica.rows<{ name: string; path: string }>(
      `SELECT concat(database, '.', name) AS name, metadata_path AS path
FROM system.tables WHERE match(name, '^domainsync_staging_.*_lease$')`,
      'default',
    );
    for (const { name, path } of leases) {
      // Another run may be about to drop it.
      await replica.ask(`TRUNCATE TABLE ${name}`).catch(() => {});
      await replica.ask(`INSERT INTO ${name} SELECT now64() - toIntervalSecond(${AGE_SECONDS})`).catch(() => {});
      if (replica.server === null) continue;
      await utimes(resolve(replica.server.folder, 'data', path), then, then).catch(() => {});
    }
  }
}
