SELECT `domain`, `http_status`, `dns_records`, `registrar` FROM `db`.`dns`
WHERE _deleted = 0 AND (_source, _file_date) IN (SELECT _source, max(_file_date) FROM `db`.`dns` WHERE _file_date <= {at:Date} GROUP BY _source)
  AND (SELECT throwIf(min(_file_date) > {at:Date} OR count() = 0, 'the table holds no file of this date or before') FROM `db`.`dns`) = 0
SETTINGS enable_shared_storage_snapshot_in_query = 1