-- What PostgreSQL refuses is refused here, with the same SQLSTATE.
SELECT 'infinity'::timestamp - now()::timestamp;
--! 22008
SELECT 1 < 2 < true;
--! 42601
SELECT 1 = 2 = false;
--! 42601
SELECT 1 < 2 = true;
--! 42601
SELECT (1 < 2) = true;
--> t
SELECT 1 <> 2 >= true;
--! 42601
SELECT 1 + 2 < 4 AND 3 < 4;
--> t
SELECT 1 IS DISTINCT FROM 2 IS NULL;
--! 42601
SELECT 1 IS NOT DISTINCT FROM 2 IS TRUE;
--! 42601
SELECT (1 IS DISTINCT FROM 2) IS NULL;
--> f
SELECT NULL IS NULL IS NULL;
--> f
SELECT 1 < 2 IS TRUE;
--> t
SELECT NOT 1 < 2;
--> f
SELECT 1a;
--! 42601
SELECT 1.5e;
--! 42601
SELECT 1.5x;
--! 42601
SELECT 1e5x;
--! 42601
SELECT 1_a;
--! 42601
SELECT 1L;
--! 42601
SELECT 1 a;
--> 1
SELECT 1"a";
--> 1
SELECT 123abc FROM (SELECT 1) AS x;
--! 42601
SELECT 1e5, 1.5e-3, .5, 5.;
--> 100000|0.0015|0.5|5
SELECT 1 WHERE 1=1and 2=2;
--! 42601
SELECT $1;
--! 42P02
SELECT 1 WHERE $1 = 2;
--! 42P02
CREATE SEQUENCE sv MINVALUE 1 MAXVALUE 10;
SELECT setval('sv', 11);
--! 22003
SELECT setval('sv', 0);
--! 22003
SELECT setval('sv', 5, false);
--> 5
SELECT nextval('sv');
--> 5
SELECT setval('sv', 10);
--> 10
SELECT nextval('sv');
--! 2200H
SELECT setval('nosuch', 1);
--! 42P01
SELECT currval('nosuch');
--! 42P01
CREATE TABLE fu (a int);
SELECT a FROM fu UNION SELECT a FROM fu FOR UPDATE;
--! 0A000
SELECT DISTINCT a FROM fu FOR UPDATE;
--! 0A000
SELECT count(*) FROM fu FOR UPDATE;
--! 0A000
SELECT a FROM fu GROUP BY a FOR UPDATE;
--! 0A000
SELECT a FROM fu GROUP BY a HAVING true FOR UPDATE;
--! 0A000
SELECT row_number() OVER () FROM fu FOR UPDATE;
--! 0A000
SELECT generate_series(1, a) FROM fu FOR UPDATE;
--! 0A000
SELECT a FROM fu FOR UPDATE OF nosuch;
--! 42P01
VALUES (1) FOR UPDATE;
--! 0A000
(SELECT a FROM fu) FOR UPDATE;
SELECT a FROM fu EXCEPT (SELECT a FROM fu FOR UPDATE);
--! 0A000

-- A sequence goes with its column, if no other default names it.
CREATE TABLE so (id serial PRIMARY KEY, b int);
CREATE TABLE sn (a int DEFAULT nextval('so_id_seq'), b int);
DROP TABLE so;
--! 2BP01
ALTER TABLE so DROP COLUMN id;
--! 2BP01
INSERT INTO sn (b) VALUES (1) RETURNING a;
--> 1
ALTER TABLE so DROP COLUMN id CASCADE;
INSERT INTO sn (b) VALUES (1) RETURNING a;
--> NULL
CREATE TABLE sp (id serial PRIMARY KEY, b int);
ALTER TABLE sn ALTER a SET DEFAULT nextval('sp_id_seq');
DROP TABLE sp CASCADE;
INSERT INTO sn (b) VALUES (2) RETURNING a;
--> NULL
CREATE TABLE sq (id serial PRIMARY KEY, b int);
ALTER TABLE sn ALTER a SET DEFAULT nextval('sq_id_seq');
DROP TABLE sq, sn;
