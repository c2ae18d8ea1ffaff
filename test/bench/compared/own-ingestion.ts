/** What ClickHouse does with the same file by itself: one INSERT SELECT that reads the compressed JSON Lines and normalises them. */
import { columnType } from '../../../connectors/clickhouse/sql/schema.ts';
import { COLUMNS } from '../../../src/rows/columns.ts';
import type { Column } from '../../../src/types/index.ts';

/** The table, sorted as domainsync's is, without what only domainsync needs. */
export function createOwnTable(table: string): string {
  const columns = COLUMNS.map((column) => `\`${column.name}\` ${columnType(column)}`);
  return `CREATE TABLE ${table} (${columns.join(', ')}) ENGINE = MergeTree ORDER BY domain`;
}

/**
 * Numbers and objects are read as their text. The rules are those of domainsync as far as SQL says them in one
 * expression; nothing is kept of values that do not fit, no line is counted or rejected.
 */
export function insertOwn(table: string): string {
  const input = COLUMNS.flatMap(({ from }) => (from === null ? [] : [`\`${from}\` Nullable(String)`]));
  const selected = COLUMNS.map((column) => `${expression(column)} AS \`${column.name}\``);
  return `INSERT INTO ${table} SELECT ${selected.join(', ')} FROM input('${input.join(', ')}')
SETTINGS input_format_json_read_objects_as_strings = 1, input_format_json_read_numbers_as_strings = 1,
  input_format_json_read_arrays_as_strings = 1, input_format_json_read_bools_as_strings = 1, input_format_skip_unknown_fields = 1
FORMAT JSONEachRow`;
}

function expression({ from, kind }: Column): string {
  const text = `ifNull(\`${from}\`, '')`;
  switch (kind) {
    case 'domain':
      return `lower(trim(TRAILING '.' FROM trim(${text})))`;
    case 'text':
    case 'json-text':
      return text;
    case 'uint16':
      return `toUInt16OrNull(${text})`;
    case 'float64':
      return `toFloat64OrNull(${text})`;
    case 'bool':
      return `multiIf(upper(${text}) = 'TRUE', true, upper(${text}) = 'FALSE', false, NULL)`;
    case 'datetime':
      return `parseDateTime64BestEffortOrNull(${text}, 3, 'UTC')`;
    case 'technologies':
      return `if(startsWith(${text}, '['), mapFromArrays(JSONExtract(${text}, 'Array(String)') AS listed, arrayMap(one -> '', listed)), JSONExtract(${text}, 'Map(String, String)'))`;
    case 'social-networks':
      return `JSONExtract(${text}, 'Map(String, Array(String))')`;
    case 'dns-records':
      return `mapFromArrays(arrayMap(one -> one.1, JSONExtractKeysAndValuesRaw(${text}) AS types), arrayMap(one -> arrayMap(value -> if(startsWith(value, '{'), concat(JSONExtractString(value, 'priority'), ' ', JSONExtractString(value, 'host')), trim(BOTH '"' FROM value)), JSONExtractArrayRaw(one.2)), types))`;
    case 'unparsed':
      return 'map()';
  }
}
