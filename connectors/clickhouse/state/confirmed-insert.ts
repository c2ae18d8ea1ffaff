/** Inserts of records that nothing else can restore: each is read back before it counts as inserted. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Session } from '../server/session.ts';

/** Each further one needs a server that dies again, in the same moment of an insert. */
const MOST_ATTEMPTS = 5;

interface TableRecord {
  /** Qualified and quoted. */
  readonly table: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Repeated, the insert does nothing. */
  readonly token: string;
  /** Whether the table has it. */
  readonly isThere: () => Promise<boolean>;
}

/**
 * Inserts a record unless it is there. When the server dies between writing an insert's token and its part, it acknowledges the
 * repeated insert and does nothing (see staged-load.ts): then the next attempt takes another token.
 */
export async function insertRecord(session: Session, { table, values, token, isThere }: TableRecord): Promise<void> {
  const row = Buffer.from(JSON.stringify(values));
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    if (await isThere()) return;
    const fresh = attempt === 0 ? token : `${token}/${attempt}`;
    await session.insertRecord(`INSERT INTO ${table} FORMAT JSONEachRow`, row, fresh);
  }
  if (await isThere()) return;
  throw new DomainsyncError('DESTINATION_REFUSED', `ClickHouse acknowledged a row of ${table} and does not have it`);
}
