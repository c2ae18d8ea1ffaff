/** Counts sent blocks from the proxy's statements. No block may be sent again once its record has landed. */
import type { Statement } from '../clickhouse/proxy.ts';

export class BlockLedger {
  readonly faults: string[] = [];
  sent = 0;
  #loads = 0;
  readonly #landed = new Set<string>();

  /** Another file is loaded from here on. */
  nextFile(): void {
    this.#landed.clear();
    this.#loads = 0;
  }

  /** Takes in what one run sent, oldest first. */
  add(log: readonly Statement[]): void {
    for (const { sql, token, status } of log) {
      if (/^CREATE TABLE \S+_rows` AS/.test(sql) && status === 200) {
        // What has landed is of use to every next run, so that there is one beginning of a load.
        this.#loads += 1;
        if (this.#loads > 1) this.faults.push(`a load was begun anew: ${sql.slice(0, 80)}`);
      }
      const [kind, number = '', missing] = token?.split('/') ?? [];
      if (kind === 'rows') {
        this.sent += 1;
        // One that the server had acknowledged, and did not have in the end, has a token that tells so.
        if (missing === undefined && this.#landed.has(number))
          this.faults.push(`block ${number} was sent again after it had landed`);
      } else if (kind === 'block' && status === 200) {
        this.#landed.add(number);
      }
    }
  }
}
