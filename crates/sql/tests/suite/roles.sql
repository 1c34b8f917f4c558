-- What PostgreSQL 15 answers: rows behind `--> `, or the SQLSTATE behind `--! `. A statement is one line.

-- Roles are made.
CREATE ROLE zz_ann LOGIN PASSWORD 'secret';
CREATE USER zz_bob;
CREATE ROLE zz_group;
CREATE ROLE zz_admin CREATEROLE CREATEDB;
CREATE ROLE zz_boss SUPERUSER NOLOGIN;
CREATE ROLE zz_ann;
--! 42710
CREATE ROLE pg_own;
--! 42939
CREATE ROLE public;
--! 42939
CREATE ROLE "none";
--! 42939
DROP ROLE zz_nosuch;
--! 42704
DROP ROLE IF EXISTS zz_nosuch;
ALTER ROLE zz_nosuch LOGIN;
--! 42704
ALTER ROLE zz_ann NOLOGIN;
ALTER USER zz_ann WITH LOGIN PASSWORD 'other';
ALTER ROLE zz_ann PASSWORD NULL;
ALTER ROLE zz_ann PASSWORD 'SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0c2E=$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';
SELECT current_user, session_user;
--> osier|osier

-- Changing the user.
SET ROLE zz_ann;
SELECT current_user, session_user;
--> zz_ann|osier
SHOW is_superuser;
--> off
SHOW role;
--> zz_ann
RESET ROLE;
SELECT current_user;
--> osier
SHOW is_superuser;
--> on
SET ROLE zz_nosuch;
--! 22023
SET ROLE 'zz_ann';
SELECT current_user;
--> zz_ann
SET ROLE NONE;
SET SESSION AUTHORIZATION zz_ann;
SELECT current_user, session_user;
--> zz_ann|zz_ann
SET ROLE zz_bob;
--! 42501
SET ROLE zz_ann;
RESET SESSION AUTHORIZATION;
SELECT current_user, session_user;
--> osier|osier
BEGIN;
SET LOCAL ROLE zz_bob;
SELECT current_user;
--> zz_bob
COMMIT;
SELECT current_user;
--> osier
BEGIN;
SET ROLE zz_bob;
ROLLBACK;
SELECT current_user;
--> osier

-- Nothing is allowed that was not granted.
CREATE TABLE t (a int PRIMARY KEY, b text, c int DEFAULT 5);
INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2);
CREATE TABLE other (a int);
INSERT INTO other VALUES (1);
CREATE SEQUENCE sq;
CREATE VIEW v AS SELECT a, b FROM t;
SET ROLE zz_ann;
SELECT * FROM t;
--! 42501
SELECT 1 FROM t;
--! 42501
SELECT count(*) FROM t;
--! 42501
INSERT INTO t VALUES (3, 'z');
--! 42501
UPDATE t SET b = 'q';
--! 42501
DELETE FROM t;
--! 42501
TRUNCATE t;
--! 42501
DROP TABLE t;
--! 42501
ALTER TABLE t ADD COLUMN d int;
--! 42501
ALTER TABLE t RENAME TO tt;
--! 42501
ALTER TABLE t OWNER TO zz_ann;
--! 42501
CREATE INDEX ON t (b);
--! 42501
SELECT * FROM v;
--! 42501
DROP VIEW v;
--! 42501
CREATE OR REPLACE VIEW v AS SELECT a, b FROM t;
--! 42501
SELECT nextval('sq');
--! 42501
SELECT currval('sq');
--! 42501
SELECT setval('sq', 5);
--! 42501
DROP SEQUENCE sq;
--! 42501
CREATE TABLE mine (a int);
--! 42501
CREATE VIEW mine AS SELECT 1;
--! 42501
CREATE SEQUENCE mine;
--! 42501
CREATE SCHEMA mine;
--! 42501
WITH x AS (SELECT * FROM t) SELECT 1 FROM x;
--! 42501
SELECT (SELECT max(a) FROM t);
--! 42501
SELECT 1 WHERE EXISTS (SELECT FROM t);
--! 42501
COPY t TO STDOUT;
--! 42501
COPY t FROM STDIN;
--! 42501
COPY (SELECT * FROM t) TO STDOUT;
--! 42501
CREATE ROLE zz_new;
--! 42501
DROP ROLE zz_bob;
--! 42501
ALTER ROLE zz_ann SUPERUSER;
--! 42501
ALTER ROLE zz_ann CREATEROLE;
--! 42501
ALTER ROLE zz_ann PASSWORD 'new';
ALTER ROLE zz_bob PASSWORD 'new';
--! 42501
ALTER ROLE zz_boss NOLOGIN;
--! 42501
GRANT SELECT ON t TO zz_ann;
--! 42501
GRANT zz_group TO zz_ann;
--! 42501
SET SESSION AUTHORIZATION zz_bob;
SELECT current_user, session_user;
--> zz_bob|zz_bob
RESET SESSION AUTHORIZATION;
SELECT current_user;
--> osier

-- Rights on tables.
GRANT SELECT ON t TO zz_ann;
SET ROLE zz_ann;
SELECT * FROM t ORDER BY a;
--> 1|x|1
--> 2|y|2
INSERT INTO t VALUES (3, 'z');
--! 42501
UPDATE t SET b = 'q' WHERE a = 1;
--! 42501
DELETE FROM t WHERE a = 1;
--! 42501
SELECT * FROM t FOR UPDATE;
--! 42501
SELECT * FROM t, other;
--! 42501
RESET ROLE;
GRANT INSERT, UPDATE ON TABLE t TO zz_ann;
SET ROLE zz_ann;
INSERT INTO t VALUES (3, 'z') RETURNING a;
--> 3
UPDATE t SET b = 'q' WHERE a = 1;
DELETE FROM t WHERE a = 1;
--! 42501
INSERT INTO t VALUES (3, 'u') ON CONFLICT (a) DO UPDATE SET b = excluded.b RETURNING b;
--> u
RESET ROLE;
REVOKE UPDATE ON t FROM zz_ann;
SET ROLE zz_ann;
INSERT INTO t VALUES (3, 'u') ON CONFLICT (a) DO UPDATE SET b = excluded.b;
--! 42501
INSERT INTO t VALUES (3, 'u') ON CONFLICT DO NOTHING;
RESET ROLE;
REVOKE SELECT ON t FROM zz_ann;
SET ROLE zz_ann;
INSERT INTO t VALUES (4, 'w') RETURNING a;
--! 42501
INSERT INTO t VALUES (4, 'w');
INSERT INTO t SELECT a + 10, b FROM t;
--! 42501
RESET ROLE;
GRANT DELETE ON t TO zz_ann;
SET ROLE zz_ann;
DELETE FROM t WHERE a = 4;
--! 42501
DELETE FROM t USING other WHERE other.a = 9;
--! 42501
DELETE FROM t;
RESET ROLE;
SELECT count(*) FROM t;
--> 0
INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2);
REVOKE ALL ON t FROM zz_ann;
GRANT TRUNCATE ON other TO zz_ann;
SET ROLE zz_ann;
TRUNCATE other;
SELECT * FROM other;
--! 42501
RESET ROLE;

-- Rights on columns.
GRANT SELECT (a), INSERT (a, b), UPDATE (b) ON t TO zz_bob;
SET ROLE zz_bob;
SELECT a FROM t ORDER BY a;
--> 1
--> 2
SELECT b FROM t;
--! 42501
SELECT * FROM t;
--! 42501
SELECT count(*) FROM t;
--> 2
SELECT a FROM t WHERE c = 1;
--! 42501
SELECT a FROM t ORDER BY b;
--! 42501
SELECT t FROM t;
--! 42501
INSERT INTO t (a, b) VALUES (5, 'five');
INSERT INTO t (a, c) VALUES (6, 6);
--! 42501
INSERT INTO t VALUES (6, 'six', 6);
--! 42501
INSERT INTO t VALUES (6, 'six');
UPDATE t SET b = 'upd' WHERE a = 5;
UPDATE t SET c = 1 WHERE a = 5;
--! 42501
UPDATE t SET b = b || 'x' WHERE a = 5;
--! 42501
UPDATE t SET b = 'r' WHERE a = 5 RETURNING a;
--> 5
UPDATE t SET b = 'r' WHERE a = 5 RETURNING b;
--! 42501
INSERT INTO t (a, b) VALUES (5, 'n') ON CONFLICT (a) DO UPDATE SET b = 'conf';
RESET ROLE;
SELECT a, b FROM t ORDER BY a;
--> 1|x
--> 2|y
--> 5|conf
--> 6|six
REVOKE SELECT (a) ON t FROM zz_bob;
SET ROLE zz_bob;
SELECT a FROM t;
--! 42501
UPDATE t SET b = 'blind';
RESET ROLE;
GRANT SELECT (nosuch) ON t TO zz_bob;
--! 42703
GRANT DELETE (a) ON t TO zz_bob;
--! 0LP01
GRANT USAGE ON t TO zz_bob;
--! 0LP01
GRANT SELECT ON nosuch TO zz_bob;
--! 42P01
GRANT SELECT ON t TO zz_nosuch;
--! 42704
GRANT nosuch ON t TO zz_bob;
--! 42601
GRANT EXECUTE ON SCHEMA public TO zz_bob;
--! 0LP01

-- Everybody, groups and grant options.
GRANT SELECT ON t TO PUBLIC;
SET ROLE zz_ann;
SELECT count(*) FROM t;
--> 4
RESET ROLE;
REVOKE SELECT ON t FROM PUBLIC;
GRANT SELECT ON t TO zz_group;
SET ROLE zz_ann;
SELECT count(*) FROM t;
--! 42501
RESET ROLE;
GRANT zz_group TO zz_ann;
SET ROLE zz_ann;
SELECT count(*) FROM t;
--> 4
SET ROLE zz_group;
RESET ROLE;
ALTER ROLE zz_ann NOINHERIT;
SET ROLE zz_ann;
SELECT count(*) FROM t;
--! 42501
RESET ROLE;
SET SESSION AUTHORIZATION zz_ann;
SET ROLE zz_group;
SELECT count(*) FROM t;
--> 4
SET ROLE zz_bob;
--! 42501
RESET SESSION AUTHORIZATION;
ALTER ROLE zz_ann INHERIT;
GRANT zz_ann TO zz_group;
--! 0LP01
REVOKE zz_group FROM zz_ann;
REVOKE zz_group FROM zz_ann;
SET ROLE zz_ann;
SELECT count(*) FROM t;
--! 42501
RESET ROLE;
GRANT SELECT ON t TO zz_ann WITH GRANT OPTION;
SET ROLE zz_ann;
GRANT SELECT ON t TO zz_bob;
GRANT INSERT ON t TO zz_bob;
SET ROLE zz_bob;
RESET ROLE;
SET ROLE zz_bob;
SELECT count(*) FROM t;
--> 4
GRANT SELECT ON t TO zz_group;
RESET ROLE;
REVOKE SELECT ON t FROM zz_ann;
--! 2BP01
REVOKE GRANT OPTION FOR SELECT ON t FROM zz_ann CASCADE;
SET ROLE zz_bob;
SELECT count(*) FROM t;
--! 42501
SET ROLE zz_ann;
SELECT count(*) FROM t;
--> 4
RESET ROLE;
GRANT SELECT ON t TO PUBLIC WITH GRANT OPTION;
--! 0LP01
GRANT zz_admin TO zz_ann WITH ADMIN OPTION;
SET ROLE zz_ann;
GRANT zz_admin TO zz_bob;
CREATE ROLE zz_c;
--! 42501
SET ROLE zz_admin;
CREATE ROLE zz_c;
CREATE ROLE zz_super SUPERUSER;
--! 42501
ALTER ROLE zz_admin SUPERUSER;
--! 42501
ALTER ROLE zz_boss LOGIN;
--! 42501
DROP ROLE zz_boss;
--! 42501
GRANT zz_boss TO zz_admin;
--! 42501
DROP ROLE zz_c;
DROP ROLE zz_admin;
--! 55006
CREATE SCHEMA zz_schema;
--! 42501
RESET ROLE;
CREATE SCHEMA zz_schema AUTHORIZATION zz_admin;
DROP ROLE zz_admin;
--! 2BP01
DROP ROLE osier;
--! 55006

-- Schemas.
REVOKE zz_admin FROM zz_bob;
GRANT CREATE ON SCHEMA zz_schema TO zz_bob;
CREATE TABLE zz_schema.st (a int);
GRANT SELECT ON zz_schema.st TO zz_bob;
SET ROLE zz_bob;
SELECT * FROM zz_schema.st;
--! 42501
SELECT * FROM zz_schema.nosuch;
--! 42501
CREATE TABLE zz_schema.plain (a int);
RESET ROLE;
GRANT USAGE ON SCHEMA zz_schema TO zz_bob;
SET ROLE zz_bob;
CREATE TABLE zz_schema.bobs (a serial, b int);
SELECT * FROM zz_schema.st;
INSERT INTO zz_schema.bobs (b) VALUES (1) RETURNING a;
--> 1
SELECT nextval('zz_schema.bobs_a_seq');
--> 2
SET search_path = zz_schema, public;
SELECT * FROM bobs;
--> 1|1
SET ROLE zz_ann;
SELECT * FROM bobs;
--! 42501
SELECT * FROM zz_schema.bobs;
--! 42501
SELECT current_schema();
--> zz_schema
RESET ROLE;
RESET search_path;
SET ROLE zz_admin;
DROP TABLE zz_schema.bobs;
RESET ROLE;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
SET ROLE zz_ann;
SELECT * FROM t;
--! 42P01
SELECT * FROM public.t;
--! 42501
RESET ROLE;
GRANT USAGE ON SCHEMA public TO PUBLIC;
GRANT ALL ON SCHEMA public TO zz_ann;

-- Owners.
SET ROLE zz_ann;
CREATE TABLE own (id int GENERATED ALWAYS AS IDENTITY, s serial, x int);
CREATE VIEW ownv AS SELECT id, x FROM own;
CREATE VIEW peek AS SELECT a, b FROM t;
INSERT INTO own (x) VALUES (10), (20);
GRANT SELECT, INSERT ON own TO zz_bob;
GRANT SELECT ON ownv TO zz_bob;
GRANT SELECT ON peek TO zz_bob;
SELECT * FROM peek ORDER BY a;
--> 1|blind
--> 2|blind
--> 5|blind
--> 6|blind
SET ROLE zz_bob;
SELECT * FROM own ORDER BY id;
--> 1|1|10
--> 2|2|20
SELECT * FROM ownv ORDER BY id;
--> 1|10
--> 2|20
SELECT * FROM peek ORDER BY a;
--> 1|blind
--> 2|blind
--> 5|blind
--> 6|blind
INSERT INTO own (x) VALUES (30);
--! 42501
INSERT INTO own (s, x) VALUES (9, 30) RETURNING id;
--> 4
INSERT INTO ownv (x) VALUES (40);
--! 42501
RESET ROLE;
SELECT * FROM peek ORDER BY a;
--> 1|blind
--> 2|blind
--> 5|blind
--> 6|blind
GRANT USAGE ON SEQUENCE own_s_seq TO zz_bob;
GRANT SELECT ON t TO zz_ann;
GRANT SELECT ON own_s_seq TO zz_bob;
GRANT DELETE ON SEQUENCE own_s_seq TO zz_bob;
--! 0LP01
GRANT USAGE ON SEQUENCE own TO zz_bob;
--! 42809
SET ROLE zz_bob;
INSERT INTO own (x) VALUES (30) RETURNING id, s;
--> 5|3
SELECT setval('own_s_seq', 100);
--! 42501
SELECT count(*) FROM peek;
--> 4
RESET ROLE;
SELECT count(*) FROM peek;
--> 4
REVOKE SELECT ON own FROM zz_bob;
SET ROLE zz_bob;
SELECT count(*) FROM own;
--! 42501
SELECT count(*) FROM ownv;
--> 4
RESET ROLE;
ALTER TABLE own OWNER TO zz_bob;
SET ROLE zz_ann;
SELECT * FROM own;
--! 42501
SELECT * FROM ownv;
--! 42501
DROP TABLE own;
--! 42501
SET ROLE zz_bob;
SELECT count(*) FROM own;
--> 4
SELECT count(*) FROM ownv;
--! 42501
SELECT nextval('own_s_seq') > 0;
--> t
ALTER TABLE own OWNER TO zz_ann;
--! 42501
ALTER TABLE own ADD COLUMN y int;
RESET ROLE;
ALTER VIEW ownv OWNER TO zz_bob;
SET ROLE zz_bob;
SELECT count(*) FROM ownv;
--> 4
DROP VIEW ownv;
RESET ROLE;
ALTER SEQUENCE sq OWNER TO zz_bob;
SET ROLE zz_bob;
SELECT nextval('sq');
--> 1
DROP SEQUENCE sq;
RESET ROLE;
ALTER SEQUENCE own_s_seq OWNER TO zz_ann;
--! 0A000
SET ROLE zz_ann;
SELECT nextval('sq');
--! 42P01
REVOKE ALL ON peek FROM zz_ann;
SELECT * FROM peek;
--! 42501
GRANT ALL ON peek TO zz_ann;
SELECT count(*) FROM peek;
--> 4
RESET ROLE;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO zz_group;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO zz_group;
GRANT SELECT ON ALL TABLES IN SCHEMA nosuch TO zz_group;
--! 3F000
SET ROLE zz_group;
SELECT count(*) FROM other;
--> 0
SELECT nextval('own_s_seq') > 0;
--> t
RESET ROLE;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM zz_group;
SET ROLE zz_group;
SELECT count(*) FROM other;
--! 42501
RESET ROLE;

-- The end of roles.
DROP ROLE zz_bob;
--! 2BP01
ALTER ROLE zz_group RENAME TO zz_team;
SET ROLE zz_group;
--! 22023
ALTER ROLE zz_team RENAME TO zz_ann;
--! 42710
ALTER ROLE zz_bob RENAME TO zz_rob;
SET ROLE zz_rob;
SELECT count(*) FROM own;
--> 4
DROP ROLE zz_rob;
--! 42501
RESET ROLE;
DROP ROLE zz_rob;
--! 2BP01
DROP SCHEMA zz_schema CASCADE;
DROP TABLE own, t, other CASCADE;
DROP SEQUENCE IF EXISTS sq;
DROP ROLE zz_ann;
--! 2BP01
REVOKE ALL ON SCHEMA public FROM zz_ann;
DROP ROLE zz_ann, zz_rob, zz_team, zz_boss, zz_admin;
SET ROLE zz_rob;
--! 22023

-- MERGE needs what its clauses do, and what they read.
CREATE ROLE zz_merger;
CREATE TABLE mt (id int PRIMARY KEY, n int DEFAULT 0, note text);
CREATE TABLE ms (id int, n int);
INSERT INTO mt VALUES (1, 1, 'a'), (2, 2, 'b');
INSERT INTO ms VALUES (1, 10), (3, 30);
SET ROLE zz_merger;
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN DO NOTHING;
--! 42501
RESET ROLE;
GRANT SELECT ON ms TO zz_merger;
SET ROLE zz_merger;
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN DO NOTHING;
--! 42501
MERGE INTO mt USING ms ON true WHEN NOT MATCHED THEN DO NOTHING;
--! 42501
RESET ROLE;
GRANT INSERT ON mt TO zz_merger;
SET ROLE zz_merger;
MERGE INTO mt USING ms ON false WHEN NOT MATCHED AND ms.id = 3 THEN INSERT VALUES (ms.id + 10, ms.n);
MERGE INTO mt USING ms ON mt.id = ms.id WHEN NOT MATCHED THEN INSERT VALUES (ms.id, ms.n);
--! 42501
RESET ROLE;
GRANT SELECT (id) ON mt TO zz_merger;
SET ROLE zz_merger;
MERGE INTO mt USING ms ON mt.id = ms.id WHEN NOT MATCHED THEN INSERT VALUES (ms.id, ms.n);
MERGE INTO mt USING ms ON mt.id = ms.id AND mt.n > 0 WHEN NOT MATCHED THEN INSERT VALUES (ms.id, ms.n);
--! 42501
MERGE INTO mt USING ms ON mt.id = ms.id WHEN NOT MATCHED THEN DO NOTHING;
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN UPDATE SET n = 1;
--! 42501
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED AND false THEN DELETE;
--! 42501
RESET ROLE;
GRANT UPDATE (n) ON mt TO zz_merger;
SET ROLE zz_merger;
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN UPDATE SET n = ms.n + 1;
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN UPDATE SET n = mt.n + 1;
--! 42501
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN UPDATE SET note = 'x';
--! 42501
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED AND ms.id = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 5;
--! 42501
RESET ROLE;
GRANT DELETE ON mt TO zz_merger;
SET ROLE zz_merger;
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED AND ms.id = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 5;
RESET ROLE;
REVOKE INSERT ON mt FROM zz_merger;
GRANT INSERT (id) ON mt TO zz_merger;
SET ROLE zz_merger;
MERGE INTO mt USING ms ON mt.id = ms.id WHEN NOT MATCHED THEN INSERT (id) VALUES (ms.id);
MERGE INTO mt USING ms ON mt.id = ms.id WHEN NOT MATCHED THEN INSERT (id, n) VALUES (ms.id, ms.n);
--! 42501
MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT DEFAULT VALUES;
PREPARE zz_merge AS MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN DELETE;
RESET ROLE;
SELECT * FROM mt ORDER BY id;
--> 1|5|a
--> 2|2|b
--> 3|0|NULL
--> 13|30|NULL
REVOKE DELETE ON mt FROM zz_merger;
SET ROLE zz_merger;
EXECUTE zz_merge;
--! 42501
EXPLAIN MERGE INTO mt USING ms ON mt.id = ms.id WHEN MATCHED THEN DELETE;
--! 42501
RESET ROLE;
EXECUTE zz_merge;
DEALLOCATE zz_merge;
DROP TABLE mt, ms;
DROP ROLE zz_merger;

-- Materialized views: their query runs with the rights of the owner.
CREATE ROLE zz_mat_owner;
CREATE ROLE zz_mat_reader;
GRANT CREATE, USAGE ON SCHEMA public TO zz_mat_owner;
GRANT USAGE ON SCHEMA public TO zz_mat_reader;
CREATE TABLE mat_t (a int, b text);
INSERT INTO mat_t VALUES (1, 'x'), (2, 'y');
SET ROLE zz_mat_owner;
CREATE MATERIALIZED VIEW mat_v AS SELECT a, b, current_user AS u FROM mat_t;
--! 42501
CREATE MATERIALIZED VIEW mat_v AS SELECT a, b, current_user AS u FROM mat_t WITH NO DATA;
REFRESH MATERIALIZED VIEW mat_v;
--! 42501
RESET ROLE;
REFRESH MATERIALIZED VIEW mat_v;
--! 42501
GRANT SELECT ON mat_t TO zz_mat_owner;
REFRESH MATERIALIZED VIEW mat_v;
SELECT current_user, u, count(*) FROM mat_v GROUP BY u;
--> osier|zz_mat_owner|2
SET ROLE zz_mat_reader;
SELECT * FROM mat_v;
--! 42501
REFRESH MATERIALIZED VIEW mat_v;
--! 42501
DROP MATERIALIZED VIEW mat_v;
--! 42501
ALTER MATERIALIZED VIEW mat_v RENAME TO q;
--! 42501
ALTER MATERIALIZED VIEW mat_v RENAME COLUMN a TO q;
--! 42501
CREATE INDEX ON mat_v (a);
--! 42501
COMMENT ON MATERIALIZED VIEW mat_v IS 'x';
--! 42501
RESET ROLE;
GRANT SELECT (a) ON mat_v TO zz_mat_reader;
SET ROLE zz_mat_reader;
SELECT a FROM mat_v ORDER BY a;
--> 1
--> 2
SELECT b FROM mat_v;
--! 42501
RESET ROLE;
GRANT SELECT ON TABLE mat_v TO zz_mat_reader;
GRANT INSERT ON mat_v TO zz_mat_reader;
SET ROLE zz_mat_reader;
SELECT count(*) FROM mat_v;
--> 2
INSERT INTO mat_v VALUES (1);
--! 42809
SELECT has_table_privilege('mat_v', 'select'), has_table_privilege('zz_mat_owner', 'mat_v', 'update'), has_column_privilege('mat_v', 'b', 'update');
--> t|t|f
RESET ROLE;
REVOKE ALL ON mat_v FROM zz_mat_reader;
REVOKE SELECT (a) ON mat_v FROM zz_mat_reader;
SELECT has_any_column_privilege('zz_mat_reader', 'mat_v', 'select');
--> f
ALTER MATERIALIZED VIEW mat_v OWNER TO zz_mat_reader;
REFRESH MATERIALIZED VIEW mat_v;
--! 42501
GRANT SELECT ON mat_t TO zz_mat_reader;
REFRESH MATERIALIZED VIEW mat_v;
SELECT DISTINCT u FROM mat_v;
--> zz_mat_reader
DROP ROLE zz_mat_reader;
--! 2BP01
ALTER ROLE zz_mat_reader RENAME TO zz_mat_reader2;
SELECT matviewowner FROM pg_matviews WHERE matviewname = 'mat_v';
--> zz_mat_reader2
REFRESH MATERIALIZED VIEW mat_v;
SELECT DISTINCT u FROM mat_v;
--> zz_mat_reader2
DROP TABLE mat_t CASCADE;
SELECT count(*) FROM pg_matviews WHERE matviewname = 'mat_v';
--> 0
REVOKE ALL ON SCHEMA public FROM zz_mat_owner, zz_mat_reader2;
DROP ROLE zz_mat_owner, zz_mat_reader2;
