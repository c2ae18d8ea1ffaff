INSERT INTO doomed
SELECT domain, arrayJoin(arrayFilter((version, n) -> (n < length(every) AND every[n + 1].2 <= toDate('2026-01-15')) OR (every[n].3 = 1 AND every[n].2 <= toDate('2026-01-15')),
  every.1, arrayEnumerate(every))) AS version
FROM (SELECT domain, arraySort(groupArray((_version, _file_date, _deleted))) AS every FROM `db`.`dns_history` GROUP BY domain)
SETTINGS enable_shared_storage_snapshot_in_query = 1, optimize_read_in_order = 1, read_in_order_use_buffering = 0, optimize_aggregation_in_order = 1, join_algorithm = 'full_sorting_merge', join_use_nulls = 0, aggregate_functions_null_for_empty = 0, max_block_size = 8192, max_bytes_before_external_sort = 500000000, max_bytes_before_external_group_by = 500000000