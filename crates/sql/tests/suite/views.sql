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

-- Conditions, joins and outer joins through views and subqueries in FROM.
CREATE TABLE pa (id int PRIMARY KEY, n int, t text);
CREATE TABLE pb (id int PRIMARY KEY, a int, w int);
CREATE INDEX ON pb (a);
INSERT INTO pa SELECT i, i % 3, 't' || i FROM generate_series(1, 9) i;
INSERT INTO pb SELECT i, i % 5 + 1, CASE WHEN i % 4 = 0 THEN NULL ELSE i END FROM generate_series(1, 12) i;
CREATE VIEW va AS SELECT id, n + 1 AS m, t FROM pa WHERE n <> 1;
CREATE VIEW vb AS SELECT b.id, b.a, coalesce(b.w, -1) AS w FROM pb b;
CREATE VIEW vv AS SELECT va.id, va.m * 2 AS mm, vb.id AS bid, vb.w FROM va LEFT JOIN vb ON vb.a = va.id AND vb.w > 2;
CREATE VIEW vx AS SELECT x.id AS i, y.id AS j FROM pa x, pa y WHERE x.id = y.n;
SELECT * FROM va WHERE id = 3;
--> 3|1|t3
SELECT * FROM va WHERE m = 3 AND id > 4 ORDER BY 1;
--> 5|3|t5
--> 8|3|t8
SELECT * FROM vv WHERE id = 2 ORDER BY bid;
--> 2|6|6|6
--> 2|6|11|11
SELECT * FROM vv ORDER BY id, bid;
--> 2|6|6|6
--> 2|6|11|11
--> 3|2|7|7
--> 5|6|9|9
--> 6|2|NULL|NULL
--> 8|6|NULL|NULL
--> 9|2|NULL|NULL
SELECT * FROM vv WHERE w IS NULL ORDER BY id;
--> 6|2|NULL|NULL
--> 8|6|NULL|NULL
--> 9|2|NULL|NULL
SELECT pa.id, vb.id, vb.w FROM pa LEFT JOIN vb ON vb.a = pa.id AND vb.id < 6 ORDER BY 1, 2;
--> 1|5|5
--> 2|1|1
--> 3|2|2
--> 4|3|3
--> 5|4|-1
--> 6|NULL|NULL
--> 7|NULL|NULL
--> 8|NULL|NULL
--> 9|NULL|NULL
SELECT vb.id, va.id, va.m FROM va RIGHT JOIN vb ON vb.a = va.id ORDER BY 1;
--> 1|2|3
--> 2|3|1
--> 3|NULL|NULL
--> 4|5|3
--> 5|NULL|NULL
--> 6|2|3
--> 7|3|1
--> 8|NULL|NULL
--> 9|5|3
--> 10|NULL|NULL
--> 11|2|3
--> 12|3|1
SELECT va.id, va.m, vb.id, vb.w FROM va FULL JOIN vb ON vb.a = va.id AND vb.w < 4 ORDER BY 1, 3;
--> 2|3|1|1
--> 3|1|2|2
--> 3|1|12|-1
--> 5|3|4|-1
--> 6|1|NULL|NULL
--> 8|3|NULL|NULL
--> 9|1|NULL|NULL
--> NULL|NULL|3|3
--> NULL|NULL|5|5
--> NULL|NULL|6|6
--> NULL|NULL|7|7
--> NULL|NULL|8|-1
--> NULL|NULL|9|9
--> NULL|NULL|10|10
--> NULL|NULL|11|11
SELECT va.id, s.k FROM va FULL JOIN (SELECT id AS k FROM pa WHERE n = 0) s ON s.k = va.id ORDER BY 1, 2;
--> 2|NULL
--> 3|3
--> 5|NULL
--> 6|6
--> 8|NULL
--> 9|9
SELECT p.id, q.one, q.c FROM pa p LEFT JOIN (SELECT id, 1 AS one, coalesce(w, 0) AS c FROM pb WHERE w > 3) q ON q.id = p.id ORDER BY 1;
--> 1|NULL|NULL
--> 2|NULL|NULL
--> 3|NULL|NULL
--> 4|NULL|NULL
--> 5|1|5
--> 6|1|6
--> 7|1|7
--> 8|NULL|NULL
--> 9|1|9
SELECT p.id, (q).id IS NULL AS gone, q.a FROM pa p LEFT JOIN (SELECT id, a FROM pb WHERE w > 5) q ON q.id = p.id WHERE p.id > 3 ORDER BY 1;
--> 4|t|NULL
--> 5|t|NULL
--> 6|f|2
--> 7|f|3
--> 8|t|NULL
--> 9|f|5
SELECT p.id, q FROM pa p LEFT JOIN (SELECT id, a FROM pb WHERE id > 7) q ON q.id = p.id WHERE p.id > 5 ORDER BY 1;
--> 6|NULL
--> 7|NULL
--> 8|(8,4)
--> 9|(9,5)
SELECT p.id, q.x, q.y FROM pa p LEFT JOIN (SELECT a.id AS x, b.id AS y FROM pa a JOIN pb b ON b.a = a.id WHERE b.w IS NOT NULL AND a.n = 2) q ON q.x = p.id ORDER BY 1, 3;
--> 1|NULL|NULL
--> 2|2|1
--> 2|2|6
--> 2|2|11
--> 3|NULL|NULL
--> 4|NULL|NULL
--> 5|5|9
--> 6|NULL|NULL
--> 7|NULL|NULL
--> 8|NULL|NULL
--> 9|NULL|NULL
SELECT p.id, q.x, q.y FROM pa p LEFT JOIN (SELECT a.id AS x, b.id AS y FROM pa a LEFT JOIN pb b ON b.a = a.id AND b.id > 8 WHERE a.n = 2) q ON q.x = p.id ORDER BY 1, 3;
--> 1|NULL|NULL
--> 2|2|11
--> 3|NULL|NULL
--> 4|NULL|NULL
--> 5|5|9
--> 6|NULL|NULL
--> 7|NULL|NULL
--> 8|8|NULL
--> 9|NULL|NULL
SELECT p.id, q.x, q.y FROM (SELECT a.id AS x, b.id AS y FROM pa a LEFT JOIN pb b ON b.a = a.id AND b.id > 8 WHERE a.n = 2) q RIGHT JOIN pa p ON q.x = p.id ORDER BY 1, 3;
--> 1|NULL|NULL
--> 2|2|11
--> 3|NULL|NULL
--> 4|NULL|NULL
--> 5|5|9
--> 6|NULL|NULL
--> 7|NULL|NULL
--> 8|8|NULL
--> 9|NULL|NULL
SELECT p.id FROM pa p LEFT JOIN (va JOIN vb ON vb.a = va.id) ON p.id = vb.id WHERE vb.id IS NULL ORDER BY 1;
--> 3
--> 5
--> 8
SELECT p.id, va.id FROM pa p LEFT JOIN (va LEFT JOIN vb ON vb.a = va.id AND vb.id = 1) ON p.id = va.id ORDER BY 1, 2;
--> 1|NULL
--> 2|2
--> 3|3
--> 4|NULL
--> 5|5
--> 6|6
--> 7|NULL
--> 8|8
--> 9|9
SELECT count(*), sum(m) FROM va WHERE id < 8;
--> 4|8
SELECT m, count(*) FROM va GROUP BY m HAVING count(*) > 1 ORDER BY m;
--> 1|3
--> 3|3
SELECT DISTINCT m FROM va ORDER BY m DESC;
--> 3
--> 1
SELECT id FROM va ORDER BY id DESC LIMIT 2 OFFSET 1;
--> 8
--> 6
SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM va) s WHERE id = 5;
--> 5|3
SELECT * FROM vx WHERE i = 1 ORDER BY j;
--> 1|1
--> 1|4
--> 1|7
SELECT x.i, z.t FROM vx x JOIN pa z ON z.id = x.j WHERE x.i = 2 ORDER BY 2;
--> 2|t2
--> 2|t5
--> 2|t8
SELECT * FROM (SELECT * FROM (SELECT id, m FROM va WHERE m > 1) a WHERE id > 2) b WHERE m < 9 AND id IN (3, 5, 8) ORDER BY id;
--> 5|3
--> 8|3
SELECT p.id, l.s FROM pa p, LATERAL (SELECT p.id + q.id AS s FROM pb q WHERE q.a = p.id AND q.id < 4) l ORDER BY 1, 2;
--> 2|3
--> 3|5
--> 4|7
SELECT s.id, u.e FROM (SELECT id, ARRAY[n, id] AS r FROM pa WHERE id < 3) s, unnest(s.r) u (e) ORDER BY 1, 2;
--> 1|1
--> 1|1
--> 2|2
--> 2|2
SELECT s.id, s.e FROM (SELECT p.id, g.e FROM pa p, generate_series(1, p.n) g (e)) s WHERE s.id > 6 ORDER BY 1, 2;
--> 7|1
--> 8|1
--> 8|2
SELECT s.id, l.x FROM va s LEFT JOIN LATERAL (SELECT q.id AS x FROM vb q WHERE q.a = s.id AND q.w > s.m) l ON true ORDER BY 1, 2;
--> 2|6
--> 2|11
--> 3|2
--> 3|7
--> 5|9
--> 6|NULL
--> 8|NULL
--> 9|NULL
SELECT id, (SELECT count(*) FROM vb WHERE vb.a = va.id) AS c FROM va ORDER BY 1;
--> 2|3
--> 3|3
--> 5|2
--> 6|0
--> 8|0
--> 9|0
SELECT * FROM (SELECT id, (SELECT max(w) FROM vb WHERE vb.a = pa.id) AS w FROM pa) s WHERE w > 9 ORDER BY 1;
--> 1|10
--> 2|11
SELECT id FROM pa WHERE EXISTS (SELECT 1 FROM va v WHERE v.id = pa.id AND v.m = pa.n + 1) ORDER BY 1;
--> 2
--> 3
--> 5
--> 6
--> 8
--> 9
SELECT id FROM pa WHERE id IN (SELECT a FROM vb WHERE w > 8) ORDER BY 1;
--> 1
--> 2
--> 5
SELECT y FROM (SELECT 10 / n AS y FROM pa WHERE n <> 0) s WHERE y > 5 ORDER BY y;
--> 10
--> 10
--> 10
SELECT a.id, b.id FROM va a JOIN va b USING (m) WHERE a.id < b.id ORDER BY 1, 2;
--> 2|5
--> 2|8
--> 3|6
--> 3|9
--> 5|8
--> 6|9
SELECT * FROM va NATURAL JOIN (SELECT id, w FROM vb) s ORDER BY 1;
--> 2|3|t2|2
--> 3|1|t3|3
--> 5|3|t5|5
--> 6|1|t6|6
--> 8|3|t8|-1
--> 9|1|t9|9
SELECT m, x.id FROM va x FULL JOIN (SELECT n AS m, id FROM pa WHERE id < 3) y USING (m) ORDER BY 1, 2;
--> 1|3
--> 1|6
--> 1|9
--> 2|NULL
--> 3|2
--> 3|5
--> 3|8
UPDATE pb SET w = va.m FROM va WHERE va.id = pb.a AND pb.id < 3;
SELECT id, w FROM pb WHERE id < 4 ORDER BY 1;
--> 1|3
--> 2|1
--> 3|3
DELETE FROM pb USING vv WHERE vv.bid = pb.id AND vv.id = 5 RETURNING pb.id;
--> 9
INSERT INTO pa SELECT id + 100, m, t FROM va WHERE id = 2 RETURNING *;
--> 102|3|t2
PREPARE pv (int) AS SELECT t FROM va WHERE id = $1;
EXECUTE pv (3);
--> t3
EXECUTE pv (4);
DEALLOCATE pv;
SELECT * FROM (VALUES (1, 'x'), (2, 'y')) s (k, l) JOIN va ON va.id = s.k ORDER BY 1;
--> 2|y|2|3|t2
SELECT * FROM (SELECT 1 AS one) s LEFT JOIN va ON va.id = s.one ORDER BY 1;
--> 1|NULL|NULL|NULL
SELECT s.c FROM (SELECT 7 AS c FROM pa WHERE id = 1) s RIGHT JOIN pb ON s.c = pb.id WHERE pb.id > 5 ORDER BY pb.id;
--> NULL
--> 7
--> NULL
--> NULL
--> NULL
--> NULL
DROP VIEW vx, vv, vb, va;
DROP TABLE pa, pb;
-- Whole rows have the columns of now, and joins those of then.
CREATE TABLE one (k int, x int);
CREATE TABLE two (k int, y int);
INSERT INTO one VALUES (1, 10), (2, 20);
INSERT INTO two VALUES (2, 200), (3, 300);
SELECT k, one.k, two.k, x, y FROM one FULL JOIN two USING (k) ORDER BY 1;
--> 1|1|NULL|10|NULL
--> 2|2|2|20|200
--> 3|NULL|3|NULL|300
SELECT one.*, two.* FROM one FULL JOIN two USING (k) ORDER BY coalesce(one.k, two.k);
--> 1|10|NULL|NULL
--> 2|20|2|200
--> NULL|NULL|3|300
SELECT k, count(*) FROM one FULL JOIN two USING (k) GROUP BY k HAVING k > 1 ORDER BY k;
--> 2|1
--> 3|1
SELECT row_to_json(one.*), (two.*) IS NULL FROM one LEFT JOIN two USING (k) ORDER BY one.k;
--> {"k":1,"x":10}|t
--> {"k":2,"x":20}|f
CREATE VIEW naturally AS SELECT * FROM one NATURAL JOIN two;
CREATE VIEW rows AS SELECT row_to_json(one) AS r, row_to_json(t) AS s FROM one JOIN one AS t (a) ON k = a;
ALTER TABLE one ADD COLUMN y int DEFAULT 7;
ALTER TABLE one RENAME COLUMN x TO z;
ALTER TABLE one ADD COLUMN x int;
SELECT * FROM naturally;
--> 2|20|200
SELECT * FROM rows LIMIT 1;
--> {"k":1,"z":10,"y":7,"x":null}|{"k":1,"z":10,"y":7,"x":null}
DROP TABLE one, two CASCADE;
