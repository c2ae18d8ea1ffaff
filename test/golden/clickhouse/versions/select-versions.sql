SELECT h.`domain` AS `domain`, h.`http_status` AS `http_status`, h.`dns_records` AS `dns_records`, h.`registrar` AS `registrar`, k.froms[indexOf(k.versions, h._version)] AS valid_from, k.tos[indexOf(k.versions, h._version)] AS valid_to
FROM `db`.`dns_history` AS h
ALL INNER JOIN (SELECT domain, arrayMap(l -> dated[l].1, lasts) AS versions,
  arrayMap(m -> dated[indexOf(numbers, numbers[m])].2, lasts) AS froms,
  arrayMap(n -> if(n = length(dated), NULL, dated[n + 1].2), lasts) AS tos FROM (SELECT domain, dated, arrayCumSum(begins) AS numbers,
  arrayFilter(k -> dated[k].4 = 0 AND (k = length(dated) OR begins[k + 1] = 1), arrayEnumerate(dated)) AS lasts FROM (SELECT domain, dated,
  arrayMap(j -> j = 1 OR dated[j].4 = 1 OR dated[j - 1].4 = 1 OR dated[j].3 != dated[j - 1].3, arrayEnumerate(dated)) AS begins FROM (SELECT domain, arrayFilter((e, i) -> i = length(every) OR every[i + 1].2 != e.2, every, arrayEnumerate(every)) AS dated FROM (SELECT domain, arraySort(groupArray((_version, _file_date, _hash, _deleted))) AS every FROM `db`.`dns_history` GROUP BY domain))))) AS k ON h.domain = k.domain
WHERE has(k.versions, h._version)
SETTINGS enable_shared_storage_snapshot_in_query = 1, optimize_read_in_order = 1, read_in_order_use_buffering = 0, optimize_aggregation_in_order = 1, join_algorithm = 'full_sorting_merge', join_use_nulls = 0, aggregate_functions_null_for_empty = 0, max_block_size = 8192, max_bytes_before_external_sort = 500000000, max_bytes_before_external_group_by = 500000000