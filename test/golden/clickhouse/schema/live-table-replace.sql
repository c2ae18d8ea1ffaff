CREATE TABLE IF NOT EXISTS `db`.`few` (`domain` String, `_file_date` Date, `_version` UInt64, `_source` LowCardinality(String), `_deleted` UInt8)
ENGINE = MergeTree ORDER BY domain COMMENT ''