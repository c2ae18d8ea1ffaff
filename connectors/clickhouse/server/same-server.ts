/**
 * Proves that all answers come from one server. Behind a load balancer the statements of one load would reach several servers, each
 * of which would hold a part of it. A server that restarts is the same one, also under another name.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';

/** What tells a server from every other. */
export interface ServerIdentity {
  /** The name that every answer shows: the host's by default. */
  readonly displayName: string;
  /** Kept in its data folder; zeros where it has none, as servers out of `clickhouse local` have. */
  readonly uuid: string;
  readonly host: string;
  /** Folder of the database; asked for only without a UUID. Empty: there is no such database yet. */
  readonly folder: string;
}

export const SELECT_IDENTITY =
  "SELECT displayName() AS displayName, toString(serverUUID()) AS uuid, hostName() AS host, '' AS folder";
export const SELECT_FOLDER = 'SELECT data_path AS folder FROM system.databases WHERE name = {database:String}';

export const NO_UUID = '00000000-0000-0000-0000-000000000000';

/** Questions at once, over as many connections: a balancer spreads them. */
const ASKED_AT_ONCE = 4;
/** Questions about a name that was not seen before: a server that restarted under it answers the first one. */
const ASKED_AGAIN = 5;

/** Asks whoever answers, once. */
type AskIdentity = (signal: AbortSignal) => Promise<ServerIdentity>;

/** The server that answers are expected from. States: unknown (names are only collected), then known by `identify`, for good. */
export class SameServer {
  readonly #ask: AskIdentity;
  #expected: ServerIdentity | null = null;
  /** Display names under which the expected server has answered. */
  readonly #names = new Set<string>();

  constructor(ask: AskIdentity) {
    this.#ask = ask;
  }

  /** Asks several times at once who answers. @throws DESTINATION_REFUSED where that is not always the same server */
  async identify(signal: AbortSignal): Promise<void> {
    const answers = await Promise.all(Array.from({ length: ASKED_AT_ONCE }, () => this.#ask(signal)));
    const expected = this.#expected ?? answers[0];
    if (expected === undefined) return;
    const other = answers.find((one) => !isSame(expected, one));
    if (other !== undefined) throw differentServers(expected, other);
    const names = new Set(answers.map(({ displayName }) => displayName));
    // Names of statements before and beside these questions.
    const strange = [...this.#names].find((name) => !names.has(name));
    if (this.#expected === null && strange !== undefined)
      throw differentServers(expected, { ...expected, displayName: strange });
    this.#expected = expected;
    for (const name of names) this.#names.add(name);
  }

  /**
   * Checks the name that an answer shows. Only a new name costs a question.
   * @param displayName undefined: a proxy took it away
   * @throws DESTINATION_REFUSED
   */
  async check(displayName: string | undefined, signal: AbortSignal): Promise<void> {
    if (displayName === undefined || this.#names.has(displayName)) return;
    if (this.#names.size === 0) {
      this.#names.add(displayName);
      return;
    }
    await this.confirm(signal, displayName);
  }

  /**
   * Asks who answers now.
   * @param displayName asks until the server of that name has answered
   * @throws DESTINATION_REFUSED where it is not the expected one
   */
  async confirm(signal: AbortSignal, displayName?: string): Promise<void> {
    const expected = this.#expected;
    if (expected === null && displayName === undefined) return;
    const known = expected ?? { displayName: [...this.#names].join(', '), uuid: NO_UUID, host: '', folder: '' };
    for (let asked = 0; asked < ASKED_AGAIN; asked += 1) {
      const answer = await this.#ask(signal);
      if (!isSame(known, answer)) throw differentServers(known, answer);
      if (displayName === undefined || answer.displayName === displayName) {
        this.#names.add(answer.displayName);
        return;
      }
    }
    throw differentServers(known, { ...known, displayName: displayName ?? '' });
  }
}

function isSame(one: ServerIdentity, other: ServerIdentity): boolean {
  if (one.uuid !== NO_UUID || other.uuid !== NO_UUID) return one.uuid === other.uuid;
  const sameFolder = one.folder === '' || other.folder === '' || one.folder === other.folder;
  return one.host === other.host && sameFolder;
}

function differentServers(one: ServerIdentity, other: ServerIdentity): DomainsyncError {
  const named = ({ displayName, host, uuid, folder }: ServerIdentity): string => {
    const more = [host === displayName ? '' : host, uuid === NO_UUID ? folder : uuid].filter((part) => part !== '');
    return more.length === 0 ? displayName : `${displayName} (${more.join(', ')})`;
  };
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `answers come from different ClickHouse servers, ${named(one)} and ${named(other)}: a load would be spread over them`,
    {
      hint: 'If clickhouse.url names a load balancer, name the addresses of the servers behind it in its place: one, or with clickhouse.cluster all of them as a list. If the server was replaced by another one, start domainsync anew.',
    },
  );
}
