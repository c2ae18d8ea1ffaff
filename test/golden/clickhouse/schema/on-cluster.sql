CREATE TABLE IF NOT EXISTS `db`.`few` UUID '11111111-2222-4333-8444-555555555555' ON CLUSTER `c` (`domain` String, `_file_date` Date, `_version` UInt64, `_source` LowCardinality(String), `_deleted` UInt8, `_hash` UInt64 DEFAULT toUInt64(0))
ENGINE = ReplicatedReplacingMergeTree(_version, _deleted) ORDER BY domain SETTINGS replicated_deduplication_window = 1000000, replicated_deduplication_window_seconds = 3000000000 COMMENT 'state';

CREATE TABLE IF NOT EXISTS `db`.`few` UUID '11111111-2222-4333-8444-555555555555' ON CLUSTER `c` (`domain` String, `_file_date` Date, `_version` UInt64, `_source` LowCardinality(String), `_deleted` UInt8)
ENGINE = ReplicatedMergeTree PARTITION BY (_source, _file_date) ORDER BY (domain, _file_date) SETTINGS replicated_deduplication_window = 1000000, replicated_deduplication_window_seconds = 3000000000 COMMENT 'state';

CREATE VIEW IF NOT EXISTS `db`.`few_live` ON CLUSTER `c` AS (SELECT `domain` FROM `db`.`few` FINAL) COMMENT 'domainsync: current rows';

CREATE TABLE IF NOT EXISTS `db`.`few_changes` ON CLUSTER `c` (
  domain String,
  op Enum8('insert' = 1, 'update' = 2, 'delete' = 3),
  columns Array(LowCardinality(String)),
  file_date Date,
  previous_file_date Date,
  _revision UInt16,
  _source LowCardinality(String)
) ENGINE = ReplicatedMergeTree PARTITION BY (file_date, _revision, _source) ORDER BY domain COMMENT 'changes';

CREATE TABLE IF NOT EXISTS `db`.`domainsync_held` ON CLUSTER `c` (
  table_id String,
  source String,
  file_date Date,
  version UInt64,
  held String
) ENGINE = ReplicatedReplacingMergeTree(version) ORDER BY (table_id, source, file_date)
SETTINGS replicated_deduplication_window = 1000
COMMENT 'domainsync: what the tables hold';

CREATE TABLE IF NOT EXISTS `db`.`domainsync_runs` ON CLUSTER `c` (
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
) ENGINE = ReplicatedMergeTree ORDER BY (pipeline, started_at)
TTL toDateTime(finished_at) + toIntervalSecond(31536000)
SETTINGS replicated_deduplication_window = 1000
COMMENT 'domainsync: one row per run';

CREATE TABLE IF NOT EXISTS `db`.`domainsync_rejects` ON CLUSTER `c` (
  pipeline LowCardinality(String),
  file String,
  file_date Date,
  line UInt64,
  reason LowCardinality(String),
  detail String,
  raw String,
  _file_key String,
  _recorded_at DateTime64(3, 'UTC')
) ENGINE = ReplicatedMergeTree ORDER BY (pipeline, file, line)
TTL toDateTime(_recorded_at) + toIntervalSecond(2592000)
COMMENT 'domainsync: rejected lines';

CREATE TABLE IF NOT EXISTS `db`.`domainsync_claims` ON CLUSTER `c` (none UInt8)
ENGINE = ReplicatedMergeTree ORDER BY tuple() COMMENT 'domainsync: who may load, in its columns'