/** The schema of one pipeline (docs/contract.md, "Configuration"), with the defaults. */
import { z } from 'zod';
import { COLUMNS } from '../src/rows/columns.ts';
import { SLICE_SCOPES, type Slice } from '../src/types/index.ts';
import { cronFault } from './cron.ts';
import { EnvText } from './substitute.ts';
import {
  Bad,
  flag,
  type Loose,
  leaf,
  matching,
  nameOf,
  notA,
  number,
  oneOf,
  rule,
  section,
  share,
  text,
} from './values.ts';

const slice = rule(
  rule(
    section({
      scope: oneOf(SLICE_SCOPES),
      key: text((value) => {
        const key = value.trim();
        // A URL drops `.` and `..` as path segments: the request would ask for another file.
        if (key === '' || key === '.' || key === '..') return new Bad('names no slice');
        return /\p{Cc}/u.test(key) || key.toLowerCase().length > 255 ? new Bad('must be a short plain text') : key;
      }),
    }),
    'key',
    'must be a country code of two letters',
    ({ scope, key }) => scope !== 'country' || typeof key !== 'string' || /^[a-z]{2}$/i.test(key),
  ),
  'key',
  'must be written without the leading dot',
  ({ scope, key }) => (scope !== 'tld' && scope !== 'tld_suffix') || typeof key !== 'string' || !key.startsWith('.'),
).transform(({ scope, key }): Slice => {
  const lower = key.toLowerCase();
  return { scope, key: lower, ...(scope === 'country' && key !== lower ? { written: key } : {}) };
});

const DATE = '<date>';

/** A file name pattern: `*` for anything, `<date>` for the date. A pattern that matches no name would fail every run. */
const fileName = text((value) => {
  if (value.split(DATE).length !== 2) return new Bad(`must hold ${DATE} once: it stands for the date`);
  if (/[<>]/.test(value.replace(DATE, ''))) return new Bad(`knows only ${DATE}, and * for anything`);
  if (/[/\\]/.test(value)) return new Bad('must be a name, without a path');
  if (/\p{Cc}/u.test(value) || value.trim() !== value) return new Bad('must be a plain name');
  if (!/\.zst$/i.test(value)) return new Bad('must end in .zst, as the files do');
  return value.length > 255 ? new Bad('must have at most 255 characters') : value;
});

const condition = leaf((value) => {
  const values = (Array.isArray(value) ? value : [value]).map((item) =>
    item instanceof EnvText ? textOf(item) : item,
  );
  const bad = values.find((item) => item instanceof Bad);
  if (bad !== undefined) return bad;
  const plain = values.every((item) => ['string', 'number', 'boolean'].includes(typeof item));
  if (!plain || values.length === 0) return new Bad('must be text, a number, true or false, or a list of these');
  return [...new Set(values.map((item) => String(item).toLowerCase()))];
});

function textOf(value: EnvText): string | Bad {
  return value.fault === null ? value.text : new Bad(value.fault);
}

const columnNames = COLUMNS.map((column) => column.name);
const conditionShape = Object.fromEntries(
  COLUMNS.filter((column) => column.kind !== 'unparsed').map((column) => [column.name, condition.optional()]),
);
const noCondition = leaf((): string[] | Bad => new Bad('cannot be a condition')).optional();

const ONLY_IN_SYNC = 'belongs to mode sync only';

const clickhouseTable = rule(
  rule(
    rule(
      section({
        table: text(tableName),
        mode: oneOf(['sync', 'replace', 'append']).default('sync'),
        deletes: flag().optional(),
        changes: flag().optional(),
        history: flag().optional(),
      }),
      'deletes',
      ONLY_IN_SYNC,
      onlyInSync('deletes'),
    ),
    'changes',
    ONLY_IN_SYNC,
    onlyInSync('changes'),
  ),
  'history',
  ONLY_IN_SYNC,
  onlyInSync('history'),
);

function onlyInSync(key: string): (value: Loose) => boolean {
  return (value) => value[key] === undefined || (value['mode'] !== 'replace' && value['mode'] !== 'append');
}

/** Reserved prefixes and suffixes belong to the tables that domainsync creates itself (docs/contract.md, "ClickHouse"). */
function tableName(name: string): string | Bad {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return new Bad('must be a letter or _, followed by letters, digits and _');
  }
  const ending = ['_live', '_changes', '_previous'].find((end) => name.endsWith(end));
  if (ending !== undefined) return new Bad(`must not end in ${ending}: domainsync makes such tables beside it`);
  if (name.startsWith('domainsync_')) return new Bad("must not start with domainsync_: those are domainsync's own");
  // ClickHouse's file names have at most 255 bytes, and staging tables need some of them.
  return name.length > 128 ? new Bad('must have at most 128 characters') : name;
}

/** Kafka's rules, with room for the progress topic's name. */
function topicName(name: string): string | Bad {
  if (!/^[A-Za-z0-9._-]+$/.test(name)) return new Bad('must be of letters, digits, ., _ and -');
  if (['.', '..', '__consumer_offsets', '__transaction_state'].includes(name)) return new Bad('is no name for a topic');
  if (name.endsWith('.progress')) return new Bad('must not end in .progress: domainsync makes such topics beside it');
  return name.length > 249 - '.progress'.length ? new Bad('must have at most 240 characters') : name;
}

const kafkaTopic = section({
  topic: text(topicName),
  publish: oneOf(['changes', 'snapshot']).default('changes'),
  compression: oneOf(['zstd', 'gzip', 'none']).default('zstd'),
  partitions: number({ min: 1, max: 100_000, whole: true }, 'a whole number, 1 or more').default(6),
  replicationFactor: number({ min: 1, max: 32_767, whole: true }, 'a whole number, 1 or more').default(1),
});

export const pipeline = section({
  dataset: matching(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'a slug: letters, digits, -, . and _'),
  slice: slice.optional(),
  fileName: fileName.optional(),
  schedule: text((value) => {
    const fault = cronFault(value);
    return fault === null ? value.trim().split(/\s+/).join(' ') : new Bad(fault);
  }).optional(),
  where: section({ ...conditionShape, unparsed: noCondition }).optional(),
  columns: z.array(nameOf(columnNames, 'column'), { error: (issue) => notA('list', issue.input) }).optional(),
  maxRejected: share().default(0.001),
  minRows: share().default(0.5),
  to: rule(
    section({ clickhouse: clickhouseTable.optional(), kafka: kafkaTopic.optional() }),
    null,
    'must name clickhouse, kafka or both',
    (value) => value['clickhouse'] !== undefined || value['kafka'] !== undefined,
  ),
});
