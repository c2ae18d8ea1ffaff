/** Values that lines are made of: what the rules of docs/contract.md, "Rows", tell apart, and what lies on both sides of their limits. */
import type { Random } from '../../src/sandbox/data/random.ts';

/** JSON text that stands in a line as it is. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Like JSON's values, with `Raw` among them, and objects whose keys may stand twice. */
export type Node = string | number | boolean | null | Raw | readonly Node[] | Members;

export class Members {
  readonly entries: readonly (readonly [string, Node])[];

  constructor(entries: readonly (readonly [string, Node])[]) {
    this.entries = entries;
  }
}

/** Lists of many short texts stand between bars. */
const parted = (texts: string): string[] => texts.split('|');

const NUMBERS = [
  '0|-0|-0.0|-0e5|1|200|65535|65536|-1|2e2|20.0e1|200.5|1E3|1e+3|1.50|1e-7|4.9e-324|1e-400|-1e-400|1e400',
  '-1e400|1.7976931348623157e308|9007199254740993|1e21|12345678901234567890|0.1|5.035945120000001e-11',
  '123456789.123456789e-3|9007199254740991e22|1e22|1e23|0.30000000000000004|100000000000000000000e-20|00|01',
  '-|1.|.5|+1|1e|1e+|0x1|NaN|Infinity|-01|1.e2|--1|1e1e1|1 2|0.0000000000000000000000000000001e25|-5|007',
].flatMap(parted);

const NUMERIC_STRINGS = [
  '|0|-0|0200|65535|65536|000000000000065535|99999999999999999999999|+1| 1|1 |1.5|007.50|-007|1e3|1E+3|1e',
  '1.|.5|1e400|-1e400|1e-400|0x10|1_0|NaN|٢٠٠|200\n',
].flatMap(parted);

const DATES = [
  '2024-01-31|2024-02-29|2023-02-29|1900-02-29|2000-02-29|1900-01-01|1899-12-31|2299-12-31|2300-01-01',
  '0000-01-01|0099-01-01|9999-12-31|2024-13-01|2024-00-10|2024-04-31|2024-1-31|2024-01-31T10:20:30',
  '2024-01-31 10:20:30|2024-01-31t10:20:30|2024-01-31T24:00:00|2024-01-31T23:59:60|2024-01-31T10:20:30Z',
  '2024-01-31T10:20:30z|2024-01-31T10:20:30+01:00|2024-01-31T10:20:30-0130|2024-01-31T10:20:30+24:00',
  '2024-01-31T10:20:30+23:59|2024-01-31T10:20:30+01|2024-01-31T10:20:30+1:00|1899-12-31T23:30:00-01:00',
  '1900-01-01T00:30:00+01:00|2300-01-01T00:30:00+01:00|2299-12-31T23:59:59.999|2299-12-31T23:30:00-01:00',
  '2024-01-31T10:20|2024-01-31T10|2024-01-31Z|2024-01-31+01:00|29ab-01-01|1969-12-31T23:59:59.9999',
  '2024-01-31T10:20:30.|2024-01-31T10:20:30.1|2024-01-31T10:20:30.12Z|2024-01-31T10:20:30.123456789',
  '2024-01-31T10:20:30.1234567890|2024-01-31T10:20:30.5+02:00|2024-01-31T|2024-01-31T10:20:30+01:0',
  '2024-01-31T10:20:30+0100Z| 2024-01-31|2024-01-31 |2024/01/31|٢٠٢٤-01-31|2024-01-31T1a:20:30',
  '2024-01-31T10:2a:30|2024-01-31T10:20:3a|20-4-01-31|2024-01-31T10:20:30.12a',
].flatMap(parted);

const DOMAINS = [
  'Example.COM',
  ' example.com ',
  'example.com.',
  'example.com..',
  '.',
  '..',
  '',
  ' ',
  'a b',
  'a\tb',
  'a\u00a0b',
  'ÄÖ.de',
  '\u00a0a.com\ufeff',
  'xn--p1ai',
  'İ.com',
  'ǅ.com',
  'a\u0000b',
  'a\u007fb',
  'a\u0085b',
  '😀.de',
  `${'x'.repeat(253)}`,
  `${'x'.repeat(254)}`,
  `${'é'.repeat(126)}`,
  `${'é'.repeat(127)}`,
  `${'x'.repeat(253)}.`,
  'ſ.com',
  'K.com',
  '"',
  'a\\b',
];

const TEXTS = [
  '',
  'DE',
  ' De ',
  'Żuraw "Domeny" sp. z o.o.',
  'a\\b/c',
  'tab\there',
  'line\r\nend',
  '\u0000\u001f',
  'é',
  '€uro',
  '😀',
  '\ud83d',
  '\ude00',
  '\ude00\ud83d',
  'a\ud800',
  '\uffff',
  '\ufeff',
  '\u2028',
  'x'.repeat(126),
  'x'.repeat(127),
  'x'.repeat(128),
  'é'.repeat(64),
  `${'ab"'.repeat(50)}`,
  'true',
  'null',
  '{"a":1}',
  '[1, 2]',
  '\u007f',
  'x'.repeat(20_000),
];

const BOOLEANS = ['TRUE|FALSE|true|False|tRuE|yes| TRUE|TRUE |FALſE|1|TRU|FALSEE|T\u0052UE'].flatMap(parted);

const KEYS = [
  'A',
  'AAAA',
  'NS',
  'MX',
  'mx',
  'TXT',
  'SOA',
  'host',
  'priority',
  '',
  '10',
  '9',
  '1',
  '__proto__',
  'constructor',
  'toString',
  'Google Font API',
  'Google Analytics',
  'Google',
  'Goog',
  'é',
  '\uff00',
  '😀',
  '\ud83d',
  'a"b',
  'a\\nb',
  'a\nb',
  'a\u0000',
  'a',
];

/** A value of any kind, most often one that some rule looks at. */
export function anyNode(random: Random, depth = 0): Node {
  switch (random.below(depth > 4 ? 8 : 14)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
    case 3:
      return new Raw(random.pick(NUMBERS));
    case 4:
      return random.pick(TEXTS);
    case 5:
      return random.pick(NUMERIC_STRINGS);
    case 6:
      return random.pick(DATES);
    case 7:
      return random.pick(BOOLEANS);
    case 8:
      return list(random, () => anyNode(random, depth + 1));
    case 9:
      return list(random, () => random.pick(TEXTS));
    case 10:
      return members(random, () => anyNode(random, depth + 1));
    case 11:
      return members(random, () =>
        list(random, () => (random.chance(0.8) ? random.pick(TEXTS) : anyNode(random, depth + 1))),
      );
    case 12:
      return members(random, () => list(random, () => mailExchanger(random)));
    default:
      return members(random, () => (random.chance(0.9) ? random.pick(TEXTS) : anyNode(random, depth + 1)));
  }
}

/** A value that may well fit a column: of its source column's kind, on either side of the rule. */
export function nodeFor(random: Random, from: string): Node {
  if (random.chance(0.3)) return anyNode(random);
  if (from === 'Domain') return random.pick(DOMAINS);
  if (from === 'HTTP status' || from.endsWith('value')) {
    return random.chance(0.5) ? new Raw(random.pick(NUMBERS)) : random.pick(NUMERIC_STRINGS);
  }
  if (/date|changed|checked/.test(from)) return random.pick(DATES);
  if (from === 'DNS Status') return random.pick(BOOLEANS);
  if (from === 'Technologies') {
    return random.chance(0.5) ? list(random, () => random.pick(KEYS)) : members(random, () => version(random));
  }
  if (from === 'DNS records') return members(random, () => list(random, () => record(random)));
  if (from === 'Social networks') return members(random, () => list(random, () => random.pick(TEXTS)));
  return random.pick(TEXTS);
}

export function anyKey(random: Random): string {
  return random.pick(KEYS);
}

function version(random: Random): Node {
  if (random.chance(0.1)) return anyNode(random, 4);
  return random.pick<Node>([null, '1.2', new Raw('7'), new Raw('1e3'), new Raw('-0'), '']);
}

function record(random: Random): Node {
  if (random.chance(0.4)) return mailExchanger(random);
  return random.chance(0.8) ? random.pick(TEXTS) : anyNode(random, 3);
}

function mailExchanger(random: Random): Node {
  const entries: [string, Node][] = [
    ['host', random.chance(0.9) ? random.pick(TEXTS) : anyNode(random, 4)],
    ['priority', random.chance(0.9) ? new Raw(random.pick(NUMBERS)) : anyNode(random, 4)],
  ];
  if (random.chance(0.2)) entries.push([anyKey(random), anyNode(random, 4)]);
  if (random.chance(0.1)) entries.pop();
  if (random.chance(0.3)) entries.reverse();
  return new Members(entries);
}

function list(random: Random, next: () => Node): Node {
  return Array.from({ length: random.below(random.chance(0.02) ? 80 : 4) }, next);
}

function members(random: Random, next: () => Node): Members {
  const size = random.below(random.chance(0.02) ? 80 : 5);
  const key = () => (size > 5 && random.chance(0.8) ? `k${random.below(200)}` : anyKey(random));
  return new Members(Array.from({ length: size }, () => [key(), next()] as const));
}
