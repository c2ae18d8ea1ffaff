/** Which pipelines may write to one table or topic (docs/contract.md, "Pipelines that share a table or a topic"). */
import { selectColumns } from '../src/rows/columns.ts';
import { sourceKey } from '../src/types/index.ts';
import type { Pipeline } from './schema.ts';
import type { Fault } from './values.ts';

/**
 * Faults of pipelines that conflict, each reported once, for the later pipeline. Checking pairs is enough: if all pairs are
 * fine, the group is fine, because a pipeline that deletes requires every other one to have a slice of the same scope with
 * another key.
 */
export function overlaps(pipelines: readonly Pipeline[]): Fault[] {
  const faults: Fault[] = [];
  for (const [n, later] of pipelines.entries()) {
    const earlier = pipelines.slice(0, n);
    const table = firstOf(earlier, (other) => tableConflict(other, later));
    if (table !== undefined) faults.push(fault(later, ['clickhouse', 'table'], table));
    const reserved = firstOf(earlier, (other) => reservedName(other, later) ?? reservedName(later, other));
    if (reserved !== undefined) faults.push(fault(later, ['clickhouse', 'table'], reserved));
    const topic = firstOf(earlier, (other) => topicConflict(other, later));
    if (topic !== undefined) faults.push(fault(later, ['kafka', 'topic'], topic));
  }
  return faults;
}

const DISJOINT = 'each has a slice of scope tld, or each of scope tld_suffix, with another key';

function tableConflict(a: Pipeline, b: Pipeline): string | null {
  const [to, other] = [b.to.clickhouse, a.to.clickhouse];
  if (to === undefined || other === undefined || to.table !== other.table) return null;
  const shared = `pipelines '${a.name}' and '${b.name}' share the table ${to.table}`;
  if (to.mode === 'replace' || other.mode === 'replace') {
    return `${shared}: a table of mode replace can have only one pipeline; modes sync and append may share`;
  }
  if (to.mode !== other.mode) return `${shared}: they must have the same mode`;
  const alike = mustAgree(a, b);
  if (alike !== null) return `${shared}: ${alike}`;
  if (to.changes !== other.changes) return `${shared}: they must agree in changes`;
  if (to.history !== other.history) return `${shared}: they must agree in history`;
  if (sameSource(a, b)) return `${shared}: they must not load the same slice into it twice`;
  if (disjoint(a, b) || (to.mode === 'sync' && !to.deletes && !other.deletes)) return null;
  const allowed = to.mode === 'sync' ? `${DISJOINT}, or where all have deletes: false` : DISJOINT;
  return `${shared}: this is allowed only where ${allowed}`;
}

/** What domainsync makes beside a table that keeps history. */
const HISTORY_OBJECTS = ['_history', '_asof', '_versions', '_changes_values'];

/** Whether one pipeline's table has a name that domainsync needs beside the other's. */
function reservedName(keeper: Pipeline, { to }: Pipeline): string | null {
  const keeping = keeper.to.clickhouse;
  const table = to.clickhouse?.table;
  if (keeping === undefined || !keeping.history || table === undefined) return null;
  if (!HISTORY_OBJECTS.some((ending) => table === `${keeping.table}${ending}`)) return null;
  return `the table ${table} is what domainsync makes beside ${keeping.table}, where pipeline '${keeper.name}' has history: true`;
}

function topicConflict(a: Pipeline, b: Pipeline): string | null {
  const [to, other] = [b.to.kafka, a.to.kafka];
  if (to === undefined || other === undefined || to.topic !== other.topic) return null;
  const shared = `pipelines '${a.name}' and '${b.name}' share the topic ${to.topic}`;
  const alike = mustAgree(a, b);
  if (alike !== null) return `${shared}: ${alike}`;
  return disjoint(a, b) ? null : `${shared}: this is allowed only where ${DISJOINT}`;
}

function mustAgree(a: Pipeline, b: Pipeline): string | null {
  if (a.target.dataset !== b.target.dataset) return 'they must load the same dataset';
  return columnsOf(a) === columnsOf(b) ? null : 'they must have the same columns';
}

/** A list of all columns equals no list. */
function columnsOf(pipeline: Pipeline): string {
  return selectColumns(pipeline.columns)
    .map((column) => column.name)
    .join();
}

function sameSource(a: Pipeline, b: Pipeline): boolean {
  return sourceKey(a.target).toLowerCase() === sourceKey(b.target).toLowerCase();
}

/**
 * Whether no domain can be in both slices. A tld and a tld_suffix can overlap: `uk` holds what `co.uk` holds. So can
 * countries and technologies: a domain moves between them, or has several.
 */
function disjoint(a: Pipeline, b: Pipeline): boolean {
  const [one, two] = [a.target.slice, b.target.slice];
  if (one === undefined || two === undefined || one.scope !== two.scope) return false;
  return (one.scope === 'tld' || one.scope === 'tld_suffix') && one.key.toLowerCase() !== two.key.toLowerCase();
}

function firstOf(earlier: readonly Pipeline[], conflict: (other: Pipeline) => string | null): string | undefined {
  for (const other of earlier) {
    const message = conflict(other);
    if (message !== null) return message;
  }
  return undefined;
}

function fault(pipeline: Pipeline, key: readonly string[], message: string): Fault {
  return { path: ['pipelines', pipeline.name, 'to', ...key], message, absent: false };
}
