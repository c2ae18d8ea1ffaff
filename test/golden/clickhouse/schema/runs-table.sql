CREATE TABLE IF NOT EXISTS `db`.`domainsync_runs` (
  pipeline LowCardinality(String),
  destination LowCardinality(String),
  file String,
  file_date Date,
  etag String,
  started_at DateTime64(3, 'UTC'),
  finished_at DateTime64(3, 'UTC'),
  outcome LowCardinality(String),
  rows_read UInt64,
  rows_written UInt64,
  inserted UInt64,
  updated UInt64,
  deleted UInt64,
  unchanged UInt64,
  rejected UInt64,
  bytes UInt64,
  error_code LowCardinality(String),
  error String,
  _run String,
  _epoch UInt64
) ENGINE = MergeTree ORDER BY (pipeline, started_at)
TTL toDateTime(finished_at) + toIntervalSecond(31536000)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'domainsync: one row per run'