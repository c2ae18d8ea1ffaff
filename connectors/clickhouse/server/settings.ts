/** The settings that statements are sent with, besides those of the user's. */
import type { ClickHouseSettings } from '@clickhouse/client';

/**
 * The server sends a header every so often while a statement runs, so that no proxy in between takes the connection for
 * idle. An hour of them, of a few hundred bytes each, must fit.
 */
const PROGRESS_EVERY_MS = 20_000;
export const PROGRESS_HEADERS_BYTES = 256 * 1024;

/** More than any answer has: rejected lines, shortened, and by the thousand. The server takes as much as it needs. */
const RESPONSE_BUFFER_BYTES = 256 * 1024 * 1024;

/** What domainsync's statements rely on, whatever the server's profile says. */
export const OWN_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  // A statement has happened when its answer arrives.
  wait_end_of_query: 1,
  // Until then an answer is kept in memory: by default it goes through a file, and comes back empty from a full disk.
  http_response_buffer_size: String(RESPONSE_BUFFER_BYTES),
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: String(PROGRESS_EVERY_MS),
  alter_sync: '1',
  // What a statement means.
  join_use_nulls: 0,
  union_default_mode: 'ALL',
  prefer_column_name_to_alias: 0,
  empty_result_for_aggregation_by_empty_set: 0,
  data_type_default_nullable: 0,
  aggregate_functions_null_for_empty: 0,
  // Delete marks are rows to us: FINAL is said where it is meant.
  final: 0,
  // What is there now, not what was there when somebody asked before; and statements over system tables are refused with it.
  use_query_cache: 0,
  // A load reads tables as a whole.
  force_primary_key: 0,
  force_index_by_date: 0,
  // Parts that the server merges by itself just then are no fault.
  optimize_throw_if_noop: 0,
  input_format_json_named_tuples_as_objects: 1,
  output_format_json_quote_64bit_integers: 1,
  output_format_json_array_of_rows: 0,
  ...uncut(),
};

/** A limit that is passed is an error, never an answer or a copy that was cut short. */
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
 * By default a server refuses to drop more than 50 GB, lest a person do it by mistake. What domainsync drops are staging
 * and previous tables of its own, and partitions that it replaces.
 */
export const DROP_SETTINGS: ClickHouseSettings = { max_table_size_to_drop: '0', max_partition_size_to_drop: '0' };

/** One block is one INSERT is one part: it lands whole or not at all. */
export const BLOCK_SETTINGS: ClickHouseSettings = {
  max_insert_block_size: '1000000000',
  min_insert_block_size_rows: '1000000000',
  min_insert_block_size_bytes: '100000000000',
  insert_deduplicate: 1,
  max_partitions_per_insert_block: '0',
};
