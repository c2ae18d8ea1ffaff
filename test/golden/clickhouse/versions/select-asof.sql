SELECT h.`domain` AS `domain`, h.`http_status` AS `http_status`, h.`dns_records` AS `dns_records`, h.`registrar` AS `registrar`
FROM `db`.`dns_history` AS h
ALL INNER JOIN (SELECT domain, max(_version) AS version FROM `db`.`dns_history` WHERE _file_date <= {at:Date} GROUP BY domain) AS k ON h.domain = k.domain
WHERE h._version = k.version AND h._deleted = 0 AND (SELECT throwIf({at:Date} < toDate('2026-01-15'), 'the history of this table begins on 2026-01-15: no date before it is known whole')) = 0
SETTINGS optimize_read_in_order = 1, read_in_order_use_buffering = 0, optimize_aggregation_in_order = 1, join_algorithm = 'full_sorting_merge', join_use_nulls = 0, max_block_size = 8192, max_bytes_before_external_sort = 500000000, max_bytes_before_external_group_by = 500000000