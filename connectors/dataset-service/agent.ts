/** Connections to the service: direct, or through the proxies that the environment names. */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';

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
  // All three are given: what is not, undici would read from the environment itself, which only config/ may.
  return proxy === undefined ? new Agent(options) : new EnvHttpProxyAgent({ ...options, ...proxy });
}

/** The proxies for a person: where they are, without user and password. */
export function describeProxy({ httpProxy, httpsProxy }: ProxySettings): string {
  const hosts = [httpsProxy, httpProxy].flatMap((url) => (URL.canParse(url) ? [new URL(url).host] : []));
  return [...new Set(hosts)].join(' and ');
}
