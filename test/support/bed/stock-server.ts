/** A stock ClickHouse server with its own users, profiles, quotas and interserver port, and with ZooKeeper a place in a cluster. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Engine, fetchWheel } from './cache.ts';
import { type Cluster, type Member, serverXml, USERS_XML } from './configuration.ts';
import { BedProcess } from './process.ts';

const SERVER = fileURLToPath(new URL('server.py', import.meta.url));

export interface StockServerOptions {
  readonly engine: Engine;
  /** Made where it is missing. */
  readonly folder: string;
  readonly member: Member;
  readonly cluster: Cluster | null;
}

/** Signs in as `default`, without a password. */
export class StockServer extends BedProcess {
  readonly name: string;
  readonly folder: string;
  /** Of HTTP. */
  readonly url: string;
  /** Of HTTP. */
  readonly port: number;
  readonly tcpPort: number;
  readonly shard: number;

  private constructor({ folder, member }: StockServerOptions, wheel: string) {
    super({
      command: ['python3', SERVER, wheel, folder],
      folder,
      isReady: () => isReady(`http://127.0.0.1:${member.ports.http}`),
    });
    this.name = member.name;
    this.folder = folder;
    this.port = member.ports.http;
    this.url = `http://127.0.0.1:${this.port}`;
    this.tcpPort = member.ports.tcp;
    this.shard = member.shard;
  }

  /** Writes what it needs; it is down then. */
  static async prepare(options: StockServerOptions): Promise<StockServer> {
    const wheel = await fetchWheel(options.engine);
    const { folder, member, cluster } = options;
    await mkdir(join(folder, 'data'), { recursive: true });
    await writeFile(join(folder, 'users.xml'), USERS_XML);
    await writeFile(join(folder, 'config.xml'), serverXml(folder, member, cluster));
    return new StockServer(options, wheel);
  }

  /** Its first start; resolves when it answers. */
  async start(): Promise<void> {
    await this.revive();
    await this.#putBase64();
  }

  /** Sets, or with null removes, what is merged into its configuration or its users, from its next start on. */
  async configure(part: 'config.d' | 'users.d', xml: string | null): Promise<void> {
    await configureServer(this.folder, part, xml);
  }

  async #putBase64(): Promise<void> {
    for (const body of BASE64) {
      const response = await fetch(this.url, { method: 'POST', body });
      if (!response.ok) throw new Error(await response.text());
    }
  }
}

/** As `configure`, for any server that has its configuration in a folder. @param xml what stands inside <clickhouse> */
export async function configureServer(folder: string, part: 'config.d' | 'users.d', xml: string | null): Promise<void> {
  const path = join(folder, part, 'test.xml');
  await mkdir(join(folder, part), { recursive: true });
  if (xml === null) await rm(path, { force: true });
  else await writeFile(path, `<clickhouse>${xml}</clickhouse>`);
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/ping`, { signal: AbortSignal.timeout(5_000) });
    return (await response.text()).startsWith('Ok');
  } catch {
    return false;
  }
}

/*
 * The wheels are built without the base64 library: stand-ins in SQL, which the server keeps. They map small pieces of the
 * text, since what a lambda names from outside is copied for every piece.
 */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** What the n-th of four characters stands for; padding counts as 0. */
const sextet = (n: number): string => `(greatest(position('${ALPHABET}', substring(four, ${n}, 1)), 1) - 1)`;
/** The character of six bits of `bits`. */
const character = (shift: number): string =>
  `substring('${ALPHABET}', bitAnd(bitShiftRight(bits, ${shift}), 63) + 1, 1)`;
const BASE64 = [
  `CREATE FUNCTION IF NOT EXISTS base64Decode AS (x) -> substring(unhex(arrayStringConcat(arrayMap(
  four -> leftPad(hex(toUInt32(${sextet(1)} * 262144 + ${sextet(2)} * 4096 + ${sextet(3)} * 64 + ${sextet(4)})), 6, '0'),
  extractAll(x, '.{4}')))), 1, intDiv(length(x), 4) * 3 - multiIf(endsWith(x, '=='), 2, endsWith(x, '='), 1, 0))`,
  `CREATE FUNCTION IF NOT EXISTS base64Encode AS (x) -> arrayStringConcat(arrayMap(
  (digits, bits) -> ${character(18)} || ${character(12)} || if(length(digits) > 2, ${character(6)}, '=') || if(length(digits) > 4, ${character(0)}, '='),
  extractAll(hex(x), '.{1,6}'),
  arrayMap(digits -> reinterpretAsUInt32(reverse(unhex(rightPad(digits, 6, '0')))), extractAll(hex(x), '.{1,6}'))))`,
];
