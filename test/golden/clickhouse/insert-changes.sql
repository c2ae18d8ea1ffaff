INSERT INTO db.changes
SELECT domain, if(op = 1, 'insert', 'delete'), [], '2026-01-02', '2026-01-01', 3, 'dns/tld/d\'e'
FROM db.diff WHERE op IN (1, 4)