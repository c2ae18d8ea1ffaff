/** The rule of the key (docs/contract.md, "Rows"), and the two ways in which a line can lack a usable key. */

/** Why a line cannot become a row. `detail` holds no data from the line. */
interface Refusal {
  readonly reason: 'missing-domain' | 'invalid-domain';
  readonly detail: string;
}

/** The longest name in the DNS, in bytes. */
const MAX_DOMAIN_BYTES = 253;

/** A UTF-16 unit takes at most this many bytes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

const WHITE_SPACE = /\s/;
const DOT = 0x2e;

/** The key from the source's value (trimmed, in lower case, without one trailing dot), or why there is none. */
export function toDomain(value: unknown): string | Refusal {
  if (typeof value !== 'string') return missing(value);
  let domain = value.trim().toLowerCase();
  if (domain.charCodeAt(domain.length - 1) === DOT) domain = domain.slice(0, -1);
  if (domain === '' || domain === '.') return { reason: 'missing-domain', detail: 'Domain is empty or only a dot' };
  if (domain.length * MAX_BYTES_PER_UNIT > MAX_DOMAIN_BYTES && Buffer.byteLength(domain) > MAX_DOMAIN_BYTES) {
    return { reason: 'invalid-domain', detail: `Domain is longer than ${MAX_DOMAIN_BYTES} bytes` };
  }
  return hasForbidden(domain)
    ? { reason: 'invalid-domain', detail: 'Domain has white space or a control character inside' }
    : domain;
}

function missing(value: unknown): Refusal {
  if (value === undefined) return { reason: 'missing-domain', detail: 'Domain is absent' };
  return { reason: 'missing-domain', detail: value === null ? 'Domain is null' : 'Domain is not a string' };
}

/** Forbidden are white space as in `\s`, C0 controls and DEL, but not C1 controls. */
function hasForbidden(domain: string): boolean {
  let ascii = true;
  for (let i = 0; i < domain.length; i++) {
    const unit = domain.charCodeAt(i);
    if (unit <= 0x20 || unit === 0x7f) return true;
    if (unit > 0x7f) ascii = false;
  }
  return !ascii && WHITE_SPACE.test(domain);
}
