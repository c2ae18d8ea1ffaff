SELECT h.`domain` AS `domain`, h.`http_status` AS `http_status`, h.`dns_records` AS `dns_records`, h.`registrar` AS `registrar`, k.froms[indexOf(k.versions, h._version)] AS valid_from, k.tos[indexOf(k.versions, h._version)] AS valid_to
FROM `db`.`dns_history` AS h
INNER JOIN (
  SELECT domain,
    arraySort(groupArray((_version, _file_date, _hash, _deleted))) AS every,
    arrayFilter((row, n) -> n = length(every) OR every[n + 1].2 != row.2, every, arrayEnumerate(every)) AS dated,
    arrayMap(n -> n = 1 OR dated[n].4 = 1 OR dated[n - 1].4 = 1 OR dated[n].3 != dated[n - 1].3, arrayEnumerate(dated)) AS begins,
    arrayCumSum(begins) AS numbers,
    arrayFilter(n -> dated[n].4 = 0 AND (n = length(dated) OR begins[n + 1]), arrayEnumerate(dated)) AS lasts,
    arrayMap(n -> dated[n].1, lasts) AS versions,
    arrayMap(n -> dated[indexOf(numbers, numbers[n])].2, lasts) AS froms,
    arrayMap(n -> if(n = length(dated), NULL, dated[n + 1].2), lasts) AS tos
  FROM `db`.`dns_history` GROUP BY domain
) AS k ON h.domain = k.domain
WHERE has(k.versions, h._version)
SETTINGS optimize_read_in_order = 1, read_in_order_use_buffering = 0, optimize_aggregation_in_order = 1, join_algorithm = 'full_sorting_merge', join_use_nulls = 0, max_block_size = 8192, max_bytes_before_external_sort = 500000000, max_bytes_before_external_group_by = 500000000