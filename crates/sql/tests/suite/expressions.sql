-- What PostgreSQL 15 answers: rows behind `--> `, or the SQLSTATE behind `--! `. A statement is one line.

SELECT 1 + 2, 7 / 2, -7 / 2, 7 % -3, 2 ^ 10, 7.0 / 3, 1e3, .5, 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, 2147483647 + 0;
--> 3|3|-3|1|1024|2.3333333333333333|1000|0.5|1|7|6|-6|16|2147483647
SELECT 2147483648, 9223372036854775807, 9223372036854775808, 1.10, 0.000001, 12345678901234567890.123;
--> 2147483648|9223372036854775807|9223372036854775808|1.10|0.000001|12345678901234567890.123
SELECT 1 = 1.0, 1 < 2.5, 'a' < 'b', 'a' = 'a ', true > false, NULL = NULL, 1 <> 2;
--> t|t|t|f|t|NULL|t
SELECT true AND NULL, false AND NULL, true OR NULL, NOT NULL::bool, NULL IS TRUE, false IS NOT TRUE, NULL IS UNKNOWN;
--> NULL|f|t|NULL|f|t|t
SELECT 1 IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM NULL, 1 IS DISTINCT FROM 1;
--> t|t|f
SELECT coalesce(NULL, 1, 2), nullif(1, 2), nullif(1, 1), greatest(1, 3, 2), least('b', 'a'), greatest(NULL, 1);
--> 1|1|NULL|3|a|1
SELECT CASE WHEN true THEN 1 ELSE 2.5 END, CASE 'x' WHEN 'y' THEN 1 END, CASE WHEN NULL THEN 1 ELSE 0 END;
--> 1|NULL|0
SELECT 'a' || 'b', 'a' || 1, 1 || 'a', NULL || 'a', 'abc' LIKE 'a_c', 'abc' NOT LIKE 'b%', 'a%c' LIKE 'a\%c', 'ABC' ILIKE 'a%';
--> ab|a1|1a|NULL|t|t|t|t
SELECT 'abc' ~ '^a', 'abc' !~ 'z', 'ABC' ~* 'b', 'abc' SIMILAR TO '(a|b)%';
--> t|t|t|t
SELECT substring('hello', 2, 3), substring('hello' from 3), substr('hello', 4), left('hello', -2), right('hello', 2), position('l' in 'hello'), strpos('hello', 'z');
--> ell|llo|lo|hel|lo|3|0
SELECT trim('  x '), ltrim('xxa', 'x'), rtrim('axx', 'x'), btrim('xax', 'x'), trim(both 'y' from 'yxy'), lpad('7', 3, '0'), rpad('ab', 4, 'xy');
--> x|a|a|a|x|007|abxy
SELECT replace('aXbX', 'X', '-'), translate('abc', 'ab', 'xy'), split_part('a,b,c', ',', 2), concat('a', NULL, 1), concat_ws('-', 'a', NULL, 'b'), format('%s-%I-%L', 1, 'A b', 'x''y');
--> a-b-|xyc|b|a1|a-b|1-"A b"-'x''y'
SELECT ascii('A'), chr(66), to_hex(255), quote_ident('a b'), quote_literal('it''s'), starts_with('abc', 'ab'), overlay('abcdef' placing 'xx' from 2 for 3);
--> 65|B|ff|"a b"|'it''s'|t|axxef
SELECT exp(1.0), ln(2.718281828), log(100), power(2, 3), mod(7, 3), div(7, 2), pi(), degrees(pi()), gcd(12, 18), lcm(4, 6);
--> 2.7182818284590452|0.9999999998311267|2|8|1|3|3.141592653589793|180|6|12
SELECT round(2.5::float8), round(3.5::float8), 0.1::float8 + 0.2::float8, 1e20::float8, 1.5::real, 'NaN'::float8, 'Infinity'::float8, 1::float8 / 3;
--> 2|4|0.30000000000000004|1e+20|1.5|NaN|Infinity|0.3333333333333333
SELECT 1.5::int, 2.5::int, -1.5::int, 1.5::float8::int, 2.5::float8::int, '12'::int, true::int, 0::bool, 't'::bool, 12::text, 1.50::numeric(5,1), 123.456::numeric(6,2);
--> 2|3|-2|2|2|12|1|f|t|12|1.5|123.46
SELECT 'abc'::varchar(2), 'abc'::char(5) || '|', 'x'::char(3) = 'x', ' a'::text;
--> ab|abc||t| a
SELECT date '2024-02-28' + 2, date '2024-03-01' - date '2024-02-28', date '2024-01-31' + interval '1 month', timestamp '2024-01-01 10:00' - interval '90 minutes';
--> 2024-03-01|2|2024-02-29 00:00:00|2024-01-01 08:30:00
SELECT timestamp '2024-05-01 12:00' - timestamp '2024-04-30 10:30', interval '1 day' * 2.5, interval '1 year 2 mons' + interval '3 days 04:05:06', age(timestamp '2024-03-01', timestamp '2023-01-15');
--> 1 day 01:30:00|2 days 12:00:00|1 year 2 mons 3 days 04:05:06|1 year 1 mon 17 days
SELECT extract(year from date '2024-05-06'), extract(dow from date '2024-05-06'), extract(epoch from interval '1 hour'), date_part('month', timestamp '2024-05-06'), date_trunc('month', timestamp '2024-05-06 11:12:13');
--> 2024|1|3600.000000|5|2024-05-01 00:00:00
SELECT to_char(timestamp '2024-05-06 07:08:09', 'YYYY-MM-DD HH24:MI:SS'), to_date('06/05/2024', 'DD/MM/YYYY'), make_date(2024, 2, 29), '10:20:30.5'::time, time '23:30' + interval '1 hour';
--> 2024-05-06 07:08:09|2024-05-06|2024-02-29|10:20:30.5|00:30:00
SELECT timestamptz '2024-05-06 10:00+02', timestamptz '2024-05-06 10:00+02' AT TIME ZONE 'Europe/Berlin', timestamp '2024-05-06 10:00' AT TIME ZONE 'UTC';
--> 2024-05-06 08:00:00+00|2024-05-06 10:00:00|2024-05-06 10:00:00+00
SELECT array_to_string(ARRAY[1,NULL,3], ',', '*'), string_to_array('a,b', ','), array_append(ARRAY[1], 2), array_position(ARRAY['a','b'], 'b'), array_remove(ARRAY[1,2,1], 1);
--> 1,*,3|{a,b}|{1,2}|2|{2}
SELECT '{"a": {"b": [1, 2]}}'::jsonb -> 'a' -> 'b' -> 0, '{"a": "x"}'::jsonb ->> 'a', '{"a":1,  "a":2}'::json, '{"b":1,"a":2}'::jsonb, '{"a":1}'::jsonb @> '{"a":1}', '[1,2]'::jsonb || '3';
--> 1|x|{"a":1,  "a":2}|{"a": 2, "b": 1}|t|[1, 2, 3]
SELECT jsonb_build_object('a', 1, 'b', ARRAY[1,2]), json_build_array(1, 'x', NULL), to_jsonb('x'::text), jsonb_array_length('[1,2,3]'), jsonb_typeof('1.5');
--> {"a": 1, "b": [1, 2]}|[1, "x", null]|"x"|3|number
SELECT '\x48656c6c6f'::bytea, encode('abc', 'hex'), encode('abc', 'base64'), decode('616263', 'hex'), length('\x00ff'::bytea);
--> \x48656c6c6f|616263|YWJj|\x616263|2
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, interval '1 month 2 days 3:04:05', interval '-1 day', '1 day ago'::interval;
--> a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|1 mon 2 days 03:04:05|-1 days|-1 days
SELECT (1, 2) < (1, 3), (1, NULL) = (1, 2), ROW(1, 'a') = ROW(1, 'a'), 3 BETWEEN 1 AND 5, 3 NOT BETWEEN 4 AND 5;
--> t|NULL|t|t|t
SELECT pg_typeof(1), pg_typeof(1.5), pg_typeof('x'), pg_typeof(NULL), pg_typeof(1::bigint + 1), pg_typeof(now() - now());
--> integer|numeric|unknown|unknown|bigint|interval
SELECT sum(x), avg(x), count(x) FROM (VALUES (1), (2), (4)) v(x);
--> 7|2.3333333333333333|3
SELECT sum(x), avg(x) FROM (VALUES (1.5), (2.25)) v(x);
--> 3.75|1.8750000000000000
SELECT sum(x), avg(x) FROM (VALUES (1::bigint), (2)) v(x);
--> 3|1.5000000000000000
SELECT sum(x), avg(x), min(x) FROM (VALUES (1.5::float8), (2)) v(x);
--> 3.5|1.75|1.5
SELECT 99999999999::int;
--! 22003
SELECT 2147483647 + 1;
--! 22003
SELECT 9223372036854775807 + 1;
--! 22003
SELECT 'x'::date;
--! 22007
SELECT '2024-13-01'::date;
--! 22008
SELECT sqrt(-1);
--! 2201F
SELECT ln(0);
--! 2201E
SELECT substring('abc', 1, -1);
--! 22011
SELECT '{1,2'::int[];
--! 22P02
SELECT '{"a":}'::json;
--! 22P02
SELECT 1 || 2;
--! 42883
SELECT 'a' + 1;
--! 22P02
SELECT -'x';
--! 42725
SELECT upper(1);
--! 42883

-- Rows are compared part by part, each pair as its types are.
SELECT (3, 5) > (2.5, 9), (1::float8, 1) < (2, 1), (1, 2) = (1.0, 2.0), (1, 2) <> (1.0, 2.0);
--> t|t|t|f
SELECT ('2020-01-01'::date, 1) > ('2020-01-02', 0), (1000::bigint, 1) <= ('1', 3::bigint);
--> f|f
SELECT (1, 'b') IN ((1.0, 'a'), (1.0, 'b')), (1, 2) NOT IN ((1.0, 2)), (1, 2) BETWEEN (0.5, 3) AND (1.0, 2.5);
--> t|f|t
SELECT (1, 2) IS DISTINCT FROM (1.0, 2);
--> f
SELECT (1, 2) = (1, 2, 3);
--! 42601
SELECT (1, 2) = (1, true);
--! 42883
CREATE TABLE pages (at timestamptz, id int PRIMARY KEY);
INSERT INTO pages SELECT timestamptz '2020-01-01 00:00+00' + n * interval '1 day', n FROM generate_series(1, 9) n;
SELECT id FROM pages WHERE (at, id) > ('2020-01-05 00:00+00', 4) ORDER BY at, id LIMIT 3;
--> 5
--> 6
--> 7
DELETE FROM pages WHERE (at, id) <= ('2020-01-03 00:00+00', 2) RETURNING id;
--> 1
--> 2
PREPARE after AS SELECT id FROM pages WHERE (at, id) > ($1, $2) ORDER BY at, id LIMIT 2;
EXECUTE after('2020-01-05 00:00+00', 4);
--> 5
--> 6
DEALLOCATE ALL;

-- A row is NULL where all of its parts are, and not NULL where none is.
SELECT ROW(NULL, NULL) IS NULL, ROW(1, NULL) IS NULL, ROW(1, NULL) IS NOT NULL, ROW(1, 2) IS NOT NULL, ROW(NULL, ROW(NULL)) IS NULL;
--> t|f|f|t|f
SELECT x.id FROM pages x LEFT JOIN pages y ON y.id = x.id + 1 WHERE y IS NULL;
--> 9

-- How closely IS DISTINCT FROM, ISNULL and signs bind.
SELECT true IS DISTINCT FROM false AND false, false IS NOT DISTINCT FROM true OR true;
--> f|t
SELECT * FROM (VALUES (1, true, false)) v (a, b, c) WHERE b IS DISTINCT FROM c AND a = 2;
SELECT 1 IS DISTINCT FROM 2 AND 3 = 3, 1 IS DISTINCT FROM 1 + 1, 2 = 2 IS NOT DISTINCT FROM true;
--> t|t|t
SELECT 2.5 - 1 ISNULL, 'A' < 'b' ISNULL, NULL NOTNULL, (SELECT 1) NOTNULL AND true;
--> f|f|f|t
SELECT 1 AS isnull;
--> 1
SELECT 4>-1, 4>=-1, -4<-1, 1<>-1, 4>+1, 8>>-0, 2=-2, 3*-2, 1||-1;
--! 42883
SELECT 4>-1, 4>=-1, -4<-1, 1<>-1, 4>+1, 8>>-0, 2=-2, 3*-2;
--> t|t|t|t|t|8|f|-6
SELECT 'x' || true, false || 'x', concat('x', true);
--> xtrue|falsex|xt
SELECT greatest(10, 10.00), greatest(10.00, 10), least(1.0, 1), least(1, 1.0);
--> 10|10.00|1.0|1
