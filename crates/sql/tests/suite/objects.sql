-- What PostgreSQL 15 answers: rows behind `--> `, or the SQLSTATE behind `--! `. A statement is one line.

-- Foreign keys and rights.
CREATE ROLE zz_eve LOGIN;
CREATE ROLE zz_crew;
CREATE ROLE zz_fay CREATEROLE;
CREATE SCHEMA app AUTHORIZATION zz_eve;
CREATE SCHEMA lib;
CREATE TABLE lib.parent (id int PRIMARY KEY, b int UNIQUE, n text);
INSERT INTO lib.parent VALUES (1, 10, 'one'), (2, 20, 'two');
CREATE VIEW lib.pv AS SELECT id FROM lib.parent;
SET ROLE zz_eve;
CREATE TABLE app.child (id int PRIMARY KEY, p int REFERENCES lib.parent);
--! 42501
RESET ROLE;
GRANT USAGE ON SCHEMA lib TO zz_eve;
SET ROLE zz_eve;
CREATE TABLE app.child (id int PRIMARY KEY, p int REFERENCES lib.parent);
--! 42501
CREATE TABLE app.child (id int PRIMARY KEY, p int REFERENCES lib.pv);
--! 42809
RESET ROLE;
GRANT REFERENCES (id) ON lib.parent TO zz_eve;
CREATE TABLE app.wrong (p int REFERENCES lib.pv);
--! 42809
CREATE TABLE app.wrong (p int REFERENCES lib.pv (id));
--! 42809
SET ROLE zz_eve;
CREATE TABLE app.other (id int PRIMARY KEY, p int REFERENCES lib.parent (b));
--! 42501
CREATE TABLE app.child (id int PRIMARY KEY, p int REFERENCES lib.parent ON DELETE CASCADE ON UPDATE CASCADE);
ALTER TABLE app.child ADD FOREIGN KEY (p) REFERENCES lib.parent (b);
--! 42501
INSERT INTO app.child VALUES (1, 1), (2, 2);
INSERT INTO app.child VALUES (3, 3);
--! 23503
SELECT * FROM lib.parent;
--! 42501
RESET ROLE;
GRANT DELETE, UPDATE, SELECT ON lib.parent TO zz_crew;
GRANT USAGE ON SCHEMA lib TO zz_crew;
SET ROLE zz_crew;
SELECT * FROM app.child;
--! 42501
DELETE FROM lib.parent WHERE id = 1;
UPDATE lib.parent SET id = 22 WHERE id = 2;
TRUNCATE lib.parent CASCADE;
--! 42501
RESET ROLE;
SELECT * FROM app.child;
--> 2|22
GRANT TRUNCATE ON lib.parent TO zz_crew;
SET ROLE zz_crew;
TRUNCATE lib.parent;
--! 0A000
TRUNCATE lib.parent CASCADE;
--! 42501
RESET ROLE;
DROP TABLE lib.parent;
--! 2BP01
DROP TABLE lib.parent, lib.pv;
--! 42809
DROP SCHEMA lib;
--! 2BP01
SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conrelid = 'app.child'::regclass;
--> 1
BEGIN;
DROP SCHEMA lib CASCADE;
SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conrelid = 'app.child'::regclass;
--> 0
INSERT INTO app.child VALUES (7, 77);
SELECT count(*) FROM pg_views WHERE schemaname = 'lib';
--> 0
SELECT has_schema_privilege('zz_crew', 'app', 'USAGE');
--> f
ROLLBACK;
ALTER SCHEMA lib RENAME TO lib2;
INSERT INTO app.child VALUES (8, 88);
--! 23503
INSERT INTO lib2.parent VALUES (5, 50, 'five');
INSERT INTO app.child VALUES (5, 5);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' AND conrelid = 'app.child'::regclass;
--> FOREIGN KEY (p) REFERENCES lib2.parent(id) ON UPDATE CASCADE ON DELETE CASCADE
ALTER TABLE app.child SET SCHEMA lib2;
DELETE FROM lib2.parent WHERE id = 5;
SELECT count(*) FROM lib2.child;
--> 1
ALTER SCHEMA lib2 RENAME TO lib;

-- What the catalog says.
CREATE TABLE base (id serial PRIMARY KEY, a int NOT NULL, b varchar(10), c numeric(8,2));
INSERT INTO base (a, b, c) VALUES (1, 'x', 1.5), (2, 'y', 2.5);
CREATE VIEW plain AS SELECT a, b, c FROM base;
CREATE VIEW checked AS SELECT id, a, b FROM base WHERE a > 0 WITH CASCADED CHECK OPTION;
CREATE VIEW local AS SELECT id, a AS renamed, b FROM base WHERE a > 0 WITH LOCAL CHECK OPTION;
CREATE VIEW sums AS SELECT count(*) AS n, sum(a) AS total FROM base;
CREATE VIEW upon AS SELECT renamed + 1 AS more, renamed FROM local;
SELECT relname, relkind, relnatts, relhasrules, relhasindex, reloptions FROM pg_class WHERE relname IN ('plain', 'checked', 'local', 'sums', 'upon') ORDER BY relname;
--> checked|v|3|t|f|{check_option=cascaded}
--> local|v|3|t|f|{check_option=local}
--> plain|v|3|t|f|NULL
--> sums|v|2|t|f|NULL
--> upon|v|2|t|f|NULL
SELECT attname, attnum, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 'plain'::regclass AND attnum > 0 ORDER BY attnum;
--> a|1|integer|f
--> b|2|character varying(10)|f
--> c|3|numeric(8,2)|f
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'sums'::regclass AND attnum > 0 ORDER BY attnum;
--> n|bigint
--> total|bigint
SELECT schemaname, viewname, viewowner FROM pg_views WHERE schemaname IN ('public', 'lib') ORDER BY viewname;
--> public|checked|osier
--> public|local|osier
--> public|plain|osier
--> lib|pv|osier
--> public|sums|osier
--> public|upon|osier
SELECT rulename, ev_type, ev_enabled, is_instead FROM pg_rewrite WHERE ev_class = 'plain'::regclass;
--> _RETURN|1|O|t
SELECT DISTINCT d.refobjid::regclass::text, d.deptype FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid WHERE r.ev_class = 'upon'::regclass AND d.classid = 'pg_rewrite'::regclass ORDER BY 1, 2;
--> local|n
--> upon|i
--> upon|n
SELECT table_name, table_type, is_insertable_into FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name;
--> base|BASE TABLE|YES
--> checked|VIEW|YES
--> local|VIEW|YES
--> plain|VIEW|YES
--> sums|VIEW|NO
--> upon|VIEW|YES
SELECT table_name, check_option, is_updatable, is_insertable_into FROM information_schema.views WHERE table_schema = 'public' ORDER BY table_name;
--> checked|CASCADED|YES|YES
--> local|LOCAL|YES|YES
--> plain|NONE|YES|YES
--> sums|NONE|NO|NO
--> upon|NONE|YES|YES
SELECT table_name, column_name, ordinal_position, data_type, character_maximum_length, numeric_precision, numeric_scale, is_nullable, is_updatable FROM information_schema.columns WHERE table_name IN ('plain', 'sums', 'upon') ORDER BY table_name, ordinal_position;
--> plain|a|1|integer|NULL|32|0|YES|YES
--> plain|b|2|character varying|10|NULL|NULL|YES|YES
--> plain|c|3|numeric|NULL|8|2|YES|YES
--> sums|n|1|bigint|NULL|64|0|YES|NO
--> sums|total|2|bigint|NULL|64|0|YES|NO
--> upon|more|1|integer|NULL|32|0|YES|NO
--> upon|renamed|2|integer|NULL|32|0|YES|YES
SELECT pg_relation_is_updatable('plain'::regclass, false), pg_relation_is_updatable('sums'::regclass, false), pg_relation_is_updatable('upon'::regclass, false);
--> 28|0|28
SELECT 'plain'::regclass, to_regclass('lib.pv'), 'lib.pv'::regclass, to_regclass('pv');
--> plain|lib.pv|lib.pv|NULL
COMMENT ON VIEW plain IS 'a view';
COMMENT ON COLUMN plain.b IS 'a column';
COMMENT ON VIEW base IS 'x';
--! 42809
COMMENT ON TABLE plain IS 'x';
--! 42809
COMMENT ON VIEW nosuch IS 'x';
--! 42P01
COMMENT ON COLUMN plain.nosuch IS 'x';
--! 42703
COMMENT ON SCHEMA app IS 'an application';
COMMENT ON SCHEMA nosuch IS 'x';
--! 3F000
COMMENT ON ROLE zz_eve IS 'a user';
SELECT obj_description('plain'::regclass, 'pg_class'), col_description('plain'::regclass, 2), obj_description('app'::regnamespace, 'pg_namespace'), shobj_description('zz_eve'::regrole, 'pg_authid');
--> a view|a column|an application|a user
ALTER VIEW plain RENAME TO plain2;
ALTER SCHEMA app RENAME TO app2;
SELECT obj_description('plain2'::regclass, 'pg_class'), col_description('plain2'::regclass, 2), obj_description('app2'::regnamespace, 'pg_namespace');
--> a view|a column|an application
ALTER VIEW plain2 RENAME TO plain;
ALTER SCHEMA app2 RENAME TO app;
CREATE OR REPLACE VIEW plain AS SELECT a, b, c, id FROM base;
SELECT obj_description('plain'::regclass, 'pg_class'), col_description('plain'::regclass, 2);
--> a view|a column
SET ROLE zz_eve;
COMMENT ON VIEW plain IS 'mine';
--! 42501
COMMENT ON TABLE base IS 'mine';
--! 42501
COMMENT ON COLUMN base.a IS 'mine';
--! 42501
COMMENT ON INDEX base_pkey IS 'mine';
--! 42501
COMMENT ON SEQUENCE base_id_seq IS 'mine';
--! 42501
COMMENT ON SCHEMA app IS 'my application';
COMMENT ON SCHEMA lib IS 'mine';
--! 42501
COMMENT ON ROLE zz_crew IS 'mine';
--! 42501
COMMENT ON CONSTRAINT base_pkey ON base IS 'mine';
--! 42501
LOCK TABLE base;
--! 25P01
BEGIN;
LOCK TABLE base;
--! 42501
ROLLBACK;
CHECKPOINT;
--! 42501
RESET ROLE;

-- Roles and schemas in the catalog.
GRANT zz_crew TO zz_eve WITH ADMIN OPTION;
SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolconnlimit, rolpassword FROM pg_roles WHERE rolname LIKE 'zz\_%' ORDER BY rolname;
--> zz_crew|f|t|f|f|f|-1|********
--> zz_eve|f|t|f|f|t|-1|********
--> zz_fay|f|t|t|f|f|-1|********
SELECT r.rolname, m.rolname, a.admin_option FROM pg_auth_members a JOIN pg_roles r ON r.oid = a.roleid JOIN pg_roles m ON m.oid = a.member WHERE r.rolname LIKE 'zz\_%';
--> zz_crew|zz_eve|t
SELECT usename, usesuper FROM pg_user WHERE usename LIKE 'zz\_%' ORDER BY usename;
--> zz_eve|f
SELECT nspname, pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname IN ('app', 'lib') ORDER BY nspname;
--> app|zz_eve
--> lib|osier
SELECT schema_name, schema_owner FROM information_schema.schemata WHERE schema_name IN ('app', 'lib') ORDER BY schema_name;
--> app|zz_eve
--> lib|osier
SELECT pg_has_role('zz_eve', 'zz_crew', 'MEMBER'), pg_has_role('zz_eve', 'zz_crew', 'USAGE'), pg_has_role('zz_crew', 'zz_eve', 'MEMBER'), pg_has_role('zz_eve', 'zz_crew', 'MEMBER WITH ADMIN OPTION'), pg_has_role('zz_fay', 'zz_crew', 'USAGE');
--> t|t|f|t|f
SELECT has_table_privilege('zz_eve', 'base', 'SELECT'), has_table_privilege('base', 'SELECT'), has_table_privilege('zz_eve', 'lib.parent', 'SELECT'), has_table_privilege('zz_crew', 'lib.parent', 'SELECT, INSERT');
--> f|t|t|t
GRANT SELECT, INSERT ON base TO zz_eve WITH GRANT OPTION;
GRANT UPDATE (a, b) ON base TO zz_crew;
GRANT SELECT ON plain TO PUBLIC;
REVOKE TRUNCATE ON base FROM CURRENT_USER;
GRANT USAGE ON SEQUENCE base_id_seq TO zz_eve;
GRANT CREATE, USAGE ON SCHEMA app TO zz_crew;
SELECT relname, relacl FROM pg_class WHERE relname IN ('base', 'plain', 'base_id_seq', 'sums') ORDER BY relname;
--> base|{osier=arwdxt/osier,zz_eve=a*r*/osier}
--> base_id_seq|{osier=rwU/osier,zz_eve=U/osier}
--> plain|{osier=arwdDxt/osier,=r/osier}
--> sums|NULL
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'base'::regclass AND attnum > 0 ORDER BY attnum;
--> id|NULL
--> a|{zz_crew=w/osier}
--> b|{zz_crew=w/osier}
--> c|NULL
SELECT nspname, nspacl FROM pg_namespace WHERE nspname IN ('app') ORDER BY nspname;
--> app|{zz_eve=UC/zz_eve,zz_crew=UC/zz_eve}
SELECT has_table_privilege('zz_eve', 'base', 'SELECT WITH GRANT OPTION'), has_table_privilege('zz_eve', 'base', 'UPDATE'), has_column_privilege('zz_eve', 'base', 'a', 'UPDATE'), has_column_privilege('zz_eve', 'base', 'c', 'UPDATE'), has_any_column_privilege('zz_crew', 'base', 'UPDATE'), has_any_column_privilege('zz_fay', 'base', 'UPDATE');
--> t|f|t|f|t|f
SELECT has_sequence_privilege('zz_eve', 'base_id_seq', 'USAGE'), has_sequence_privilege('zz_fay', 'base_id_seq', 'USAGE'), has_schema_privilege('zz_crew', 'app', 'CREATE'), has_schema_privilege('zz_fay', 'app', 'CREATE, USAGE'), has_schema_privilege('zz_fay', 'public', 'USAGE'), has_schema_privilege('zz_fay', 'public', 'CREATE');
--> t|f|t|f|t|f
SELECT has_table_privilege('zz_fay', 'plain', 'SELECT'), has_table_privilege('public', 'plain', 'SELECT'), has_table_privilege('public', 'base', 'SELECT');
--> t|t|f
SELECT has_table_privilege('nosuch', 'base', 'SELECT');
--! 42704
SELECT has_table_privilege('base', 'NOSUCH');
--! 22023
SELECT has_table_privilege('nosuch', 'SELECT');
--! 42P01
SELECT grantee, privilege_type, is_grantable FROM information_schema.table_privileges WHERE table_name = 'base' AND grantee LIKE 'zz%' ORDER BY 1, 2;
--> zz_eve|INSERT|YES
--> zz_eve|SELECT|YES
SELECT grantee, column_name, privilege_type, is_grantable FROM information_schema.column_privileges WHERE table_name = 'base' AND grantee = 'zz_crew' ORDER BY 1, 2, 3;
--> zz_crew|a|UPDATE|NO
--> zz_crew|b|UPDATE|NO
SET ROLE zz_fay;
SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('public', 'lib', 'app') ORDER BY 1, 2;
--> public|plain
SELECT table_name, view_definition FROM information_schema.views WHERE table_schema = 'public';
--> plain|NULL
SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('public', 'lib', 'app') ORDER BY 1;
--> public
SELECT a FROM plain ORDER BY a;
--> 1
--> 2
CREATE ROLE zz_sly IN ROLE zz_crew;
CREATE ROLE zz_boss IN ROLE osier;
--! 42501
GRANT osier TO zz_fay;
--! 42501
ALTER ROLE osier PASSWORD 'x';
--! 42501
RESET ROLE;
DROP ROLE zz_sly;

-- Prepared statements, cursors, EXPLAIN and COPY ask for rights.
SET ROLE zz_eve;
PREPARE read AS SELECT a FROM base WHERE a = $1;
EXECUTE read(1);
--> 1
RESET ROLE;
REVOKE SELECT ON base FROM zz_eve CASCADE;
SET ROLE zz_eve;
EXECUTE read(1);
--! 42501
EXPLAIN (COSTS OFF) EXECUTE read(1);
--! 42501
EXPLAIN SELECT a FROM base;
--! 42501
EXPLAIN ANALYZE INSERT INTO lib.parent VALUES (9, 9, 'nine');
--! 42501
BEGIN;
DECLARE c CURSOR FOR SELECT a FROM base;
--! 42501
ROLLBACK;
DECLARE c CURSOR WITH HOLD FOR SELECT a FROM base;
--! 42501
CREATE TABLE app.copied AS SELECT a FROM base;
--! 42501
WITH w AS (UPDATE base SET c = 1 RETURNING a) SELECT * FROM w;
--! 42501
WITH w AS (INSERT INTO base (a) VALUES (1) RETURNING a) SELECT * FROM w;
--! 42501
INSERT INTO base (a) VALUES (7);
UPDATE base SET a = 8;
UPDATE base SET a = a + 1;
--! 42501
DELETE FROM base;
--! 42501
SELECT nextval('base_id_seq') > 0;
--> t
SELECT nextval('base_id_seq'::regclass) > 0;
--> t
SELECT setval('base_id_seq', 1);
--! 42501
SELECT setval('base_id_seq'::regclass, 1);
--! 42501
SELECT 1 FROM base FOR UPDATE;
--! 42501
TABLE base;
--! 42501
RESET ROLE;
DEALLOCATE read;

-- Sequences that others name.
CREATE SEQUENCE app.numbers CACHE 1;
CREATE TABLE named (a int DEFAULT nextval('app.numbers'), b int);
DROP SEQUENCE app.numbers;
--! 2BP01
ALTER SEQUENCE app.numbers RENAME TO figures;
INSERT INTO named (b) VALUES (1) RETURNING a;
--> 1
ALTER SEQUENCE app.figures SET SCHEMA lib;
INSERT INTO named (b) VALUES (1) RETURNING a;
--> 2
DROP SEQUENCE lib.figures CASCADE;
INSERT INTO named (b) VALUES (1) RETURNING a;
--> NULL

-- Names within views.
CREATE TABLE lib.seen (x int, y text);
INSERT INTO lib.seen VALUES (1, 'a');
SET search_path = lib, public;
CREATE VIEW public.through AS SELECT * FROM seen;
CREATE VIEW public.joined AS SELECT s.x, t.* FROM seen s JOIN (SELECT y AS yy FROM seen) t ON t.yy = s.y;
RESET search_path;
SELECT * FROM through;
--> 1|a
ALTER TABLE lib.seen ADD COLUMN z int DEFAULT 3;
ALTER TABLE lib.seen RENAME COLUMN x TO xx;
ALTER TABLE lib.seen RENAME TO looked;
SELECT * FROM through;
--> 1|a
SELECT * FROM joined;
--> 1|a
INSERT INTO through VALUES (2, 'b');
UPDATE through SET y = 'c' WHERE x = 2;
SELECT * FROM lib.looked ORDER BY xx;
--> 1|a|3
--> 2|c|3
CREATE TABLE lib.seen (other int);
SELECT * FROM through ORDER BY x;
--> 1|a
--> 2|c
DROP TABLE lib.looked;
--! 2BP01

-- It all goes again.
DROP ROLE zz_eve;
--! 2BP01
DROP SCHEMA app, lib CASCADE;
SELECT * FROM through;
--! 42P01
DROP TABLE base CASCADE;
DROP TABLE named;
SELECT count(*) FROM pg_views WHERE schemaname = 'public';
--> 0
DROP ROLE zz_crew, zz_eve, zz_fay;

-- The operands of CASE and NULLIF are worked out once.
CREATE SEQUENCE case_s;
SELECT CASE nextval('case_s') WHEN 3 THEN 'three' WHEN 2 THEN 'two' WHEN 1 THEN 'one' END, nullif(nextval('case_s'), 9), currval('case_s');
--> one|2|2
SELECT CASE nextval('case_s') WHEN 4 THEN 'four' WHEN 5 THEN 'five' WHEN 3 THEN 'three' END FROM generate_series(1, 1);
--> three
DROP SEQUENCE case_s;
