/** The column of DNS records. */
import { dayText } from './dates.ts';
import { DNS_PROVIDERS, MAIL_PROVIDERS, TXT_NOTES } from './lists.ts';
import { hash, Random } from './random.ts';
import { isDead, siteOf } from '../server/web.ts';
import { type Life, STREAM, type World } from './world.ts';

type Records = Record<string, unknown[]>;

/** Record type to values (docs/service.md, "Domain row", rule 5); null for a domain that does not answer. */
export function dnsRecordsOf(world: World, index: number, life: Life, domain: string): Records | null {
  if (isDead(world, index, life)) return null;
  // Values constant over all snapshots come from one stream, changing values from another.
  const base = new Random(hash(world.seed, index, STREAM.dns));
  const provider = base.pick(DNS_PROVIDERS);
  const records: Records = {};
  const { ip } = siteOf(world, index, life);
  if (ip !== null) records['A'] = base.chance(0.15) ? [ip, `192.0.2.${base.below(256)}`] : [ip];
  if (base.chance(0.2)) records['AAAA'] = [`2001:db8:${(base.next() >>> 16).toString(16)}::${base.below(9) + 1}`];
  records['NS'] = [`ns${1 + base.below(4)}.${provider}`, `ns${5 + base.below(4)}.${provider}`];
  const serial = Number(dayText(world.firstDay - base.below(900)).replaceAll('-', '')) * 100 + life.dns;
  records['SOA'] = [`ns1.${provider} hostmaster.${provider} ${serial} 10800 3600 604800 3600`];
  if (base.chance(0.5)) addMail(records, base);
  addText(records, new Random(hash(world.seed, index, STREAM.dns, 1 + life.dns)));
  if (base.chance(0.12)) addRare(records, base, domain);
  return records;
}

function addMail(records: Records, random: Random): void {
  const host = random.pick(MAIL_PROVIDERS);
  records['MX'] = [{ host, priority: 10 }];
  if (random.chance(0.3)) records['MX'].push({ host: `alt1.${host}`, priority: 20 });
}

function addText(records: Records, random: Random): void {
  if (random.chance(0.5)) return;
  records['TXT'] = ['v=spf1 include:_spf.mail.example ~all'];
  if (random.chance(0.25)) {
    records['TXT'].push(`site-verification=${random.next().toString(36)}${random.next().toString(36)}`);
  }
  if (random.chance(0.08)) records['TXT'].push(random.pick(TXT_NOTES));
}

function addRare(records: Records, random: Random, domain: string): void {
  switch (random.below(8)) {
    case 0:
      records['CNAME'] = [`edge.${domain}`];
      break;
    case 1:
      records['CAA'] = ['0 issue "ca.example"', '0 iodef "mailto:security@ca.example"'];
      break;
    case 2:
      records['HTTPS'] = ['1 . alpn="h3,h2" ipv4hint=192.0.2.1'];
      break;
    case 3:
      records['DNSKEY'] = [`257 3 13 ${random.next().toString(36)}${random.next().toString(36)}==`];
      records['DS'] = [`${random.below(65536)} 13 2 ${random.next().toString(16).toUpperCase()}`];
      break;
    case 4:
      records['SRV'] = [`100 1 443 sip.${domain}`];
      break;
    case 5:
      records['PTR'] = [`host-${random.below(256)}.${domain}`];
      break;
    case 6:
      records['TLSA'] = ['3 1 1 0D6FCE3A'];
      break;
    default:
      records['CAA'] = ['0 issue ";"'];
  }
}
