/** Connections to the service: direct, or through the proxies that the environment names. */
import { Agent, Dispatcher, EnvHttpProxyAgent } from 'undici';
import { isThisMachine } from './loopback.ts';

const CONNECT_MS = 10_000;

/** Proxies by the scheme of the URL asked for, as URLs; empty: none. They may hold a user and a password. */
export interface ProxySettings {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Hosts that are asked directly, as NO_PROXY lists them. */
  readonly noProxy: string;
}

/** What keeps connections and hands requests to them. To be destroyed in the end. */
export function createAgent(proxy: ProxySettings | undefined): Dispatcher {
  const options = { allowH2: false, connectTimeout: CONNECT_MS };
  const direct = new Agent(options);
  // All three are given: what is not, undici would read from the environment itself, which only config/ may.
  return proxy === undefined ? direct : new ByHost(direct, new EnvHttpProxyAgent({ ...options, ...proxy }));
}

/** Asks this machine directly, wherever a redirect led there from: to a proxy it is another, and the key would be open to it. */
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
    const own = origin !== undefined && isThisMachine(new URL(origin).hostname);
    return (own ? this.#direct : this.#proxied).dispatch(options, handler);
  }

  override async destroy(): Promise<void> {
    await Promise.all([this.#direct.destroy(), this.#proxied.destroy()]);
  }
}

/** The proxies for a person, where a host is asked through them: where they are, without user and password. '': it is not. */
export function describeProxy(host: string, { httpProxy, httpsProxy }: ProxySettings): string {
  if (isThisMachine(host)) return '';
  const hosts = [httpsProxy, httpProxy].flatMap((url) => (URL.canParse(url) ? [new URL(url).host] : []));
  return [...new Set(hosts)].join(' and ');
}
