/**
 * SQL of the index of what was published: pure builders. All set work runs in order of the key and in bounded memory, as in
 * difference.ts.
 */
import { DIFFERENCE, DIFFERENCE_SETTINGS } from '../sql/difference.ts';
import { literal, type StagingPart } from '../sql/names.ts';
import { LINE_OF_VERSION } from '../sql/row-version.ts';
import { engineAndKeys, ONE_SERVER, type Placing } from '../sql/schema.ts';

/** What the staging tables of such a load are. */
export const PARTS = {
  /** The file's index, which takes the place of the old one at the end. */
  next: 'next',
  /** Domain, line and kind of every message of the plan. */
  plan: 'diff',
  /** The plan's lines in order of the file. */
  lines: 'delta',
  /** An index that is being rebuilt from the topic. */
  rebuilt: 'changes',
} as const satisfies Record<string, StagingPart>;

/** Kinds of message in a plan. `same`: sent although nothing differs, where everything is. */
export const PLANNED = { insert: DIFFERENCE.insert, update: DIFFERENCE.update, same: 3, delete: DIFFERENCE.delete };

/** Columns of the index. */
export const INDEX_COLUMNS: readonly { readonly name: string; readonly type: string }[] = [
  { name: 'domain', type: 'String' },
  { name: 'hash', type: 'FixedString(16)' },
  { name: '_version', type: 'UInt64' },
  { name: '_deleted', type: 'UInt8' },
  { name: 'refused', type: 'String' },
  { name: 'raw', type: 'String' },
];

/**
 * Domains and hashes. `_version` orders rows of one domain as it does in live tables; a row that makes no message is
 * marked deleted, with a version below that of any other line of its file, so that an earlier line stands for it.
 */
export function createIndex(table: string, comment: string, placing: Placing = ONE_SERVER): string {
  return `CREATE TABLE IF NOT EXISTS ${table}${placing.onCluster} (
  ${INDEX_COLUMNS.map(({ name, type }) => `${name} ${type}`).join(', ')}
) ${engineAndKeys('sync', placing)} COMMENT ${literal(comment)}`;
}

/** INSERT of the rows that the encoding threads write, see PublishedLoad. */
export function insertStaged(table: string, version: { readonly row: bigint; readonly refused: bigint }): string {
  return `INSERT INTO ${table} (domain, hash, _version, _deleted, refused, raw)
SELECT domain, hash, bitOr(if(refused = '', toUInt64(${version.row}), toUInt64(${version.refused})), line), refused != '', refused, raw
FROM input('domain String, hash FixedString(16), line UInt64, refused String, raw String') FORMAT RowBinary`;
}

/** Rows read back from the topic: their order there is their version, which is below that of any file. */
export function insertRebuilt(table: string): string {
  return `INSERT INTO ${table} (domain, hash, _version, _deleted)
SELECT domain, hash, line, refused != '' FROM input('domain String, hash FixedString(16), line UInt64, refused String, raw String')
FORMAT RowBinary`;
}

export function createPlan(table: string): string {
  return `CREATE TABLE ${table} (domain String, line UInt64, op UInt8) ENGINE = MergeTree ORDER BY domain`;
}

/** Every message: of the file's rows those that differ from the index, or all; and the domains that are gone. */
export function insertPlan(plan: string, next: string, index: string, everything: boolean): string {
  const differing = everything ? '' : "WHERE l.domain = '' OR n.domain = '' OR n.hash != l.hash\n";
  return `INSERT INTO ${plan}
SELECT if(n.domain = '', l.domain, n.domain), n.line,
  multiIf(l.domain = '', ${PLANNED.insert}, n.domain = '', ${PLANNED.delete}, n.hash != l.hash, ${PLANNED.update}, ${PLANNED.same})
FROM (SELECT domain, hash, ${LINE_OF_VERSION} AS line FROM ${next} FINAL) AS n
ALL FULL OUTER JOIN (SELECT domain, hash FROM ${index} FINAL) AS l ON n.domain = l.domain
${differing}${DIFFERENCE_SETTINGS}`;
}

/** Delta-coded, a line takes about a byte. */
export function createLines(table: string): string {
  return `CREATE TABLE ${table} (line UInt64 CODEC(Delta, ZSTD)) ENGINE = MergeTree ORDER BY line`;
}

export function insertLines(lines: string, plan: string): string {
  return `INSERT INTO ${lines} SELECT line FROM ${plan} WHERE op != ${PLANNED.delete}`;
}

/** Answers with one list: a row for each line would be many times as large. */
export function selectLines(lines: string, first: number, count: number): string {
  return `SELECT groupArray(toUInt32(line - ${first})) AS offsets FROM (
  SELECT line FROM ${lines} WHERE line >= ${first} AND line < ${first + count} ORDER BY line
)`;
}

export function selectDeletions(plan: string, after: string | null, limit: number): string {
  const from = after === null ? '' : ` AND domain > ${literal(after)}`;
  return `SELECT domain FROM ${plan} WHERE op = ${PLANNED.delete}${from} ORDER BY domain LIMIT ${limit}`;
}

/** The rows of the plan that were sent, into the old index, where their versions win. */
export function insertSentRows(index: string, next: string, plan: string, before: number): string {
  return `INSERT INTO ${index} (domain, hash, _version)
SELECT n.domain, n.hash, n._version FROM (SELECT domain, hash, _version FROM ${next} FINAL) AS n
ALL INNER JOIN (SELECT domain FROM ${plan} WHERE op != ${PLANNED.delete} AND line < ${before}) AS p ON n.domain = p.domain
${DIFFERENCE_SETTINGS}`;
}

/** The deletions that were sent, likewise. */
export function insertSentDeletions(index: string, plan: string, to: string, version: bigint): string {
  return `INSERT INTO ${index} (domain, _version, _deleted)
SELECT domain, ${version}, 1 FROM ${plan} WHERE op = ${PLANNED.delete} AND domain <= ${literal(to)}`;
}

export function countPlan(plan: string): string {
  const kinds = Object.entries(PLANNED).map(([name, op]) => `countIf(op = ${op}) AS ${name}`);
  return `SELECT ${kinds.join(', ')} FROM ${plan}`;
}

/** Why a row that is fine makes no message; beside the reasons for which lines are rejected (docs/contract.md, "Rows"). */
const TOO_LARGE = 'message-too-large';

/** A SELECT of line, reason, detail and raw of the rows of which no message can be made. @param most null: all */
export function selectRefused(rows: string, most: number | null): string {
  return `SELECT DISTINCT ${LINE_OF_VERSION} AS line, '${TOO_LARGE}' AS reason, refused AS detail, raw
FROM ${rows} WHERE _deleted${most === null ? '' : ` LIMIT ${most}`}`;
}
