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

-- What literals mean stays when a column gets another type.
SET timezone = 'Europe/Berlin';
CREATE TABLE retyped (id int, ts timestamptz DEFAULT '2020-01-01 10:00', n text DEFAULT '5', v varchar(3) DEFAULT 'abc', j int DEFAULT 7, d text DEFAULT coalesce(NULL, 'x'), q numeric(5,1) DEFAULT 1.26, CONSTRAINT late CHECK (ts > '2019-01-01 10:00'), CONSTRAINT six CHECK (n <> '6'));
ALTER TABLE retyped ALTER n TYPE integer USING n::integer;
--! 42804
ALTER TABLE retyped ALTER n DROP DEFAULT, ALTER n TYPE integer USING n::integer;
--! 42883
ALTER TABLE retyped DROP CONSTRAINT six;
ALTER TABLE retyped ALTER n TYPE integer USING 9;
--! 42804
ALTER TABLE retyped ALTER n DROP DEFAULT, ALTER n TYPE integer USING n::integer;
ALTER TABLE retyped ALTER ts TYPE timestamp, ALTER v TYPE text, ALTER j TYPE text, ALTER q TYPE numeric(6,2);
INSERT INTO retyped (id) VALUES (1) RETURNING *;
--> 1|2020-01-01 10:00:00|NULL|abc|7|x|1.26
INSERT INTO retyped (id, ts) VALUES (2, '2019-01-01 09:30');
--! 23514
SET timezone = 'UTC';
INSERT INTO retyped (id, ts) VALUES (2, '2019-01-01 09:30') RETURNING ts;
--> 2019-01-01 09:30:00
INSERT INTO retyped (id, ts) VALUES (3, '2019-01-01 09:00') RETURNING ts;
--! 23514
INSERT INTO retyped (id) VALUES (4) RETURNING ts;
--> 2020-01-01 09:00:00
CREATE TABLE literals (a timestamptz DEFAULT '2020-01-01 10:00+00', b text GENERATED ALWAYS AS ('x' || k) STORED, k text, c char(3) DEFAULT 'ab', f float DEFAULT '1.5', e interval DEFAULT interval '1' day, u date DEFAULT date '2020-01-01', ary int[] DEFAULT '{1,2}', bb bytea DEFAULT '\x01', CHECK (b <> '5' AND k LIKE 'a%' OR f > '1'));
ALTER TABLE literals ALTER a TYPE date, ALTER b TYPE varchar(10), ALTER c TYPE text, ALTER f TYPE numeric, ALTER e TYPE text, ALTER u TYPE timestamp, ALTER ary TYPE bigint[];
ALTER TABLE literals ALTER bb TYPE text USING 'x';
ALTER TABLE literals ALTER b TYPE int USING 1;
--! 42611
ALTER TABLE literals ALTER f TYPE real;
INSERT INTO literals (k) VALUES ('abc') RETURNING a, b, k, c, f, e, u, ary;
--> 2020-01-01|xabc|abc|ab|1.5|1 day|2020-01-01 00:00:00|{1,2}
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'literals'::regclass AND adnum NOT IN (1, 6, 9) ORDER BY adnum;
--> ('x'::text || k)
--> 'ab'::bpchar
--> '1.5'::double precision
--> '2020-01-01'::date
--> '{1,2}'::integer[]
SELECT pg_typeof(nullif('a', 'b'::varchar)), pg_typeof(nullif('1', 2)), pg_typeof(nullif('a', 'b')), pg_typeof(nullif('2020-01-01', now())), pg_typeof(nullif(1, 2.5)), pg_typeof(nullif(1.5, 2)), pg_typeof(nullif('abc'::char(5), 'x'::text)), pg_typeof(nullif(NULL, 1)), pg_typeof(nullif(2::smallint, 3::bigint));
--> text|integer|text|timestamp with time zone|numeric|numeric|text|integer|smallint
SELECT nullif('a ', 'a'::char(2)), nullif('1', 1), nullif(1, 1.0), nullif('a'::varchar, 'b') || 'x', nullif(array[1], '{1}'), nullif(row(1, 2), row(1, 2)), nullif('2020-01-02', date '2020-01-01') + 1;
--> NULL|NULL|NULL|ax|NULL|NULL|2020-01-03
SET timezone = 'Europe/Berlin';
DROP TABLE retyped, literals;
