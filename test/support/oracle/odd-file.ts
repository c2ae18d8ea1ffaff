/** Files with every odd shape of docs/contract.md, "Rows", among ordinary rows, in consecutive snapshots. */
import { generateRows, lineOf } from '../../../src/sandbox/data/generate.ts';
import { createWorld } from '../../../src/sandbox/data/world.ts';
import { random } from '../download/zst.ts';
import { ODD_DOMAINS, ODD_LINES } from './odd-lines.ts';
import { ODD_VALUES } from './odd-values.ts';

export interface OddFileOptions {
  /** From 0. Later ones change, add and take away some of all kinds of rows. */
  readonly snapshot: number;
  /** Ordinary rows of snapshot 0. */
  readonly ordinary: number;
  /** Rows with odd values in several columns. */
  readonly mixed: number;
  readonly seed?: number;
}

type Random = () => number;

/** The same options give the same bytes. About 1,300 lines beside the ordinary and mixed ones. */
export function oddFile({ snapshot, ordinary, mixed, seed = 1 }: OddFileOptions): Buffer {
  const draw = random(seed * 1000 + snapshot);
  const world = createWorld({ rows: ordinary, seed });
  const rows = [...generateRows({ world, snapshot, dataset: 'all-data' })];
  const lines = [
    ...rows.map((row) => Buffer.from(lineOf(row))),
    ...singleValues(snapshot),
    ...mixedValues(snapshot, mixed, seed),
    ...ODD_DOMAINS.map((domain) => line(domain === null ? [] : [['Domain', domain]])),
    ...ODD_LINES,
  ];
  shuffle(lines, draw);
  const doubled = rows.filter((_, index) => index % 40 === 0).map((row) => String(row['Domain']));
  const before = doubled.map((domain) =>
    line([
      ['Domain', JSON.stringify(domain.toUpperCase())],
      ['TLD', '"replaced"'],
    ]),
  );
  const after = doubled.flatMap((domain, index) => later(domain, index));
  return Buffer.concat([Buffer.from('\ufeff'), ...written([...before, ...lines, ...after], draw), ...ending(snapshot)]);
}

/** What comes after a row of the same domain, far behind it: a row that wins, or a reject that replaces nothing. */
function later(domain: string, index: number): Buffer[] {
  if (index % 3 === 0)
    return [
      line([
        ['Domain', JSON.stringify(` ${domain}.`)],
        ['TLD', `"later ${index}"`],
      ]),
    ];
  if (index % 3 === 1) return [Buffer.from(`{"Domain":${JSON.stringify(domain)},"TLD":"rejected"`)];
  return [];
}

/** Every value of every column on its own. Of each three one moves on to its neighbour with every snapshot. */
function singleValues(snapshot: number): Buffer[] {
  const lines: Buffer[] = [];
  Object.entries(ODD_VALUES).forEach(([column, values], kind) => {
    values.forEach((_, index) => {
      if (snapshot === 1 && index % 17 === 5) return;
      if (snapshot < 2 && index % 19 === 6) return;
      const value = values[(index + (index % 3 === 0 ? snapshot : 0)) % values.length] ?? 'null';
      lines.push(
        line([
          ['Domain', `"value-${kind}-${index}.odd"`],
          [column, value],
        ]),
      );
    });
  });
  return lines;
}

/** Values of any columns together, some columns twice: then the later counts. Every fourth row is another each time. */
function mixedValues(snapshot: number, count: number, seed: number): Buffer[] {
  const columns = Object.entries(ODD_VALUES);
  return Array.from({ length: count }, (_, index) => {
    const draw = random(seed * 1_000_000 + index * 10 + (index % 4 === 0 ? snapshot : 0));
    const members: [string, string][] = [];
    for (let left = 1 + Math.floor(draw() * 12); left > 0; left -= 1) {
      const [column, values] = pick(columns, draw);
      const value = pick(values, draw);
      if (value.length < 10_000) members.push([column, value]);
    }
    members.splice(Math.floor(draw() * (members.length + 1)), 0, ['Domain', `"mixed-${index}.odd"`]);
    return line(members);
  });
}

/** A JSON object of the given texts; `__proto__` and equal names as they come. */
function line(members: readonly (readonly [string, string])[]): Buffer {
  return Buffer.from(`{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`);
}

const BLANK = ['', ' ', '\t', '\r', ' \t \r'];

/** Lines with their ends: LF, or CRLF, with blanks around them and blank lines between. */
function* written(lines: readonly Buffer[], draw: Random): Generator<Buffer> {
  for (const bytes of lines) {
    const odd = draw();
    if (odd < 0.02) yield Buffer.from(`${pick(BLANK, draw)}\n`);
    if (odd > 0.95) yield Buffer.from(' \t');
    yield bytes;
    yield Buffer.from(odd > 0.4 && odd < 0.45 ? '\r\n' : odd > 0.97 ? '  \n' : '\n');
  }
}

/** The last line of every other file has no line end. */
function ending(snapshot: number): Buffer[] {
  const last = line([
    ['Domain', '"the.very.last"'],
    ['TLD', `"${snapshot}"`],
  ]);
  return snapshot % 2 === 0 ? [last] : [last, Buffer.from('\r\n \n')];
}

function pick<T>(list: readonly T[], draw: Random): T {
  return list[Math.floor(draw() * list.length)] as T;
}

function shuffle(list: unknown[], draw: Random): void {
  for (let end = list.length - 1; end > 0; end -= 1) {
    const other = Math.floor(draw() * (end + 1));
    [list[end], list[other]] = [list[other], list[end]];
  }
}
