INSERT INTO db.diff
SELECT if(n.domain = '', l.domain, n.domain),
  multiIf(l.domain = '', 1, n.domain = '', 4, n.hash != l.hash, 2, 3)
FROM (SELECT domain, _hash AS hash, cityHash64(tuple(`dns_checked_at`)) AS touch FROM db.next) AS n
ALL FULL OUTER JOIN (SELECT domain, _hash AS hash, cityHash64(tuple(`dns_checked_at`)) AS touch FROM db.live FINAL WHERE _source = 'dns/tld/d\'e') AS l ON n.domain = l.domain
WHERE l.domain = '' OR n.domain = '' OR n.hash != l.hash OR n.touch != l.touch
SETTINGS optimize_read_in_order = 1, read_in_order_use_buffering = 0, max_block_size = 8192, max_bytes_before_external_sort = 500000000, join_algorithm = 'full_sorting_merge', join_use_nulls = 0, max_final_threads = 1