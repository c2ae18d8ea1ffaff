/** One line into a row, or why there is none. */
import { DomainsyncError } from '../errors.ts';
import { DEPTHS, SOURCE_NAMES } from '../rows/columns.ts';
import { DomainReader } from '../rows/domain-bytes.ts';
import { isObject, parseJson } from '../rows/json.ts';
import { OrderedRows } from '../rows/ordered-row.ts';
import { RowRules } from '../rows/row.ts';
import { WhereTest } from '../rows/where.ts';
import { bytesOf } from '../scan/bytes.ts';
import { Line } from '../scan/line.ts';
import type { Encoding, RejectReason, RowWriter } from '../types.ts';
import type { BlockLines } from './block-lines.ts';
import { MAX_LINE_BYTES } from './limits.ts';

export interface Refused {
  readonly reason: RejectReason;
  readonly detail: string;
}

/** The number of `Domain` among the source columns. */
const DOMAIN_KEY = SOURCE_NAMES.indexOf('Domain') + 1;

/** Encodes the lines of one block. */
export class LineEncoder {
  readonly #lines: BlockLines;
  readonly #line: Line;
  readonly #domain: DomainReader;
  readonly #where: WhereTest;
  readonly #rows: RowRules;
  /** Undefined with a `where`: it is asked before values are normalised, so the whole line has to be known; and where bytes are no UTF-8. */
  readonly #orderedRows: OrderedRows | undefined;

  /** @throws CONFIG_INVALID for a `where` that names no column to choose by */
  constructor(lines: BlockLines, { columns, where }: Encoding, writer: RowWriter) {
    this.#lines = lines;
    this.#line = new Line(bytesOf(lines.bytes), SOURCE_NAMES, DEPTHS);
    this.#domain = new DomainReader(this.#line);
    this.#where = new WhereTest(where, this.#line);
    this.#rows = new RowRules(columns, this.#line, writer);
    const quick = where.length === 0 && lines.allUtf8;
    this.#orderedRows = quick ? new OrderedRows(columns, this.#line, writer) : undefined;
  }

  /**
   * Encodes the line that `lines` has begun, and ends it, if it is one of the usual kind.
   * @param number of the line in the file
   * @returns whether it was; if not, nothing has happened
   */
  encodeQuickly(number: number): boolean {
    if (this.#orderedRows === undefined) return false;
    const { start } = this.#lines;
    const lineFeed = this.#orderedRows.write(start, number, MAX_LINE_BYTES);
    if (lineFeed < 0) return false;
    this.#lines.endAt(lineFeed);
    return true;
  }

  /**
   * Encodes the line on which `lines` is; it is not blank.
   * @param number of the line in the file
   */
  encode(number: number): 'row' | 'filtered' | Refused {
    const lines = this.#lines;
    if (lines.length > MAX_LINE_BYTES) {
      return { reason: 'line-too-long', detail: `the line is longer than ${MAX_LINE_BYTES} bytes` };
    }
    if (!lines.isUtf8()) return { reason: 'invalid-utf8', detail: 'the line is not valid UTF-8' };
    if (!this.#line.scan(lines.start, lines.end)) return noObject(lines.text());
    const refusal = this.#domain.read(this.#line.token(DOMAIN_KEY));
    if (refusal !== undefined) return refusal;
    if (!this.#where.holds()) return 'filtered';
    this.#rows.write(this.#domain.text, number);
    return 'row';
  }

  /** Source columns of the lines that were objects, rejected and filtered ones too. */
  sourceColumns(): string[] {
    return this.#line.seenNames();
  }
}

/** What is wrong with a line that is no JSON object. It is read once more, by a parser that can tell. */
function noObject(text: string): Refused {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return { reason: 'invalid-json', detail: faultOf(error) };
  }
  // To reject it would lose a row without a word.
  if (isObject(value)) throw new DomainsyncError('UNEXPECTED', 'the scanner refuses a line that is a JSON object');
  return { reason: 'not-an-object', detail: `the line is ${kindOf(value)}, not an object` };
}

/** The parser's words where they say a place; those that end in this quote the line itself. */
function faultOf(error: unknown): string {
  if (!(error instanceof SyntaxError)) throw error;
  if (error.message.endsWith('is not valid JSON')) return 'Unexpected character: not JSON';
  return error.message.replace(/ \(line \d+ column \d+\)$/, '');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
