-- vacuum.sql: the housekeeper deletes and packs.
DELETE FROM reading WHERE day < 100;
UPDATE station SET name = upper(name) WHERE height > 2000;
ANALYZE;
VACUUM;
PRAGMA integrity_check;
SELECT count(*), 'readings kept' FROM reading;
