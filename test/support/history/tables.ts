/** Small files for a lab, and in short lines what a table with history knows of them. */
import type { ClickHouseDestinationOptions } from '../../../connectors/clickhouse/destination.ts';
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import type { Lab, LabFile, LoadOptions } from '../clickhouse/lab.ts';

/** A domain's registrar, or more of its source columns. */
export type Told = string | Readonly<Record<string, unknown>>;

export type Options = Partial<ClickHouseDestinationOptions>;

/** @param mark tells revisions of a date apart */
export function fileOf(date: string, rows: Readonly<Record<string, Told>>, mark = ''): LabFile {
  const lines = Object.entries(rows).map(([domain, told]) => {
    const more = typeof told === 'string' ? { Registrar: told } : told;
    return `${JSON.stringify({ Domain: domain, ...more })}\n`;
  });
  return { name: `f-${date}.jsonl`, date, bytes: Buffer.from(lines.join('') || '\n'), etag: `"${date}${mark}"` };
}

/** One table of a lab, loaded by the pipeline of its name. */
export class HistoryTable {
  readonly name: string;
  readonly #lab: Lab;

  constructor(lab: Lab, name: string) {
    this.#lab = lab;
    this.name = name;
  }

  /** Loads a file with `history: true`, where the options do not say otherwise. */
  load(file: LabFile, options: Options = {}, more: LoadOptions = {}): Promise<RunOutcome> {
    return this.#lab.load(this.#lab.destination(this.name, { history: true, ...options }), this.name, file, more);
  }

  /** `domain registrar` of each current row. */
  live(): Promise<string[]> {
    return this.#lines(`concat(domain, ' ', registrar)`, `${this.name}_live`);
  }

  /** The same of a date. */
  asof(date: string): Promise<string[]> {
    return this.#lines(`concat(domain, ' ', registrar)`, `${this.name}_asof(at = '${date}')`);
  }

  /** `domain registrar from to` of each version, by domain, the oldest first. */
  versions(): Promise<string[]> {
    const line = `concat(domain, ' ', registrar, ' ', toString(valid_from), ' ', ifNull(toString(valid_to), 'now'))`;
    return this.#lines(line, `${this.name}_versions`, 'domain, valid_from');
  }

  /** `date domain registrar` of each row of the history, `date domain gone` of a mark; in the order of versions. */
  history(): Promise<string[]> {
    const line = `concat(toString(_file_date), ' ', domain, ' ', if(_deleted = 1, 'gone', registrar))`;
    return this.#lines(line, `${this.name}_history`, '_file_date, domain, _version');
  }

  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]> {
    return this.#lab.query<Row>(sql.replaceAll('{t}', `lab.${this.name}`));
  }

  command(sql: string): Promise<void> {
    return this.#lab.command(sql.replaceAll('{t}', `lab.${this.name}`));
  }

  async #lines(line: string, from: string, order = 'line'): Promise<string[]> {
    const rows = await this.#lab.query<{ line: string }>(`SELECT ${line} AS line FROM lab.${from} ORDER BY ${order}`);
    return rows.map((row) => row.line);
  }
}
