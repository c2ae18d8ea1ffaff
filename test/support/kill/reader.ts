/** A reader that polls `<table>_live` continuously and knows every state that it may see. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProject } from '../clickhouse/project.ts';
import { StatementError } from '../clickhouse/server.ts';

/** Count and sum of hashes over all columns of a view. */
export const STATE_SQL = "SELECT concat(toString(count()), '/', toString(sum(sipHash64(tuple(*))))) AS state FROM";

export interface Sightings {
  /** Answers. */
  readonly reads: number;
  /** Questions without an answer, because the server went down. */
  readonly unanswered: number;
  /** What differed from what it had seen before, in order, as indexes into the known states. */
  readonly seen: readonly number[];
  /** What no reader may see. */
  readonly faults: readonly string[];
}

/** Polls until `stop`. The view must be there, and never go again. */
export function startReader(
  { server, database }: ServerProject,
  view: string,
  known: readonly string[],
): { stop(): Promise<Sightings> } {
  const seen: number[] = [];
  const faults: string[] = [];
  let reads = 0;
  let unanswered = 0;
  let going = true;
  const look = (state: string | undefined): void => {
    reads += 1;
    const index = known.indexOf(state ?? '');
    const last = seen.at(-1) ?? -1;
    if (index === last) return;
    if (index === -1) faults.push(`a reader saw ${state}, which is no file's table, after state ${last}`);
    else if (index < last) faults.push(`a reader saw state ${index} after state ${last}`);
    seen.push(index);
  };
  const reading = (async () => {
    while (going) {
      const { downs, isUp } = server;
      try {
        if (isUp) look((await server.query<{ state: string }>(`${STATE_SQL} ${view}`, database))[0]?.state);
      } catch (error) {
        unanswered += 1;
        // Whatever the server itself answers is an answer; and only a server that went down may give none.
        if (error instanceof StatementError || server.downs === downs) faults.push(`a reader got ${error}`);
      }
      await sleep(15);
    }
  })();
  return {
    async stop() {
      going = false;
      await reading;
      return { reads, unanswered, seen, faults };
    },
  };
}
