-- What PostgreSQL 15 answers: rows behind `--> `, or the SQLSTATE behind `--! `. A statement is one line.

-- Tables that are read.
CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(8,2));
INSERT INTO t VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', 30);

-- They are made, with rows and without.
CREATE MATERIALIZED VIEW m AS SELECT a, b FROM t WHERE a > 1;
SELECT * FROM m ORDER BY a;
--> 2|two
--> 3|three
CREATE MATERIALIZED VIEW IF NOT EXISTS m AS SELECT 1;
CREATE MATERIALIZED VIEW m AS SELECT 1;
--! 42P07
CREATE TABLE m (a int);
--! 42P07
CREATE VIEW m AS SELECT 1;
--! 42P07
CREATE OR REPLACE VIEW m AS SELECT 1;
--! 42809
CREATE MATERIALIZED VIEW t AS SELECT 1;
--! 42P07
CREATE MATERIALIZED VIEW n (x) USING heap TABLESPACE pg_default AS SELECT a, c FROM t WITH NO DATA;
CREATE MATERIALIZED VIEW n2 (x, y, z) AS SELECT a, c FROM t;
--! 42601
CREATE MATERIALIZED VIEW n3 (x, x) AS SELECT a, c FROM t;
--! 42701
CREATE MATERIALIZED VIEW n4 AS SELECT a, a FROM t;
--! 42701
CREATE MATERIALIZED VIEW n5 WITH (fillfactor = 70) AS SELECT 1 AS a WITH DATA;
CREATE MATERIALIZED VIEW n6 USING nosuch AS SELECT 1 AS a;
--! 42704
CREATE TEMP MATERIALIZED VIEW n7 AS SELECT 1;
--! 42601
CREATE OR REPLACE MATERIALIZED VIEW n7 AS SELECT 1;
--! 42601
CREATE UNLOGGED MATERIALIZED VIEW n7 AS SELECT 1;
--! 0A000
CREATE MATERIALIZED VIEW n7 AS SELECT 1 WITH DATA WITH NO DATA;
--! 42601
CREATE MATERIALIZED VIEW n7 AS INSERT INTO t VALUES (9) RETURNING a;
--! 42601
CREATE MATERIALIZED VIEW n7 AS WITH x AS (INSERT INTO t VALUES (9) RETURNING a) SELECT * FROM x;
--! 0A000
CREATE MATERIALIZED VIEW n7 AS SELECT $1;
--! 42P02
CREATE MATERIALIZED VIEW n7 AS SELECT * FROM nosuch;
--! 42P01
CREATE MATERIALIZED VIEW n7 AS SELECT 1 / (a - 2) FROM t;
--! 22012
CREATE MATERIALIZED VIEW n8 AS SELECT 'x' AS u, NULL AS v;
SELECT u || 'y', v IS NULL, pg_typeof(u), pg_typeof(v) FROM n8;
--> xy|t|text|text
CREATE MATERIALIZED VIEW n9 AS VALUES (1, 'a'), (2, 'b');
SELECT column2 FROM n9 ORDER BY column1 DESC;
--> b
--> a
CREATE MATERIALIZED VIEW n10 AS TABLE t;
SELECT count(*), sum(c) FROM n10;
--> 3|60.00
CREATE MATERIALIZED VIEW n11 AS SELECT row(1, 2) AS r;
--! 42P16
CREATE MATERIALIZED VIEW n11 AS WITH RECURSIVE q(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM q WHERE i < 4) SELECT i, i * i AS s FROM q;
SELECT sum(s) FROM n11;
--> 30

-- One without rows cannot be read.
SELECT * FROM n;
--! 55000
SELECT count(*) FROM m, n;
--! 55000
SELECT * FROM n LIMIT 0;
--! 55000
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM n WHERE n.x = t.a);
--! 55000
CREATE TABLE n12 AS SELECT * FROM n;
--! 55000
CREATE MATERIALIZED VIEW n12 AS SELECT * FROM n;
--! 55000
CREATE MATERIALIZED VIEW n12 AS SELECT * FROM n WITH NO DATA;
REFRESH MATERIALIZED VIEW n12;
--! 55000
DELETE FROM t USING n WHERE n.x = t.a;
--! 55000
REFRESH MATERIALIZED VIEW n;
SELECT * FROM n ORDER BY x;
--> 1|10.00
--> 2|20.00
--> 3|30.00
REFRESH MATERIALIZED VIEW n12;
SELECT sum(x) FROM n12;
--> 6
REFRESH MATERIALIZED VIEW n WITH NO DATA;
SELECT * FROM n;
--! 55000
SELECT sum(x) FROM n12;
--> 6
REFRESH MATERIALIZED VIEW n12 WITH DATA;
--! 55000
DROP MATERIALIZED VIEW n12;

-- Rows change when they are refreshed, and not before.
INSERT INTO t VALUES (4, 'four', 40);
UPDATE t SET b = 'TWO' WHERE a = 2;
SELECT * FROM m ORDER BY a;
--> 2|two
--> 3|three
REFRESH MATERIALIZED VIEW m;
SELECT * FROM m ORDER BY a;
--> 2|TWO
--> 3|three
--> 4|four
REFRESH MATERIALIZED VIEW CONCURRENTLY n;
--! 0A000
REFRESH MATERIALIZED VIEW n;
REFRESH MATERIALIZED VIEW CONCURRENTLY n;
--! 55000
REFRESH MATERIALIZED VIEW CONCURRENTLY n WITH NO DATA;
--! 42601
REFRESH MATERIALIZED VIEW t;
--! 0A000
REFRESH MATERIALIZED VIEW nosuch;
--! 42P01
CREATE VIEW v AS SELECT a, b FROM m;
REFRESH MATERIALIZED VIEW v;
--! 42809
CREATE UNIQUE INDEX n_x ON n (x);
CREATE INDEX n_c ON n (c);
CREATE UNIQUE INDEX n_x ON n (c);
--! 42P07
INSERT INTO t VALUES (5, 'five', 50);
DELETE FROM t WHERE a = 1;
UPDATE t SET c = 33 WHERE a = 3;
REFRESH MATERIALIZED VIEW CONCURRENTLY n WITH DATA;
SELECT * FROM n ORDER BY x;
--> 2|20.00
--> 3|33.00
--> 4|40.00
--> 5|50.00
SELECT x FROM n WHERE c = 33;
--> 3
BEGIN;
DELETE FROM t WHERE a = 5;
REFRESH MATERIALIZED VIEW CONCURRENTLY n;
REFRESH MATERIALIZED VIEW m;
SELECT count(*), (SELECT count(*) FROM m) FROM n;
--> 3|3
CREATE MATERIALIZED VIEW inner_one AS SELECT * FROM m;
SELECT count(*) FROM inner_one;
--> 3
ROLLBACK;
SELECT count(*), (SELECT count(*) FROM m) FROM n;
--> 4|3
SELECT * FROM inner_one;
--! 42P01

-- Nothing else changes them.
INSERT INTO m VALUES (1);
--! 42809
UPDATE m SET a = 1;
--! 42809
DELETE FROM m;
--! 42809
MERGE INTO m USING t ON m.a = t.a WHEN MATCHED THEN DELETE;
--! 0A000
INSERT INTO v VALUES (1, 'x');
--! 55000
UPDATE v SET b = '';
--! 55000
DELETE FROM v;
--! 55000
TRUNCATE m;
--! 42809
COPY m TO STDOUT;
--! 42809
SELECT * FROM m FOR UPDATE;
--! 42809
SELECT * FROM m FOR SHARE OF m;
--! 42809
SELECT t.a FROM t JOIN m USING (a) WHERE t.a = 2 FOR UPDATE OF t;
--> 2
UPDATE t SET b = m.b FROM m WHERE m.a = t.a AND t.a = 2;
BEGIN;
LOCK TABLE m;
--! 42809
ROLLBACK;
CREATE TABLE f (a int REFERENCES m (a));
--! 42809
CREATE SEQUENCE s OWNED BY m.a;
--! 42809
CREATE TABLE l (LIKE m);
INSERT INTO l SELECT * FROM m RETURNING a;
--> 2
--> 3
--> 4
DROP TABLE l;

-- Indexes.
CREATE TABLE d (a int, b text);
INSERT INTO d VALUES (1, 'x'), (2, 'y');
CREATE MATERIALIZED VIEW dm AS SELECT * FROM d;
CREATE UNIQUE INDEX di ON dm (a);
INSERT INTO d VALUES (1, 'z');
REFRESH MATERIALIZED VIEW dm;
--! 23505
REFRESH MATERIALIZED VIEW CONCURRENTLY dm;
--! 23505
SELECT * FROM dm ORDER BY a;
--> 1|x
--> 2|y
DELETE FROM d;
INSERT INTO d VALUES (1, 'x'), (1, 'x');
REFRESH MATERIALIZED VIEW CONCURRENTLY dm;
--! 21000
DELETE FROM d;
INSERT INTO d VALUES (NULL, 'x'), (NULL, 'x'), (5, 'p');
REFRESH MATERIALIZED VIEW CONCURRENTLY dm;
SELECT * FROM dm ORDER BY a, b;
--> 5|p
--> NULL|x
--> NULL|x
DELETE FROM d WHERE a IS NULL;
REFRESH MATERIALIZED VIEW CONCURRENTLY dm;
SELECT * FROM dm ORDER BY a, b;
--> 5|p
DROP INDEX di;
CREATE UNIQUE INDEX di ON dm (lower(b));
REFRESH MATERIALIZED VIEW CONCURRENTLY dm;
--! 55000
CREATE UNIQUE INDEX dj ON dm (a) WHERE a > 1;
REFRESH MATERIALIZED VIEW CONCURRENTLY dm;
--! 55000
REFRESH MATERIALIZED VIEW dm;
SELECT a FROM dm WHERE lower(b) = 'p';
--> 5
SELECT b FROM dm WHERE a = 5 AND a > 1;
--> p
CREATE UNIQUE INDEX dk ON dm (b);
REFRESH MATERIALIZED VIEW CONCURRENTLY dm;
SELECT indexname FROM pg_indexes WHERE tablename = 'dm' ORDER BY 1;
--> di
--> dj
--> dk
CREATE MATERIALIZED VIEW scales AS SELECT 1 AS k, min(c::numeric) AS n FROM t;
CREATE UNIQUE INDEX ON scales (k);
SELECT n FROM scales;
--> 20.00
ALTER TABLE t ALTER COLUMN c TYPE numeric(8,1);
--! 0A000
DROP MATERIALIZED VIEW scales;

-- Names.
ALTER TABLE t RENAME COLUMN b TO bb;
ALTER TABLE t RENAME TO ttt;
REFRESH MATERIALIZED VIEW m;
SELECT * FROM v ORDER BY a;
--> 2|TWO
--> 3|three
--> 4|four
--> 5|five
ALTER TABLE ttt RENAME TO t;
ALTER TABLE t RENAME COLUMN bb TO b;
ALTER TABLE t ALTER COLUMN b TYPE varchar(10);
--! 0A000
ALTER TABLE t ADD COLUMN z int;
REFRESH MATERIALIZED VIEW n10;
SELECT * FROM n10 ORDER BY a LIMIT 1;
--> 2|TWO|20.00
ALTER TABLE m ADD COLUMN z int;
--! 42809
ALTER TABLE m DROP COLUMN a;
--! 42809
ALTER TABLE m ALTER COLUMN a TYPE bigint;
--! 42809
ALTER TABLE m ALTER COLUMN a SET DEFAULT 1;
--! 42809
ALTER TABLE m ALTER COLUMN a SET NOT NULL;
--! 42809
ALTER TABLE m ALTER COLUMN a DROP NOT NULL;
--! 42809
ALTER TABLE m ADD PRIMARY KEY (a);
--! 42809
ALTER TABLE m ADD CHECK (a > 1);
--! 42809
ALTER TABLE m ADD FOREIGN KEY (a) REFERENCES t;
--! 42809
ALTER TABLE m DROP CONSTRAINT x;
--! 42809
ALTER TABLE m RENAME CONSTRAINT x TO y;
--! 42704
ALTER TABLE m ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY;
--! 42809
ALTER TABLE m RENAME COLUMN a TO aa;
ALTER TABLE m RENAME TO mm;
SELECT aa FROM mm ORDER BY 1;
--> 2
--> 3
--> 4
--> 5
SELECT a FROM v ORDER BY 1;
--> 2
--> 3
--> 4
--> 5
ALTER MATERIALIZED VIEW mm RENAME TO m;
ALTER MATERIALIZED VIEW m RENAME COLUMN aa TO a;
ALTER MATERIALIZED VIEW m RENAME a TO aa;
ALTER MATERIALIZED VIEW m RENAME aa TO a;
ALTER MATERIALIZED VIEW m RENAME nosuch TO a;
--! 42703
ALTER MATERIALIZED VIEW m RENAME a TO b;
--! 42701
ALTER MATERIALIZED VIEW m RENAME TO t;
--! 42P07
REFRESH MATERIALIZED VIEW m;
SELECT * FROM v ORDER BY a;
--> 2|TWO
--> 3|three
--> 4|four
--> 5|five
ALTER MATERIALIZED VIEW t RENAME TO x;
--! 42809
ALTER MATERIALIZED VIEW v RENAME TO x;
--! 42809
ALTER VIEW m RENAME TO x;
--! 42809
ALTER SEQUENCE m RENAME TO x;
--! 42809
ALTER MATERIALIZED VIEW nosuch RENAME TO x;
--! 42P01
ALTER MATERIALIZED VIEW IF EXISTS nosuch RENAME TO x;
ALTER MATERIALIZED VIEW IF EXISTS nosuch RENAME COLUMN a TO x;
ALTER MATERIALIZED VIEW m OWNER TO osier;
ALTER TABLE m OWNER TO osier;
ALTER MATERIALIZED VIEW v OWNER TO osier;
--! 42809
ALTER MATERIALIZED VIEW t SET SCHEMA pg_catalog;
--! 42809
CREATE SCHEMA zz_mat;
ALTER MATERIALIZED VIEW m SET SCHEMA zz_mat;
SELECT * FROM v ORDER BY a;
--> 2|TWO
--> 3|three
--> 4|four
--> 5|five
REFRESH MATERIALIZED VIEW zz_mat.m;
ALTER SCHEMA zz_mat RENAME TO zz_mat2;
REFRESH MATERIALIZED VIEW zz_mat2.m;
SELECT count(*) FROM zz_mat2.m;
--> 4
CREATE MATERIALIZED VIEW zz_mat2.other AS SELECT a FROM zz_mat2.m;

-- The catalog.
COMMENT ON MATERIALIZED VIEW n IS 'all of t';
COMMENT ON TABLE n IS 'x';
--! 42809
COMMENT ON VIEW n IS 'x';
--! 42809
COMMENT ON MATERIALIZED VIEW t IS 'x';
--! 42809
COMMENT ON MATERIALIZED VIEW v IS 'x';
--! 42809
COMMENT ON COLUMN n.x IS 'the key';
COMMENT ON INDEX n_x IS 'of the key';
SELECT obj_description('n'::regclass), col_description('n'::regclass, 1), obj_description('n_x'::regclass);
--> all of t|the key|of the key
SELECT relkind, relispopulated, relhasindex, relhasrules, relreplident, relnatts, relam <> 0, reltype <> 0, relpersistence FROM pg_class WHERE oid = 'n'::regclass;
--> m|t|t|t|d|2|t|t|p
REFRESH MATERIALIZED VIEW n WITH NO DATA;
SELECT relkind, relispopulated FROM pg_class WHERE oid = 'n'::regclass;
--> m|f
SELECT matviewname, matviewowner, hasindexes, ispopulated FROM pg_matviews WHERE matviewname IN ('m', 'n', 'n8') ORDER BY 1;
--> m|osier|f|t
--> n|osier|t|f
--> n8|osier|f|t
REFRESH MATERIALIZED VIEW n;
SELECT obj_description('n'::regclass), col_description('n'::regclass, 1), obj_description('n_x'::regclass);
--> all of t|the key|of the key
SELECT count(*) FROM information_schema.tables WHERE table_name = 'n';
--> 0
SELECT count(*) FROM information_schema.views WHERE table_name = 'n';
--> 0
SELECT count(*) FROM information_schema.columns WHERE table_name = 'n';
--> 0
SELECT count(*) FROM information_schema.table_privileges WHERE table_name = 'n';
--> 0
SELECT count(*) FROM information_schema.column_privileges WHERE table_name = 'n';
--> 0
SELECT count(*) FROM pg_tables WHERE tablename = 'n';
--> 0
SELECT count(*) FROM pg_views WHERE viewname = 'n';
--> 0
SELECT attname, attnotnull, atttypid::regtype, atttypmod FROM pg_attribute WHERE attrelid = 'n'::regclass AND attnum > 0 ORDER BY attnum;
--> x|f|integer|-1
--> c|f|numeric|524294
SELECT rulename, ev_type FROM pg_rewrite WHERE ev_class = 'n'::regclass;
--> _RETURN|1
SELECT DISTINCT relname FROM pg_stat_user_tables WHERE relname IN ('n', 'v', 't') ORDER BY 1;
--> n
--> t
SELECT replace(pg_get_viewdef('n9'::regclass), ' ', '') LIKE '%VALUES(1,%';
--> t
SELECT pg_describe_object('pg_class'::regclass, 'n'::regclass, 0), pg_describe_object('pg_class'::regclass, 'n'::regclass, 1);
--> materialized view n|column x of materialized view n
SELECT pg_relation_is_updatable('n'::regclass, false), pg_column_is_updatable('n'::regclass, 1::smallint, false);
--> 0|f
ANALYZE n;
ANALYZE n (x);
VACUUM n;

-- What they read stays, or goes with them.
CREATE MATERIALIZED VIEW mv2 AS SELECT a FROM v;
DROP TABLE t;
--! 2BP01
DROP TABLE n;
--! 42809
DROP VIEW n;
--! 42809
DROP INDEX n;
--! 42809
DROP SEQUENCE n;
--! 42809
DROP MATERIALIZED VIEW t;
--! 42809
DROP MATERIALIZED VIEW v;
--! 42809
DROP MATERIALIZED VIEW nosuch;
--! 42P01
DROP MATERIALIZED VIEW IF EXISTS nosuch;
DROP MATERIALIZED VIEW zz_mat2.m;
--! 2BP01
DROP MATERIALIZED VIEW zz_mat2.m RESTRICT;
--! 2BP01
DROP VIEW v;
--! 2BP01
ALTER TABLE t DROP COLUMN b;
--! 2BP01
DROP SCHEMA zz_mat2;
--! 2BP01
DROP SCHEMA zz_mat2 CASCADE;
SELECT relname FROM pg_class WHERE relkind IN ('m', 'v') AND relname IN ('m', 'n', 'n5', 'n8', 'n9', 'n10', 'n11', 'mv2', 'v', 'dm', 'other') ORDER BY 1;
--> dm
--> n
--> n10
--> n11
--> n5
--> n8
--> n9
ALTER TABLE t DROP COLUMN b CASCADE;
SELECT relname FROM pg_class WHERE relkind IN ('m', 'v') AND relname IN ('n', 'n10') ORDER BY 1;
--> n
DROP TABLE t CASCADE;
SELECT relname FROM pg_class WHERE relkind IN ('m', 'v') AND relname IN ('n', 'n10') ORDER BY 1;
DROP MATERIALIZED VIEW n5, n8, n9, n11;
DROP MATERIALIZED VIEW dm;
DROP TABLE d;

-- Enumerations and sequences.
CREATE TYPE zz_mood AS ENUM ('sad', 'ok');
CREATE TABLE p (n text, f zz_mood);
INSERT INTO p VALUES ('a', 'sad'), ('b', 'ok');
CREATE MATERIALIZED VIEW pm AS SELECT n, f, 'ok'::zz_mood AS g FROM p WHERE f > 'sad';
ALTER TYPE zz_mood RENAME VALUE 'ok' TO 'fine';
SELECT * FROM pm;
--> b|fine|fine
REFRESH MATERIALIZED VIEW pm;
SELECT * FROM pm;
--> b|fine|fine
ALTER TYPE zz_mood RENAME TO zz_mooo;
REFRESH MATERIALIZED VIEW pm;
SELECT * FROM pm;
--> b|fine|fine
DROP TYPE zz_mooo;
--! 2BP01
DROP TYPE zz_mooo CASCADE;
SELECT * FROM pm;
--! 42P01
DROP TABLE p;
CREATE SEQUENCE sq;
CREATE MATERIALIZED VIEW ms AS SELECT nextval('sq') > 0 AS v;
SELECT * FROM ms;
--> t
DROP SEQUENCE sq;
--! 2BP01
DROP MATERIALIZED VIEW ms;
DROP SEQUENCE sq;
