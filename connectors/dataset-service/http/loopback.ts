/** Hosts that lead to this machine. Pure. */
import { isIPv4 } from 'node:net';

/** ::1, 127.0.0.0/8 mapped into IPv6 (RFC 4291, 2.5.5.2), and the unspecified address. */
const OWN_IPV6 = /^\[(?:::1?|::ffff:(?:7f[0-9a-f]{2}:[0-9a-f]{1,4}|0:0))\]$/u;

/**
 * Whether a host leads to this machine: loopback addresses, `localhost`, and names below it (RFC 6761, 6.3).
 * @param hostname as `URL` gives it: in lower case, with every form of an IPv4 address (`127.1`, `0x7f.1`) written out
 */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/\.$/u, '');
  if (isIPv4(host)) return host.startsWith('127.') || host === '0.0.0.0';
  return host === 'localhost' || host.endsWith('.localhost') || OWN_IPV6.test(host);
}
