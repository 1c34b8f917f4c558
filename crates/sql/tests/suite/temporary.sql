-- Temporary tables: made, named, hidden and found.
CREATE TABLE p (id int PRIMARY KEY, s text);
INSERT INTO p VALUES (1, 'permanent');
CREATE TEMP TABLE t (id serial PRIMARY KEY, v text CHECK (v <> ''), n int UNIQUE, g int GENERATED ALWAYS AS IDENTITY);
INSERT INTO t (v, n) VALUES ('a', 10), ('b', 20);
SELECT * FROM t ORDER BY id;
--> 1|a|10|1
--> 2|b|20|2
SELECT v FROM pg_temp.t WHERE n = 20;
--> b
INSERT INTO t (v) VALUES ('');
--! 23514
INSERT INTO t (v, n) VALUES ('c', 10);
--! 23505
INSERT INTO t (id, v) VALUES (1, 'c');
--! 23505
CREATE TEMP TABLE t (a int);
--! 42P07
CREATE TEMP TABLE IF NOT EXISTS t (a int);
CREATE TEMPORARY TABLE p (id int, s text);
SELECT count(*) FROM p;
--> 0
SELECT s FROM public.p;
--> permanent
INSERT INTO p VALUES (7, 'temporary');
SELECT s FROM p UNION ALL SELECT s FROM public.p;
--> temporary
--> permanent
DROP TABLE p;
SELECT s FROM p;
--> permanent
CREATE TABLE pg_temp.q (a int);
SELECT relpersistence FROM pg_class WHERE relname = 'q';
--> t
CREATE TEMP TABLE pg_temp.r (a int);
SELECT count(*) FROM r;
--> 0
CREATE LOCAL TEMP TABLE l (a int);
CREATE GLOBAL TEMPORARY TABLE gl (a int);
DROP TABLE l, gl, r, pg_temp.q;
CREATE TEMP TABLE public.x (a int);
--! 42P16
CREATE TABLE x (a int) ON COMMIT DROP;
--! 42P16
CREATE TABLE pg_temp_99999.x (a int);
--! 3F000
SELECT * FROM pg_temp.nosuch;
--! 42P01

-- Plans that are kept notice what a name means. EXECUTE in PostgreSQL goes on with the table that was there first.
PREPARE q AS SELECT s FROM p WHERE id = 1;
EXECUTE q;
--> permanent
SELECT s FROM p WHERE id = 1;
--> permanent
SELECT s FROM p WHERE id = 1;
--> permanent
SELECT s FROM p WHERE id = 1;
--> permanent
CREATE TEMP TABLE p (id int PRIMARY KEY, s text);
EXECUTE q;
SELECT s FROM p WHERE id = 1;
INSERT INTO p VALUES (1, 'temporary');
EXECUTE q;
--> temporary
SELECT s FROM p WHERE id = 1;
--> temporary
SELECT s FROM p WHERE id = 1;
--> temporary
BEGIN;
DROP TABLE p;
EXECUTE q;
--> permanent
ROLLBACK;
EXECUTE q;
--> temporary
SELECT s FROM p WHERE id = 1;
--> temporary
DROP TABLE p;
EXECUTE q;
--> permanent
SELECT s FROM p WHERE id = 1;
--> permanent
CREATE TEMP VIEW p AS SELECT 1 AS id, 'of a view' AS s;
SELECT s FROM p WHERE id = 1;
--> of a view
DROP VIEW p;
SELECT s FROM p WHERE id = 1;
--> permanent
DEALLOCATE q;

-- What belongs to them, and what they are made of.
CREATE INDEX ON t (v);
CREATE UNIQUE INDEX tu ON t (v, n);
SELECT indexname FROM pg_indexes WHERE tablename = 't' ORDER BY 1;
--> t_n_key
--> t_pkey
--> t_v_idx
--> tu
SELECT c.relname, c.relkind, c.relpersistence FROM pg_class c WHERE c.relnamespace = pg_my_temp_schema() ORDER BY 1;
--> t|r|t
--> t_g_seq|S|t
--> t_id_seq|S|t
--> t_n_key|i|t
--> t_pkey|i|t
--> t_v_idx|i|t
--> tu|i|t
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 't'::regclass;
--> nextval('t_id_seq'::regclass)
SELECT nextval('t_id_seq') > 2, currval('pg_temp.t_id_seq') > 2, setval('t_id_seq', 100);
--> t|t|100
INSERT INTO t (v) VALUES ('c') RETURNING id;
--> 101
CREATE TEMP TABLE k (LIKE t INCLUDING ALL);
INSERT INTO k (id, v) VALUES (5, '');
--! 23514
CREATE TEMP TABLE s AS SELECT id, v FROM t WHERE n IS NOT NULL;
SELECT * FROM s ORDER BY id;
--> 1|a
--> 2|b
CREATE TEMP TABLE s2 (one, two) ON COMMIT PRESERVE ROWS AS SELECT 1, 2 WITH NO DATA;
SELECT * FROM s2;
ALTER TABLE s ADD COLUMN w int DEFAULT 3;
ALTER TABLE s RENAME TO renamed;
SELECT * FROM renamed WHERE id = 1;
--> 1|a|3
SELECT * FROM s;
--! 42P01
SELECT relpersistence FROM pg_class WHERE relname = 'renamed';
--> t
TRUNCATE renamed;
SELECT count(*) FROM renamed;
--> 0
COMMENT ON TABLE renamed IS 'a comment';
SELECT obj_description('renamed'::regclass);
--> a comment
ANALYZE renamed;
ALTER TABLE renamed SET SCHEMA public;
--! 0A000
ALTER TABLE public.p SET SCHEMA pg_temp;
--! 0A000
DROP TABLE renamed, s2, k;

-- Keys are among themselves.
CREATE TEMP TABLE c (id int REFERENCES t);
INSERT INTO c VALUES (1);
INSERT INTO c VALUES (77);
--! 23503
CREATE TEMP TABLE c2 (id int REFERENCES p);
--! 42P16
CREATE TABLE c2 (id int REFERENCES t);
--! 42P16
ALTER TABLE p ADD FOREIGN KEY (id) REFERENCES t;
--! 42P16
DROP TABLE t;
--! 2BP01
DROP TABLE t CASCADE;
SELECT id FROM c;
--> 1
DROP TABLE c;

-- ON COMMIT.
CREATE TEMP TABLE d (a int) ON COMMIT DELETE ROWS;
INSERT INTO d VALUES (1);
SELECT count(*) FROM d;
--> 0
BEGIN;
INSERT INTO d VALUES (1), (2);
SELECT count(*) FROM d;
--> 2
SAVEPOINT one;
INSERT INTO d VALUES (3);
ROLLBACK TO one;
SELECT sum(a) FROM d;
--> 3
COMMIT AND CHAIN;
SELECT count(*) FROM d;
--> 0
INSERT INTO d VALUES (4);
COMMIT;
SELECT count(*) FROM d;
--> 0
BEGIN;
INSERT INTO d VALUES (1);
ROLLBACK;
SELECT count(*) FROM d;
--> 0
ALTER TABLE d RENAME TO e;
INSERT INTO e VALUES (1);
SELECT count(*) FROM e;
--> 0
BEGIN;
DROP TABLE e;
ROLLBACK;
INSERT INTO e VALUES (1);
SELECT count(*) FROM e;
--> 0
CREATE TEMP TABLE keep (a int) ON COMMIT PRESERVE ROWS;
INSERT INTO keep VALUES (1);
SELECT count(*) FROM keep;
--> 1
CREATE TEMP TABLE gone (a int) ON COMMIT DROP;
SELECT * FROM gone;
--! 42P01
BEGIN;
CREATE TEMP TABLE gone ON COMMIT DROP AS SELECT 5 AS a;
CREATE VIEW on_gone AS SELECT a + 1 AS b FROM gone;
SELECT a, b FROM gone, on_gone;
--> 5|6
COMMIT;
SELECT * FROM on_gone;
--! 42P01
SELECT * FROM gone;
--! 42P01
BEGIN;
CREATE TEMP TABLE parent (a int PRIMARY KEY) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE child (a int REFERENCES parent);
COMMIT;
--! 0A000
SELECT * FROM parent;
--! 42P01
BEGIN;
CREATE TEMP TABLE parent (a int PRIMARY KEY) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE child (a int REFERENCES parent DEFERRABLE INITIALLY DEFERRED) ON COMMIT DELETE ROWS;
INSERT INTO child VALUES (1);
INSERT INTO parent VALUES (1);
COMMIT;
SELECT (SELECT count(*) FROM parent), (SELECT count(*) FROM child);
--> 0|0
BEGIN;
INSERT INTO child VALUES (1);
COMMIT;
--! 23503
BEGIN;
CREATE TEMP TABLE undone (a int);
SAVEPOINT one;
CREATE TEMP TABLE undone2 (a int);
ROLLBACK TO one;
SELECT * FROM undone2;
--! 42P01
ROLLBACK;
SELECT * FROM undone;
--! 42P01
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT a FROM (VALUES (1)) v (a), LATERAL (SELECT count(*) FROM e) n;
INSERT INTO e VALUES (8);
DECLARE rows CURSOR WITH HOLD FOR SELECT a FROM e;
COMMIT;
FETCH ALL FROM rows;
--> 8
CLOSE ALL;

-- Views and sequences.
CREATE TABLE b (a int);
INSERT INTO b VALUES (3);
CREATE VIEW of_keep AS SELECT a FROM keep;
SELECT relpersistence FROM pg_class WHERE relname = 'of_keep';
--> t
CREATE VIEW of_view AS SELECT a FROM of_keep;
SELECT relpersistence FROM pg_class WHERE relname = 'of_view';
--> t
CREATE VIEW public.of_public AS SELECT a FROM keep;
--! 42P16
CREATE OR REPLACE TEMP VIEW of_b AS SELECT a FROM b;
CREATE OR REPLACE TEMPORARY VIEW of_b AS SELECT a * 2 AS a FROM b;
SELECT * FROM of_b, of_view;
--> 6|1
CREATE VIEW of_b AS SELECT 'public' AS a;
SELECT * FROM of_b;
--> 6
DROP VIEW of_b;
SELECT * FROM of_b;
--> public
DROP VIEW of_b;
DROP TABLE keep;
--! 2BP01
DROP TABLE keep CASCADE;
SELECT * FROM of_view;
--! 42P01
CREATE TEMP SEQUENCE sq START 5;
SELECT nextval('sq'), nextval('pg_temp.sq'), lastval();
--> 5|6|6
SELECT relpersistence FROM pg_class WHERE relname = 'sq';
--> t
ALTER SEQUENCE sq RESTART 50;
SELECT nextval('sq');
--> 50
CREATE TEMP TABLE of_sq (a int DEFAULT nextval('sq'));
INSERT INTO of_sq DEFAULT VALUES RETURNING a;
--> 51
DROP TABLE of_sq;
DROP SEQUENCE sq;

-- The search path.
SELECT current_schema(), replace(current_schemas(true)::text, pg_my_temp_schema()::regnamespace::text, 'own');
--> public|{own,pg_catalog,public}
SET search_path = pg_temp, public;
CREATE TABLE here (a int);
SELECT 'here'::regclass, 'pg_temp.here'::regclass, pg_table_is_visible('here'::regclass);
--> here|here|t
SELECT relpersistence FROM pg_class WHERE relname = 'here';
--> t
SELECT current_schema() = pg_my_temp_schema()::regnamespace::text;
--> t
SET search_path = public, pg_temp;
CREATE TABLE here (a int, b int);
INSERT INTO here VALUES (1, 2);
SELECT * FROM here;
--> 1|2
SELECT replace(current_schemas(true)::text, pg_my_temp_schema()::regnamespace::text, 'own');
--> {pg_catalog,public,own}
SELECT replace('pg_temp.here'::regclass::text, pg_my_temp_schema()::regnamespace::text, 'own');
--> own.here
SELECT pg_table_is_visible('pg_temp.here'::regclass);
--> f
DROP TABLE here;
SELECT * FROM here;
DROP TABLE here;
SET search_path = public;

-- The catalog.
CREATE TEMP TABLE shown (a int NOT NULL);
SELECT table_name, table_type FROM information_schema.tables WHERE table_name IN ('shown', 'p') ORDER BY 1;
--> p|BASE TABLE
--> shown|LOCAL TEMPORARY
SELECT column_name, is_nullable FROM information_schema.columns WHERE table_name = 'shown';
--> a|NO
SELECT pg_is_other_temp_schema(pg_my_temp_schema()), pg_is_other_temp_schema(2200), pg_my_temp_schema() > 0;
--> f|f|t
SELECT count(*) FROM pg_namespace WHERE oid = pg_my_temp_schema() AND nspname LIKE 'pg\_temp\_%';
--> 1
SELECT pg_my_temp_schema()::regnamespace::text = n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE relname = 'shown';
--> t
CREATE SCHEMA pg_temp_5;
--! 42939
CREATE SCHEMA ours;
ALTER SCHEMA ours RENAME TO pg_temp_5;
--! 42939

-- DISCARD.
BEGIN;
DISCARD TEMP;
SELECT * FROM shown;
--! 42P01
ROLLBACK;
SELECT * FROM shown;
DISCARD TEMP;
SELECT * FROM shown;
--! 42P01
CREATE TEMP TABLE shown (b text);
SELECT * FROM shown;
CREATE TEMP SEQUENCE shown_too;
CREATE TEMP VIEW shown_as_well AS SELECT 1 AS a;
DISCARD ALL;
SELECT * FROM shown;
--! 42P01
SELECT nextval('shown_too');
--! 42P01
SELECT * FROM shown_as_well;
--! 42P01
SELECT count(*) FROM pg_class WHERE relpersistence = 't';
--> 0
CREATE TEMP TABLE shown (c int);
SELECT * FROM shown;
