INSERT INTO db.delta (domain, _file_date, _version, _source, _deleted)
SELECT domain, '2026-01-02', 42, 'dns/tld/d\'e', 1
FROM db.diff WHERE op = 4