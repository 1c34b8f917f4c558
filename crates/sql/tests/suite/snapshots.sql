-- What a statement sees of its own writes: nothing.
-- Subqueries in RETURNING see what was there before the statement.
CREATE TABLE t (id int PRIMARY KEY, x int, g int);
CREATE INDEX ON t (g);
INSERT INTO t VALUES (1, 10, 1) RETURNING (SELECT count(*) FROM t);
--> 0
INSERT INTO t VALUES (2, 20, 1), (3, 30, 2) RETURNING id, (SELECT count(*) FROM t), EXISTS (SELECT FROM t WHERE x = 20), (SELECT max(x) FROM t AS o WHERE o.id < t.id);
--> 2|1|f|10
--> 3|1|f|10
UPDATE t SET x = x + 1 RETURNING id, x, (SELECT sum(x) FROM t), (SELECT o.x FROM t AS o WHERE o.id = t.id), (SELECT sum(o.x) FROM t AS o WHERE o.g = t.g);
--> 1|11|60|10|30
--> 2|21|60|20|30
--> 3|31|60|30|30
UPDATE t SET id = id + 3 RETURNING id, (SELECT array_agg(o.id ORDER BY o.id) FROM t AS o), (SELECT o.x FROM t AS o WHERE o.id = t.id);
--> 4|{1,2,3}|NULL
--> 5|{1,2,3}|NULL
--> 6|{1,2,3}|NULL
UPDATE t SET g = g + 1 RETURNING id, g, (SELECT array_agg(o.id ORDER BY o.id) FROM t AS o WHERE o.g = t.g), (SELECT array_agg(o.g ORDER BY g DESC, id) FROM t AS o WHERE o.g > 1), ARRAY(SELECT o.id FROM t AS o ORDER BY o.g DESC, o.id DESC LIMIT 2);
--> 4|2|{6}|{2}|{6,5}
--> 5|2|{6}|{2}|{6,5}
--> 6|3|NULL|{2}|{6,5}
UPDATE t SET x = NULL, g = NULL WHERE id = 5 RETURNING id, (SELECT count(*) FROM t AS o WHERE o.g IS NULL), (SELECT count(*) FROM t AS o WHERE o.g < 10);
--> 5|0|3
UPDATE t SET g = 7, x = 7 WHERE id = 5 RETURNING id, (SELECT count(*) FROM t AS o WHERE o.g IS NULL), (SELECT count(*) FROM t AS o WHERE o.g < 10), ARRAY(SELECT o.id FROM t AS o ORDER BY o.g LIMIT 3);
--> 5|1|2|{4,6,5}
DELETE FROM t WHERE id IN (4, 6) RETURNING id, (SELECT count(*) FROM t), id IN (SELECT o.id FROM t AS o), (SELECT count(*) FROM t AS o WHERE o.id BETWEEN 5 AND 6);
--> 4|3|t|2
--> 6|3|t|2
SELECT * FROM t ORDER BY id;
--> 5|7|7
INSERT INTO t SELECT id + 10, x, g FROM t RETURNING id, (SELECT count(*) FROM t), (WITH c AS (SELECT count(*) FROM t) SELECT * FROM c);
--> 15|1|1
-- So do those of ON CONFLICT.
TRUNCATE t;
INSERT INTO t VALUES (1, 1, 1), (2, 2, 2);
INSERT INTO t VALUES (3, 3, 3), (1, 5, 5), (2, 6, 6) ON CONFLICT (id) DO UPDATE SET x = (SELECT sum(o.x) FROM t AS o), g = (SELECT count(*) FROM t) RETURNING *, (SELECT sum(x) FROM t);
--> 3|3|3|3
--> 1|3|2|3
--> 2|3|2|3
SELECT * FROM t ORDER BY id;
--> 1|3|2
--> 2|3|2
--> 3|3|3
INSERT INTO t VALUES (4, 4, 4), (1, 7, 7), (2, 8, 8) ON CONFLICT (id) DO UPDATE SET x = excluded.x WHERE (SELECT count(*) FROM t) = 3 AND NOT EXISTS (SELECT FROM t AS o WHERE o.x = 7) RETURNING *;
--> 4|4|4
--> 1|7|2
--> 2|8|2
INSERT INTO t VALUES (5, 0, 0), (5, 1, 1) ON CONFLICT (id) DO UPDATE SET x = (SELECT count(*) FROM t);
--! 21000
INSERT INTO t VALUES (5, 0, 0), (5, 1, 1), (1, 1, 1) ON CONFLICT DO NOTHING RETURNING *, (SELECT count(*) FROM t);
--> 5|0|0|4
SELECT count(*) FROM t;
--> 5
-- Statements in WITH write the tables that others read.
WITH i AS (INSERT INTO t VALUES (6, 6, 6) RETURNING *) SELECT (SELECT count(*) FROM t), i.* FROM i;
--> 5|6|6|6
WITH i AS (INSERT INTO t VALUES (7, 6, 6) RETURNING *) SELECT count(*) FROM t;
--> 6
WITH u AS (UPDATE t SET x = 100 WHERE id = 1 RETURNING *) SELECT t.id, t.x, u.x FROM t JOIN u USING (id);
--> 1|7|100
WITH d AS (DELETE FROM t WHERE id = 7 RETURNING *) INSERT INTO t SELECT id, x + 1, g FROM d RETURNING *, (SELECT x FROM t WHERE id = 7);
--> 7|7|6|6
WITH d AS (DELETE FROM t RETURNING *) INSERT INTO t SELECT id + 100, x, g FROM d WHERE id < 4 ORDER BY id RETURNING id, (SELECT count(*) FROM t);
--> 101|7
--> 102|7
--> 103|7
SELECT * FROM t ORDER BY id;
--> 101|100|2
--> 102|8|2
--> 103|3|3
WITH a AS (UPDATE t SET x = 1 RETURNING *), b AS (UPDATE t SET x = 2 RETURNING *) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b);
--> 3|0
SELECT DISTINCT x FROM t;
--> 1
WITH a AS (UPDATE t SET x = 3 WHERE id = 101 RETURNING *) DELETE FROM t USING a WHERE t.id >= a.id AND t.id <> 103 RETURNING t.id;
--> 102
SELECT * FROM t ORDER BY id;
--> 101|3|2
--> 103|1|3
WITH a AS (UPDATE t SET x = 4 RETURNING id) INSERT INTO t SELECT id, 0, 0 FROM a ON CONFLICT (id) DO UPDATE SET x = excluded.x;
--! 21000
WITH a AS (INSERT INTO t VALUES (200, 1, 1) RETURNING id) INSERT INTO t SELECT id, 0, 0 FROM a ON CONFLICT (id) DO NOTHING RETURNING id;
WITH a AS (INSERT INTO t VALUES (201, 1, 1) RETURNING id), b AS (UPDATE t SET x = -1 FROM a RETURNING t.id), c AS (DELETE FROM t RETURNING id) SELECT (SELECT array_agg(id ORDER BY id) FROM a), (SELECT array_agg(id ORDER BY id) FROM b), (SELECT array_agg(id ORDER BY id) FROM c), (SELECT count(*) FROM t);
--> {201}|{101,103,200}|NULL|3
SELECT * FROM t ORDER BY id;
--> 101|-1|2
--> 103|-1|3
--> 200|-1|1
--> 201|1|1
WITH d AS (DELETE FROM t WHERE id = 101) INSERT INTO t VALUES (101, 1, 1);
--! 23505
WITH x AS (SELECT * FROM t), d AS (DELETE FROM t) SELECT * FROM x ORDER BY id;
--> 101|-1|2
--> 103|-1|3
--> 200|-1|1
--> 201|1|1
SELECT count(*) FROM t;
--> 0
WITH i AS (INSERT INTO t SELECT n, n, n % 3 FROM generate_series(1, 9) AS n RETURNING *) SELECT count(*), (SELECT count(*) FROM t) FROM i;
--> 9|0
WITH u AS (UPDATE t SET g = g + 10 WHERE id % 2 = 0 RETURNING *) SELECT t.id, t.g FROM t WHERE g = 1 OR g = 2 AND id IN (SELECT id FROM u) ORDER BY g, id;
--> 1|1
--> 4|1
--> 7|1
--> 2|2
--> 8|2
WITH u AS (UPDATE t SET id = id + 100 WHERE id % 2 = 0 RETURNING *) SELECT t.* FROM t WHERE id > 3 AND (SELECT count(*) > 0 FROM u) ORDER BY id DESC;
--> 9|9|0
--> 8|8|12
--> 7|7|1
--> 6|6|10
--> 5|5|2
--> 4|4|11
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3), u AS (UPDATE t SET x = 0 WHERE id IN (SELECT n FROM r) RETURNING id) SELECT t.id, t.x FROM t JOIN u USING (id) ORDER BY 1;
--> 1|1
--> 3|3
-- A view, and a table without a key.
CREATE VIEW v AS SELECT id, x FROM t WHERE x > 0;
UPDATE v SET x = x + 1 WHERE id = 5 RETURNING x, (SELECT x FROM v AS o WHERE o.id = v.id), (SELECT sum(x) FROM v);
--> 6|5|41
CREATE TABLE k (a int, b text);
INSERT INTO k VALUES (1, 'x'), (1, 'x'), (NULL, NULL) RETURNING a, (SELECT count(*) FROM k);
--> 1|0
--> 1|0
--> NULL|0
UPDATE k SET a = 2 RETURNING a, (SELECT count(*) FROM k WHERE a = 1), (SELECT count(*) FROM k WHERE a = 2);
--> 2|2|0
--> 2|2|0
--> 2|2|0
WITH d AS (DELETE FROM k WHERE b = 'x' RETURNING *) INSERT INTO k SELECT a, 'y' FROM d RETURNING *, (SELECT string_agg(b, ',') FROM k);
--> 2|y|x,x
--> 2|y|x,x
SELECT * FROM k ORDER BY b;
--> 2|y
--> 2|y
--> 2|NULL
-- What foreign keys do comes after the statement.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO parent VALUES (1), (2);
INSERT INTO child VALUES (1, 1), (2, 2);
DELETE FROM parent WHERE id = 1 RETURNING id, (SELECT count(*) FROM child), (SELECT count(*) FROM parent);
--> 1|2|2
UPDATE parent SET id = 3 RETURNING id, (SELECT p FROM child);
--> 3|2
WITH p AS (INSERT INTO parent VALUES (4) RETURNING id) INSERT INTO child SELECT id, id FROM p RETURNING *, (SELECT count(*) FROM parent);
--> 4|4|1
WITH d AS (DELETE FROM parent RETURNING id) SELECT d.id, child.* FROM d JOIN child ON child.p = d.id ORDER BY 1;
--> 3|2|3
--> 4|4|4
SELECT count(*) FROM child;
--> 0
-- The arguments of functions beside each other are read, too.
INSERT INTO parent VALUES (7), (8) RETURNING id, (SELECT count(b) FROM unnest(ARRAY[1], (SELECT array_agg(p.id) FROM parent AS p)) AS u(a, b));
--> 7|0
--> 8|0
INSERT INTO parent VALUES (9) RETURNING id, (SELECT array_agg(b ORDER BY b) FROM ROWS FROM (generate_series(1, 2), unnest((SELECT array_agg(p.id) FROM parent AS p))) AS u(a, b));
--> 9|{7,8}
