/**
 * Who may load, on a cluster: a pipeline's claim is one column of domainsync_claims, and changes by one ALTER, of which one of any number at
 * any replicas succeeds (docs/decisions/0009-cluster.md, "Chosen").
 *
 * States: free -> loading -> ready -> free, each taken over by a higher epoch. A load in `ready` only goes forward.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { homeOf } from '../server/cluster.ts';
import { serverCode } from '../server/errors.ts';
import type { Session } from '../server/session.ts';
import { CLAIMS_TABLE, identifier, literal } from '../sql/names.ts';
import { createClaimsTable } from '../sql/schema.ts';
import type { WorkState } from '../state/table-comment.ts';
import { type StagingPlace, stagingName } from './staging-sets.ts';

export type ClaimPhase = 'free' | 'loading' | 'ready';

export interface Claim {
  readonly epoch: number;
  readonly phase: ClaimPhase;
  /** The replica that has the load's staging tables, by its name; empty when free. */
  readonly home: string;
  /** null when free. */
  readonly work: WorkState | null;
}

/** What a column's comment says. */
type Comment = Pick<Claim, 'home' | 'work'> & { readonly nonce: string };

/**
 * The column is not there, or is there already, or this replica does not know yet what has become of it (36: it is being dropped). Which
 * it is, is read afterwards.
 */
const LOST_RACE: ReadonlySet<string> = new Set(['10', '15', '16', '36', '44', '47', '517']);

/** A change of another pipeline's claim is in the way for some 100 ms. */
const PAUSE_MS = 50;
const MOST_ATTEMPTS = 200;

/** Makes the table of claims, which one server does not need. Idempotent. */
export async function ensureClaims(session: Session): Promise<void> {
  if (session.cluster === null) return;
  await session.ensure(CLAIMS_TABLE, createClaimsTable(session.table(CLAIMS_TABLE), session.placing));
}

/** The claim of a pipeline, as home knows it; null: there has been none. It may have changed since: `change` tells. */
export async function readClaim(session: Session, place: StagingPlace): Promise<Claim | null> {
  return (await readColumn(session, place))?.claim ?? null;
}

/**
 * Changes a claim, if it is still as it was read. Also after a lost answer it is known whether it did.
 * @returns false: another run was faster, and nothing was changed
 */
export async function changeClaim(
  session: Session,
  place: StagingPlace,
  from: Claim | null,
  to: Pick<Claim, 'epoch' | 'phase' | 'work'>,
): Promise<boolean> {
  const nonce = randomUUID();
  const work = to.work === null ? null : compact(to.work);
  const comment: Comment = { home: to.phase === 'free' ? '' : homeOfSession(session), work, nonce };
  const [old, fresh] = [from === null ? null : columnOf(place, from), columnOf(place, to)];
  const written = literal(JSON.stringify(comment));
  const add = `ADD COLUMN ${identifier(fresh)} UInt8 COMMENT ${written}`;
  const changes =
    old === null
      ? add
      : old === fresh
        ? `COMMENT COLUMN ${identifier(fresh)} ${written}`
        : `DROP COLUMN ${identifier(old)}, ${add}`;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    try {
      await session.define(`ALTER TABLE ${session.table(CLAIMS_TABLE)} ${changes}`);
    } catch (error) {
      if (!LOST_RACE.has(serverCode(error) ?? '')) throw error;
    }
    const now = await readColumn(session, place);
    if (now?.nonce === nonce) return alone(session, place, now.claim, from);
    if ((now === null ? null : columnOf(place, now.claim)) !== old) return false;
    await sleep(PAUSE_MS, undefined, { signal: session.signal });
  }
  throw new DomainsyncError(
    'DESTINATION_UNREACHABLE',
    `${CLAIMS_TABLE} could not be changed: this replica does not follow the others`,
    {
      hint: 'Look at system.replicas on the server that clickhouse.url names, and at ZooKeeper or Keeper, then run again.',
    },
  );
}

/** Of two first claims of a pipeline, by runs that know of different epochs, both add a column: the later one sees the other, and gives way. */
async function alone(session: Session, place: StagingPlace, mine: Claim, from: Claim | null): Promise<boolean> {
  if (from !== null || (await columnsOf(session, place)).length === 1) return true;
  await session.define(
    `ALTER TABLE ${session.table(CLAIMS_TABLE)} DROP COLUMN IF EXISTS ${identifier(columnOf(place, mine))}`,
  );
  return false;
}

/** All claims stand in one entry of ZooKeeper, of at most 1 MB: the names of very many columns of a file stay out, as a part of them does elsewhere. */
const MOST_NAME_BYTES = 8 * 1024;

function compact(work: WorkState): WorkState {
  const { sourceColumns, sourceColumnCount, result } = work;
  const names = [sourceColumns, result?.newColumns ?? [], result?.goneColumns ?? []].flat();
  if (names.reduce((bytes, name) => bytes + Buffer.byteLength(name), 0) <= MOST_NAME_BYTES) return work;
  const counted = { sourceColumns: [], sourceColumnCount: sourceColumnCount ?? sourceColumns.length };
  return { ...work, ...counted, result: result && { ...result, newColumns: [], goneColumns: [] } };
}

function homeOfSession({ cluster }: Session): string {
  return cluster === null ? '' : homeOf(cluster);
}

/** `<pipeline>/<epoch>/<phase>`; a dot would make it a nested column. */
function columnOf(place: StagingPlace, { epoch, phase }: Pick<Claim, 'epoch' | 'phase'>): string {
  return `${prefixOf(place)}${epoch}/${phase}`;
}

function prefixOf(place: StagingPlace): string {
  return `${stagingName(place).replace('.', ':')}/`;
}

interface ClaimColumn {
  readonly claim: Claim;
  readonly nonce: string;
}

async function readColumn(session: Session, place: StagingPlace): Promise<ClaimColumn | null> {
  return (await columnsOf(session, place))[0] ?? null;
}

/**
 * Drops what is no claim: the first claim of a pipeline takes no other's place, so that its statement, carried out when its run was killed
 * long ago, adds a column beside the claim that there is then.
 */
export async function dropStrayClaims(session: Session, place: StagingPlace): Promise<void> {
  const [, ...strays] = await columnsOf(session, place);
  for (const { claim } of strays) {
    const column = identifier(columnOf(place, claim));
    await session.define(`ALTER TABLE ${session.table(CLAIMS_TABLE)} DROP COLUMN IF EXISTS ${column}`);
  }
}

/** The one that counts first: of the highest epoch, and of one epoch that which has gone on since it began. */
async function columnsOf(session: Session, place: StagingPlace): Promise<ClaimColumn[]> {
  const found = await session.query<{ name: string; comment: string }>(
    `SELECT name, comment FROM system.columns
WHERE database = {database:String} AND table = {table:String} AND startsWith(name, {prefix:String})`,
    { database: session.database, table: CLAIMS_TABLE, prefix: prefixOf(place) },
  );
  const columns = found.map(({ name, comment }): ClaimColumn => {
    const [, epoch, phase] = name.split('/');
    const { home, work, nonce } = JSON.parse(comment) as Comment;
    return { claim: { epoch: Number(epoch), phase: phase as ClaimPhase, home, work }, nonce };
  });
  const begins = ({ claim }: ClaimColumn): number => Number(claim.phase === 'loading');
  return columns.sort((a, b) => b.claim.epoch - a.claim.epoch || begins(a) - begins(b));
}

/** A claim that this process has, as far as it knows. */
export class HeldClaim {
  readonly #place: StagingPlace;
  #claim: Claim;

  constructor(place: StagingPlace, claim: Claim) {
    this.#place = place;
    this.#claim = claim;
  }

  /**
   * Writes down how far the load is. In `ready` this also proves that the claim is still ours.
   * @throws TAKEN_OVER
   */
  async keep(session: Session, work: WorkState): Promise<void> {
    const phase = work.phase === 'ready' || work.rollback ? 'ready' : 'loading';
    if (phase === 'loading' && this.#claim.phase === 'loading') return;
    const to = { epoch: this.#claim.epoch, phase, work } as const;
    if (!(await changeClaim(session, this.#place, this.#claim, to))) throw takenOver(this.#place);
    this.#claim = { ...this.#claim, ...to };
  }

  /** Whether another run has it. */
  async isLost(session: Session): Promise<boolean> {
    const now = await readClaim(session, this.#place);
    return now !== null && now.epoch > this.#claim.epoch;
  }

  /** Gives it up. Nothing happens where another run has it. */
  async end(session: Session): Promise<void> {
    await changeClaim(session, this.#place, this.#claim, { epoch: this.#claim.epoch, phase: 'free', work: null });
  }
}

/** The error of a run that has lost its load. */
export function takenOver(place: StagingPlace, cause?: unknown): DomainsyncError {
  return new DomainsyncError('TAKEN_OVER', `another run of pipeline ${stagingName(place)} took this load over`, {
    cause,
  });
}
