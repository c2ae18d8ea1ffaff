/** From a line's tokens to a row: every selected column in order, then what did not fit (contract 3). */
import type { Line } from '../scan/line.ts';
import type { Column, RowWriter } from '../types.ts';
import { ColumnRules } from './column-rules.ts';
import { keyOf } from './columns.ts';
import type { TokenText } from './text.ts';
import { Unparsed } from './unparsed.ts';

/** Writes rows whatever the lines look like. */
export class RowRules {
  readonly #steps: readonly { readonly column: Column; readonly key: number }[];
  readonly #line: Line;
  readonly #writer: RowWriter;
  readonly #rules: ColumnRules;
  readonly #unparsed: Unparsed;

  /** @param columns the selected ones; others are not looked at, and do not reach `unparsed` */
  constructor(columns: readonly Column[], line: Line, writer: RowWriter) {
    this.#steps = columns.map((column) => ({ column, key: keyOf(column) }));
    this.#line = line;
    this.#writer = writer;
    this.#rules = new ColumnRules(line, writer);
    this.#unparsed = new Unparsed(line, writer);
  }

  /**
   * Writes the row of the line that was scanned last.
   * @param domain its key
   * @param number of the line in the file
   */
  write(domain: TokenText, number: number): void {
    const writer = this.#writer;
    this.#unparsed.clear();
    writer.begin(number);
    for (const { column, key } of this.#steps) {
      // `unparsed` is the last: by then it is known what does not fit.
      if (column.kind === 'unparsed') this.#unparsed.write();
      else if (column.kind === 'domain') writer.textBytes(domain.bytes, domain.start, domain.end, domain.plain);
      else if (!this.#rules.write(column, this.#line.token(key))) this.#unparsed.add(key);
    }
    writer.end();
  }
}
