-- What PostgreSQL 15 answers: rows behind `--> `, or the SQLSTATE behind `--! `. A statement is one line.

-- Schemas are made.
CREATE SCHEMA one;
CREATE SCHEMA two;
CREATE SCHEMA one;
--! 42P06
CREATE SCHEMA IF NOT EXISTS one;
CREATE SCHEMA pg_own;
--! 42939
CREATE SCHEMA "Mixed";
CREATE SCHEMA IF NOT EXISTS "Mixed";
DROP SCHEMA nosuch;
--! 3F000
DROP SCHEMA IF EXISTS nosuch;
SELECT current_schema();
--> public
SELECT current_schemas(false);
--> {public}
SELECT current_schemas(true);
--> {pg_catalog,public}

-- Tables in schemas.
CREATE TABLE one.t (id serial PRIMARY KEY, v text DEFAULT 'one');
CREATE TABLE two.t (id int PRIMARY KEY, v text DEFAULT 'two');
CREATE TABLE t (id int PRIMARY KEY, v text DEFAULT 'public');
CREATE TABLE "Mixed"."T" ("Id" serial PRIMARY KEY, "V" text);
CREATE TABLE nosuch.t (id int);
--! 3F000
CREATE TABLE one.t (id int);
--! 42P07
CREATE TABLE IF NOT EXISTS one.t (id int);
INSERT INTO one.t (v) VALUES (DEFAULT), ('b');
INSERT INTO two.t (id) VALUES (7);
INSERT INTO public.t (id) VALUES (9);
INSERT INTO "Mixed"."T" ("V") VALUES ('m') RETURNING "Id";
--> 1
SELECT * FROM one.t ORDER BY id;
--> 1|one
--> 2|b
SELECT * FROM two.t;
--> 7|two
SELECT * FROM t;
--> 9|public
SELECT * FROM public.t;
--> 9|public
SELECT t.id FROM one.t ORDER BY t.id;
--> 1
--> 2
SELECT a.v, b.v FROM one.t a, two.t b ORDER BY 1;
--> b|two
--> one|two
SELECT * FROM nosuch.t;
--! 42P01
SELECT * FROM one.nosuch;
--! 42P01
SELECT * FROM mixed."T";
--! 42P01
SELECT * FROM Mixed.T;
--! 42P01
UPDATE one.t SET v = 'c' WHERE id = 2;
DELETE FROM two.t WHERE id = 7 RETURNING v;
--> two
INSERT INTO two.t VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET v = t.v || excluded.v;
INSERT INTO two.t VALUES (1, 'y') ON CONFLICT (id) DO UPDATE SET v = t.v || excluded.v RETURNING v;
--> xy
CREATE UNIQUE INDEX ti ON one.t (v);
CREATE UNIQUE INDEX ti ON two.t (v);
CREATE INDEX ti ON two.t (v);
--! 42P07
CREATE INDEX t ON one.t (v);
--! 42P07
CREATE TABLE one.ti (a int);
--! 42P07
DROP INDEX ti;
--! 42704
DROP INDEX two.ti;
DROP INDEX one.ti;
CREATE SEQUENCE one.s START 5;
CREATE SEQUENCE two.s START 50;
CREATE VIEW one.s AS SELECT 1;
--! 42P07
SELECT nextval('one.s'), nextval('two.s');
--> 5|50
SELECT nextval('s');
--! 42P01

-- The search path.
SET search_path = one, public;
SHOW search_path;
--> one, public
SELECT current_schema(), current_schemas(false);
--> one|{one,public}
SELECT count(*) FROM t;
--> 2
SELECT nextval('s');
--> 6
SELECT currval('one.s');
--> 6
CREATE TABLE made (a int);
SELECT * FROM one.made;
SELECT * FROM public.made;
--! 42P01
CREATE VIEW tv AS SELECT id, v FROM t;
SELECT * FROM one.tv ORDER BY id;
--> 1|one
--> 2|c
SET search_path = two, one;
SELECT v FROM t;
--> xy
SELECT * FROM tv ORDER BY id;
--> 1|one
--> 2|c
CREATE VIEW tv2 AS SELECT v FROM t;
CREATE TABLE def (a int DEFAULT nextval('s'), b int);
INSERT INTO def (b) VALUES (1);
SET search_path = one;
SELECT v FROM two.tv2;
--> xy
INSERT INTO two.def (b) VALUES (2);
SELECT * FROM two.def ORDER BY b;
--> 51|1
--> 52|2
SELECT * FROM def;
--! 42P01
SET search_path = nosuch, two;
SELECT current_schema();
--> two
SELECT v FROM t;
--> xy
SET search_path = nosuch;
SELECT current_schema();
--> NULL
CREATE TABLE x (a int);
--! 3F000
SELECT * FROM t;
--! 42P01
SELECT * FROM two.t;
--> 1|xy
SET search_path = "Mixed";
SELECT "V" FROM "T";
--> m
SELECT nextval('"T_Id_seq"');
--> 2
INSERT INTO "T" ("V") VALUES ('n') RETURNING "Id";
--> 3
SET search_path TO DEFAULT;
SHOW search_path;
--> "$user", public
BEGIN;
SET LOCAL search_path = two;
SELECT count(*) FROM def;
--> 2
COMMIT;
SELECT count(*) FROM def;
--! 42P01
SET search_path = two;
BEGIN;
SET search_path = one;
ROLLBACK;
SELECT current_schema();
--> two
RESET search_path;
SELECT current_schema();
--> public

-- Moving.
ALTER TABLE one.made SET SCHEMA two;
SELECT count(*) FROM two.made;
--> 0
SELECT count(*) FROM one.made;
--! 42P01
ALTER TABLE one.t SET SCHEMA two;
--! 42P07
ALTER TABLE one.t SET SCHEMA nosuch;
--! 3F000
CREATE SCHEMA three;
ALTER TABLE one.t SET SCHEMA three;
INSERT INTO three.t (v) VALUES ('moved') RETURNING id > 2;
--> t
SELECT nextval('three.t_id_seq') > 3;
--> t
SELECT v FROM one.tv ORDER BY id;
--> one
--> c
--> moved
ALTER VIEW one.tv SET SCHEMA three;
SELECT count(*) FROM three.tv;
--> 3
ALTER SEQUENCE one.s SET SCHEMA three;
SELECT nextval('three.s') > 6;
--> t
ALTER SEQUENCE three.s RENAME TO s2;
SELECT nextval('three.s2') > 7;
--> t
ALTER SCHEMA three RENAME TO four;
SELECT count(*) FROM four.tv;
--> 3
INSERT INTO four.t (v) VALUES ('again') RETURNING id > 4;
--> t
SELECT nextval('four.s2') > 8;
--> t
SELECT * FROM three.t;
--! 42P01
ALTER SCHEMA four RENAME TO two;
--! 42P06
ALTER SCHEMA nosuch RENAME TO five;
--! 3F000
ALTER SCHEMA four RENAME TO pg_four;
--! 42939
ALTER TABLE four.t RENAME TO tt;
SELECT count(*) FROM four.tt;
--> 4
SELECT count(*) FROM four.tv;
--> 4

-- Dropping.
DROP SCHEMA four;
--! 2BP01
DROP SCHEMA one;
CREATE VIEW across AS SELECT v FROM four.tt;
DROP SCHEMA four CASCADE;
SELECT * FROM across;
--! 42P01
SELECT * FROM four.tt;
--! 42P01
SELECT nextval('four.s2');
--! 3F000
DROP SCHEMA IF EXISTS four, one CASCADE;
BEGIN;
CREATE SCHEMA inblock;
CREATE TABLE inblock.t (a int);
INSERT INTO inblock.t VALUES (1);
SELECT * FROM inblock.t;
--> 1
ROLLBACK;
SELECT * FROM inblock.t;
--! 42P01
CREATE TABLE inblock.t (a int);
--! 3F000
DROP SCHEMA two CASCADE;
DROP SCHEMA "Mixed" CASCADE;
CREATE SCHEMA two;
CREATE TABLE two.t (a int);
SELECT count(*) FROM two.t;
--> 0
DROP TABLE two.t;
DROP SCHEMA two;
CREATE TABLE two.t (a int);
--! 3F000
