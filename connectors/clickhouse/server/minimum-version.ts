/** Which versions of ClickHouse domainsync works with. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Session } from './session.ts';

/** A long-term release. Mode `sync` hashes tuples with nulls, which versions before 25.5 refuse; older ones are not tried. */
const MINIMUM_VERSION: readonly [number, number] = [25, 8];

/** @throws DESTINATION_REFUSED when the server is older than domainsync works with */
export async function refuseOldServer(session: Session): Promise<void> {
  const row = await session.first<{ version: string }>('SELECT version() AS version');
  if (row === undefined || isRecent(row.version)) return;
  const least = MINIMUM_VERSION.join('.');
  const what = `the ClickHouse server has the version ${row.version}, and domainsync needs ${least} or later`;
  throw new DomainsyncError('DESTINATION_REFUSED', what, {
    hint: `Upgrade the server to ${least} or a later release, or name another one in clickhouse.url; nothing was downloaded or changed.`,
  });
}

/** Whether a server's version is one that domainsync works with. */
export function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MINIMUM_VERSION[0] || (major === MINIMUM_VERSION[0] && minor >= MINIMUM_VERSION[1]);
}
