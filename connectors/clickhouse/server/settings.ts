/** The settings that every statement is sent with, besides the user's own. */
import type { ClickHouseSettings } from '@clickhouse/client';

/**
 * The server sends a header every so often while a statement runs, so that no proxy in between takes the connection for
 * idle. An hour of them, of a few hundred bytes each, must fit.
 */
const PROGRESS_EVERY_MS = 20_000;
export const PROGRESS_HEADERS_BYTES = 256 * 1024;

/** More than the largest answer has: a thousand shortened rejects. The server allocates as much as it needs. */
const RESPONSE_BUFFER_BYTES = 256 * 1024 * 1024;

/** What domainsync's statements rely on, whatever the server's profile says. */
export const OWN_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  // The answer comes when the statement has ended.
  wait_end_of_query: 1,
  // The server keeps the answer in memory until then: by default in a file, which a full disk leaves empty.
  http_response_buffer_size: String(RESPONSE_BUFFER_BYTES),
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: String(PROGRESS_EVERY_MS),
  alter_sync: '1',
  // These change what a statement means.
  join_use_nulls: 0,
  union_default_mode: 'ALL',
  prefer_column_name_to_alias: 0,
  empty_result_for_aggregation_by_empty_set: 0,
  data_type_default_nullable: 0,
  aggregate_functions_null_for_empty: 0,
  // Delete marks are rows to us: statements name FINAL where they mean it.
  final: 0,
  // Statements ask what is there at this moment; and with the cache the server refuses those over system tables.
  use_query_cache: 0,
  // A load reads tables as a whole.
  force_primary_key: 0,
  force_index_by_date: 0,
  // OPTIMIZE does nothing while the server merges the same parts by itself: that is no error.
  optimize_throw_if_noop: 0,
  input_format_json_named_tuples_as_objects: 1,
  output_format_json_quote_64bit_integers: 1,
  output_format_json_array_of_rows: 0,
  ...uncut(),
};

/** A limit that is exceeded is an error: it never cuts an answer or a copy short. */
function uncut(): ClickHouseSettings {
  return {
    limit: '0',
    offset: '0',
    read_overflow_mode: 'throw',
    read_overflow_mode_leaf: 'throw',
    group_by_overflow_mode: 'throw',
    sort_overflow_mode: 'throw',
    result_overflow_mode: 'throw',
    timeout_overflow_mode: 'throw',
    timeout_overflow_mode_leaf: 'throw',
    set_overflow_mode: 'throw',
    join_overflow_mode: 'throw',
    transfer_overflow_mode: 'throw',
    distinct_overflow_mode: 'throw',
  };
}

/**
 * By default a server refuses to drop more than 50 GB, which protects people from mistakes. domainsync drops its own staging and
 * previous tables, and partitions that it replaces.
 */
export const DROP_SETTINGS: ClickHouseSettings = { max_table_size_to_drop: '0', max_partition_size_to_drop: '0' };

/**
 * For definitions that go to all replicas: the answer comes when those that are alive have carried them out, at the latest after so many
 * seconds. A replica that was away carries them out when it is back. The time is longer than ZooKeeper takes to see that one is gone (30 s).
 */
export const DEFINITION_SETTINGS = {
  distributed_ddl_output_mode: 'null_status_on_timeout_only_active',
  distributed_ddl_task_timeout: '60',
} as unknown as ClickHouseSettings;

/** A record counts as written when so many replicas have it. */
export function quorumSettings(replicas: number, timeoutMs: number): ClickHouseSettings {
  return { insert_quorum: String(replicas), insert_quorum_timeout: timeoutMs, insert_quorum_parallel: 1 };
}

/** One block is one INSERT is one part: it lands whole or not at all. */
export const BLOCK_SETTINGS: ClickHouseSettings = {
  max_insert_block_size: '1000000000',
  min_insert_block_size_rows: '1000000000',
  min_insert_block_size_bytes: '100000000000',
  insert_deduplicate: 1,
  max_partitions_per_insert_block: '0',
};
