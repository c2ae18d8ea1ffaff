/** Turns one line into a row through JSON.parse, or tells why it is rejected (docs/contract.md, "Rejected lines"). */
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

  /** @throws CONFIG_INVALID for a `where` with a column that cannot be filtered by */
  constructor({ columns, where }: Encoding, writer: RowWriter) {
    this.#columns = columns;
    this.#wanted = compileWhere(where);
    this.#writer = writer;
  }

  /**
   * Encodes the current line of `lines`, which is not blank. Checks reasons in the order of the contract.
   * @param number number of the line in the file
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
    // Before the check of the key: a rejected object's columns are columns of the file too.
    const unlisted = this.#keys.unlisted(record);
    const domain = toDomain(record['Domain']);
    if (typeof domain !== 'string') return domain;
    if (!this.#wanted(record)) return 'filtered';
    writeRow(this.#columns, record, unlisted, domain, number, this.#writer);
    return 'row';
  }

  /** Source columns of all lines that are objects, in order of appearance. */
  sourceColumns(): string[] {
    return this.#keys.all();
  }
}

/** The parser's message. Messages with the ending below quote the line itself. */
function faultOf(error: unknown): string {
  if (!(error instanceof SyntaxError)) throw error;
  if (error.message.endsWith('is not valid JSON')) return 'Unexpected character: not JSON';
  return error.message.replace(/ \(line \d+ column \d+\)$/, '');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
