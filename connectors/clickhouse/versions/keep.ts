/** What a file brought, as versions: the part that was attached to the live table is attached once more. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import { broughtBy } from '../sql/row-version.ts';
import { makePartVisible } from '../staging/partition.ts';
import type { Staging } from '../staging/staging.ts';
import type { WorkState } from '../state/table-comment.ts';
import { historyTarget, type KeptTable } from './seed.ts';

const PAUSE_MS = 200;

/** The versions of a file in a table: how many, and which. */
interface Versions {
  readonly n: string;
  readonly digest: string;
}

/**
 * Gives the table of versions those of a file, once: an ATTACH of one part is all or nothing, and whether it was done is asked before.
 * Harmless when repeated.
 * @throws DESTINATION_VERIFY_FAILED where it does not have them then
 */
export async function keepVersions(staging: Staging, table: KeptTable, work: WorkState): Promise<void> {
  const target = historyTarget(staging, table);
  const mine = broughtBy(work);
  const [wanted] = await allOrFirstError(
    versionsIn(staging, staging.part(staging.shown('delta')), '1'),
    awaitAttach(staging, target.table),
  );
  const has = await versionsIn(staging, target.table, mine);
  if (isSame(has, wanted)) return;
  // Those of a load that was given up once it was decided: no other load has had this revision of the date.
  if (has.n !== '0')
    await staging.repeatable(`ALTER TABLE ${target.table} DELETE WHERE ${mine} SETTINGS mutations_sync = 2`);
  const attach = (from: string): Promise<void> =>
    staging.command(`ALTER TABLE ${target.table} ATTACH PARTITION tuple() FROM ${from}`);
  await makePartVisible(staging, target, 'delta', attach);
  const kept = await versionsIn(staging, target.table, mine);
  if (isSame(kept, wanted)) return;
  throw new DomainsyncError(
    'DESTINATION_VERIFY_FAILED',
    `${target.table} has ${kept.n} versions of the file in place of ${wanted.n}`,
    {
      hint: 'Nothing was recorded as loaded. Run again; if it happens again, look for something that changes the table.',
    },
  );
}

async function versionsIn(staging: Staging, table: string, where: string): Promise<Versions> {
  const row = await staging.first<Versions>(
    `SELECT toString(count()) AS n, toString(groupBitXor(cityHash64(domain, _version))) AS digest FROM ${table} WHERE ${where}`,
  );
  return row ?? { n: '0', digest: '0' };
}

function isSame(a: Versions, b: Versions): boolean {
  return a.n === b.n && a.digest === b.digest;
}

/**
 * A run that was killed may have left its ATTACH with the server, which carries it out all the same. On a cluster the same part again
 * does nothing (docs/decisions/0009-cluster.md).
 */
async function awaitAttach(staging: Staging, table: string): Promise<void> {
  if (staging.cluster !== null) return;
  const isRunning = (): Promise<number> =>
    staging.number('SELECT count() AS n FROM system.processes WHERE startsWith(query, {attach:String})', {
      attach: `ALTER TABLE ${table} ATTACH PARTITION`,
    });
  while ((await isRunning()) > 0) await sleep(PAUSE_MS, undefined, { signal: staging.signal });
}
