/** One line into a row by way of JSON.parse, or why there is none: what docs/contract.md, "Rejected lines", says, line by line. */
import { toDomain } from '../rows/domain.ts';
import { isObject, parseJson } from '../rows/json.ts';
import { SourceKeys, writeRow } from '../rows/normalise.ts';
import { compileWhere } from '../rows/where.ts';
import type { Encoding, RejectReason, RowWriter } from '../types/index.ts';
import type { BlockLines } from './block-lines.ts';
import { MAX_LINE_BYTES } from './limits.ts';

export interface Refused {
  readonly reason: RejectReason;
  readonly detail: string;
}

/** The rules for the lines of one block. */
export class SlowPath {
  readonly #columns: Encoding['columns'];
  readonly #wanted: ReturnType<typeof compileWhere>;
  readonly #writer: RowWriter;
  readonly #keys = new SourceKeys();

  /** @throws CONFIG_INVALID for a `where` that names no column to choose by */
  constructor({ columns, where }: Encoding, writer: RowWriter) {
    this.#columns = columns;
    this.#wanted = compileWhere(where);
    this.#writer = writer;
  }

  /**
   * Encodes the line on which `lines` is; it is not blank. Reasons are looked for in the order of the contract.
   * @param number of the line in the file
   */
  encode(lines: BlockLines, number: number): 'row' | 'filtered' | Refused {
    if (lines.length > MAX_LINE_BYTES) {
      return { reason: 'line-too-long', detail: `the line is longer than ${MAX_LINE_BYTES} bytes` };
    }
    if (!lines.isUtf8()) return { reason: 'invalid-utf8', detail: 'the line is not valid UTF-8' };
    let record: unknown;
    try {
      record = parseJson(lines.text());
    } catch (error) {
      return { reason: 'invalid-json', detail: faultOf(error) };
    }
    if (!isObject(record)) return { reason: 'not-an-object', detail: `the line is ${kindOf(record)}, not an object` };
    // Before the key is looked at: the columns of a rejected object are columns of the file too.
    const unlisted = this.#keys.unlisted(record);
    const domain = toDomain(record['Domain']);
    if (typeof domain !== 'string') return domain;
    if (!this.#wanted(record)) return 'filtered';
    writeRow(this.#columns, record, unlisted, domain, number, this.#writer);
    return 'row';
  }

  /** Of every line that was an object, in order of appearance. */
  sourceColumns(): string[] {
    return this.#keys.all();
  }
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
