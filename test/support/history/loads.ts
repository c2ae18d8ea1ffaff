/** Files loaded into one table of a lab, with a copy of what each left, to compare its history with. */
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import { type Lab, type LabFile, NEVER } from '../clickhouse/lab.ts';
import { asof, historyFaults, rowDifferences, valueChangeFaults, versionFaults } from './checks.ts';
import { historyOf, loadedFiles, versionsOf } from './versions.ts';

/** One table, the files that it was given, and a copy of what each left. */
export class Loads {
  readonly name: string;
  readonly files: LabFile[] = [];
  readonly copies: string[] = [];
  readonly #lab: Lab;
  readonly #deletes: boolean;

  constructor(lab: Lab, name: string, deletes = true) {
    this.#lab = lab;
    this.name = name;
    this.#deletes = deletes;
  }

  load(file: LabFile, history = true): Promise<RunOutcome> {
    return this.#lab.load(this.#lab.destination(this.name, { history, deletes: this.#deletes }), this.name, file);
  }

  /** What the next run does first. */
  async recover(): Promise<void> {
    await this.#lab.destination(this.name, { history: true, deletes: this.#deletes }).recover(false, NEVER);
  }

  /** After a file is loaded. */
  async store(file: LabFile): Promise<void> {
    const copy = `lab.copy_${this.name}_${this.files.length}`;
    this.files.push(file);
    this.copies.push(copy);
    await this.#lab.command(
      `CREATE TABLE ${copy} ENGINE = MergeTree ORDER BY domain AS SELECT * FROM lab.${this.name}_live`,
    );
  }

  /** Of a file that was stored: how `_asof` of its date differs from it. */
  async differencesAt(n: number): Promise<string[]> {
    return rowDifferences(this.#lab.query, asof(`lab.${this.name}`, this.files[n]?.date ?? ''), this.copies[n] ?? '');
  }

  /** What is wrong in all. */
  async faults(): Promise<string[]> {
    const loaded = loadedFiles(this.files, this.#deletes);
    const table = `lab.${this.name}`;
    const faults: string[] = [];
    for (const [n, { date }] of this.files.entries()) {
      if (this.files[n + 1]?.date !== date) faults.push(...(await this.differencesAt(n)));
    }
    return [
      ...faults,
      ...(await historyFaults(this.#lab.query, `${table}_history`, loaded, historyOf(loaded))),
      ...(await versionFaults(this.#lab.query, table, versionsOf(loaded))),
      ...(await valueChangeFaults(this.#lab.query, table, loaded, this.copies)),
    ];
  }

  /** The rows of history and of versions, to compare with a table that was loaded in peace. */
  async fingerprint(): Promise<unknown> {
    const of = (from: string): string =>
      `SELECT '${from}' AS what, count() AS n, sum(sipHash64(toString(tuple(*)))) AS hash FROM lab.${this.name}_${from}`;
    const all = ['history', 'versions', 'changes_values'].map(of).join(' UNION ALL ');
    return this.#lab.query(`SELECT * FROM (${all}) ORDER BY what`);
  }
}
