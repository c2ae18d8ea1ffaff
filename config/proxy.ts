/** Proxies from the environment for requests to the service, read as undici's EnvHttpProxyAgent does. */
import type { ProxyConfig } from './schema.ts';
import type { Environment } from './substitute.ts';
import type { Fault } from './values.ts';

const SCHEMES: readonly string[] = ['http:', 'https:', 'socks5:', 'socks:'];

/**
 * Reads `http_proxy`, `https_proxy` and `no_proxy`. Lower case takes precedence over upper case. A proxy without a scheme uses http.
 * @returns undefined if no proxy is named or a name is faulty
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
  // The message omits the value: it may hold a password.
  const message = `the environment variable ${name} (or ${name.toUpperCase()}) names no proxy: http://host:port is one`;
  faults.push({ path: ['service'], message, absent: false });
  return '';
}
