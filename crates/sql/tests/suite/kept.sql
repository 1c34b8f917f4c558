-- Literals in defaults, checks, generated columns and views mean what they meant when these were made.
BEGIN;
SET LOCAL timezone = 'Europe/Berlin';
CREATE TABLE k (id int, ts timestamptz CHECK (ts > '2020-01-01 10:00'), d date DEFAULT '1/2/2020', at timestamptz DEFAULT '2020-07-01 12:00', many timestamptz[] DEFAULT '{2020-01-01, NULL}', CONSTRAINT within CHECK (at BETWEEN '2019-01-01' AND timestamptz '2021-01-01'));
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'k'::regclass ORDER BY 1;
--> k_ts_check|CHECK ((ts > '2020-01-01 10:00:00+01'::timestamp with time zone))
--> within|CHECK (((at >= '2019-01-01 00:00:00+01'::timestamp with time zone) AND (at <= '2021-01-01 00:00:00+01'::timestamp with time zone)))
COMMIT;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'k'::regclass ORDER BY 1;
--> k_ts_check|CHECK ((ts > '2020-01-01 09:00:00+00'::timestamp with time zone))
--> within|CHECK (((at >= '2018-12-31 23:00:00+00'::timestamp with time zone) AND (at <= '2020-12-31 23:00:00+00'::timestamp with time zone)))
SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = 'k'::regclass ORDER BY adnum;
--> d|'2020-01-02'::date
--> at|'2020-07-01 10:00:00+00'::timestamp with time zone
--> many|'{"2019-12-31 23:00:00+00",NULL}'::timestamp with time zone[]
INSERT INTO k VALUES (1, '2020-01-01 09:30+00') RETURNING d, at, many;
--> 2020-01-02|2020-07-01 10:00:00+00|{"2019-12-31 23:00:00+00",NULL}
INSERT INTO k VALUES (2, '2020-01-01 09:00+00');
--! 23514
BEGIN;
SET LOCAL timezone = 'America/New_York';
INSERT INTO k VALUES (3, '2020-01-01 09:30+00') RETURNING id, at;
--> 3|2020-07-01 06:00:00-04
INSERT INTO k VALUES (4, '2020-01-01 09:00+00');
--! 23514
ROLLBACK;
-- Also where they are changed, added and copied.
BEGIN;
SET LOCAL timezone = 'Asia/Tokyo';
ALTER TABLE k ALTER COLUMN at SET DEFAULT '2020-07-01 12:00', ADD COLUMN g bool GENERATED ALWAYS AS (ts >= '2020-06-01') STORED;
ALTER TABLE k ADD CHECK (at <> '2020-02-02 00:00');
ALTER TABLE k ADD COLUMN more timestamp DEFAULT '3/4/2020 5:00 PM' CHECK (more > 'epoch');
CREATE TABLE l (LIKE k INCLUDING ALL);
ROLLBACK;
BEGIN;
SET LOCAL timezone = 'Asia/Tokyo';
ALTER TABLE k ALTER COLUMN at SET DEFAULT '2020-07-01 12:00', ADD COLUMN g bool GENERATED ALWAYS AS (ts >= '2020-06-01') STORED;
ALTER TABLE k ADD CHECK (at <> '2020-02-02 00:00');
CREATE TABLE l (LIKE k INCLUDING ALL);
COMMIT;
INSERT INTO l (id, ts) VALUES (1, '2020-05-31 14:59+00'), (2, '2020-05-31 15:00+00') RETURNING id, at, g;
--> 1|2020-07-01 03:00:00+00|f
--> 2|2020-07-01 03:00:00+00|t
INSERT INTO l (ts, at) VALUES ('2020-05-05', '2020-02-01 15:00+00');
--! 23514
PREPARE add AS INSERT INTO k (id, ts) VALUES ($1, '2020-05-31 20:00+00') RETURNING g, at;
EXECUTE add(5);
--> t|2020-07-01 03:00:00+00
DEALLOCATE ALL;
-- What PostgreSQL reads when a default is made.
CREATE TABLE moments (id int, a timestamp DEFAULT 'now', b timestamptz DEFAULT 'now', c date DEFAULT 'today', d timestamptz DEFAULT 'tomorrow', e text DEFAULT 'now', f time DEFAULT 'now', g timestamptz DEFAULT now());
INSERT INTO moments VALUES (1);
INSERT INTO moments VALUES (2);
SELECT count(DISTINCT a), count(DISTINCT b), count(DISTINCT c), count(DISTINCT d), min(e), count(DISTINCT f), count(DISTINCT g) FROM moments;
--> 1|1|1|1|now|1|2
SELECT count(*) FROM pg_attrdef WHERE adrelid = 'moments'::regclass AND pg_get_expr(adbin, adrelid) ~ '''(now|today|tomorrow)''';
--> 1
-- Views.
BEGIN;
SET LOCAL timezone = 'Europe/Berlin';
CREATE VIEW seen AS SELECT id, ts >= '2020-01-01 10:30' AS late, ts::date AS day, '2020-01-01 10:30'::timestamptz AS at, extract(hour FROM ts) AS hour FROM k UNION ALL SELECT 0, false, '1/2/2020', timestamptz '2020-07-01', 0 ORDER BY 1;
SELECT * FROM seen WHERE id < 2;
--> 0|f|2020-01-02|2020-07-01 00:00:00+02|0
--> 1|t|2020-01-01|2020-01-01 10:30:00+01|10
COMMIT;
SELECT * FROM seen WHERE id < 2;
--> 0|f|2020-01-02|2020-06-30 22:00:00+00|0
--> 1|t|2020-01-01|2020-01-01 09:30:00+00|9
BEGIN;
SET LOCAL timezone = 'Asia/Tokyo';
SELECT * FROM seen WHERE id < 2;
--> 0|f|2020-01-02|2020-07-01 07:00:00+09|0
--> 1|t|2020-01-01|2020-01-01 18:30:00+09|18
CREATE VIEW checked AS SELECT id, ts FROM l WHERE ts > '2020-05-01 00:00' WITH CHECK OPTION;
COMMIT;
INSERT INTO checked VALUES (7, '2020-04-30 15:00+00');
--! 44000
INSERT INTO checked VALUES (7, '2020-04-30 15:00:01+00');
-- Casts of columns are those of whoever runs them.
CREATE VIEW shown AS SELECT '2020-01-01'::date::timestamptz AS a, ('2020-01-01 10:00'::text)::timestamptz AS b, ts::text AS c FROM k WHERE id = 1;
SELECT * FROM shown;
--> 2020-01-01 00:00:00+00|2020-01-01 10:00:00+00|2020-01-01 09:30:00+00
BEGIN;
SET LOCAL timezone = 'Asia/Tokyo';
SELECT * FROM shown;
--> 2020-01-01 00:00:00+09|2020-01-01 10:00:00+09|2020-01-01 18:30:00+09
ROLLBACK;
-- What a check may say, a generated column may not: it depends on who writes the row.
CREATE TABLE c (ts timestamptz, d date, CHECK (ts > d), CHECK (ts::date >= '2020-01-01'), CHECK (ts > '2020-01-01'::date));
CREATE TABLE bad (ts timestamptz, d date, g bool GENERATED ALWAYS AS (ts > d) STORED);
--! 42P17
CREATE TABLE bad (ts timestamptz, g bool GENERATED ALWAYS AS (ts > '2020-01-01'::date) STORED);
--! 42P17
CREATE TABLE bad (ts timestamptz, g bool GENERATED ALWAYS AS (ts > '2020-01-01'::timestamp) STORED);
--! 42P17
CREATE TABLE bad (ts timestamptz, g bool GENERATED ALWAYS AS (ts IN ('2020-01-01', '2021-01-01'::date)) STORED);
--! 42P17
CREATE TABLE bad (ts timestamp, g timestamptz GENERATED ALWAYS AS (ts::timestamptz) STORED);
--! 42P17
CREATE TABLE bad (ts timestamptz, g timestamp GENERATED ALWAYS AS (ts::timestamp) STORED);
--! 42P17
CREATE TABLE bad (ts timestamptz, g time GENERATED ALWAYS AS (ts::time) STORED);
--! 42P17
CREATE TABLE bad (ts timestamptz, g timestamptz GENERATED ALWAYS AS (ts + '1 day') STORED);
--! 42P17
CREATE TABLE bad (ts timestamptz, g text GENERATED ALWAYS AS (to_char(ts, 'YYYY')) STORED);
--! 42P17
CREATE TABLE bad (a int, g date GENERATED ALWAYS AS ('2020-01-01'::text::date) STORED);
--! 42P17
CREATE TABLE bad (a int[], g text GENERATED ALWAYS AS (a::text) STORED);
--! 42P17
CREATE TABLE bad (ts timestamptz, g text GENERATED ALWAYS AS (ts || 'x') STORED);
--! 42P17
CREATE TABLE fine (ts timestamptz, g bool GENERATED ALWAYS AS (ts > '2020-01-01') STORED, h date GENERATED ALWAYS AS ('2020-01-01'::date) STORED, i timestamp GENERATED ALWAYS AS (ts AT TIME ZONE 'Europe/Berlin') STORED, j timestamp GENERATED ALWAYS AS ('now') STORED, k text GENERATED ALWAYS AS (id || 'x') STORED, id int);
INSERT INTO fine (ts, id) VALUES ('2020-01-01 00:00:01', 4) RETURNING g, h, i, j IS NULL, k;
--> t|2020-01-01|2020-01-01 01:00:01|f|4x
DROP VIEW seen, checked, shown;
DROP TABLE k, l, moments, c, fine;
