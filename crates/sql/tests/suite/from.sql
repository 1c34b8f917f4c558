-- What FROM takes: aliases of USING, rows of sequences, VALUES, and whole rows. PostgreSQL agrees with all of it.
CREATE TABLE ua (x int, y int, p text);
CREATE TABLE ub (x int, y bigint, q text);
INSERT INTO ua VALUES (1, 1, 'a'), (2, 2, 'b'), (4, 4, NULL);
INSERT INTO ub VALUES (1, 1, 'c'), (3, 3, 'd');
-- The alias names the columns that are joined, and no others.
SELECT j.* FROM ua JOIN ub USING (x) AS j;
--> 1
SELECT j.x, p, q FROM ua JOIN ub USING (x) AS j WHERE j.x = 1;
--> 1|a|c
SELECT j.y FROM ua JOIN ub USING (x) AS j;
--! 42703
SELECT j.p FROM ua JOIN ub USING (x) AS j;
--! 42703
SELECT * FROM ua FULL JOIN ub USING (x, y) AS j ORDER BY j.x;
--> 1|1|a|c
--> 2|2|b|NULL
--> 3|3|NULL|d
--> 4|4|NULL|NULL
SELECT j FROM ua FULL JOIN ub USING (x, y) AS j ORDER BY j.x;
--> (1,1)
--> (2,2)
--> (3,3)
--> (4,4)
SELECT j.*, pg_typeof(j.y) FROM ua FULL JOIN ub USING (x, y) AS j ORDER BY 1;
--> 1|1|bigint
--> 2|2|bigint
--> 3|3|bigint
--> 4|4|bigint
SELECT row_to_json(j) FROM ua FULL JOIN ub USING (x, y) AS j ORDER BY j.x;
--> {"x":1,"y":1}
--> {"x":2,"y":2}
--> {"x":3,"y":3}
--> {"x":4,"y":4}
SELECT j IS NULL FROM ua RIGHT JOIN ub USING (x) AS j ORDER BY j.x;
--> f
--> f
SELECT count(*), j.x FROM ua JOIN ub USING (x) AS j GROUP BY j.x;
--> 1|1
SELECT (SELECT j.x + 1) FROM ua JOIN ub USING (x) AS j;
--> 2
SELECT j.x, s.z FROM ua LEFT JOIN ub USING (x) AS j, LATERAL (SELECT j.x + 1) s(z) ORDER BY 1;
--> 1|2
--> 2|3
--> 4|5
SELECT j.x, j.y, k.x FROM ua JOIN ub USING (x, y) AS j JOIN ua c USING (x) AS k;
--> 1|1|1
SELECT j.x FROM (ua JOIN ub USING (x) AS j) JOIN ua c ON c.x = j.x;
--> 1
SELECT k.x FROM (ua JOIN ub USING (x) AS j) AS k;
--> 1
SELECT j.x FROM (ua JOIN ub USING (x) AS j) AS k;
--! 42P01
SELECT "J".x FROM ua JOIN ub USING (x) AS "J";
--> 1
SELECT j.x FROM ua JOIN ub USING (x) AS j(z);
--! 42601
SELECT j.x FROM ua JOIN ub USING (x) j;
--! 42601
SELECT j.x FROM ua JOIN ub USING (x) AS j FOR UPDATE OF j;
--! 0A000
UPDATE ua SET p = j.x FROM ub JOIN ub c USING (x) AS j WHERE j.x = ua.x RETURNING ua.p, j.x;
--> 1|1
PREPARE of_alias AS SELECT j.* FROM ua JOIN ub USING (y) AS j;
EXECUTE of_alias;
--> 1
DEALLOCATE of_alias;
-- A column of two types has the one that both become.
SELECT pg_typeof(y) FROM ua JOIN ub USING (y);
--> bigint
SELECT pg_typeof(y) FROM ua LEFT JOIN ub USING (y) LIMIT 1;
--> bigint
SELECT pg_typeof(y) FROM ub LEFT JOIN ua USING (y) LIMIT 1;
--> bigint
SELECT pg_typeof(y) FROM ua FULL JOIN ub USING (y) LIMIT 1;
--> bigint
-- A view keeps what the alias names, whatever becomes of the columns.
CREATE VIEW uv AS SELECT j.x, j.y AS z, p, row_to_json(j) AS r FROM ua JOIN ub USING (x, y) AS j;
CREATE VIEW uw AS SELECT j.* FROM ua FULL JOIN ub USING (x, y) AS j;
CREATE VIEW ux AS SELECT j.x, EXISTS (SELECT 1 FROM ua WHERE ua.y = j.y) AS e FROM ua JOIN ub USING (x, y) AS j;
CREATE VIEW uy AS SELECT count(*) AS c, j.x FROM ua FULL JOIN ub USING (x) AS j GROUP BY j.x HAVING j.x > 0;
ALTER TABLE ua RENAME x TO xx;
ALTER TABLE ub ADD z int;
ALTER TABLE ua ADD z int;
SELECT * FROM uv;
--> 1|1|1|{"x":1,"y":1}
SELECT * FROM uw ORDER BY 1;
--> 1|1
--> 2|2
--> 3|3
--> 4|4
SELECT * FROM ux;
--> 1|t
SELECT * FROM uy ORDER BY 2;
--> 1|1
--> 1|2
--> 1|3
--> 1|4
DROP VIEW uv, uw, ux, uy;
-- A table has a name of its own.
SELECT * FROM ub, ub;
--! 42712
SELECT * FROM ua a, ub a;
--! 42712
SELECT 1 FROM ub CROSS JOIN ub;
--! 42712
SELECT 1 FROM ub JOIN ub b USING (x) AS ub;
--! 42712
SELECT 1 FROM ub j JOIN ub b USING (x) AS j;
--! 42712
SELECT count(*) FROM ub, (ub JOIN ub b USING (x)) u;
--> 4
SELECT count(*) FROM public.ub, pg_class c WHERE c.relname = 'ub';
--> 2
UPDATE ub SET q = 'z' FROM ub WHERE false;
--! 42712
DELETE FROM ub USING ub;
--! 42712
DROP TABLE ua, ub;
-- A sequence has one row.
CREATE SEQUENCE sq;
CREATE SEQUENCE sd INCREMENT -2 START 10 MINVALUE 1 MAXVALUE 20;
SELECT * FROM sq;
--> 1|0|f
SELECT last_value, is_called FROM public.sq AS q;
--> 1|f
SELECT q.* FROM sq q(a, b, c);
--> 1|0|f
SELECT last_value, is_called FROM sd;
--> 10|f
SELECT setval('sq', 41);
--> 41
SELECT last_value, is_called FROM sq;
--> 41|t
SELECT setval('sq', 1, false);
--> 1
TABLE sq;
--> 1|0|f
SELECT row_to_json(q) FROM (SELECT last_value, is_called FROM sq) q;
--> {"last_value":1,"is_called":false}
SELECT pg_typeof(last_value), pg_typeof(log_cnt), pg_typeof(is_called) FROM sq;
--> bigint|bigint|boolean
SELECT nosuch FROM sq;
--! 42703
SELECT * FROM (SELECT last_value FROM sq) x JOIN sd ON NOT sd.is_called;
--> 1|10|0|f
SELECT (SELECT last_value FROM sq), EXISTS (SELECT FROM sq WHERE is_called);
--> 1|f
INSERT INTO sq VALUES (1, 1, true);
--! 42809
UPDATE sq SET last_value = 1;
--! 42809
DELETE FROM sq;
--! 42809
SELECT * FROM sq FOR UPDATE;
--! 42809
SELECT * FROM sq FOR SHARE;
--! 42809
COPY sq TO STDOUT;
--! 42809
CREATE INDEX ON sq (last_value);
--! 42809
CREATE VIEW sv AS SELECT last_value AS lv, is_called FROM sq;
SELECT * FROM sv;
--> 1|f
DROP SEQUENCE sq;
--! 2BP01
EXPLAIN (COSTS OFF) SELECT * FROM sq WHERE last_value > 3;
--> Seq Scan on sq
-->   Filter: (last_value > 3)
PREPARE of_sequence AS SELECT last_value FROM sq;
EXECUTE of_sequence;
--> 1
SELECT setval('sq', 77);
--> 77
EXECUTE of_sequence;
--> 77
SELECT * FROM sv;
--> 77|t
DROP VIEW sv;
DROP SEQUENCE sq;
EXECUTE of_sequence;
--! 42P01
DEALLOCATE of_sequence;
ALTER SEQUENCE sd RENAME TO se;
SELECT last_value FROM se;
--> 10
CREATE TABLE of_se AS SELECT * FROM se;
SELECT * FROM of_se;
--> 10|0|f
DROP TABLE of_se;
CREATE ROLE reads_se;
SET ROLE reads_se;
SELECT last_value FROM se;
--! 42501
RESET ROLE;
GRANT USAGE ON SEQUENCE se TO reads_se;
SET ROLE reads_se;
SELECT last_value FROM se;
--! 42501
RESET ROLE;
CREATE VIEW sv AS SELECT last_value FROM se;
GRANT SELECT ON sv TO reads_se;
SET ROLE reads_se;
SELECT last_value FROM sv;
--> 10
RESET ROLE;
GRANT SELECT ON SEQUENCE se TO reads_se;
SET ROLE reads_se;
SELECT last_value FROM se;
--> 10
RESET ROLE;
DROP VIEW sv;
DROP SEQUENCE se;
DROP ROLE reads_se;
-- VALUES, and rows as values.
CREATE TABLE vt (a int, b text);
INSERT INTO vt VALUES (1, 'x'), (2, NULL), (NULL, NULL);
SELECT * FROM vt, (VALUES (1), (2)) v(x) ORDER BY 1, 2, 3;
--> 1|x|1
--> 1|x|2
--> 2|NULL|1
--> 2|NULL|2
--> NULL|NULL|1
--> NULL|NULL|2
SELECT * FROM vt LEFT JOIN (VALUES (1, 'q')) v(x, y) ON v.x = vt.a ORDER BY 1;
--> 1|x|1|q
--> 2|NULL|NULL|NULL
--> NULL|NULL|NULL|NULL
SELECT * FROM vt, LATERAL (VALUES (vt.a), (vt.a + 1)) v(x) ORDER BY 1, 3;
--> 1|x|1
--> 1|x|2
--> 2|NULL|2
--> 2|NULL|3
--> NULL|NULL|NULL
--> NULL|NULL|NULL
SELECT * FROM vt CROSS JOIN LATERAL (VALUES (vt.a)) v ORDER BY 1;
--> 1|x|1
--> 2|NULL|2
--> NULL|NULL|NULL
SELECT * FROM (VALUES (1), (2) UNION ALL VALUES (3)) v(x) ORDER BY x;
--> 1
--> 2
--> 3
SELECT v.* IS NULL FROM (VALUES (1, NULL), (NULL, NULL)) v(a, b);
--> f
--> t
SELECT v.* IS NOT NULL, 1 FROM (VALUES (1, NULL), (NULL, NULL), (1, 1)) v(a, b);
--> f|1
--> f|1
--> t|1
SELECT 1, v.* = v.* FROM (VALUES (1, 2)) v(a, b);
--> 1|t
SELECT v.*::text FROM (VALUES (1, 2)) v(a, b);
--> (1,2)
SELECT ROW(v.*) IS NOT NULL FROM (VALUES (1, NULL), (NULL, NULL), (1, 1)) v(a, b);
--> f
--> f
--> t
SELECT ROW(v.*, 3), ROW((v.*)), (v.*, 3), (0, v.*) FROM (VALUES (1, NULL), (1, 1)) v(a, b);
--> (1,,3)|(1,)|(1,,3)|(0,1,)
--> (1,1,3)|(1,1)|(1,1,3)|(0,1,1)
SELECT ROW(v.*) = ROW(1, 2) FROM (VALUES (1, 2)) v(a, b);
--> t
SELECT (SELECT ROW(v.*, w.*) FROM (VALUES (3)) w(c)) FROM (VALUES (1, 2)) v(a, b);
--> (1,2,3)
SELECT (v.*) FROM (VALUES (1, NULL), (1, 1)) v(a, b);
--> 1|NULL
--> 1|1
SELECT (l.*), 7 AS k FROM vt l ORDER BY 1;
--> 1|x|7
--> 2|NULL|7
--> NULL|NULL|7
SELECT 7 AS k, (l.*) FROM vt l ORDER BY 2;
--> 7|1|x
--> 7|2|NULL
--> 7|NULL|NULL
SELECT (l.*)::text, 7 AS k FROM vt l ORDER BY l.a;
--> (1,x)|7
--> (2,)|7
--> (,)|7
SELECT l, 7 AS k FROM vt l ORDER BY l.a;
--> (1,x)|7
--> (2,)|7
--> (,)|7
SELECT * FROM vt WHERE (vt.*) IS NULL;
--> NULL|NULL
SELECT * FROM vt WHERE vt.* IS NOT NULL;
--> 1|x
SELECT count(vt.*), count(vt), count((vt.*)) FROM vt;
--> 3|3|3
SELECT ROW(nosuch.*) FROM vt;
--! 42P01
UPDATE vt SET b = v.y FROM (VALUES (1, 'new')) v(x, y) WHERE vt.a = v.x RETURNING (vt.*), v.*;
--> 1|new|1|new
CREATE VIEW vv AS SELECT row_to_json(l) AS r, to_jsonb(l.*) AS s, (l).b FROM vt l;
CREATE VIEW vw AS SELECT ROW(l.*, 1)::text AS r FROM vt l;
ALTER TABLE vt RENAME b TO bb;
ALTER TABLE vt ADD c int;
SELECT r, s, b FROM vv ORDER BY b;
--> {"a":1,"bb":"new","c":null}|{"a": 1, "c": null, "bb": "new"}|new
--> {"a":2,"bb":null,"c":null}|{"a": 2, "c": null, "bb": null}|NULL
--> {"a":null,"bb":null,"c":null}|{"a": null, "c": null, "bb": null}|NULL
SELECT * FROM vw ORDER BY 1;
--> (,,1)
--> (1,new,1)
--> (2,,1)
DROP VIEW vv, vw;
DROP TABLE vt;
-- A name that two columns of the list have.
SELECT a AS x, b AS x FROM (VALUES (1, 2)) v(a, b) ORDER BY x;
--! 42702
SELECT 1 AS x, 2 AS x ORDER BY x;
--! 42702
SELECT 1 AS x, 1 AS x ORDER BY x;
--> 1|1
SELECT a, a FROM (VALUES (1)) v(a) ORDER BY a;
--> 1|1
SELECT *, a FROM (VALUES (1)) v(a) ORDER BY a;
--> 1|1
SELECT *, a + 1 AS a FROM (VALUES (1)) v(a) ORDER BY a;
--! 42702
SELECT v.*, w.* FROM (VALUES (1)) v(a), (VALUES (1)) w(a) ORDER BY a;
--! 42702
SELECT v.*, w.* FROM (VALUES (1)) v(a), (VALUES (1)) w(a) ORDER BY v.a;
--> 1|1
SELECT sum(a) AS x, sum(a) AS x FROM (VALUES (1)) v(a) ORDER BY x;
--> 1|1
SELECT 1 AS x, 2 AS x UNION SELECT 3, 4 ORDER BY x;
--! 42702
SELECT 1 AS x, 2 AS x GROUP BY x;
--! 42702
SELECT a AS x, b AS x FROM (VALUES (1, 2)) v(a, b) GROUP BY a, b ORDER BY x;
--! 42702
SELECT DISTINCT ON (x) a AS x, b AS x FROM (VALUES (1, 2)) v(a, b);
--! 42702
SELECT DISTINCT ON (x) a AS x, b FROM (VALUES (1, 2), (1, 3)) v(a, b) ORDER BY x, b;
--> 1|2
