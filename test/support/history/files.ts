/**
 * Dated files drawn from a seed: rows that come, change, go and come back, rows of which only a time of checking moves, revisions of
 * a date, and revisions that take back what the first file of their date brought.
 */
import { random } from '../download/zst.ts';
import { type Draw, pick } from '../kill/misfortune.ts';

/** As the service writes it: source column to value. Rows are never changed in place. */
export type SourceRow = Readonly<Record<string, unknown>>;

export type FileKind = 'first' | 'next' | 'revision' | 'taken-back';

export interface DrawnFile {
  readonly kind: FileKind;
  readonly date: string;
  readonly rows: ReadonlyMap<string, SourceRow>;
  /** Its lines. */
  readonly bytes: Buffer;
}

export interface DrawOptions {
  readonly seed: number;
  readonly files: number;
  /** Of the first file; the others have about as many. */
  readonly rows: number;
  /** What the domains end in, in turns. */
  readonly tlds?: readonly string[];
}

const DAY = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 0, 5);

/** Columns that an update draws anew; values that are null or missing, lists and maps, and a column that domainsync does not know. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  'HTTP status': [200, 301, '404', null, 0],
  'IP address': ['192.0.2.1', '192.0.2.2', '', null],
  'Country by IP': ['DE', 'AT', null],
  'Social networks': [{}, { github: 'https://github.example/a' }, { x: ['b', 'a'], github: ['c'] }, null],
  Technologies: [{}, { WordPress: '6.1', nginx: null }, { WordPress: '6.2' }, ['nginx'], null],
  'DNS Status': ['TRUE', 'FALSE', null],
  'DNS records': [null, { A: ['192.0.2.1'] }, { MX: [{ host: 'mx.example', priority: 10 }], TXT: ["it's", 'a\tb'] }],
  'PR value': [0, 0.25, '1e-7', null],
  'Domain expiration date': ['2027-01-31', '1969-12-31T23:59:59.123Z', null],
  Registrar: ['One Ltd', "Two's", '', null],
  'RDAP/WHOIS Record': [null, { raw: 'a\nb' }, 'text'],
  'Column of 2027': [1, [1, { a: null }], undefined],
};
const CHANGING = Object.keys(VALUES);
const CHECKED = ['Technologies last data checked', 'DNS last data checked', 'RDAP/WHOIS last date checked'] as const;

/** How many rows of a file differ from the one before, as a factor: also none, and most. */
const AMOUNTS = [0, 0.3, 1, 1, 1, 4] as const;
/** Shares of the rows, at a factor of 1. */
const RATES = { gone: 0.03, updated: 0.06, touched: 0.06, added: 0.03 } as const;
const COMES_BACK = 0.3;
const TAKEN_BACK = 0.6;

export function drawFiles({ seed, files, rows, tlds = ['example'] }: DrawOptions): DrawnFile[] {
  const world = new DrawnWorld(random(seed), rows, tlds);
  return Array.from({ length: files }, (_, n) => world.file(n));
}

class DrawnWorld {
  readonly #draw: Draw;
  readonly #first: number;
  readonly #tlds: readonly string[];
  #time = FIRST_DAY;
  /** Names that were ever given. */
  #named = 0;
  /** As of the last file of an earlier date. */
  #before: ReadonlyMap<string, SourceRow> = new Map();
  #rows: Map<string, SourceRow> = new Map();
  /** Domains that went, with their last rows. */
  readonly #gone = new Map<string, SourceRow>();

  constructor(draw: Draw, rows: number, tlds: readonly string[]) {
    this.#draw = draw;
    this.#first = rows;
    this.#tlds = tlds;
  }

  file(number: number): DrawnFile {
    const which = this.#draw();
    const kind = number === 0 ? 'first' : which < 0.55 ? 'next' : which < 0.8 ? 'revision' : 'taken-back';
    if (kind === 'next') {
      this.#time += DAY * (1 + Math.floor(this.#draw() * 3));
      this.#before = this.#rows;
    }
    this.#rows = new Map(this.#rows);
    // Later than all that any file before has: a time of checking moves on, except where it is taken back.
    const checked = new Date(this.#time + number * 1_234_567).toISOString();
    if (kind === 'first') this.#add(this.#first, checked);
    else if (kind === 'taken-back') this.#takeBack();
    else this.#change(checked);
    return {
      kind,
      date: new Date(this.#time).toISOString().slice(0, 10),
      rows: this.#rows,
      bytes: this.#linesOf([...this.#rows.values()]),
    };
  }

  #change(checked: string): void {
    const draw = this.#draw;
    const amount = pick(draw, AMOUNTS);
    for (const [domain, row] of [...this.#gone]) {
      if (amount === 0 || draw() >= COMES_BACK) continue;
      this.#gone.delete(domain);
      if (!this.#rows.has(domain)) this.#rows.set(domain, draw() < 0.5 ? row : this.#updated(row, checked));
    }
    const { gone, updated, touched, added } = RATES;
    for (const [domain, row] of [...this.#rows]) {
      const what = draw() / amount;
      if (what < gone) {
        this.#rows.delete(domain);
        this.#gone.set(domain, row);
      } else if (what < gone + updated) this.#rows.set(domain, this.#updated(row, checked));
      else if (what < gone + updated + touched) this.#rows.set(domain, this.#touched(row, checked));
    }
    this.#add(Math.round(this.#first * added * amount), checked);
  }

  /** Most of what the files of this date brought is again as before. */
  #takeBack(): void {
    for (const domain of new Set([...this.#before.keys(), ...this.#rows.keys()])) {
      const row = this.#before.get(domain);
      if (row === this.#rows.get(domain) || this.#draw() >= TAKEN_BACK) continue;
      if (row === undefined) this.#rows.delete(domain);
      else this.#rows.set(domain, row);
    }
  }

  #add(count: number, checked: string): void {
    for (let n = 0; n < count; n += 1) {
      const tld = this.#tlds[this.#named % this.#tlds.length];
      const domain = `d${this.#named}.${tld}`;
      this.#named += 1;
      const row: Record<string, unknown> = { Domain: domain, TLD: tld };
      for (const column of CHANGING) row[column] = pick(this.#draw, VALUES[column] ?? []);
      this.#rows.set(domain, this.#draw() < 0.7 ? this.#touched(row, checked) : row);
    }
  }

  #updated(row: SourceRow, checked: string): SourceRow {
    const updated: Record<string, unknown> = { ...row };
    for (let more = Math.floor(this.#draw() * 3); more >= 0; more -= 1) {
      const column = pick(this.#draw, CHANGING);
      updated[column] = pick(this.#draw, VALUES[column] ?? []);
    }
    return this.#draw() < 0.5 ? this.#touched(updated, checked) : updated;
  }

  #touched(row: SourceRow, checked: string): SourceRow {
    return { ...row, [pick(this.#draw, CHECKED)]: checked };
  }

  /** From any row on, and here and there with an earlier line for a domain, which a later one replaces. */
  #linesOf(rows: readonly SourceRow[]): Buffer {
    const start = Math.floor(this.#draw() * rows.length);
    const lines = [...rows.slice(start), ...rows.slice(0, start)].flatMap((row) => {
      const line = `${JSON.stringify(row)}\n`;
      return this.#draw() < 0.01 ? [`${JSON.stringify({ ...row, Registrar: 'an earlier line' })}\n`, line] : [line];
    });
    return Buffer.from(lines.join(''));
  }
}
