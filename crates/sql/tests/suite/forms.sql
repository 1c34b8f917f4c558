-- Forms of PostgreSQL that the parser does not read by itself.
CREATE TABLE a (x int PRIMARY KEY, n text);
CREATE TABLE b (x int PRIMARY KEY, m int);
CREATE TABLE c (x int, k int);
INSERT INTO a VALUES (1, 'one'), (2, 'two'), (3, NULL);
INSERT INTO b VALUES (1, 10), (2, 20);
INSERT INTO c VALUES (1, 100), (3, 300);
-- Collations.
SELECT n FROM a ORDER BY n COLLATE "C";
--> one
--> two
--> NULL
SELECT 'x'::text COLLATE "C" || 'y', n::varchar COLLATE "default" FROM a WHERE x = 1;
--> xy|one
SELECT cast('x' AS text) COLLATE pg_catalog."C", 'B'::text COLLATE "C" < 'a'::text COLLATE "C";
--> x|t
SELECT 'x'::text COLLATE "nosuch";
--! 42704
SELECT 'x'::text COLLATE c;
--! 42704
SELECT 1 COLLATE "C";
--! 42804
-- BETWEEN.
SELECT x FROM a WHERE x BETWEEN SYMMETRIC 3 AND 2 ORDER BY 1;
--> 2
--> 3
SELECT x FROM a WHERE x NOT BETWEEN SYMMETRIC 3 AND 2;
--> 1
SELECT x FROM a WHERE x BETWEEN ASYMMETRIC 2 AND 3 ORDER BY 1;
--> 2
--> 3
SELECT 2 BETWEEN SYMMETRIC 3 AND NULL, 5 BETWEEN SYMMETRIC 1 + 8 AND 2 AND true;
--> NULL|t
SELECT 2 BETWEEN SYMMETRIC AND 3;
--! 42601
CREATE VIEW between_view AS SELECT x FROM a WHERE x BETWEEN SYMMETRIC 3 AND 2;
SELECT count(*) FROM between_view;
--> 2
-- Joins whose right side is a join, and joins with a name.
SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x;
--> 1|one|1|10|1|100
SELECT * FROM a LEFT JOIN b JOIN c ON b.x = c.x ON a.x = b.x ORDER BY 1;
--> 1|one|1|10|1|100
--> 2|two|NULL|NULL|NULL|NULL
--> 3|NULL|NULL|NULL|NULL|NULL
SELECT a.x, c.k FROM a LEFT JOIN b LEFT JOIN c USING (x) ON a.x = b.x ORDER BY 1;
--> 1|100
--> 2|NULL
--> 3|NULL
SELECT * FROM a JOIN b JOIN c CROSS JOIN (SELECT 1 AS one) o ON b.x = c.x ON a.x = b.x;
--> 1|one|1|10|1|100|1
SELECT count(*) FROM a JOIN b ON a.x = b.x JOIN c ON c.x = a.x, a AS a2 JOIN b AS b2 ON a2.x = b2.x;
--> 2
SELECT * FROM a JOIN b JOIN c ON b.x = c.x;
--! 42601
SELECT * FROM (a JOIN b USING (x)) j ORDER BY 1;
--> 1|one|10
--> 2|two|20
SELECT j.x, j.nn, j.m FROM (a JOIN b USING (x)) AS j(x, nn, m) ORDER BY 1;
--> 1|one|10
--> 2|two|20
SELECT j.n, x FROM (a LEFT JOIN b USING (x)) AS j WHERE j.m IS NULL;
--> NULL|3
SELECT a.x FROM (a JOIN b USING (x)) AS j;
--! 42P01
SELECT * FROM (a JOIN b USING (x)) AS j(p, q, r, s);
--! 42P10
-- VALUES as a query in an expression.
SELECT x FROM a WHERE x = ANY (VALUES (1), (3)) ORDER BY 1;
--> 1
--> 3
SELECT x FROM a WHERE x <> ALL (VALUES (1), (3));
--> 2
SELECT x FROM a WHERE x = (VALUES (2));
--> 2
SELECT 1 UNION ALL (VALUES (2), (3)) ORDER BY 1;
--> 1
--> 2
--> 3
-- Rows and the row of a query.
SELECT x FROM a WHERE (x, n) = (SELECT 1, 'one');
--> 1
SELECT (1, 2) = (SELECT 1, 2), (1, 2) < (SELECT 1, 3), (1, 2) = (SELECT 1, 2 WHERE false), ROW(1, 2) <> (SELECT 1, 3);
--> t|t|NULL|t
SELECT (1, NULL) = (SELECT 1, 2), (1, NULL) = (SELECT 2, 2);
--> NULL|f
SELECT (1, 2) = (SELECT 1);
--! 42601
SELECT (1, 2) = (SELECT 1, 2, 3);
--! 42601
SELECT (1, 2) = (SELECT x, x FROM a);
--! 21000
SELECT x FROM a WHERE (x, 10) = (SELECT b.x, m FROM b WHERE b.x = a.x);
--> 1
-- trim and substring.
SELECT trim(BOTH FROM '  x ') || '|', trim(LEADING FROM ' x') || '|', trim(TRAILING FROM 'x  ') || '|', trim(FROM ' q ') || '|';
--> x||x||x||q|
SELECT trim(BOTH 'x' FROM 'xxyx'), trim('x' FROM 'xyx'), trim(LEADING 'ab', 'a');
--> y|y|b
SELECT substring('foobar' SIMILAR '%#"o_b#"%' ESCAPE '#'), substring('foobar' FROM '%#"o_b#"%' FOR '#');
--> oob|oob
SELECT substring('foobar', '#"o_b#"%', '#'), substring('abcdefg', 'a#"%#"g', '#'), substring('abcdefg', 'a*#"%#"g*', '#'), substring('abcdefg' SIMILAR 'a#"%' ESCAPE '#');
--> NULL|bcdef|abcdefg|bcdefg
SELECT substring('abcdefg', '%', '#'), substring('aaab' SIMILAR '%#"a+b#"' ESCAPE '#'), substring('x' SIMILAR NULL ESCAPE '#');
--> abcdefg|aaab|NULL
SELECT substring('abc', '#"a#"b#"%', '#');
--! 2200C
-- Lists without an entry.
SELECT EXISTS (SELECT FROM a), EXISTS (SELECT FROM a WHERE false), EXISTS (SELECT), EXISTS (SELECT WHERE false);
--> t|f|t|f
SELECT count(*) FROM (SELECT UNION ALL SELECT) t;
--> 2
-- ONLY.
UPDATE ONLY a SET n = 'uno' WHERE x = 1;
SELECT n FROM ONLY a WHERE x = 1;
--> uno
SELECT a.n, b.m FROM ONLY (a) JOIN ONLY b ON a.x = b.x ORDER BY 1;
--> two|20
--> uno|10
DELETE FROM ONLY c WHERE x = 77;
-- ORDER BY with an operator.
SELECT x FROM a ORDER BY x USING <;
--> 1
--> 2
--> 3
SELECT n FROM a ORDER BY n USING > NULLS LAST;
--> uno
--> two
--> NULL
-- ON CONFLICT.
INSERT INTO a VALUES (1, 'zzz') ON CONFLICT (x) DO UPDATE SET n = excluded.n WHERE a.n <> 'uno' RETURNING n;
INSERT INTO a VALUES (1, 'one') ON CONFLICT (x) DO UPDATE SET n = excluded.n WHERE excluded.n = 'one' RETURNING *;
--> 1|one
-- OVERLAPS.
SELECT (date '2020-01-01', date '2020-02-01') OVERLAPS (date '2020-01-15', date '2020-03-01');
--> t
SELECT (date '2020-01-01', interval '10 days') OVERLAPS (date '2020-01-15', interval '1 day');
--> f
SELECT (time '10:00', time '11:00') OVERLAPS (time '11:00', time '12:00'), (time '11:00', time '10:00') OVERLAPS (time '10:59', time '12:00');
--> f|t
SELECT (timestamp '2020-01-01', NULL) OVERLAPS (timestamp '2020-01-01', timestamp '2020-01-02'), (timestamp '2020-01-01', timestamp '2020-01-01') OVERLAPS (timestamp '2020-01-01', timestamp '2020-01-02');
--> NULL|t
SELECT (NULL::date, date '2020-02-01') OVERLAPS (date '2020-01-15', date '2020-03-01'), (date '2020-01-01', NULL) OVERLAPS (date '2020-01-15', date '2020-03-01'), (date '2020-01-01', date '2020-02-01') OVERLAPS (date '2020-01-15', NULL);
--> t|NULL|t
SELECT (NULL::date, NULL::date) OVERLAPS (date '2020-01-15', date '2020-03-01');
--> NULL
SELECT (date '2020-01-01', date '2020-02-01') OVERLAPS (date '2020-01-15', date '2020-03-01', 1);
--! 42601
-- Fields of rows.
SELECT (ROW(1, 2)).f1, (ROW(1, 'a'::text)).f2;
--> 1|a
SELECT (ROW(1, 2)).f3;
--! 42703
SELECT (a).n, (a.*).x FROM a WHERE x = 1;
--> one|1
SELECT (a).* FROM a WHERE x = 1;
--> 1|one
SELECT (q).u FROM (SELECT 1 AS u, 2 AS v) q;
--> 1
SELECT (a).nosuch FROM a;
--! 42703
-- Functions.
SELECT num_nulls(1, NULL, 'x'), num_nonnulls(1, NULL, 2.5), num_nulls(NULL);
--> 1|2|1
SELECT array_fill(7, ARRAY[3]), array_fill(NULL::int, ARRAY[2]), array_fill('x'::text, ARRAY[0]);
--> {7,7,7}|{NULL,NULL}|{}
SELECT array_fill(1, NULL);
--! 22004
SELECT * FROM unnest(ARRAY[1, 2, 3], ARRAY['a', 'b']) AS t(p, q);
--> 1|a
--> 2|b
--> 3|NULL
SELECT * FROM unnest(ARRAY[1, 2, 3], ARRAY['a', 'b'], NULL::int[]) WITH ORDINALITY AS t(p, q, r, s);
--> 1|a|NULL|1
--> 2|b|NULL|2
--> 3|NULL|NULL|3
SELECT t.* FROM a, unnest(ARRAY[a.x, a.x + 1], ARRAY[a.n]) AS t(p, q) WHERE a.x < 3 ORDER BY 1, 2;
--> 1|one
--> 2|two
--> 2|NULL
--> 3|NULL
SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a', 'b'])) AS t(p, q);
--> 1|a
--> 2|b
--> 3|NULL
SELECT * FROM ROWS FROM (generate_series(1, 2)) WITH ORDINALITY AS t(p, q);
--> 1|1
--> 2|2
SELECT 'abc' LIKE ANY (ARRAY['a%', 'z%']), 'abc' LIKE ALL (ARRAY['a%', 'z%']), 'abc' NOT LIKE ALL (ARRAY['b%', 'z%']), 'abc' ILIKE ANY (ARRAY['A%']);
--> t|f|t|t
SELECT 'abc' LIKE ANY (VALUES ('a%'), ('z%')), 'abc' LIKE ALL (SELECT 'a' || '%'), 'abc' ~ ANY (ARRAY['^z', 'b']);
--> t|t|t
SELECT 'abc' LIKE ANY (NULL::text[]), 'abc' LIKE ANY (ARRAY[NULL, 'z']), 'abc' LIKE ANY ('{}'::text[]), 'abc' LIKE ALL ('{}');
--> NULL|NULL|f|t
SELECT n FROM a WHERE n LIKE ANY (ARRAY['o%', 't' || '%']) ORDER BY 1;
--> one
--> two
SELECT 'abc' LIKE ANY ('x'::text);
--! 42809
SELECT make_interval(days => 10), make_interval(hours => 2, secs => 1.5), make_interval(1, 2), make_interval(1, weeks => 2);
--> 10 days|02:00:01.5|1 year 2 mons|1 year 14 days
SELECT make_date(year => 2020, day => 2, month => 1), make_time(hour => 1, min => 2, sec => 3.5);
--> 2020-01-02|01:02:03.5
SELECT make_interval(nosuch => 1);
--! 42883
SELECT make_interval(days => 1, days => 2);
--! 42601
SELECT make_interval(days => 1, 2);
--! 42601
SELECT make_date(year => 2020, day => 2);
--! 42883
SELECT length(localtime(0)::text), pg_typeof(localtimestamp(3)), current_timestamp(0) = date_trunc('second', current_timestamp(0));
--> 8|timestamp without time zone|t
-- Tables.
CREATE UNLOGGED TABLE ul (i int PRIMARY KEY);
INSERT INTO ul VALUES (1) RETURNING i;
--> 1
CREATE TABLE wn AS SELECT x, n FROM a WITH NO DATA;
SELECT count(*) FROM wn;
--> 0
INSERT INTO wn SELECT * FROM a WHERE x = 2 RETURNING *;
--> 2|two
CREATE TABLE wd AS SELECT x AS y, n FROM a ORDER BY 1 WITH DATA;
SELECT count(y) FROM wd;
--> 3
CREATE TABLE IF NOT EXISTS wv (p, q) AS VALUES (1, 'a') WITH NO DATA;
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'wv' ORDER BY 1;
--> p|integer
--> q|text
CREATE TABLE wc (p, q) AS SELECT x, n FROM a WHERE x < 3;
SELECT p, q FROM wc ORDER BY 1;
--> 1|one
--> 2|two

-- The operand of CASE is worked out once.
SELECT x, CASE lower(n) WHEN 'one' THEN 1 WHEN 'two' THEN 2 ELSE 0 END FROM a ORDER BY x;
--> 1|1
--> 2|2
--> 3|0
SELECT CASE lower(n) WHEN 'one' THEN 'a' ELSE 'b' END, count(*) FROM a GROUP BY CASE lower(n) WHEN 'one' THEN 'a' ELSE 'b' END ORDER BY 1;
--> a|1
--> b|2
SELECT CASE lower(n) WHEN 'one' THEN 'a' ELSE 'b' END, count(*) FROM a GROUP BY lower(n) ORDER BY 1, 2;
--> a|1
--> b|1
--> b|1
SELECT x, CASE (SELECT max(i.x) FROM a i WHERE i.x <= a.x) WHEN 1 THEN (SELECT min(n) FROM a j WHERE j.x = a.x) WHEN a.x THEN CASE x + 1 WHEN 3 THEN 'three' END END FROM a ORDER BY x;
--> 1|one
--> 2|three
--> 3|NULL
SELECT CASE x + 0 WHEN 1 THEN x WHEN NULL THEN 7 ELSE nullif(x * 2, 4) END FROM a ORDER BY x;
--> 1
--> NULL
--> 6
SELECT CASE 1.5 + x WHEN 2.5 THEN 'a' WHEN 3.50 THEN 'b' END, CASE upper('a') WHEN 'A ' THEN 1 WHEN 'A' THEN 2 END, nullif(x + 0.5, 1.5) FROM a ORDER BY x;
--> a|2|NULL
--> b|2|2.5
--> NULL|2|3.5
SELECT sum(CASE x % 2 WHEN 0 THEN x ELSE -x END), count(nullif(x % 2, 0)), max(CASE count(*) WHEN 1 THEN 'one' END) OVER () FROM a GROUP BY x ORDER BY 1;
--> -3|1|one
--> -1|1|one
--> 2|0|one
SELECT nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(nullif(1, 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2), 2);
--> 1
SELECT CASE CASE CASE CASE CASE CASE CASE CASE CASE CASE CASE CASE CASE CASE 1 WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END WHEN 5 THEN 6 WHEN 7 THEN 8 WHEN 1 THEN 1 END;
--> 1

-- A literal of which only a query knows that it is one fits like others, or is refused.
CREATE TABLE lq (v varchar(4), c char(2), va varchar(3)[], n int, d date);
INSERT INTO lq (v) SELECT 'abcdefgh';
--! 22001
INSERT INTO lq (c) SELECT 'abc' LIMIT 1;
--! 22001
INSERT INTO lq (v) SELECT DISTINCT 'abcde' FROM lq a RIGHT JOIN (VALUES (1)) b ON true;
--! 22001
INSERT INTO lq (va) SELECT '{abcd}';
--! 22001
INSERT INTO lq (v, c, va, n, d) SELECT 'abcd', 'a   ', '{abc,d}', '17', '2020-01-02' OFFSET 0;
INSERT INTO lq (v) SELECT 'abcd   ' LIMIT 1;
INSERT INTO lq (n) SELECT 'x' LIMIT 1;
--! 22P02
SELECT v || '|', c || '|', va, n + 1, d + 1 FROM lq ORDER BY 1;
--> abcd||a||{abc,d}|18|2020-01-03
--> abcd||NULL|NULL|NULL|NULL
SELECT u::varchar(2), u::char(3) || '|' FROM (SELECT 'abcdef' AS u LIMIT 1) s;
--> ab|abc|
WITH d AS (SELECT 1) INSERT INTO lq (n) VALUES (4) RETURNING n;
--> 4
SELECT a, b FROM (VALUES (1, 9), (2, 8), (3, 7)) t (a, b) ORDER BY (SELECT 1 LIMIT 1), 2 LIMIT 1;
--> 3|7
SELECT a, b FROM (VALUES (1, 9), (2, 8), (3, 7)) t (a, b) ORDER BY (SELECT 1 LIMIT 1), 2 LIMIT 1;
--> 3|7
SELECT a, b FROM (VALUES (1, 9), (2, 8), (3, 7)) t (a, b) ORDER BY (SELECT 1 LIMIT 1), 2 LIMIT 1;
--> 3|7
SELECT a FROM (VALUES (1, 9), (2, 8), (3, 7)) t (a, "limit") ORDER BY t.limit, 1 LIMIT 2;
--> 3
--> 2
SELECT a FROM (VALUES (1, 9), (2, 8), (3, 7)) t (a, "limit") ORDER BY t.limit, 1 LIMIT 2;
--> 3
--> 2
SELECT a FROM (VALUES (1, 9), (2, 8), (3, 7)) t (a, "limit") ORDER BY t.limit, 1 LIMIT 2;
--> 3
--> 2
CREATE TABLE lt (x text COLLATE "nn_XX");
--! 42704
CREATE TABLE lt (x int COLLATE "C");
--! 42804
CREATE TABLE lt (x text COLLATE "C");
SELECT a.n FROM lq a LEFT JOIN lq b ON a.n = b.n FOR UPDATE;
--! 0A000
SELECT a.n FROM lq a RIGHT JOIN lq b ON a.n = b.n FOR UPDATE OF a;
--! 0A000
SELECT a.n FROM lq a LEFT JOIN lq b ON a.n = b.n ORDER BY 1 FOR UPDATE OF a;
--> 4
--> 17
--> NULL
SELECT n FROM (SELECT n FROM lq GROUP BY n) s FOR UPDATE;
--! 0A000
SELECT n FROM (SELECT n FROM lq) s ORDER BY 1 FOR UPDATE;
--> 4
--> 17
--> NULL
SELECT n, x FROM lq, (VALUES (1)) v (x) ORDER BY 1 FOR UPDATE;
--> 4|1
--> 17|1
--> NULL|1
-- Fields of intervals.
SELECT interval '3' hour to minute, interval '1.5' day, interval '1.5' month, interval(1) '1.27 sec', interval '1' year to month;
--> 00:03:00|1 day|1 mon|00:00:01.3|1 mon
SELECT interval '1:30' minute to second, interval '1:30', interval '1:30.5', interval '1-2' year to month, interval '7' minute;
--> 00:01:30|01:30:00|00:01:30.5|1 year 2 mons|00:07:00
SELECT interval '1 2:03:04.567' day to hour, interval '1 2:03:04.567' day to minute, interval '1 2:03:04.567' day to second(1);
--> 1 day 02:00:00|1 day 02:03:00|1 day 02:03:04.6
SELECT interval '1 2' day to hour, interval '1 year 2 months 3 days 4:05:06' year, interval '1 year 2 months 3 days 4:05:06' month;
--> 1 day 02:00:00|1 year|1 year 2 mons
SELECT interval '1.2345' second(2), interval '100' second, interval '-1:30' hour to minute, interval '2:03:04' hour to second;
--> 00:00:01.23|00:01:40|-01:30:00|02:03:04
SELECT '90'::interval minute, cast('90' AS interval hour), '1 day 2:03:04'::interval day, '5'::text::interval day;
--> 01:30:00|90:00:00|1 day|00:00:00
SELECT '1:02:03'::interval hour to minute + interval '1' second, pg_typeof(interval '1' day);
--> 01:02:01|interval
CREATE TABLE spans (id int PRIMARY KEY, a interval year to month, b interval day to second(2), c interval hour);
INSERT INTO spans VALUES (1, '14', '1 2:03:04.567', '90 minutes'), (2, interval '1 year 5 days', '90', '2');
SELECT * FROM spans ORDER BY id;
--> 1|1 year 2 mons|1 day 02:03:04.57|01:00:00
--> 2|1 year|00:01:30|02:00:00
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'spans'::regclass AND attnum > 0 ORDER BY attnum;
--> id|integer
--> a|interval year to month
--> b|interval day to second(2)
--> c|interval hour
SELECT interval '1' month to day;
--! 42601
SELECT interval '1' day to year;
--! 42601
-- One level for all operators that have none of their own.
SELECT 'a' ~ 'a' || '%', 'a' || 'b' ~ 'ab', 'ab' ~ 'a' = true, 'x' || 'y' LIKE 'x' || '%', 1 + 2 | 4 = 7;
--> true%|t|t|t|t
SELECT 'ab' OPERATOR(pg_catalog.~) 'a' || 'b', 2 OPERATOR(pg_catalog.*) 3 + 4, NOT 'a' ~ 'b' AND true, 'abc' ~~ 'a' || '%';
--> trueb|14|t|false%
SELECT 'a' !~ 'b' || 'c' IS NULL, 'a' || 'b' LIKE ANY (ARRAY['ab', 'c']), '{"a": 1}'::jsonb ? 'a' = true, 7 & 3 + 1;
--> f|t|t|4
-- What a literal is.
SELECT 1 'x';
--! 42601
SELECT 1 AS 'x';
--! 42601
SELECT 'p' 'q';
--! 42601
SELECT 1 FROM a 'x';
--! 42601
SELECT to_char(now(), '') IS NULL, to_char(interval '1 day', '') IS NULL, to_char(1, '') IS NULL, to_char(timestamp 'infinity', '') IS NULL;
--> t|t|f|t
SELECT substr('abcdef', '3'), substr('abcdef', '2', '3'), substring('abcdef', '.d'), substr('abcdef', 2);
--> cdef|bcd|cd|bcdef
SELECT 1 = ANY('{1,2}'), 'a' = ANY('{a,b}'), 'c' <> ALL('{a,b}'), 'b' > ALL('{a}'), 'a' LIKE ANY('{b%,a%}');
--> t|t|t|t|t
SELECT x FROM a WHERE x = ANY('{1,3}') ORDER BY x;
--> 1
--> 3
-- Names of columns.
CREATE TABLE named AS SELECT (date '2020-01-01', date '2020-02-01') OVERLAPS (date '2020-01-15', date '2020-03-01'), '{1}'::int[], (SELECT 1)::bigint AS b, ARRAY['x']::text[];
SELECT column_name FROM information_schema.columns WHERE table_name = 'named' ORDER BY ordinal_position;
--> overlaps
--> int4
--> b
--> array
CREATE VIEW names_view AS SELECT (SELECT n)::varchar, cast(NULL AS text[]), v.n || '' COLLATE "C" FROM (VALUES ('x'::text)) AS v (n);
SELECT column_name FROM information_schema.columns WHERE table_name = 'names_view' ORDER BY ordinal_position;
--> n
--> text
--> ?column?
-- Queries that write and name.
CREATE TABLE target (x int PRIMARY KEY, n text);
INSERT INTO target SELECT 1, 'abc' ON CONFLICT DO NOTHING;
INSERT INTO target SELECT 1, 'abd' ON CONFLICT (x) DO UPDATE SET n = excluded.n;
INSERT INTO target SELECT 2, 'x' UNION ALL SELECT 1, 'y' ON CONFLICT DO NOTHING;
SELECT * FROM target ORDER BY x;
--> 1|abd
--> 2|x
SELECT (SELECT count(*) FROM b WHERE b.x <= a.x) AS m, count(*) FROM a GROUP BY m ORDER BY 1;
--> 1|1
--> 2|2
SELECT (SELECT count(*) FROM b WHERE b.x <= a.x), count(*) FROM a GROUP BY 1 ORDER BY 1;
--> 1|1
--> 2|2
SELECT (SELECT count(*) FROM b WHERE b.x <= a.x), count(*) FROM a GROUP BY (SELECT count(*) FROM b WHERE b.x <= a.x) ORDER BY 1;
--> 1|1
--> 2|2
SELECT set_config('osier.suite', '5', false), current_setting('osier.suite');
--> 5|5
SELECT set_config('osier.suite', '6', true) || set_config('osier.suite', '7', true), current_setting('osier.suite', true);
--> 67|7
SELECT pg_sleep(0), pg_sleep(0.01) IS NULL, pg_sleep(-1) IS NULL, pg_sleep(NULL) IS NULL;
--> |f|f|t
-- SELECT INTO.
SELECT x, n AS name INTO made FROM a WHERE x < 3;
SELECT * FROM made ORDER BY x;
--> 1|one
--> 2|two
SELECT 1 AS one INTO TABLE unified UNION SELECT 2;
SELECT * FROM unified ORDER BY one;
--> 1
--> 2
WITH w AS (SELECT 5 AS five) SELECT five INTO from_with FROM w;
SELECT * FROM from_with;
--> 5
SELECT 1 INTO made;
--! 42P07

-- What a view or a subquery gives is worked out once, and only where it is read.
CREATE SEQUENCE once_s;
CREATE TABLE once_t (id int PRIMARY KEY, a int);
INSERT INTO once_t VALUES (1, 1), (2, 0), (3, 3);
SELECT y FROM (SELECT id, (SELECT nextval('once_s') WHERE once_t.id > 0) AS y FROM once_t) s WHERE y > 0 ORDER BY id;
--> 1
--> 2
--> 3
SELECT currval('once_s');
--> 3
CREATE VIEW once_v AS SELECT id, a, 10 / a AS q FROM once_t;
SELECT id, a FROM once_v ORDER BY id;
--> 1|1
--> 2|0
--> 3|3
SELECT count(a), sum(id) FROM once_v WHERE a < 9;
--> 3|6
SELECT a, count(*) FROM once_v GROUP BY a ORDER BY a;
--> 0|1
--> 1|1
--> 3|1
SELECT t.id, v.a FROM once_t t LEFT JOIN once_v v ON v.id = t.a ORDER BY 1;
--> 1|1
--> 2|NULL
--> 3|3
SELECT id FROM once_t WHERE id IN (SELECT id FROM once_v) ORDER BY 1;
--> 1
--> 2
--> 3
SELECT id, sum(a) OVER (ORDER BY id) FROM once_v ORDER BY 1;
--> 1|1
--> 2|1
--> 3|4
SELECT q FROM once_v ORDER BY id;
--! 22012
SELECT q FROM once_v WHERE a <> 0 ORDER BY id;
--> 10
--> 3
SELECT ARRAY['1', '2']::int[], ARRAY['2020-01-02', NULL]::date[], ARRAY[1.5, 2]::int[], ARRAY[]::text[], ARRAY['abc', 'de']::varchar(2)[];
--> {1,2}|{2020-01-02,NULL}|{2,2}|{}|{ab,de}
SELECT ARRAY['x']::int[];
--! 22P02
DROP VIEW once_v;
DROP TABLE once_t;

-- What USING joins comes first.
CREATE TABLE star_l (a int, k int, m int);
CREATE TABLE star_r (k int, b int, m int);
INSERT INTO star_l VALUES (1, 10, 5), (2, 20, 6);
INSERT INTO star_r VALUES (10, 100, 5), (30, 300, 7);
SELECT * FROM star_l JOIN star_r USING (k);
--> 10|1|5|100|5
SELECT * FROM star_l JOIN star_r USING (m, k);
--> 5|10|1|100
SELECT * FROM star_l NATURAL JOIN star_r;
--> 10|5|1|100
SELECT * FROM star_l RIGHT JOIN star_r USING (k) ORDER BY 1;
--> 10|1|5|100|5
--> 30|NULL|NULL|300|7
SELECT * FROM star_l FULL JOIN star_r USING (k) ORDER BY 1;
--> 10|1|5|100|5
--> 20|2|6|NULL|NULL
--> 30|NULL|NULL|300|7
SELECT * FROM star_r x JOIN (star_l JOIN star_r USING (k)) USING (k);
--> 10|100|5|1|5|100|5
SELECT star_l.*, k FROM star_l JOIN star_r USING (k);
--> 1|10|5|10
INSERT INTO star_l SELECT * FROM star_r JOIN (SELECT k, 9 AS z FROM star_l) s USING (k) ON CONFLICT DO NOTHING;
--! 42601
CREATE TABLE star_c AS SELECT * FROM star_l JOIN star_r USING (k, m);
SELECT * FROM star_c;
--> 10|5|1|100
CREATE TABLE star_n (m int, b int, a int);
INSERT INTO star_n VALUES (5, 7, 1);
SELECT * FROM star_l NATURAL JOIN star_n;
--> 1|5|10|7
DROP TABLE star_l, star_r, star_c, star_n;
