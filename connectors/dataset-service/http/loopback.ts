/** Hosts that are this machine itself. Pure. */
import { isIPv4 } from 'node:net';

/** ::1 and 127.0.0.0/8 as a part of IPv6 (RFC 4291, 2.5.5.2), and the address that stands for any of this machine's. */
const OWN_IPV6 = /^\[(?:::1?|::ffff:(?:7f[0-9a-f]{2}:[0-9a-f]{1,4}|0:0))\]$/u;

/**
 * Whether a host leads to this machine, so that what is sent there is no proxy's: addresses of loopback, `localhost`, and
 * all names that end so (RFC 6761, 6.3).
 * @param hostname as `URL` gives it: in lower case, with every form of an IPv4 address (`127.1`, `0x7f.1`) written out
 */
export function isThisMachine(hostname: string): boolean {
  const host = hostname.replace(/\.$/u, '');
  if (isIPv4(host)) return host.startsWith('127.') || host === '0.0.0.0';
  return host === 'localhost' || host.endsWith('.localhost') || OWN_IPV6.test(host);
}
