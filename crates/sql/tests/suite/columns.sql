-- Columns that come and go, take NULL or not or get a wider type, most of them while the rows stay where they are.
-- What is there holds the default, and what is written what is written.
CREATE TABLE a (id int PRIMARY KEY, t text);
INSERT INTO a VALUES (1,'x'),(2,'y');
ALTER TABLE a ADD COLUMN n int;
ALTER TABLE a ADD COLUMN d int NOT NULL DEFAULT 7, ADD COLUMN s varchar(5) DEFAULT 'abc';
SELECT * FROM a ORDER BY id;
--> 1|x|NULL|7|abc
--> 2|y|NULL|7|abc
INSERT INTO a (id, n) VALUES (3, 3);
UPDATE a SET d = 8 WHERE id = 1;
UPDATE a SET d = d + 1 WHERE n IS NULL;
SELECT * FROM a ORDER BY id;
--> 1|x|NULL|9|abc
--> 2|y|NULL|8|abc
--> 3|NULL|3|7|abc
ALTER TABLE a ADD COLUMN bad int NOT NULL;
--! 23502
ALTER TABLE a ADD COLUMN c int DEFAULT 5 CHECK (c > 5);
--! 23514
ALTER TABLE a ADD COLUMN c int DEFAULT 5 CHECK (c > 4);
ALTER TABLE a ADD COLUMN u int UNIQUE;
ALTER TABLE a ADD COLUMN u2 int DEFAULT 1 UNIQUE;
--! 23505
ALTER TABLE a ADD COLUMN g int GENERATED ALWAYS AS (d * 2) STORED;
SELECT id, c, u, g FROM a ORDER BY id;
--> 1|5|NULL|18
--> 2|5|NULL|16
--> 3|5|NULL|14
ALTER TABLE a ADD COLUMN v varchar(2) DEFAULT 'abc';
--! 22001
ALTER TABLE a ADD COLUMN w bool DEFAULT false, ADD COLUMN ts timestamptz DEFAULT '2020-01-01', ADD arr int[] DEFAULT '{1,2}', ADD j jsonb DEFAULT '{"a": 1}', ADD num numeric(8,2) DEFAULT 1.5, ADD nn numeric DEFAULT 1.50, ADD b bytea DEFAULT '\x00ff', ADD ch char(4) DEFAULT 'a', ADD dt date DEFAULT '2021-02-03', ADD f float8 DEFAULT '-0', ADD uu uuid DEFAULT '00000000-0000-0000-0000-000000000001', ADD iv interval DEFAULT '1 day 2 hours';
SELECT id, w, ts, arr, j, num, nn, b, ch, dt, f, uu, iv FROM a ORDER BY id;
--> 1|f|2020-01-01 00:00:00+00|{1,2}|{"a": 1}|1.50|1.50|\x00ff|a   |2021-02-03|-0|00000000-0000-0000-0000-000000000001|1 day 02:00:00
--> 2|f|2020-01-01 00:00:00+00|{1,2}|{"a": 1}|1.50|1.50|\x00ff|a   |2021-02-03|-0|00000000-0000-0000-0000-000000000001|1 day 02:00:00
--> 3|f|2020-01-01 00:00:00+00|{1,2}|{"a": 1}|1.50|1.50|\x00ff|a   |2021-02-03|-0|00000000-0000-0000-0000-000000000001|1 day 02:00:00
UPDATE a SET arr = arr || 3, num = num + 1, ch = 'b' WHERE id = 2;
SELECT id, w, ts, arr, j, num, nn, b, ch, dt, f, uu, iv FROM a ORDER BY id;
--> 1|f|2020-01-01 00:00:00+00|{1,2}|{"a": 1}|1.50|1.50|\x00ff|a   |2021-02-03|-0|00000000-0000-0000-0000-000000000001|1 day 02:00:00
--> 2|f|2020-01-01 00:00:00+00|{1,2,3}|{"a": 1}|2.50|1.50|\x00ff|b   |2021-02-03|-0|00000000-0000-0000-0000-000000000001|1 day 02:00:00
--> 3|f|2020-01-01 00:00:00+00|{1,2}|{"a": 1}|1.50|1.50|\x00ff|a   |2021-02-03|-0|00000000-0000-0000-0000-000000000001|1 day 02:00:00
CREATE TABLE p (id int PRIMARY KEY);
INSERT INTO p VALUES (1);
ALTER TABLE a ADD COLUMN pid int REFERENCES p;
ALTER TABLE a ADD COLUMN pid2 int DEFAULT 9 REFERENCES p;
--! 23503
UPDATE a SET pid = 1 WHERE id = 1;
UPDATE a SET pid = 2 WHERE id = 2;
--! 23503
DELETE FROM p;
--! 23503
SELECT id, pid FROM a WHERE pid = 1;
--> 1|1
CREATE INDEX ON a (d);
SELECT id FROM a WHERE d = 8;
--> 2
CREATE TABLE h (a int, b text);
INSERT INTO h VALUES (1, 'one'), (2, 'two');
ALTER TABLE h ADD COLUMN c int DEFAULT 3;
INSERT INTO h VALUES (3, 'three', 30);
SELECT * FROM h ORDER BY a;
--> 1|one|3
--> 2|two|3
--> 3|three|30
UPDATE h SET c = c + 1 WHERE a < 3;
DELETE FROM h WHERE a = 2;
ALTER TABLE h ADD COLUMN d text DEFAULT 'd';
SELECT * FROM h ORDER BY a;
--> 1|one|4|d
--> 3|three|30|d
ALTER TABLE h DROP COLUMN c;
SELECT * FROM h ORDER BY a;
--> 1|one|d
--> 3|three|d
ALTER TABLE h RENAME COLUMN d TO e;
ALTER TABLE h ADD COLUMN d int DEFAULT random()::int * 0;
SELECT * FROM h ORDER BY a;
--> 1|one|d|0
--> 3|three|d|0
ALTER TABLE h ALTER COLUMN e SET DEFAULT 'other';
INSERT INTO h (a) VALUES (9);
SELECT * FROM h ORDER BY a;
--> 1|one|d|0
--> 3|three|d|0
--> 9|NULL|other|0
BEGIN;
ALTER TABLE h ADD COLUMN x int DEFAULT 1;
INSERT INTO h (a, x) VALUES (10, 10);
SELECT a, x FROM h ORDER BY a;
--> 1|1
--> 3|1
--> 9|1
--> 10|10
SAVEPOINT s;
ALTER TABLE h ADD COLUMN y int DEFAULT 2;
UPDATE h SET y = 3 WHERE a = 10;
SELECT a, x, y FROM h ORDER BY a;
--> 1|1|2
--> 3|1|2
--> 9|1|2
--> 10|10|3
ROLLBACK TO s;
SELECT a, x FROM h ORDER BY a;
--> 1|1
--> 3|1
--> 9|1
--> 10|10
COMMIT;
SELECT a, x FROM h ORDER BY a;
--> 1|1
--> 3|1
--> 9|1
--> 10|10
BEGIN;
ALTER TABLE h ADD COLUMN z int;
ROLLBACK;
SELECT z FROM h;
--! 42703
ALTER TABLE h ADD COLUMN now timestamptz DEFAULT now();
SELECT count(DISTINCT now) FROM h;
--> 1
ALTER TABLE h ADD COLUMN sub int DEFAULT (SELECT 1);
--! 0A000
ALTER TABLE h ADD PRIMARY KEY (a);
SELECT a, b, e, d, x FROM h ORDER BY a;
--> 1|one|d|0|1
--> 3|three|d|0|1
--> 9|NULL|other|0|1
--> 10|NULL|other|0|10
ALTER TABLE h ADD COLUMN last int DEFAULT 4;
INSERT INTO h (a) VALUES (11) ON CONFLICT (a) DO UPDATE SET last = 5;
INSERT INTO h (a) VALUES (10) ON CONFLICT (a) DO UPDATE SET last = 5;
SELECT a, last FROM h ORDER BY a;
--> 1|4
--> 3|4
--> 9|4
--> 10|5
--> 11|4
TRUNCATE h;
INSERT INTO h (a) VALUES (1);
SELECT a, last FROM h;
--> 1|4
ALTER TABLE h ADD COLUMN IF NOT EXISTS last int;
CREATE VIEW hv AS SELECT * FROM h;
ALTER TABLE h ADD COLUMN q int DEFAULT 1;
SELECT * FROM hv WHERE a = 0;

-- Other values in each row, and more columns than stay beside each other.
CREATE TABLE se (id int PRIMARY KEY);
INSERT INTO se VALUES (1), (2), (3);
ALTER TABLE se ADD COLUMN f int DEFAULT 4;
ALTER TABLE se ADD COLUMN ser serial, ADD COLUMN ident int GENERATED BY DEFAULT AS IDENTITY;
INSERT INTO se VALUES (4);
SELECT * FROM se ORDER BY id;
--> 1|4|1|1
--> 2|4|2|2
--> 3|4|3|3
--> 4|4|4|4
CREATE TABLE many (id int PRIMARY KEY);
INSERT INTO many VALUES (1);
ALTER TABLE many ADD COLUMN c1 int DEFAULT '1';
ALTER TABLE many ADD COLUMN c2 text DEFAULT '2';
ALTER TABLE many ADD COLUMN c3 int DEFAULT '3';
ALTER TABLE many ADD COLUMN c4 text DEFAULT '4';
ALTER TABLE many ADD COLUMN c5 int DEFAULT '5';
ALTER TABLE many ADD COLUMN c6 text DEFAULT '6';
ALTER TABLE many ADD COLUMN c7 int DEFAULT '7';
ALTER TABLE many ADD COLUMN c8 text DEFAULT '8';
ALTER TABLE many ADD COLUMN c9 int DEFAULT '9';
ALTER TABLE many ADD COLUMN c10 text DEFAULT '10';
ALTER TABLE many ADD COLUMN c11 int DEFAULT '11';
ALTER TABLE many ADD COLUMN c12 text DEFAULT '12';
ALTER TABLE many ADD COLUMN c13 int DEFAULT '13';
ALTER TABLE many ADD COLUMN c14 text DEFAULT '14';
ALTER TABLE many ADD COLUMN c15 int DEFAULT '15';
ALTER TABLE many ADD COLUMN c16 text DEFAULT '16';
ALTER TABLE many ADD COLUMN c17 int DEFAULT '17';
ALTER TABLE many ADD COLUMN c18 text DEFAULT '18';
ALTER TABLE many ADD COLUMN c19 int DEFAULT '19';
ALTER TABLE many ADD COLUMN c20 text DEFAULT '20';
ALTER TABLE many ADD COLUMN c21 int DEFAULT '21';
ALTER TABLE many ADD COLUMN c22 text DEFAULT '22';
ALTER TABLE many ADD COLUMN c23 int DEFAULT '23';
ALTER TABLE many ADD COLUMN c24 text DEFAULT '24';
ALTER TABLE many ADD COLUMN c25 int DEFAULT '25';
ALTER TABLE many ADD COLUMN c26 text DEFAULT '26';
ALTER TABLE many ADD COLUMN c27 int DEFAULT '27';
ALTER TABLE many ADD COLUMN c28 text DEFAULT '28';
ALTER TABLE many ADD COLUMN c29 int DEFAULT '29';
ALTER TABLE many ADD COLUMN c30 text DEFAULT '30';
ALTER TABLE many ADD COLUMN c31 int DEFAULT '31';
ALTER TABLE many ADD COLUMN c32 text DEFAULT '32';
ALTER TABLE many ADD COLUMN c33 int DEFAULT '33';
ALTER TABLE many ADD COLUMN c34 text DEFAULT '34';
ALTER TABLE many ADD COLUMN c35 int DEFAULT '35';
ALTER TABLE many ADD COLUMN c36 text DEFAULT '36';
ALTER TABLE many ADD COLUMN c37 int DEFAULT '37';
ALTER TABLE many ADD COLUMN c38 text DEFAULT '38';
ALTER TABLE many ADD COLUMN c39 int DEFAULT '39';
ALTER TABLE many ADD COLUMN c40 text DEFAULT '40';
ALTER TABLE many ADD COLUMN c41 int DEFAULT '41';
ALTER TABLE many ADD COLUMN c42 text DEFAULT '42';
ALTER TABLE many ADD COLUMN c43 int DEFAULT '43';
ALTER TABLE many ADD COLUMN c44 text DEFAULT '44';
ALTER TABLE many ADD COLUMN c45 int DEFAULT '45';
ALTER TABLE many ADD COLUMN c46 text DEFAULT '46';
ALTER TABLE many ADD COLUMN c47 int DEFAULT '47';
ALTER TABLE many ADD COLUMN c48 text DEFAULT '48';
ALTER TABLE many ADD COLUMN c49 int DEFAULT '49';
ALTER TABLE many ADD COLUMN c50 text DEFAULT '50';
ALTER TABLE many ADD COLUMN c51 int DEFAULT '51';
ALTER TABLE many ADD COLUMN c52 text DEFAULT '52';
ALTER TABLE many ADD COLUMN c53 int DEFAULT '53';
ALTER TABLE many ADD COLUMN c54 text DEFAULT '54';
ALTER TABLE many ADD COLUMN c55 int DEFAULT '55';
ALTER TABLE many ADD COLUMN c56 text DEFAULT '56';
ALTER TABLE many ADD COLUMN c57 int DEFAULT '57';
ALTER TABLE many ADD COLUMN c58 text DEFAULT '58';
ALTER TABLE many ADD COLUMN c59 int DEFAULT '59';
ALTER TABLE many ADD COLUMN c60 text DEFAULT '60';
ALTER TABLE many ADD COLUMN c61 int DEFAULT '61';
ALTER TABLE many ADD COLUMN c62 text DEFAULT '62';
ALTER TABLE many ADD COLUMN c63 int DEFAULT '63';
ALTER TABLE many ADD COLUMN c64 text DEFAULT '64';
ALTER TABLE many ADD COLUMN c65 int DEFAULT '65';
ALTER TABLE many ADD COLUMN c66 text DEFAULT '66';
ALTER TABLE many ADD COLUMN c67 int DEFAULT '67';
ALTER TABLE many ADD COLUMN c68 text DEFAULT '68';
ALTER TABLE many ADD COLUMN c69 int DEFAULT '69';
ALTER TABLE many ADD COLUMN c70 text DEFAULT '70';
INSERT INTO many (id) VALUES (2);
UPDATE many SET c70 = 'x', c3 = 33 WHERE id = 1;
SELECT c1, c3, c63, c64, c65, c66, c70 FROM many ORDER BY id;
--> 1|33|63|64|65|66|x
--> 1|3|63|64|65|66|70

-- Columns go, and take NULL or not.
CREATE TABLE dr (id int PRIMARY KEY, a int NOT NULL, b text DEFAULT 'b', c numeric(6,2), d text, e bool NOT NULL DEFAULT true);
INSERT INTO dr VALUES (1, 10, 'x', 1.5, 'long text'), (2, 20, NULL, NULL, ''), (3, 30, 'z', 3, NULL);
CREATE INDEX dr_ab ON dr (a, b);
CREATE UNIQUE INDEX dr_d ON dr (d);
ALTER TABLE dr DROP COLUMN b;
SELECT * FROM dr ORDER BY id;
--> 1|10|1.50|long text|t
--> 2|20|NULL||t
--> 3|30|3.00|NULL|t
SELECT indexname FROM pg_indexes WHERE tablename = 'dr' ORDER BY 1;
--> dr_d
--> dr_pkey
INSERT INTO dr VALUES (4, 40, 4, 'd4');
UPDATE dr SET c = c + 1 WHERE id IN (1, 4);
UPDATE dr SET d = 'was empty' WHERE d = '';
SELECT * FROM dr ORDER BY id;
--> 1|10|2.50|long text|t
--> 2|20|NULL|was empty|t
--> 3|30|3.00|NULL|t
--> 4|40|5.00|d4|t
ALTER TABLE dr ADD COLUMN b int DEFAULT 9;
ALTER TABLE dr DROP COLUMN c;
SELECT * FROM dr ORDER BY id;
--> 1|10|long text|t|9
--> 2|20|was empty|t|9
--> 3|30|NULL|t|9
--> 4|40|d4|t|9
SELECT a, d FROM dr WHERE d = 'd4';
--> 40|d4
ALTER TABLE dr ALTER a DROP NOT NULL;
INSERT INTO dr (id, d) VALUES (5, 'five');
UPDATE dr SET a = NULL WHERE id = 1;
SELECT * FROM dr ORDER BY id;
--> 1|NULL|long text|t|9
--> 2|20|was empty|t|9
--> 3|30|NULL|t|9
--> 4|40|d4|t|9
--> 5|NULL|five|t|9
ALTER TABLE dr ALTER a SET NOT NULL;
--! 23502
UPDATE dr SET a = id * 100 WHERE a IS NULL;
ALTER TABLE dr ALTER a SET NOT NULL;
INSERT INTO dr (id) VALUES (6);
--! 23502
ALTER TABLE dr ALTER d SET NOT NULL;
--! 23502
UPDATE dr SET d = 'd' || id WHERE d IS NULL;
ALTER TABLE dr ALTER d SET NOT NULL;
INSERT INTO dr (id, a, d) VALUES (6, 6, NULL);
--! 23502
INSERT INTO dr (id, a, d) VALUES (6, 6, 'd4');
--! 23505
SELECT id, d FROM dr ORDER BY d;
--> 3|d3
--> 4|d4
--> 5|five
--> 1|long text
--> 2|was empty
ALTER TABLE dr ALTER d DROP NOT NULL;
INSERT INTO dr (id, a, d) VALUES (6, 6, NULL), (7, 7, NULL);
SELECT id FROM dr WHERE d IS NULL ORDER BY id;
--> 6
--> 7
ALTER TABLE dr ALTER b SET NOT NULL;
UPDATE dr SET b = NULL WHERE id = 1;
--! 23502
ALTER TABLE dr ADD COLUMN f int;
UPDATE dr SET f = id;
ALTER TABLE dr ALTER f SET NOT NULL;
INSERT INTO dr (id, a) VALUES (8, 8);
--! 23502
INSERT INTO dr (id, a, f) VALUES (8, 8, 8);
SELECT * FROM dr ORDER BY id;
--> 1|100|long text|t|9|1
--> 2|20|was empty|t|9|2
--> 3|30|d3|t|9|3
--> 4|40|d4|t|9|4
--> 5|500|five|t|9|5
--> 6|6|NULL|t|9|6
--> 7|7|NULL|t|9|7
--> 8|8|NULL|t|9|8
ALTER TABLE dr DROP COLUMN f, DROP COLUMN b;
SELECT * FROM dr ORDER BY id;
--> 1|100|long text|t
--> 2|20|was empty|t
--> 3|30|d3|t
--> 4|40|d4|t
--> 5|500|five|t
--> 6|6|NULL|t
--> 7|7|NULL|t
--> 8|8|NULL|t
ALTER TABLE dr ADD COLUMN f int NOT NULL DEFAULT 3;
SELECT * FROM dr ORDER BY id;
--> 1|100|long text|t|3
--> 2|20|was empty|t|3
--> 3|30|d3|t|3
--> 4|40|d4|t|3
--> 5|500|five|t|3
--> 6|6|NULL|t|3
--> 7|7|NULL|t|3
--> 8|8|NULL|t|3
ALTER TABLE dr DROP COLUMN id;
SELECT * FROM dr ORDER BY a;
--> 6|NULL|t|3
--> 7|NULL|t|3
--> 8|NULL|t|3
--> 20|was empty|t|3
--> 30|d3|t|3
--> 40|d4|t|3
--> 100|long text|t|3
--> 500|five|t|3
ALTER TABLE dr DROP COLUMN e;
ALTER TABLE dr ALTER f DROP NOT NULL;
UPDATE dr SET f = NULL WHERE a = 8;
SELECT * FROM dr ORDER BY a;
--> 6|NULL|3
--> 7|NULL|3
--> 8|NULL|NULL
--> 20|was empty|3
--> 30|d3|3
--> 40|d4|3
--> 100|long text|3
--> 500|five|3

-- A type that has all values of the former one.
CREATE TABLE vt (id int PRIMARY KEY, v varchar(3) UNIQUE, t text, c char(3));
INSERT INTO vt VALUES (1, 'abc', 'long', 'c');
ALTER TABLE vt ALTER v TYPE varchar(5);
INSERT INTO vt VALUES (2, 'abcde', NULL, NULL);
INSERT INTO vt VALUES (3, 'abcdef', NULL, NULL);
--! 22001
ALTER TABLE vt ALTER v TYPE text;
INSERT INTO vt VALUES (3, 'abcdef', NULL, NULL);
INSERT INTO vt VALUES (4, 'abcdef', NULL, NULL);
--! 23505
ALTER TABLE vt ALTER v TYPE varchar(4);
--! 22001
ALTER TABLE vt ALTER t TYPE varchar;
ALTER TABLE vt ALTER t TYPE varchar(2);
--! 22001
ALTER TABLE vt ALTER c TYPE text;
SELECT *, length(c) FROM vt ORDER BY id;
--> 1|abc|long|c|1
--> 2|abcde|NULL|NULL|NULL
--> 3|abcdef|NULL|NULL|NULL
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'vt'::regclass AND attnum > 0 ORDER BY attnum;
--> integer
--> text
--> character varying
--> text
BEGIN;
ALTER TABLE vt DROP COLUMN t;
SELECT * FROM vt WHERE id = 1;
--> 1|abc|c
ROLLBACK;
SELECT * FROM vt WHERE id = 1;
--> 1|abc|long|c
CREATE TABLE g2 (a int, b int GENERATED ALWAYS AS (a + 1) STORED, c int);
INSERT INTO g2 (a, c) VALUES (1, 2);
ALTER TABLE g2 DROP COLUMN c;
ALTER TABLE g2 DROP COLUMN a;
--! 2BP01
ALTER TABLE g2 DROP COLUMN a CASCADE;
INSERT INTO g2 DEFAULT VALUES;
SELECT count(*) FROM g2;
--> 2
ALTER TABLE g2 ADD COLUMN z int DEFAULT 1;
SELECT * FROM g2;
--> 1
--> 1

-- Checks go with the columns that they name.
CREATE TABLE ck (id int PRIMARY KEY, a int CHECK (a > 0), b text CHECK (b IN ('a', 'id')), c int, CONSTRAINT less CHECK (a < c), CONSTRAINT whole CHECK (ck IS NOT NULL OR id > 0));
INSERT INTO ck VALUES (1, 1, 'a', 2);
COMMENT ON CONSTRAINT less ON ck IS 'of two';
ALTER TABLE ck DROP COLUMN a;
SELECT conname FROM pg_constraint WHERE conrelid = 'ck'::regclass ORDER BY 1;
--> ck_b_check
--> ck_pkey
--> whole
INSERT INTO ck VALUES (2, 'b', 1);
--! 23514
INSERT INTO ck VALUES (2, 'id', 1);
ALTER TABLE ck DROP COLUMN b;
INSERT INTO ck VALUES (3, 1);
SELECT * FROM ck ORDER BY id;
--> 1|2
--> 2|1
--> 3|1
CREATE TABLE ck2 (id int, a int, CHECK (a > 0));
ALTER TABLE ck2 DROP COLUMN a CASCADE;
SELECT count(*) FROM pg_constraint WHERE conrelid = 'ck2'::regclass;
--> 0
