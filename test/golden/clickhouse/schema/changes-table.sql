CREATE TABLE IF NOT EXISTS `db`.`dns_changes` (
  domain String,
  op Enum8('insert' = 1, 'update' = 2, 'delete' = 3),
  columns Array(LowCardinality(String)),
  file_date Date,
  previous_file_date Date,
  _revision UInt16,
  _source LowCardinality(String)
) ENGINE = MergeTree PARTITION BY (file_date, _revision, _source) ORDER BY domain COMMENT 'changes'