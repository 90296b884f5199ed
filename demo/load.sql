-- load.sql: a weather service takes in a year of readings.
PRAGMA journal_mode = MEMORY;
BEGIN;
CREATE TABLE station(id INTEGER PRIMARY KEY, name TEXT NOT NULL, height INT);
CREATE TABLE reading(station INT REFERENCES station, day INT, temperature REAL, note TEXT);
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 100)
INSERT INTO station SELECT i, printf('station %03d', i), (i * 7919) % 2500 FROM n;
WITH RECURSIVE d(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM d WHERE i < 365)
INSERT INTO reading
  SELECT id, i, 15 - height / 150.0 + 12 * abs(i - 182) / -182.0 + (id * i) % 7,
         CASE WHEN (id * i) % 97 = 0 THEN 'storm' END
  FROM station, d;
CREATE INDEX reading_by_day ON reading(day, station);
COMMIT;
SELECT count(*), 'readings loaded' FROM reading;
