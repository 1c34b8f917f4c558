-- What PostgreSQL 15 answers: rows behind `--> `, or the SQLSTATE behind `--! `. A statement is one line.

-- Tables that the views read.
CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(8,2) DEFAULT 1.5);
INSERT INTO t VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', 30);
CREATE TABLE u (a int, d text);
INSERT INTO u VALUES (1, 'x'), (1, 'y'), (3, 'z');

-- Views are read.
CREATE VIEW v AS SELECT * FROM t;
SELECT * FROM v ORDER BY a;
--> 1|one|10.00
--> 2|two|20.00
--> 3|three|30.00
SELECT b FROM v WHERE a = 2;
--> two
SELECT count(*), sum(c) FROM v;
--> 3|60.00
CREATE VIEW w (x, y) AS SELECT a, upper(b) FROM t WHERE a > 1;
SELECT * FROM w ORDER BY x;
--> 2|TWO
--> 3|THREE
SELECT x FROM w WHERE y = 'TWO';
--> 2
SELECT a FROM w;
--! 42703
CREATE VIEW j AS SELECT t.a, d FROM t JOIN u ON u.a = t.a;
SELECT * FROM j ORDER BY a, d;
--> 1|x
--> 1|y
--> 3|z
CREATE VIEW g AS SELECT a, count(*) AS n FROM u GROUP BY a;
SELECT * FROM g ORDER BY a;
--> 1|2
--> 3|1
SELECT t.b, g.n FROM t LEFT JOIN g USING (a) ORDER BY t.a;
--> one|2
--> two|NULL
--> three|1
CREATE VIEW n AS SELECT x, n FROM w, g WHERE g.a = w.x;
SELECT * FROM n;
--> 3|1
SELECT * FROM v AS q (k, l, m) WHERE k = 1;
--> 1|one|10.00
SELECT q.k FROM v AS q (k) ORDER BY k DESC;
--> 3
--> 2
--> 1
SELECT v.b, v.* FROM v WHERE v.a = 3;
--> three|3|three|30.00
SELECT (SELECT max(x) FROM w), EXISTS (SELECT 1 FROM w WHERE x = 1);
--> 3|f
WITH s AS (SELECT * FROM v WHERE a < 3) SELECT sum(a) FROM s;
--> 3
CREATE VIEW cte AS WITH s AS (SELECT a, b FROM t), t AS (SELECT 7 AS q) SELECT s.b, t.q FROM s, t;
SELECT * FROM cte ORDER BY b;
--> one|7
--> three|7
--> two|7
WITH t AS (SELECT 99 AS a) SELECT min(a) FROM v;
--> 1
CREATE VIEW un AS SELECT a FROM t UNION SELECT a + 10 FROM u ORDER BY 1 LIMIT 3;
SELECT * FROM un;
--> 1
--> 2
--> 3
CREATE VIEW vals AS VALUES (1, 'p'), (2, 'q');
SELECT column2 FROM vals WHERE column1 = 2;
--> q
CREATE VIEW lit AS SELECT 'text', 1 AS one, NULL AS nothing;
SELECT * FROM lit;
--> text|1|NULL
CREATE VIEW lat AS SELECT t.a, l.d FROM t, LATERAL (SELECT d FROM u WHERE u.a = t.a ORDER BY d LIMIT 1) l;
SELECT * FROM lat ORDER BY a;
--> 1|x
--> 3|z

-- What is refused.
CREATE VIEW v AS SELECT 1;
--! 42P07
CREATE TABLE v (a int);
--! 42P07
CREATE VIEW t AS SELECT 1;
--! 42P07
CREATE SEQUENCE v;
--! 42P07
CREATE VIEW bad AS SELECT nosuch FROM t;
--! 42703
CREATE VIEW bad AS SELECT * FROM nosuch;
--! 42P01
CREATE VIEW bad (a, b) AS SELECT a FROM t;
--! 42601
CREATE VIEW bad AS SELECT a, a FROM t;
--! 42701
CREATE VIEW bad AS SELECT $1;
--! 42P02
CREATE VIEW bad AS WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x;
--! 0A000
SELECT * FROM bad;
--! 42P01
DROP VIEW nosuch;
--! 42P01
DROP VIEW IF EXISTS nosuch;
DROP VIEW t;
--! 42809
DROP TABLE v;
--! 42809
DROP SEQUENCE v;
--! 42809
DROP INDEX v;
--! 42809
CREATE INDEX ON v (a);
--! 42809
TRUNCATE v;
--! 42809
ALTER TABLE v ADD COLUMN z int;
--! 42809

-- Replacing.
CREATE OR REPLACE VIEW v AS SELECT a, b, c, a * 2 AS twice FROM t;
SELECT * FROM v WHERE a = 2;
--> 2|two|20.00|4
CREATE OR REPLACE VIEW v AS SELECT a, b FROM t;
--! 42P16
CREATE OR REPLACE VIEW v AS SELECT a, b AS bb, c, a * 2 AS twice FROM t;
--! 42P16
CREATE OR REPLACE VIEW v AS SELECT a::bigint, b, c, a * 2 AS twice FROM t;
--! 42P16
CREATE OR REPLACE VIEW t AS SELECT 1;
--! 42809
CREATE OR REPLACE VIEW fresh AS SELECT 1 AS one;
SELECT * FROM fresh;
--> 1
CREATE OR REPLACE VIEW w (x, y) AS SELECT x, d FROM n JOIN u ON u.a = n.x;
SELECT * FROM n;
--! 42P17

-- A view means what it meant.
CREATE TABLE s (a int, b int);
INSERT INTO s VALUES (1, 2);
CREATE VIEW sv AS SELECT * FROM s;
ALTER TABLE s ADD COLUMN c int DEFAULT 5;
SELECT * FROM sv;
--> 1|2
ALTER TABLE s RENAME COLUMN b TO bb;
SELECT * FROM sv;
--> 1|2
SELECT b FROM sv;
--> 2
ALTER TABLE s RENAME TO s2;
SELECT * FROM sv;
--> 1|2
CREATE TABLE s (a int, b int);
SELECT count(*) FROM s;
--> 0
SELECT count(*) FROM sv;
--> 1
CREATE VIEW half AS SELECT a FROM s2 WHERE c > 0;
ALTER TABLE s2 DROP COLUMN c;
--! 2BP01
ALTER TABLE s2 ALTER COLUMN a TYPE bigint;
--! 0A000
ALTER TABLE s2 ADD COLUMN e int;
ALTER TABLE s2 DROP COLUMN e;
SELECT * FROM half;
--> 1
ALTER TABLE s2 DROP COLUMN c CASCADE;
SELECT * FROM half;
--! 42P01
SELECT * FROM sv;
--> 1|2
ALTER VIEW sv RENAME TO sw;
SELECT * FROM sw;
--> 1|2
SELECT * FROM sv;
--! 42P01
ALTER VIEW sw RENAME TO t;
--! 42P07
ALTER VIEW nosuch RENAME TO other;
--! 42P01
ALTER VIEW IF EXISTS nosuch RENAME TO other;
ALTER VIEW s RENAME TO other;
--! 42809
ALTER TABLE sw RENAME TO sx;
SELECT * FROM sx;
--> 1|2

-- Dropping.
DROP TABLE t;
--! 2BP01
DROP VIEW g;
--! 2BP01
DROP TABLE s2;
--! 2BP01
DROP TABLE s2 CASCADE;
SELECT * FROM sx;
--! 42P01
DROP TABLE s;
CREATE TABLE d1 (a int);
CREATE VIEW d2 AS SELECT a FROM d1;
CREATE VIEW d3 AS SELECT a FROM d2;
DROP VIEW d2;
--! 2BP01
DROP VIEW d2, d3;
CREATE VIEW d2 AS SELECT a FROM d1;
CREATE VIEW d3 AS SELECT a FROM d2;
DROP VIEW d2 CASCADE;
SELECT * FROM d3;
--! 42P01
DROP TABLE d1;
BEGIN;
CREATE VIEW inblock AS SELECT a FROM t;
SELECT count(*) FROM inblock;
--> 3
ROLLBACK;
SELECT count(*) FROM inblock;
--! 42P01
BEGIN;
DROP VIEW j;
SELECT * FROM j;
--! 42P01
ROLLBACK;
SELECT count(*) FROM j;
--> 3

-- Writing through a view.
CREATE TABLE base (id int PRIMARY KEY, name text NOT NULL, n int DEFAULT 7);
CREATE VIEW bv AS SELECT id, name AS label, n, n * 10 AS tenfold FROM base WHERE n < 100;
INSERT INTO bv (id, label) VALUES (1, 'a');
INSERT INTO bv VALUES (2, 'b', 8);
INSERT INTO bv VALUES (3, 'c', 9, 90);
--! 0A000
INSERT INTO bv (id, tenfold) VALUES (3, 90);
--! 0A000
INSERT INTO bv (id, name) VALUES (3, 'c');
--! 42703
INSERT INTO bv (id) VALUES (4);
--! 23502
INSERT INTO bv VALUES (1, 'again', 1);
--! 23505
SELECT * FROM base ORDER BY id;
--> 1|a|7
--> 2|b|8
SELECT * FROM bv ORDER BY id;
--> 1|a|7|70
--> 2|b|8|80
INSERT INTO bv (id, label, n) VALUES (5, 'e', 500) RETURNING id, label, tenfold;
--> 5|e|5000
SELECT count(*) FROM bv;
--> 2
UPDATE bv SET n = n + 1 WHERE id = 1 RETURNING *;
--> 1|a|8|80
UPDATE bv SET label = 'B' || tenfold WHERE label = 'b' RETURNING label;
--> B80
UPDATE bv SET tenfold = 1;
--! 0A000
UPDATE bv SET label = 'gone' WHERE id = 5;
UPDATE bv AS z SET n = z.n + 1 WHERE z.id = 2 RETURNING z.n;
--> 9
UPDATE bv SET n = t.a FROM t WHERE t.a = bv.id AND bv.id = 1 RETURNING bv.*, t.b;
--> 1|a|1|10|one
UPDATE bv SET id = 20 WHERE id = 2;
SELECT * FROM base ORDER BY id;
--> 1|a|1
--> 5|e|500
--> 20|B80|9
DELETE FROM bv WHERE id = 5;
DELETE FROM bv WHERE label LIKE 'B%' RETURNING id;
--> 20
DELETE FROM bv USING t WHERE t.a = bv.id RETURNING bv.id, t.b;
--> 1|one
SELECT * FROM base ORDER BY id;
--> 5|e|500
INSERT INTO bv (id, label) SELECT a + 10, b FROM t WHERE a < 3;
SELECT id, label, n FROM bv ORDER BY id;
--> 11|one|7
--> 12|two|7
INSERT INTO bv (id, label) VALUES (11, 'dup') ON CONFLICT DO NOTHING;
WITH ins AS (INSERT INTO bv (id, label) VALUES (30, 'w') RETURNING id, n) SELECT * FROM ins;
--> 30|7
CREATE VIEW bvv AS SELECT id AS key, label FROM bv WHERE id > 10;
INSERT INTO bvv VALUES (40, 'nested');
UPDATE bvv SET label = 'N' WHERE key = 40 RETURNING key, label;
--> 40|N
UPDATE bvv SET label = 'x' WHERE key = 5;
DELETE FROM bvv WHERE key = 30;
SELECT * FROM bvv ORDER BY key;
--> 11|one
--> 12|two
--> 40|N
UPDATE bvv SET n = 1;
--! 42703
CREATE VIEW chk AS SELECT id, name, n FROM base WHERE n > 5 WITH CHECK OPTION;
INSERT INTO chk VALUES (50, 'ok', 6);
INSERT INTO chk VALUES (51, 'low', 5);
--! 44000
INSERT INTO chk VALUES (52, 'null', NULL);
--! 44000
UPDATE chk SET n = 1 WHERE id = 50;
--! 44000
UPDATE chk SET n = 60 WHERE id = 50;
CREATE VIEW chk2 AS SELECT * FROM chk WHERE id < 1000 WITH LOCAL CHECK OPTION;
INSERT INTO chk2 VALUES (1001, 'far', 10);
--! 44000
INSERT INTO chk2 VALUES (61, 'low', 1);
--! 44000
INSERT INTO chk2 VALUES (62, 'fine', 10);
CREATE VIEW plain AS SELECT * FROM base WHERE n > 5;
CREATE VIEW loc AS SELECT * FROM plain WHERE id < 1000 WITH LOCAL CHECK OPTION;
CREATE VIEW cas AS SELECT * FROM plain WHERE id < 1000 WITH CASCADED CHECK OPTION;
INSERT INTO loc VALUES (70, 'l', 1);
INSERT INTO cas VALUES (71, 'c', 1);
--! 44000
INSERT INTO cas VALUES (72, 'c', 9);
CREATE VIEW opt WITH (check_option = local) AS SELECT * FROM base WHERE n > 5;
INSERT INTO opt VALUES (80, 'o', 1);
--! 44000
CREATE VIEW badchk AS SELECT DISTINCT n FROM base WITH CHECK OPTION;
--! 0A000
CREATE VIEW badopt WITH (check_option = nosuch) AS SELECT n FROM base;
--! 22023
CREATE VIEW badopt WITH (nosuch = 1) AS SELECT n FROM base;
--! 22023
INSERT INTO g VALUES (1, 1);
--! 55000
UPDATE g SET n = 1;
--! 55000
DELETE FROM g;
--! 55000
INSERT INTO j VALUES (1, 'x');
--! 55000
UPDATE un SET a = 1;
--! 55000
DELETE FROM lit;
--! 55000
DELETE FROM vals;
--! 55000
INSERT INTO cte VALUES ('x', 1);
--! 55000
CREATE VIEW dist AS SELECT DISTINCT n FROM base;
UPDATE dist SET n = 1;
--! 55000
CREATE VIEW agg AS SELECT max(n) AS m FROM base;
DELETE FROM agg;
--! 55000
CREATE VIEW lim AS SELECT * FROM base LIMIT 1;
DELETE FROM lim;
--! 55000
CREATE VIEW srf AS SELECT generate_series(1, n) AS k FROM base;
DELETE FROM srf;
--! 55000
CREATE VIEW sub AS SELECT id, (SELECT count(*) FROM t) AS c FROM base WHERE n IN (SELECT a + 5 FROM t);
UPDATE sub SET id = id + 1 WHERE id = 50;
UPDATE sub SET c = 1;
--! 0A000
SELECT count(*) FROM sub;
--> 3

-- Sequences in views.
CREATE SEQUENCE sq;
CREATE VIEW sqv AS SELECT nextval('sq') AS n;
SELECT n FROM sqv;
--> 1
SELECT n FROM sqv;
--> 2
DROP VIEW v, w, n, j, g, cte, un, vals, lit, lat, fresh CASCADE;
DROP TABLE t, u;
--! 2BP01

-- The short form of a query of all columns.
CREATE TABLE "Short" (a int, "B" text);
INSERT INTO "Short" VALUES (1, 'x'), (2, 'y');
TABLE "Short";
--> 1|x
--> 2|y
TABLE public."Short" ORDER BY a DESC LIMIT 1;
--> 2|y
TABLE Short;
--! 42P01
(TABLE "Short") UNION ALL TABLE "Short" ORDER BY 1;
--> 1|x
--> 1|x
--> 2|y
--> 2|y
CREATE VIEW shorter AS TABLE "Short";
ALTER TABLE "Short" ADD COLUMN c int;
TABLE shorter;
--> 1|x
--> 2|y
SELECT a AS table FROM "Short" ORDER BY a;
--> 1
--> 2
CREATE TABLE copied AS TABLE "Short";
SELECT count(*) FROM copied;
--> 2
DROP VIEW shorter;
DROP TABLE "Short", copied;
