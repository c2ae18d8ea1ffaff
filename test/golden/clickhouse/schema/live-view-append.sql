CREATE VIEW IF NOT EXISTS `db`.`few_live` AS (SELECT `domain` FROM `db`.`few`
WHERE _deleted = 0 AND (_source, _file_date) IN (SELECT _source, max(_file_date) FROM `db`.`few` GROUP BY _source)
SETTINGS enable_shared_storage_snapshot_in_query = 1) COMMENT 'domainsync: current rows'