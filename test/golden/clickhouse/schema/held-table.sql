CREATE TABLE IF NOT EXISTS `db`.`domainsync_held` (
  table_id String,
  source String,
  file_date Date,
  version UInt64,
  held String
) ENGINE = ReplacingMergeTree(version) ORDER BY (table_id, source, file_date)
SETTINGS non_replicated_deduplication_window = 1000
COMMENT 'domainsync: what the tables hold'