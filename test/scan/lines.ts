/** Lines for the fuzz test: rows of the sandbox changed on purpose, written in many ways, and broken. */
import { COLUMNS } from '../../src/rows/columns.ts';
import { generateRows } from '../../src/sandbox/data/generate.ts';
import type { Random } from '../../src/sandbox/data/random.ts';
import { createWorld } from '../../src/sandbox/data/world.ts';
import { anyKey, anyNode, Members, type Node, nodeFor, Raw } from './values.ts';

const SOURCE_NAMES = COLUMNS.flatMap(({ from }) => from ?? []);

/** How a line is written. */
interface Style {
  /** Share of the places between tokens where white space stands. */
  readonly space: number;
  /** Share of the characters in strings that are escaped without need. */
  readonly escape: number;
}

const ROWS: readonly (readonly (readonly [string, Node])[])[] = [
  ...generateRows({ world: createWorld({ rows: 400, seed: 7 }), snapshot: 0, dataset: 'all-data' }),
].map((row) => Object.entries(row).map(([key, value]) => [key, nodeOf(value)] as const));

function nodeOf(value: unknown): Node {
  if (typeof value === 'number') return new Raw(JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return value as string | boolean | null;
  if (Array.isArray(value)) return value.map(nodeOf);
  return new Members(Object.entries(value).map(([key, of]) => [key, nodeOf(of)] as const));
}

/** One line without its end. */
export function randomLine(random: Random): Buffer {
  if (random.chance(0.01)) return Buffer.from(random.pick(ODD_LINES));
  const style = {
    space: random.pick([0, 0, 0, 0, 0.02, 0.3]),
    escape: random.pick([0, 0, 0, 0, 0.01, 0.3]),
  };
  const bytes = Buffer.from(write(new Members(randomMembers(random)), style, random));
  return random.chance(0.2) ? broken(bytes, random) : bytes;
}

const ODD_LINES = [
  '',
  ' ',
  '\t \r',
  'null',
  'true',
  '17',
  '"a.com"',
  '[]',
  '[{"Domain":"a"}]',
  '{}',
  '{',
  '}',
  '{"Domain"',
  '{"Domain":}',
  '{"Domain":"a",}',
  '{,"Domain":"a"}',
  '{"Domain":"a"}}',
  '{"Domain":"a"} x',
  '\ufeff{"Domain":"a"}',
  '{"Domain":"a"}\u00a0',
  '{"Domain":"a"}\u000b',
  '{"Domain" :\t"a" }\r',
  '{"Domain":"a","Domain":"b"}',
  '{"Domain":"a" "TLD":"b"}',
  "{'Domain':'a'}",
  '{"Domain":"a","TLD":"\\x41"}',
  '{"Domain":"a","TLD":"\\u12"}',
  '{"Domain":"a","TLD":"\\u123g"}',
  '{"Domain":"a\\"}',
  '{"Domain":"a","x":nul}',
  '{"Domain":"a","x":truee}',
  '{"Domain":"a","x":[1,]}',
  '{"Domain":"a","x":[,1]}',
  '{1:2}',
  '{"Domain":"a","x":{"y":1,}}',
  '{"Domain":"a","x":[}',
  '{"Domain":"a","x":{]}',
  '{"Domain":"a","x":[1 2]}',
  '{"a":1}',
  `{"Domain":"a","x":${'['.repeat(3000)}${']'.repeat(3000)}}`,
  `{"Domain":"a","DNS records":${'{"A":'.repeat(300)}1${'}'.repeat(300)}}`,
  `{"Domain":"a","RDAP/WHOIS Record":${'[{"a":'.repeat(300)}1${'}]'.repeat(299)}}`,
];

function randomMembers(random: Random): (readonly [string, Node])[] {
  const members = [...random.pick(ROWS)];
  if (random.chance(0.5)) return members;
  for (let changes = random.below(6); changes > 0; changes--) {
    const at = random.below(members.length + 1);
    const key = random.chance(0.85) ? random.pick(SOURCE_NAMES) : anyKey(random);
    switch (random.below(8)) {
      case 0:
        if (members.length > 1) members.splice(Math.min(at, members.length - 1), 1);
        break;
      case 1:
        members.splice(at, 0, [key, nodeFor(random, key)]);
        break;
      case 2:
        members.splice(at, 0, [anyKey(random), anyNode(random)]);
        break;
      case 3:
        members.push(...members.splice(0, at));
        break;
      default: {
        const index = random.below(members.length);
        const name = (members[index] as readonly [string, Node])[0];
        members[index] = [name, nodeFor(random, name)];
      }
    }
  }
  return members;
}

function write(node: Node, style: Style, random: Random): string {
  const space = () =>
    style.space > 0 && random.chance(style.space) ? random.pick([' ', '\t', '  ', '\r', ' \t ']) : '';
  if (node instanceof Raw) return node.text;
  if (typeof node === 'string') return quote(node, style, random);
  if (node instanceof Members) {
    const entries = node.entries.map(
      ([key, of]) => `${space()}${quote(key, style, random)}${space()}:${space()}${write(of, style, random)}${space()}`,
    );
    return `${space()}{${entries.join(',')}${space()}}${space()}`;
  }
  if (Array.isArray(node)) {
    return `[${node.map((of) => `${space()}${write(of, style, random)}${space()}`).join(',')}${space()}]`;
  }
  return String(node);
}

function quote(text: string, style: Style, random: Random): string {
  const quoted = JSON.stringify(text);
  if (style.escape === 0) return quoted;
  return quoted.replaceAll(/(?<!\\)[^"\\]/gu, (character) => {
    if (!random.chance(style.escape)) return character;
    if (character === '/') return '\\/';
    const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
    return units.map((unit) => `\\u${random.chance(0.5) ? unit.toUpperCase() : unit}`).join('');
  });
}

const BYTES = [
  0x00, 0x09, 0x0d, 0x1f, 0x20, 0x22, 0x2c, 0x2d, 0x30, 0x3a, 0x5b, 0x5c, 0x5d, 0x65, 0x75, 0x7b, 0x7d, 0x7f, 0x80,
  0xc3, 0xed, 0xff,
];

/** One to three bytes changed, taken away or put in, or the end cut off. Never an LF: that would be two lines. */
function broken(bytes: Buffer, random: Random): Buffer {
  let line = bytes;
  for (let changes = 1 + random.below(3); changes > 0 && line.length > 0; changes--) {
    const at = random.below(line.length);
    const byte = Buffer.of(random.pick(BYTES));
    switch (random.below(5)) {
      case 0:
        line = line.subarray(0, at);
        break;
      case 1:
        line = Buffer.concat([line.subarray(0, at), line.subarray(at + 1)]);
        break;
      case 2:
        line = Buffer.concat([line.subarray(0, at), byte, line.subarray(at)]);
        break;
      default:
        line = Buffer.concat([line.subarray(0, at), byte, line.subarray(at + 1)]);
    }
  }
  return line;
}
