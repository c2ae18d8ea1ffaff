CREATE TABLE IF NOT EXISTS `db`.`domainsync_rejects` (
  pipeline LowCardinality(String),
  file String,
  file_date Date,
  line UInt64,
  reason LowCardinality(String),
  detail String,
  raw String,
  _file_key String,
  _recorded_at DateTime64(3, 'UTC')
) ENGINE = MergeTree ORDER BY (pipeline, file, line)
TTL toDateTime(_recorded_at) + toIntervalSecond(2592000)
COMMENT 'domainsync: rejected lines'