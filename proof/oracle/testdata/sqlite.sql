-- phase 1: make tables and fill them
PRAGMA page_size = 1024;
PRAGMA cache_size = 40;
PRAGMA foreign_keys = on;
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, people INT CHECK (people >= 0));
CREATE TABLE road(a INT REFERENCES city(id) ON DELETE CASCADE, b INT REFERENCES city(id) ON DELETE CASCADE,
                  km REAL, PRIMARY KEY(a, b)) WITHOUT ROWID;
CREATE TABLE log(at INT, what TEXT);
CREATE TRIGGER city_gone AFTER DELETE ON city BEGIN
  INSERT INTO log VALUES(old.id, 'gone: ' || old.name);
END;
BEGIN;
INSERT INTO city
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
  SELECT i, printf('city-%03d-%x', i * 7919 % 1000, i), substr('ABCDEFGH', 1 + i % 8, 1), i * 104729 % 5000 FROM n;
INSERT INTO road
  SELECT x.id, y.id, abs(x.people - y.people) / 3.0 FROM city x, city y
  WHERE y.id BETWEEN x.id + 1 AND x.id + 4 AND (x.id + y.id) % 3 <> 0;
COMMIT;
CREATE INDEX city_country ON city(country, people DESC);
CREATE INDEX city_name ON city(name COLLATE backwards);
SELECT count(*), sum(km), max(km) FROM road;
-- phase 2: ask
SELECT country, count(*), avg(people), group_concat(id, '+') FROM city GROUP BY country HAVING count(*) > 3 ORDER BY 3 DESC;
SELECT name FROM city WHERE name > 'city-9' COLLATE backwards ORDER BY name COLLATE backwards LIMIT 20;
SELECT x.name, y.name, r.km FROM road r JOIN city x ON x.id = r.a LEFT JOIN city y ON y.id = r.b AND y.people > 2500
  WHERE x.country IN ('A', 'C') ORDER BY r.km LIMIT 50 OFFSET 10;
SELECT id, people, rank() OVER (PARTITION BY country ORDER BY people) AS r, sum(people) OVER (ORDER BY id ROWS 3 PRECEDING)
  FROM city WHERE id < 60;
WITH RECURSIVE reach(id, hops) AS (
  SELECT 1, 0 UNION SELECT r.b, hops + 1 FROM reach JOIN road r ON r.a = reach.id WHERE hops < 12)
  SELECT hops, count(DISTINCT id) FROM reach GROUP BY hops;
SELECT weigh(name, country), upper(name), hex(substr(name, 2, 3)), length(name), replace(name, '-', '_'), instr(name, '7')
  FROM city WHERE name LIKE '%1_' OR name GLOB 'city-[0-2]*' LIMIT 40;
SELECT date('2001-02-03', '+1 month', 'weekday 2'), strftime('%j %w', '2020-02-29'), julianday('1999-12-31 23:59:59');
SELECT json_extract('{"a": [1, {"b": "two"}, 3.5]}', '$.a[1].b'), json_group_array(id) FROM city WHERE id % 97 = 0;
SELECT key, value FROM json_each('{"x": 1, "y": [2, 3], "z": null}');
SELECT country FROM city EXCEPT SELECT 'B' UNION SELECT 'Z' INTERSECT SELECT country FROM city;
SELECT CASE WHEN people > 4000 THEN 'big' WHEN people > 1000 THEN 'mid' ELSE 'small' END AS size, count(*)
  FROM city GROUP BY size;
EXPLAIN QUERY PLAN SELECT * FROM city x, city y WHERE x.country = y.country AND x.people > 4900;
-- phase 3: change
BEGIN;
UPDATE city SET people = people + 17, name = name || '!' WHERE country = 'D';
SAVEPOINT here;
DELETE FROM city WHERE id % 5 = 0;
SELECT count(*) FROM road;
ROLLBACK TO here;
DELETE FROM city WHERE id % 41 = 0;
COMMIT;
INSERT INTO city(id, name, people) VALUES(3, 'again', 1) ON CONFLICT(id) DO UPDATE SET people = people * 2;
INSERT OR IGNORE INTO road VALUES(1, 2, 3.25);
REPLACE INTO road VALUES(1, 3, 4.5);
ALTER TABLE log ADD COLUMN more DEFAULT 'none';
ALTER TABLE log RENAME COLUMN what TO event;
CREATE VIEW busy AS SELECT name, people FROM city WHERE people > 3000;
SELECT count(*), min(name) FROM busy;
SELECT * FROM log ORDER BY at;
DROP INDEX city_name;
ANALYZE;
VACUUM;
PRAGMA integrity_check;
-- phase 4: roll back and take down
BEGIN;
DROP TABLE road;
CREATE TABLE wide AS SELECT *, zeroblob(2000) AS pad FROM city;
SELECT sum(length(pad)) FROM wide;
ROLLBACK;
CREATE TEMP TABLE t AS SELECT * FROM road ORDER BY km;
SELECT count(*), total(km) FROM t;
SELECT name, sql IS NULL FROM sqlite_master ORDER BY name;
