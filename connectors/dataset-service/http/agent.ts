/** Connections to the service: direct, or through the proxies of the environment. */
import { Agent, Dispatcher, EnvHttpProxyAgent } from 'undici';
import { isLoopback } from './loopback.ts';

const CONNECT_MS = 10_000;

/** Proxies by the scheme of the requested URL, as URLs; empty: none. They may hold a user and a password. */
export interface ProxySettings {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Hosts that are connected to directly, as NO_PROXY lists them. */
  readonly noProxy: string;
}

/** The dispatcher of requests, with its connections. The caller destroys it. */
export function createAgent(proxy: ProxySettings | undefined): Dispatcher {
  const options = { allowH2: false, connectTimeout: CONNECT_MS };
  const direct = new Agent(options);
  // All three settings are given: undici reads a missing one from the environment, which only config/ may read.
  return proxy === undefined ? direct : new ByHost(direct, new EnvHttpProxyAgent({ ...options, ...proxy }));
}

/**
 * Connects to this machine directly, also after a redirect: for a proxy `localhost` is another machine, and the proxy would
 * see the key.
 */
class ByHost extends Dispatcher {
  readonly #direct: Dispatcher;
  readonly #proxied: Dispatcher;

  constructor(direct: Dispatcher, proxied: Dispatcher) {
    super();
    this.#direct = direct;
    this.#proxied = proxied;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { origin } = options;
    const own = origin !== undefined && isLoopback(new URL(origin).hostname);
    return (own ? this.#direct : this.#proxied).dispatch(options, handler);
  }

  override async destroy(): Promise<void> {
    await Promise.all([this.#direct.destroy(), this.#proxied.destroy()]);
  }
}

/** The hosts of the proxies for a person, without user and password. '': requests to the host go directly. */
export function describeProxy(host: string, { httpProxy, httpsProxy }: ProxySettings): string {
  if (isLoopback(host)) return '';
  const hosts = [httpsProxy, httpProxy].flatMap((url) => (URL.canParse(url) ? [new URL(url).host] : []));
  return [...new Set(hosts)].join(' and ');
}
