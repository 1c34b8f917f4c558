-- What PostgreSQL 15 answers: rows behind `--> `, or the SQLSTATE behind `--! `. A statement is one line.

-- Tables, columns, indexes, constraints and sequences get other names, with their rows in place.
CREATE TABLE moved (id int PRIMARY KEY, a int UNIQUE, b text, g int GENERATED ALWAYS AS (a + 1) STORED, CONSTRAINT small CHECK (moved.a < 100 AND b <> 'a'));
CREATE INDEX moved_b ON moved (b);
INSERT INTO moved VALUES (1, 10, 'x'), (2, 20, 'y');
CREATE VIEW of_moved AS SELECT a, b FROM moved WHERE moved.a > 5;
CREATE TABLE child (m int REFERENCES moved, n int REFERENCES moved (a));
INSERT INTO child VALUES (1, 20);
BEGIN;
ALTER TABLE moved RENAME a TO "A x";
SELECT id, "A x", g FROM moved ORDER BY id;
--> 1|10|11
--> 2|20|21
UPDATE moved SET "A x" = 30 WHERE id = 1 RETURNING g;
--> 31
INSERT INTO moved VALUES (3, 100, 'z');
--! 23514
ROLLBACK;
SELECT a, g FROM moved WHERE a = 10;
--> 10|11
ALTER TABLE moved RENAME a TO "A x";
INSERT INTO moved VALUES (3, 100, 'z');
--! 23514
INSERT INTO moved VALUES (3, 20, 'z');
--! 23505
INSERT INTO moved VALUES (3, 40, 'a');
--! 23514
INSERT INTO moved VALUES (3, 40, 'z') RETURNING *;
--> 3|40|z|41
SELECT * FROM of_moved ORDER BY a;
--> 10|x
--> 20|y
--> 40|z
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'moved'::regclass ORDER BY conname;
--> UNIQUE ("A x")
--> PRIMARY KEY (id)
--> CHECK ((("A x" < 100) AND (b <> 'a'::text)))
SELECT "A x" FROM moved WHERE b = 'y';
--> 20
ALTER TABLE moved RENAME TO gone;
ALTER TABLE gone RENAME TO moved;
ALTER TABLE moved RENAME TO child;
--! 42P07
ALTER TABLE moved RENAME TO moved;
--! 42P07
BEGIN;
ALTER TABLE moved RENAME TO other;
CREATE TABLE moved (id int);
INSERT INTO moved VALUES (77);
SELECT count(*) FROM other;
--> 3
INSERT INTO other VALUES (4, 50, 'q');
SELECT * FROM moved;
--> 77
DROP TABLE moved;
ALTER TABLE other RENAME TO moved;
SELECT id FROM moved ORDER BY id;
--> 1
--> 2
--> 3
--> 4
SAVEPOINT s;
ALTER TABLE moved RENAME TO lost;
DROP TABLE lost CASCADE;
SELECT * FROM lost;
--! 42P01
ROLLBACK TO s;
SELECT count(*) FROM moved;
--> 4
COMMIT;
SELECT id, "A x", b, g FROM moved ORDER BY id;
--> 1|10|x|11
--> 2|20|y|21
--> 3|40|z|41
--> 4|50|q|51
DELETE FROM moved WHERE id = 1;
--! 23503
INSERT INTO child VALUES (9, NULL);
--! 23503
ALTER TABLE moved DROP CONSTRAINT small, ADD CONSTRAINT b_once UNIQUE (b);
INSERT INTO moved VALUES (5, 600, 'q');
--! 23505
ALTER TABLE moved RENAME CONSTRAINT b_once TO b_single;
ALTER INDEX moved_b RENAME TO moved_text;
SELECT indexname FROM pg_indexes WHERE tablename = 'moved' ORDER BY 1;
--> b_single
--> moved_a_key
--> moved_pkey
--> moved_text
INSERT INTO moved VALUES (5, 600, 'q') ON CONFLICT ON CONSTRAINT b_single DO UPDATE SET "A x" = 700 RETURNING id, g;
--> 4|701
ALTER TABLE moved DROP CONSTRAINT b_single;
INSERT INTO moved VALUES (5, 600, 'q') RETURNING g;
--> 601
ALTER TABLE moved ADD UNIQUE (b);
--! 23505
CREATE SCHEMA elsewhere;
ALTER TABLE moved SET SCHEMA elsewhere;
SELECT count(*) FROM moved;
--! 42P01
SELECT id, b FROM elsewhere.moved ORDER BY id;
--> 1|x
--> 2|y
--> 3|z
--> 4|q
--> 5|q
INSERT INTO child VALUES (5, 700);
INSERT INTO child VALUES (6, 700);
--! 23503
SELECT count(*) FROM of_moved;
--> 5
CREATE TABLE alike (LIKE elsewhere.moved INCLUDING ALL);
INSERT INTO alike VALUES (1, 2, 'a') RETURNING g;
--> 3
CREATE TABLE swap1 (x int); 
CREATE TABLE swap2 (y text);
INSERT INTO swap1 VALUES (1);
INSERT INTO swap2 VALUES ('two');
BEGIN;
ALTER TABLE swap1 RENAME TO swap3;
ALTER TABLE swap2 RENAME TO swap1;
ALTER TABLE swap3 RENAME TO swap2;
SELECT y FROM swap1;
--> two
SELECT x FROM swap2;
--> 1
COMMIT;
SELECT y FROM swap1;
--> two
SELECT x FROM swap2;
--> 1
DROP TABLE swap1, swap2, alike;
DROP SCHEMA elsewhere CASCADE;
DROP TABLE child;
CREATE TABLE serials (id serial PRIMARY KEY, n int UNIQUE);
ALTER SEQUENCE serials_id_seq RENAME TO serials_numbers;
ALTER TABLE serials_numbers RENAME TO serials_seq;
ALTER INDEX serials_pkey RENAME TO serials_key;
ALTER INDEX serials_key RENAME TO serials_n_key;
--! 42P07
ALTER INDEX IF EXISTS nosuch RENAME TO nosuch2;
ALTER INDEX nosuch RENAME TO nosuch2;
--! 42P01
ALTER INDEX serials RENAME TO serials2;
ALTER INDEX serials2 RENAME TO serials;
CREATE SCHEMA away;
ALTER SEQUENCE serials_seq SET SCHEMA away;
--! 0A000
DROP SCHEMA away;
INSERT INTO serials DEFAULT VALUES RETURNING id;
--> 1
SELECT pg_get_serial_sequence('serials', 'id') LIKE '%.serials_seq';
--> t
DROP INDEX serials_key;
--! 2BP01
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'serials'::regclass ORDER BY 1;
--> serials_key|p
--> serials_n_key|u
ALTER TABLE serials RENAME TO serials_old;
CREATE TABLE serials (id serial PRIMARY KEY, n int UNIQUE);
SELECT conname FROM pg_constraint WHERE conrelid = 'serials'::regclass ORDER BY 1;
--> serials_n_key1
--> serials_pkey
CREATE TABLE other (x int CONSTRAINT serials_key PRIMARY KEY);
--! 42P07
CREATE TABLE other (x int CONSTRAINT serials_old UNIQUE);
--! 42P07
CREATE TABLE other (x int, CONSTRAINT other_x CHECK (x > 0), CONSTRAINT other_x UNIQUE (x));
--! 42710
CREATE TABLE other (x int PRIMARY KEY, y int UNIQUE);
CREATE TABLE other_pkey (x int);
--! 42P07
CREATE INDEX other_pkey ON other (y);
--! 42P07
ALTER TABLE other RENAME TO other2;
CREATE TABLE other (x int PRIMARY KEY, y int UNIQUE, z int UNIQUE);
SELECT conname FROM pg_constraint WHERE conrelid = 'other'::regclass ORDER BY 1;
--> other_pkey1
--> other_y_key1
--> other_z_key
ALTER TABLE other RENAME CONSTRAINT other_z_key TO other2;
--! 42P07
ALTER TABLE other RENAME CONSTRAINT other_pkey1 TO other_y_key;
--! 42P07
DROP TABLE other, other2, serials, serials_old;
CREATE TABLE twice (d date, "A b" text);
INSERT INTO twice VALUES ('2020-01-01', 'it''s'), ('2020-01-01', 'it''s');
ALTER TABLE twice ADD PRIMARY KEY (d);
--! 23505
CREATE UNIQUE INDEX ON twice ("A b");
--! 23505
ALTER TABLE twice ADD UNIQUE ("A b", d);
--! 23505
DROP TABLE twice;

-- A key that goes is no hidden key, whatever its place.
CREATE TABLE keyed (n bigint NOT NULL, id bigint PRIMARY KEY);
INSERT INTO keyed VALUES (10, 1), (20, 2);
ALTER TABLE keyed DROP COLUMN id;
INSERT INTO keyed VALUES (30), (30), (30);
SELECT n FROM keyed ORDER BY n;
--> 10
--> 20
--> 30
--> 30
--> 30
ALTER TABLE keyed ADD id bigint PRIMARY KEY;
--! 23502
ALTER TABLE keyed ADD id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
SELECT count(*), count(DISTINCT id) FROM keyed;
--> 5|5
ALTER TABLE keyed DROP CONSTRAINT keyed_pkey;
INSERT INTO keyed (n) VALUES (40), (40);
SELECT count(*) FROM keyed;
--> 7
DROP TABLE keyed;
