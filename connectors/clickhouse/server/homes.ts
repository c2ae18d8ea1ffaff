/** The configured addresses, and the one that a run speaks to: its home. */
import type { Server } from './client.ts';
import { type Cluster, type ClusterOptions, findCluster } from './cluster.ts';
import { Session } from './session.ts';

/** A server, and the replicas that it is one of; null: it stands alone. */
interface Home {
  readonly server: Server;
  readonly cluster: Cluster | null;
}

export class Homes {
  readonly #servers: readonly [Server, ...Server[]];
  readonly #options: Omit<ClusterOptions, 'several'> | null;

  /**
   * @param servers one for each address, in the order of the configuration
   * @param options null: the embedded server, which has no replicas
   */
  constructor(servers: readonly [Server, ...Server[]], options: Omit<ClusterOptions, 'several'> | null) {
    this.#servers = servers;
    this.#options = options;
  }

  /** A table of the configured database, qualified and quoted. */
  table(name: string): string {
    return this.#servers[0].table(name);
  }

  /** The first address that answers. @throws DESTINATION_*, CONFIG_INVALID where the server is not what the configuration says */
  async choose(signal: AbortSignal): Promise<Home> {
    const server = await this.#firstThatAnswers(signal);
    const several = this.#servers.length > 1;
    const cluster = this.#options === null ? null : await findCluster(server, { ...this.#options, several }, signal);
    return { server, cluster };
  }

  /** Sessions of one run: all have the home that the first one chose. @throws as `choose` */
  ofOneRun(): (signal: AbortSignal) => Promise<Session> {
    let chosen: Promise<Home> | undefined;
    return async (signal) => {
      chosen ??= this.choose(signal);
      const { server, cluster } = await chosen.catch((error: unknown) => {
        chosen = undefined;
        throw error;
      });
      return new Session(server, signal, cluster);
    };
  }

  async #firstThatAnswers(signal: AbortSignal): Promise<Server> {
    const [first, ...others] = this.#servers;
    if (others.length === 0) return first;
    for (const server of this.#servers) if (await server.answers(signal)) return server;
    // Its error tells why.
    return first;
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server.close();
  }
}
