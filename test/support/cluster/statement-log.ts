/** Every statement that runs of a schedule sent, with its time, its replica and its answer. */
import type { Statement, Watcher } from '../clickhouse/proxy.ts';
import type { Replica, Way } from './replicas.ts';

interface Line {
  /** Seconds since the beginning. */
  readonly at: number;
  readonly replica: string;
  readonly way: Way;
  readonly statement: Statement;
  /** Seconds; null: there was no answer. */
  answered: number | null;
}

export class StatementLog {
  readonly #lines: Line[] = [];
  readonly #replicas: readonly Replica[];
  readonly #began = performance.now();
  #watcher: Watcher = {};
  #besides: Watcher = {};

  constructor(replicas: readonly Replica[]) {
    this.#replicas = replicas;
    for (const replica of replicas) {
      for (const [way, proxy] of Object.entries(replica.ways) as [Way, (typeof replica.ways)[Way]][]) {
        proxy.watcher = this.#watcherOf(replica, way);
      }
    }
  }

  /** Lets a watcher see the struck run's statements, wherever they go, and another one those of other runs. */
  watch(watcher: Watcher, besides: Watcher = {}): void {
    this.#watcher = watcher;
    this.#besides = besides;
  }

  close(): void {
    this.watch({});
    for (const { ways } of this.#replicas) {
      for (const proxy of Object.values(ways)) {
        proxy.watcher = {};
        proxy.log = [];
      }
    }
  }

  /** How many of the statements changed something. */
  get changes(): number {
    return this.#lines.filter(({ statement }) => statement.changes).length;
  }

  /** A line for each. @param all questions too */
  text(all: boolean): string {
    return this.#lines
      .filter(({ statement }) => all || statement.changes)
      .map(({ at, replica, way, statement, answered }) => {
        const answer = answered === null ? 'no answer' : `${statement.status} at ${answered.toFixed(3)}`;
        return `${at.toFixed(3)} ${way} ${replica} [${answer}] ${statement.sql}`;
      })
      .join('\n');
  }

  #now(): number {
    return (performance.now() - this.#began) / 1000;
  }

  #watcherOf(replica: Replica, way: Way): Watcher {
    const lines = new Map<Statement, Line>();
    return {
      before: (statement) => {
        const line: Line = { at: this.#now(), replica: replica.name, way, statement, answered: null };
        this.#lines.push(line);
        lines.set(statement, line);
        return (way === 'struck' ? this.#watcher : this.#besides).before?.(statement) ?? 'pass';
      },
      after: (statement) => {
        const line = lines.get(statement);
        lines.delete(statement);
        if (line !== undefined) line.answered = this.#now();
        return (way === 'struck' ? this.#watcher : this.#besides).after?.(statement) ?? 'pass';
      },
    };
  }
}
