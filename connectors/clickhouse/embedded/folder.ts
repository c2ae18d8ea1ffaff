/**
 * What lies in the folder of an embedded server, and how it is secured.
 *
 *   <folder>/server/         ClickHouse's own data
 *   <folder>/lock            locked by the one server at work
 *   <folder>/config.xml      made anew at every start
 *   <folder>/users.xml       made anew at every start; holds only the password's hash
 *   <folder>/password        of the user `domainsync`, mode 0600, made by the first server
 *   <folder>/endpoint.json   where the server at work listens; stale when it was killed
 *   <folder>/server.log      what the server printed; server-<pid>.log while it starts
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** The user that domainsync, and programs that a person points at the server, sign in as. */
export const EMBEDDED_USER = 'domainsync';

/** What the server's own session runs: SYSTEM START LISTEN, then the query that never ends. */
const STARTUP_QUERIES = 2;
const QUOTA_SECONDS = 2_000_000_000; // 63 years: near the largest that ClickHouse takes

/** Exit code of a server that found another one at work in its folder (EX_TEMPFAIL of sysexits.h). */
export const FOLDER_TAKEN = 75;

/** File descriptor on which a server tells its starter why it ends: its log may have no room for that. */
export const REASON_FD = 3;

/** Where a server at work can be reached. */
export interface Endpoint {
  /** Distinguishes this start of the server from all others: a lease checks it. */
  readonly id: string;
  readonly httpPort: number;
  readonly leasePort: number;
  readonly pid: number;
}

/** Paths inside an embedded server's folder. */
export class EmbeddedFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  get data(): string {
    return join(this.path, 'server');
  }
  get lock(): string {
    return join(this.path, 'lock');
  }
  get config(): string {
    return join(this.path, 'config.xml');
  }
  get users(): string {
    return join(this.path, 'users.xml');
  }
  get password(): string {
    return join(this.path, 'password');
  }
  get endpoint(): string {
    return join(this.path, 'endpoint.json');
  }
  get log(): string {
    return join(this.path, 'server.log');
  }

  /** Log of a server that process `starter` is starting. */
  startLog(starter: number): string {
    return join(this.path, `server-${starter}.log`);
  }

  /** Makes the folder where it is missing. Any number of processes may do so at once. */
  async prepare(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
  }

  async readPassword(): Promise<string> {
    return (await readFile(this.password, 'utf8')).trim();
  }

  /** The endpoint written last, or null. Whoever reads it must check that its server is alive. */
  async readEndpoint(): Promise<Endpoint | null> {
    try {
      return JSON.parse(await readFile(this.endpoint, 'utf8')) as Endpoint;
    } catch {
      return null;
    }
  }

  /** Of the server that holds the lock. */
  async writeEndpoint(endpoint: Endpoint): Promise<void> {
    await replaceFile(this.endpoint, JSON.stringify(endpoint));
  }

  /** Removes what servers left that could not write their endpoint, by the names that earlier versions gave it. */
  async tidy(): Promise<void> {
    const left = (await readdir(this.path)).filter((name) => /^endpoint\.json\.\d+$/.test(name));
    for (const name of left) await rm(join(this.path, name), { force: true });
  }

  /** Makes the password where there is none; a full disk, or a crash, may have left an empty one. */
  async #ensurePassword(): Promise<string> {
    const kept = await this.readPassword().catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    if (kept !== '') return kept;
    const made = randomBytes(24).toString('base64url');
    await replaceFile(this.password, made);
    return made;
  }

  /**
   * Writes the server's configuration. `default`, which the server's own session runs as, can have no password, and
   * ClickHouse takes 127.0.0.1 for ::1. So it may have one session, which is the server's own from before it listens:
   * an anonymous request is refused whatever it asks. Without this, any local user, and any web page through a browser's
   * POST, could read files, drop tables, or stop the listener. Grants and a used-up quota alone do not do it: neither
   * concerns `SELECT file('...')`, which reads any file of ours, the password among them.
   * For the server that holds the lock, as is the password, which is made here: nobody asks for it before.
   */
  async writeConfiguration(): Promise<void> {
    const hash = createHash('sha256')
      .update(await this.#ensurePassword())
      .digest('hex');
    await replaceFile(this.users, usersXml(hash));
    await replaceFile(this.config, configXml(this.users));
  }
}

/** Whole or not at all, and only for its owner. Nothing is left where there is no room. */
async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.tmp`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, path);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => {});
    // A write that fails does not say of what.
    throw new Error(`cannot write ${path}: ${(cause as Error).message}`, { cause });
  }
}

function usersXml(passwordHash: string): string {
  return `<clickhouse>
  <profiles>
    <default/>
    <startup><max_sessions_for_user>1</max_sessions_for_user></startup>
  </profiles>
  <quotas>
    <default/>
    <startup><interval><duration>${QUOTA_SECONDS}</duration><queries>${STARTUP_QUERIES}</queries></interval></startup>
  </quotas>
  <users>
    <default>
      <password></password>
      <networks><ip>::1</ip></networks>
      <profile>startup</profile>
      <quota>startup</quota>
      <grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants>
    </default>
    <${EMBEDDED_USER}>
      <password_sha256_hex>${passwordHash}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <access_management>1</access_management>
    </${EMBEDDED_USER}>
  </users>
</clickhouse>
`;
}

function configXml(usersPath: string): string {
  return `<clickhouse>
  <users_config>${escapeXml(usersPath)}</users_config>
</clickhouse>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
