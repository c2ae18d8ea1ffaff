INSERT INTO db.changes SETTINGS optimize_read_in_order = 0, max_block_size = 8192, max_bytes_before_external_sort = 500000000, join_algorithm = 'full_sorting_merge', join_use_nulls = 0, max_insert_threads = 1
SELECT domain, if(op = 1, 'insert', 'delete'), [], '2026-01-02', '2026-01-01', 3, 'dns/tld/d\'e'
FROM db.diff WHERE domain >= 'it\'s.example' AND op IN (1, 4)
UNION ALL
SELECT n.domain, 'update', arrayFilter((name, a, b) -> a != b, ['country', 'dns_checked_at', 'dns_status', 'unparsed'], n.hashes, l.hashes), '2026-01-02', '2026-01-01', 3, 'dns/tld/d\'e'
FROM (SELECT domain, [cityHash64(tuple(`country`)), cityHash64(tuple(`dns_checked_at`)), cityHash64(tuple(`dns_status`)), cityHash64(tuple(`unparsed`))] AS hashes FROM db.delta PREWHERE domain >= 'it\'s.example' AND domain IN (SELECT domain FROM db.diff WHERE domain >= 'it\'s.example' AND op = 2)) AS n
ALL INNER JOIN (SELECT domain, hashes FROM db.before WHERE domain >= 'it\'s.example') AS l ON n.domain = l.domain