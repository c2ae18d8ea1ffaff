SELECT domain, op, file_date, previous_file_date, `column`, old, new FROM (
  SELECT domain, op, file_date, previous_file_date, _revision, _source, columns, anyIf(texts, version = before) AS olds, anyIf(texts, version = after) AS news FROM (
    SELECT c.domain AS domain, c.op AS op, c.file_date AS file_date, c.previous_file_date AS previous_file_date, c._revision AS _revision, c._source AS _source, c.columns AS columns, c.before AS before, c.after AS after, h._version AS version,
      arrayMap(name -> [toNullable(toString(h.`http_status`)), toNullable(toJSONString(h.`dns_records`)), toNullable(toString(h.`registrar`))][indexOf(['http_status', 'dns_records', 'registrar'], toString(name))], c.columns) AS texts
    FROM (
      SELECT c.domain AS domain, c.op AS op, c.file_date AS file_date, c.previous_file_date AS previous_file_date, c._revision AS _revision, c._source AS _source, c.columns AS columns, c.lowest AS lowest, arrayMax(arrayFilter(v -> v < c.lowest, k.versions)) AS before,
        arrayMax(arrayFilter(v -> v <= c.highest, k.versions)) AS after
      FROM (SELECT domain, op, file_date, previous_file_date, _revision, _source, columns, bitShiftLeft(toUInt64(toUInt16(file_date)), 48) + bitShiftLeft(toUInt64(_revision), 38) AS lowest, lowest + 274877906943 AS highest FROM `db`.`dns_changes` WHERE op = 'update') AS c
      ALL INNER JOIN (SELECT domain, groupArray(_version) AS versions FROM `db`.`dns_history` GROUP BY domain) AS k ON c.domain = k.domain
    ) AS c
    ALL INNER JOIN `db`.`dns_history` AS h ON c.domain = h.domain
    WHERE c.before > 0 AND c.after >= c.lowest AND (h._version = c.before OR h._version = c.after)
  )
  GROUP BY domain, op, file_date, previous_file_date, _revision, _source, columns
)
ARRAY JOIN columns AS `column`, olds AS old, news AS new
SETTINGS enable_shared_storage_snapshot_in_query = 1, optimize_read_in_order = 1, read_in_order_use_buffering = 0, optimize_aggregation_in_order = 1, join_algorithm = 'full_sorting_merge', join_use_nulls = 0, aggregate_functions_null_for_empty = 0, max_block_size = 8192, max_bytes_before_external_sort = 500000000, max_bytes_before_external_group_by = 500000000, output_format_json_escape_forward_slashes = 0