/** The columns about a domain's registration. */
import { dayText, stamp } from './dates.ts';
import { DNS_PROVIDERS, REGISTRARS } from './lists.ts';
import { hash, Random } from './random.ts';
import { type Life, STREAM, type World } from './world.ts';

interface Registration {
  readonly checked: string;
  readonly method: 'rdap' | 'whois';
  readonly created: string | null;
  readonly expires: string | null;
  readonly changed: string | null;
  readonly registrar: string | null;
  readonly record: Readonly<Record<string, unknown>> | null;
  readonly status: string;
}

/** Share of registrations with a raw record. It makes a row of all-data about 1.1 KB. */
const RECORD_SHARE = 0.24;

/**
 * The day of the last check of a column group. It strictly increases with the snapshot of the check, so a check always
 * shows.
 */
export function checkedDay(world: World, at: number, bits: number): number {
  return at === 0 ? world.firstDay - 1 - (bits % 30) : world.firstDay + at * world.intervalDays - 1;
}

/** The registration of a registered domain, as a registry would report it. */
export function registrationOf(world: World, index: number, life: Life, domain: string, tld: string): Registration {
  const random = new Random(hash(world.seed, index, STREAM.registration));
  const bits = random.next();
  const renewals = life.registration;
  const createdDay = world.firstDay - 30 - Math.floor(random.real() ** 2 * 10_000);
  const expiresDay = world.firstDay + 20 + random.below(700) + 365 * renewals;
  const earlier = random.chance(0.2) ? null : world.firstDay - 40 - random.below(300);
  const changedDay = renewals > 0 ? checkedDay(world, life.renewedAt, 0) : earlier;
  const registrar = random.chance(0.04) ? null : afterTransfers(world, index, renewals, random.pick(REGISTRARS));
  // Some countries' registries publish no dates.
  const silent = tld === 'de' || random.chance(0.03);
  const method = random.chance(0.7) ? 'rdap' : 'whois';
  const full = random.chance(RECORD_SHARE);
  const texts = {
    created: silent ? null : stamp(createdDay, random.next()),
    expires: silent ? null : stamp(expiresDay, random.next()),
    changed: changedDay === null ? null : stamp(changedDay, bits),
  };
  return {
    checked: stamp(checkedDay(world, life.registrationAt, bits), bits >>> 3),
    method,
    ...texts,
    registrar,
    record: full ? recordOf(random, method, domain, registrar, createdDay, expiresDay) : null,
    status: random.chance(0.97) ? 'success' : random.pick(['not_found', 'timeout', 'rate_limited']),
  };
}

/** The registrar after so many changes of the registration, of which every third or so takes the domain to another one. */
function afterTransfers(world: World, index: number, renewals: number, first: string): string {
  let registrar = first;
  for (let renewal = 1; renewal <= renewals; renewal += 1) {
    const bits = hash(world.seed, index, STREAM.transfer, renewal);
    if (bits % 3 === 0) registrar = REGISTRARS[Math.floor(bits / 3) % REGISTRARS.length] ?? registrar;
  }
  return registrar;
}

function recordOf(
  random: Random,
  method: 'rdap' | 'whois',
  domain: string,
  registrar: string | null,
  createdDay: number,
  expiresDay: number,
): Readonly<Record<string, unknown>> {
  const facts = {
    domain,
    handle: `${random.next()}_DOMAIN`,
    registrar: registrar ?? 'not disclosed',
    created: `${dayText(createdDay)}T04:00:00Z`,
    expires: `${dayText(expiresDay)}T04:00:00Z`,
    provider: random.pick(DNS_PROVIDERS),
  };
  if (method === 'whois') return { raw_response: whoisText(facts) };
  return {
    handle: facts.handle,
    status: ['client transfer prohibited'],
    raw_response: JSON.stringify(rdapObject(facts)),
  };
}

interface Facts {
  readonly domain: string;
  readonly handle: string;
  readonly registrar: string;
  readonly created: string;
  readonly expires: string;
  readonly provider: string;
}

const REDACTED = 'REDACTED FOR PRIVACY';

function whoisText(facts: Facts): string {
  const contact = (role: string): string =>
    ['Name', 'Street', 'City', 'Phone'].map((field) => `${role} ${field}: ${REDACTED}\r\n`).join('');
  return (
    `Domain Name: ${facts.domain.toUpperCase()}\r\nRegistry Domain ID: ${facts.handle}\r\n` +
    `Registrar WHOIS Server: whois.registrar.example\r\nRegistrar URL: https://registrar.example\r\n` +
    `Creation Date: ${facts.created}\r\nRegistry Expiry Date: ${facts.expires}\r\nRegistrar: ${facts.registrar}\r\n` +
    `Domain Status: clientTransferProhibited https://icann.org/epp#clientTransferProhibited\r\n` +
    `${contact('Registrant')}${contact('Admin')}${contact('Tech')}` +
    `Name Server: NS1.${facts.provider.toUpperCase()}\r\nName Server: NS2.${facts.provider.toUpperCase()}\r\n` +
    `DNSSEC: unsigned\r\n>>> Last update of WHOIS database <<<\r\n\r\n` +
    `NOTICE: The expiration date displayed in this record is the date the registrar's sponsorship of the domain name ` +
    `registration in the registry is currently set to expire.\r\n\tTERMS OF USE: You are not authorized to access or ` +
    `query this database through the use of high-volume, "automated" processes.\r\n`
  );
}

function rdapObject(facts: Facts): object {
  const entity = (role: string, name: string): object => ({
    objectClassName: 'entity',
    roles: [role],
    vcardArray: [
      'vcard',
      [
        ['version', {}, 'text', '4.0'],
        ['fn', {}, 'text', name],
        ['adr', {}, 'text', REDACTED],
      ],
    ],
  });
  return {
    objectClassName: 'domain',
    handle: facts.handle,
    ldhName: facts.domain.toUpperCase(),
    links: [
      { rel: 'self', href: `https://rdap.registry.example/domain/${facts.domain}`, type: 'application/rdap+json' },
    ],
    status: ['client transfer prohibited'],
    entities: [entity('registrar', facts.registrar), entity('registrant', REDACTED)],
    events: [
      { eventAction: 'registration', eventDate: facts.created },
      { eventAction: 'expiration', eventDate: facts.expires },
    ],
    secureDNS: { delegationSigned: false },
    nameservers: [{ objectClassName: 'nameserver', ldhName: `ns1.${facts.provider}` }],
    rdapConformance: ['rdap_level_0', 'icann_rdap_response_profile_0'],
  };
}
