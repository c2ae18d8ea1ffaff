/** A run's strikes, drawn from a seed: which process dies, when, and for how long ClickHouse stays down. */
import { type Draw, pick } from './misfortune.ts';

/** `answer`: nobody dies, but an answer is lost on its way. */
export type Victim = 'domainsync' | 'clickhouse' | 'both' | 'answer';

export type Aim =
  /** Milliseconds after the start of domainsync. */
  | { readonly kind: 'time'; readonly ms: number }
  /** The nth statement of the run that changes something, from 0. */
  | { readonly kind: 'nth'; readonly nth: number }
  /** The nth statement of a kind. */
  | { readonly kind: 'like'; readonly pattern: string; readonly nth: number };

export interface Strike {
  readonly victim: Victim;
  readonly aim: Aim;
  /**
   * Of the statement aimed at: before the server sees it, while the server is at it, after the server has answered and
   * before domainsync knows, or in the middle of the answer.
   */
  readonly moment: 'before' | 'during' | 'after' | 'half';
  /** Milliseconds from the arrival of the statement, with `during`. */
  readonly into: number;
  /** Milliseconds that ClickHouse stays down. */
  readonly down: number;
}

/** Each as often as it is listed. */
const VICTIMS: readonly Victim[] = [
  'domainsync',
  'domainsync',
  'domainsync',
  'clickhouse',
  'clickhouse',
  'both',
  'answer',
];

/** Statements between which something may go wrong: the start of each, in the order of a run. */
const KINDS = [
  'CREATE ',
  'RENAME TABLE',
  'INSERT INTO \\S+_rows`',
  'INSERT INTO \\S+_blocks`',
  'INSERT INTO \\S+domainsync_rejects',
  'ALTER TABLE \\S+_next` ATTACH',
  'ALTER TABLE \\S+_next` MODIFY COMMENT',
  'EXCHANGE TABLES',
  'INSERT INTO \\S+_(diff|delta|changes)`',
  'OPTIMIZE TABLE',
  'ALTER TABLE \\S+_rows` MODIFY COMMENT',
  'ALTER TABLE `[^`]+`.`dns` ',
  'ALTER TABLE `[^`]+`.`dns_changes` ',
  'DROP TABLE',
] as const;

/** A start of domainsync and a load take about so long, ms. */
const LONGEST_RUN = 1_500;
/** Longer than retries last now and then, so that both ends are met: going on, and ending with an error. */
const LONGEST_DOWN = 3_000;

/** @param statements how many statements that change something an undisturbed run has */
export function drawStrike(draw: Draw, statements: number): Strike {
  const victim = pick(draw, VICTIMS);
  // An answer is lost at a statement.
  const aimed = draw() < (victim === 'answer' ? 1 : 0.75);
  const which = draw();
  const nth = Math.floor(draw() * statements);
  const like: Aim = { kind: 'like', pattern: pick(draw, KINDS), nth: Math.floor(draw() * 3) };
  const time: Aim = { kind: 'time', ms: Math.floor(draw() * LONGEST_RUN) };
  return {
    victim,
    aim: !aimed ? time : which < 0.5 ? like : { kind: 'nth', nth },
    moment: pick<Strike['moment']>(
      draw,
      victim === 'answer' ? ['before', 'after', 'half'] : ['before', 'during', 'after', 'half'],
    ),
    into: Math.floor(draw() * 30),
    down: Math.floor(draw() * draw() * LONGEST_DOWN),
  };
}

/** In a line. */
export function strikeText({ victim, aim, moment, into, down }: Strike): string {
  const death = victim === 'clickhouse' || victim === 'both' ? `, down for ${down} ms` : '';
  if (aim.kind === 'time') return `${victim} after ${aim.ms} ms${death}`;
  const what = aim.kind === 'nth' ? `statement ${aim.nth}` : `${aim.pattern} number ${aim.nth}`;
  return `${victim} ${moment === 'during' ? `${into} ms into` : moment} ${what}${death}`;
}
