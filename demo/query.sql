-- query.sql: somebody asks questions.
SELECT name, round(avg(temperature), 1) AS mean
  FROM reading JOIN station ON station.id = reading.station
  GROUP BY station ORDER BY mean DESC LIMIT 3;
SELECT count(*), 'storms above 1000 m'
  FROM reading WHERE note LIKE 'st%m'
  AND station IN (SELECT id FROM station WHERE height > 1000);
SELECT day, round(temperature, 1), round(avg(temperature) OVER (ORDER BY day ROWS 6 PRECEDING), 2)
  FROM reading WHERE station = 42 ORDER BY day DESC LIMIT 2;
