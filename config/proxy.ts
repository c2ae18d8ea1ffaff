/** The proxies that the environment names, for requests to the service: as undici's EnvHttpProxyAgent reads them. */
import type { ProxyConfig } from './schema.ts';
import type { Environment } from './substitute.ts';
import type { Fault } from './values.ts';

const SCHEMES: readonly string[] = ['http:', 'https:', 'socks5:', 'socks:'];

/**
 * `http_proxy`, `https_proxy` and `no_proxy`, in lower case or else in upper case; a proxy without a scheme is one of http.
 * @returns undefined where no proxy is named, or what is wrong
 */
export function proxyOf(env: Environment, faults: Fault[]): ProxyConfig | undefined {
  const [http, https] = [proxyUrl(env, 'http_proxy', faults), proxyUrl(env, 'https_proxy', faults)];
  if (http === '' && https === '') return undefined;
  return { httpProxy: http, httpsProxy: https, noProxy: variable(env, 'no_proxy') };
}

function variable(env: Environment, name: string): string {
  return (env[name] ?? env[name.toUpperCase()] ?? '').trim();
}

function proxyUrl(env: Environment, name: string, faults: Fault[]): string {
  const written = variable(env, name);
  if (written === '') return '';
  const url = URL.parse(written.includes('://') ? written : `http://${written}`);
  if (url !== null && url.hostname !== '' && SCHEMES.includes(url.protocol)) return url.href;
  // The value stays out of it: it may hold a password.
  const message = `the environment variable ${name} (or ${name.toUpperCase()}) names no proxy: http://host:port is one`;
  faults.push({ path: ['service'], message, absent: false });
  return '';
}
