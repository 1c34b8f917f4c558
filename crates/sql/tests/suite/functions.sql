-- Functions: what PostgreSQL 15 answers. A statement is one line.

-- Digests and identifiers.
SELECT md5(''), md5('abc'), md5('abc'::bytea);
--> d41d8cd98f00b204e9800998ecf8427e|900150983cd24fb0d6963f7d28e17f72|900150983cd24fb0d6963f7d28e17f72
SELECT encode(sha256('abc'), 'hex');
--> ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
SELECT encode(sha224('abc'), 'hex');
--> 23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7
SELECT encode(sha384(''::bytea), 'hex'), length(sha512('x'));
--> 38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b|64
SELECT md5(NULL);
--> NULL
SELECT md5(1);
--! 42883
SELECT gen_random_uuid() <> gen_random_uuid(), length(gen_random_uuid()::text), substring(gen_random_uuid()::text, 15, 1);
--> t|36|4

-- to_char of numbers.
SELECT to_char(125, '999'), to_char(-125, '999'), to_char(125, '99');
-->  125|-125| ##
SELECT to_char(12345.678, '99999.99'), to_char(12345.678, '99,999.99'), to_char(-0.5, '9.99');
-->  12345.68| 12,345.68| -.50
SELECT to_char(0.1, '0.9'), to_char(0.1, '9.9'), to_char(-0.1, '99.99'), to_char(0, '9.9');
-->  0.1|  .1|  -.10|  .0
SELECT to_char(0.1, 'FM9.99'), to_char(0, 'FM9.99'), to_char(1, 'FM9.99'), to_char(1.5, 'FM9.99'), to_char(0.1, 'FM0.99');
--> .1|0.|1.|1.5|0.1
SELECT to_char(12, '9990999.9'), to_char(12, 'FM9990999.9'), to_char(485, '999'), to_char(-485, '999');
-->     0012.0|0012.| 485|-485
SELECT to_char(485, '9 9 9'), to_char(1485, '9,999'), to_char(1485, '9G999'), to_char(148.5, '999.999');
-->  4 8 5| 1,485| 1,485| 148.500
SELECT to_char(148.5, 'FM999.999'), to_char(148.5, 'FM999.990'), to_char(148.5, '999D999'), to_char(3148.5, '9G999D999');
--> 148.5|148.500| 148.500| 3,148.500
SELECT to_char(-485, '999S'), to_char(-485, '999MI'), to_char(485, '999MI'), to_char(485, 'FM999MI'), to_char(485, 'PL999');
--> 485-|485-|485 |485|+ 485
SELECT to_char(485, 'SG999'), to_char(-485, 'SG999'), to_char(-485, '9SG99'), to_char(-485, '999PR'), to_char(485, '999PR'), to_char(485, 'FM999PR');
--> +485|-485|4-85|<485>| 485 |485
SELECT to_char(485, 'L999'), to_char(485, 'RN'), to_char(485, 'FMRN'), to_char(5.2, 'FMRN'), to_char(485, 'rn'), to_char(0, 'RN'), to_char(4000, 'FMRN');
-->   485|        CDLXXXV|CDLXXXV|V|        cdlxxxv|###############|###############
SELECT to_char(482, '999th'), to_char(485, '"Good number:"999'), to_char(485.8, '"Pre:"999" Post:" .999'), to_char(1, '9th'), to_char(22, 'FM99TH');
-->  482nd|Good number: 485|Pre: 485 Post: .800| 1st|22ND
SELECT to_char(12, '99V999'), to_char(12.4, '99V999'), to_char(12.45, '99V9');
-->  12000| 12400| 125
SELECT to_char(0.0004859, '9.99EEEE'), to_char(12345, '9.999EEEE'), to_char(-12345, '9.9EEEE'), to_char(0, '9.9EEEE'), to_char(99999, '9.9EEEE');
-->  4.86e-04| 1.234e+04|-1.2e+04| 0.0e+00| 1.0e+05
SELECT to_char(1234567, '9,999,999'), to_char(1234, '9,999,999'), to_char(1234, 'FM9,999,999'), to_char(-1234, '9,999,999');
-->  1,234,567|     1,234|1,234|    -1,234
SELECT to_char(1234.5, '000000.00'), to_char(-1234.5, 'S000000.00'), to_char(1234.5, 'S9999.99'), to_char(-7, 'S0009');
-->  001234.50|-001234.50|+1234.50|-0007
SELECT to_char(1234567.891, 'FM999,999,999.00'), to_char(0, 'FM999,999,990.00'), to_char(0.5, 'FM999,999,999.00'), to_char(1e10::numeric, 'FM999,999,999.00');
--> 1,234,567.89|0.00|.50|###,###,###.##
SELECT to_char(1.5::float8, '999.99'), to_char(-1.5::float4, '9.9'), to_char(123456789012345678::float8, '999999999999999999'), to_char(0.1::float8 + 0.2::float8, '9.99999999999999999999');
-->    1.50|-1.5| 123456789012345680|  .30000000000000
SELECT to_char('NaN'::numeric, '999'), to_char('NaN'::float8, '9.9EEEE'), to_char('Infinity'::float8, '99');
-->  NaN| #.#####| ##
SELECT to_char(1.5::float8, '9.9EEEE'), to_char(-1e100::float8, '9.99EEEE'), to_char(1e-5::float4, '9.99EEEE');
-->  1.5e+00|-1.00e+100| 1.00e-05
SELECT to_char(9223372036854775807, '9999999999999999999'), to_char(42::smallint, '999');
-->  9223372036854775807|  42
SELECT to_char(NULL::int, '9'), to_char(1, NULL), to_char(5, ''), to_char(5, 'abc'), to_char(15, '9"x"9');
--> NULL|NULL||a| 1x5
SELECT to_char(1.25, '9.9'), to_char(1.35, '9.9'), to_char(-0.04, '9.9'), to_char(99.95, '99.9'), to_char(99.95, '999.9');
-->  1.3| 1.4|  .0| ##.#| 100.0
SELECT to_char(1, 'B9'), to_char(1.0, '9D0'), to_char(5, '09'), to_char(-5, '09'), to_char(5, '0009'), to_char(1234.56, '9999.');
-->  1| 1.0| 05|-05| 0005| 1235
SELECT to_char(1, '9.9.9');
--! 42601
SELECT to_char(1, 'S9S');
--! 42601
SELECT to_char(1, 'PR9');
--! 42601
SELECT to_char(1, 'S9PR');
--! 42601
SELECT to_char(1, '9V9.9');
--! 42601
SELECT to_char(1, 'EEEE9');
--! 42601

-- to_number.
SELECT to_number('12,454.8-', '99G999D9S'), to_number('1,234', '9,999'), to_number('-12.5', 'S99.9'), to_number('$1,234.50', 'L9,999.99');
--> -12454.8|1234|-12.5|1234.50
SELECT to_number('12', '999'), to_number('  7 ', '99'), to_number('1234', '99'), to_number('0.50', '9.99'), to_number('<5>', '9PR'), to_number('5-', '9MI');
--> 12|7|12|0.50|-5|-5
SELECT to_number('1234.567', '9999.99'), to_number('12345', '99V999'), to_number('-34,338,492', '99G999G999');
--> 1234.56|12.3450000000000000|-34338492
SELECT to_number('abc', '999');
--! 22P02
SELECT to_number('', '999');
--! 22P02
SELECT to_number('5', '');
--> NULL

-- to_char of intervals, and of moments.
SELECT to_char(interval '15 hours 2 minutes 12 seconds', 'HH24:MI:SS'), to_char(interval '30 hours', 'HH24:MI'), to_char(interval '-3 hours', 'HH24:MI:SS');
--> 15:02:12|30:00|-03:00:00
SELECT to_char(interval '1 year 2 months 3 days 04:05:06.789', 'YYYY-MM-DD HH12:MI:SS.MS'), to_char(interval '1 year 2 months', 'FMYYYY "years" FMMM "months"');
--> 0001-02-03 04:05:06.789|1 years 2 months
SELECT to_char(interval '100 days 5 minutes', 'DDD DD MI SSSS US'), to_char(interval '1 hour', 'HH AM');
--> 100 100 05 300 000000|01 AM
SELECT to_char(interval '1 day', 'Day');
--! 22007
SELECT to_char(timestamp '2024-03-05 14:07:09.25', 'YYYY-MM-DD HH24:MI:SS.MS'), to_char(timestamp '2024-03-05', 'FMMonth FMDDth, YYYY'), to_char(date '2024-03-05', 'Dy DD Mon YY Q WW IW');
--> 2024-03-05 14:07:09.250|March 5th, 2024|Tue 05 Mar 24 1 10 10
SELECT to_date('05 Dec 2000', 'DD Mon YYYY'), to_timestamp('2024-03-05 14:07', 'YYYY-MM-DD HH24:MI'), to_timestamp(0);
--> 2000-12-05|2024-03-05 14:07:00+00|1970-01-01 00:00:00+00
SELECT to_date('2024-13-01', 'YYYY-MM-DD');
--! 22008
SELECT to_date('x', 'YYYY');
--! 22007

-- Arithmetic.
SELECT width_bucket(5.35, 0.024, 10.06, 5), width_bucket(10, 10, 0, 4), width_bucket(0, 10, 0, 4), width_bucket(-1, 0, 10, 5), width_bucket(10, 0, 10, 5);
--> 3|1|5|0|6
SELECT width_bucket(3.0::float8, 0.0::float8, 10.0::float8, 5), width_bucket(35, ARRAY[10, 20, 30]), width_bucket('b'::text, ARRAY['a', 'c']);
--> 2|3|1
SELECT width_bucket(0.3, 0.0, 1.0, 10), width_bucket(0.7, 0, 1, 10);
--> 4|8
SELECT width_bucket(1, 0, 0, 5);
--! 2201G
SELECT width_bucket(1, 0, 10, 0);
--! 2201G
SELECT min_scale(8.4100), min_scale(100), trim_scale(8.4100), trim_scale(100), scale(8.4100);
--> 2|0|8.41|100|4
SELECT acosh(1), atanh(0), acosh(2) > 1.3;
--> 0|0|t
SELECT acosh(0.5);
--! 22003
SELECT atanh(2);
--! 22003
SELECT gcd(12, 18), lcm(4, 6), factorial(5), div(7, 2), mod(7, 3);
--> 6|12|120|3|1

-- Casts that are written as calls.
SELECT int4('42'), float8(1), text(12), date('2024-01-02'), int8(2.5), bool('t');
--> 42|1|12|2024-01-02|3|t
SELECT date(timestamp '2024-05-06 07:08:09'), text('x'::varchar);
--> 2024-05-06|x
SELECT int4('x');
--! 22P02
SELECT date(1);
--! 42883

-- Literals in set operations.
SELECT 1 UNION SELECT '2' ORDER BY 1;
--> 1
--> 2
SELECT NULL UNION ALL SELECT 1 ORDER BY 1;
--> 1
--> NULL
SELECT '2024-01-01' UNION SELECT date '2023-01-01' ORDER BY 1;
--> 2023-01-01
--> 2024-01-01
SELECT 'a' UNION SELECT 'b' ORDER BY 1;
--> a
--> b
SELECT NULL UNION SELECT NULL;
--> NULL
SELECT 1, NULL UNION ALL SELECT NULL, 'x' ORDER BY 1;
--> 1|NULL
--> NULL|x
SELECT x FROM (SELECT 1.5 AS x UNION SELECT '2') t ORDER BY x;
--> 1.5
--> 2
SELECT 1 EXCEPT SELECT '1';
SELECT 1 INTERSECT SELECT '1';
--> 1
SELECT 1 UNION SELECT 'x';
--! 22P02
SELECT 1 UNION SELECT '2'::text;
--! 42804
SELECT NULL UNION SELECT NULL UNION SELECT 1;
--! 42804
WITH t AS (SELECT 1 AS a UNION ALL SELECT NULL) SELECT count(a), count(*) FROM t;
--> 1|2
SELECT pg_typeof(x)::text FROM (SELECT 'a' AS x) t;
--> text
SELECT a || 'x' FROM (SELECT 'b' AS a UNION SELECT 'c') t ORDER BY 1;
--> bx
--> cx

-- ALTER TABLE ... TYPE ... USING.
CREATE TABLE conversions (id int PRIMARY KEY, a text, b int, c text NOT NULL);
INSERT INTO conversions VALUES (1, '12', 3, '2024-01-01'), (2, NULL, 4, '2024-02-03'), (3, '7', NULL, '2020-12-31');
ALTER TABLE conversions ALTER COLUMN a TYPE int;
--! 42804
ALTER TABLE conversions ALTER COLUMN a TYPE int USING a::int;
ALTER TABLE conversions ALTER COLUMN b TYPE text USING 'n' || b, ALTER COLUMN c TYPE date USING c::date;
SELECT id, a + 1, b, c + 1 FROM conversions ORDER BY id;
--> 1|13|n3|2024-01-02
--> 2|NULL|n4|2024-02-04
--> 3|8|NULL|2021-01-01
ALTER TABLE conversions ALTER COLUMN a TYPE bigint USING a * 10 + id;
SELECT id, a FROM conversions ORDER BY id;
--> 1|121
--> 2|NULL
--> 3|73
ALTER TABLE conversions ALTER b TYPE boolean USING length(b) > 1;
SELECT id, b FROM conversions ORDER BY id;
--> 1|t
--> 2|t
--> 3|NULL
ALTER TABLE conversions ALTER COLUMN c TYPE int USING nosuch;
--! 42703
ALTER TABLE conversions ALTER COLUMN c TYPE int USING c;
--! 42804
ALTER TABLE conversions ALTER COLUMN c TYPE int USING count(*);
--! 42803
ALTER TABLE conversions ALTER COLUMN nosuch TYPE int USING 1;
--! 42703
ALTER TABLE conversions ALTER COLUMN c TYPE text USING NULL;
--! 23502
SELECT c FROM conversions WHERE id = 1;
--> 2024-01-01

-- Nested calls are bound once.
SELECT upper(lower(upper(lower(upper(lower(upper(lower(upper(lower(upper(lower(upper(lower(upper(lower(upper(lower(upper(lower('a'))))))))))))))))))));
--> A
SELECT abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(-1))))))))))))))))))));
--> 1

-- Limits of numbers, literals whose types are those of the columns they go to, and zero bytes.
CREATE TABLE edge (a int PRIMARY KEY, n numeric, d date, t text);
INSERT INTO edge SELECT 1, 10::numeric^131000 * 10::numeric^131000;
--! 22003
INSERT INTO edge SELECT 2, (9::numeric * 10::numeric^131071) * 10;
--! 22003
INSERT INTO edge SELECT 3, sum(9 * 10::numeric^131071) FROM generate_series(1, 100);
--! 22003
SELECT 9::numeric * 10::numeric^131071 + 9::numeric * 10::numeric^131071;
--! 22003
SELECT -(9::numeric * 10::numeric^131071) - 9::numeric * 10::numeric^131071;
--! 22003
INSERT INTO edge SELECT 4, 9 * 10::numeric^131071;
SELECT a, length(n::text) FROM edge;
--> 4|131089
DELETE FROM edge;
INSERT INTO edge SELECT 1, NULL;
INSERT INTO edge SELECT 2, '2.5';
INSERT INTO edge (a, d) SELECT g, '2020-01-01' FROM generate_series(3, 4) g;
INSERT INTO edge (a, d, t) WITH q AS (SELECT 5 z) SELECT z, NULL, 'x' FROM q;
INSERT INTO edge (a, d) SELECT g, CASE g WHEN 6 THEN '2021-02-03' END FROM generate_series(6, 7) g;
--! 42804
INSERT INTO edge (a, d) SELECT 6, '2021-02-30';
--! 22008
INSERT INTO edge (a, d) SELECT 6, 'x';
--! 22007
INSERT INTO edge (a, d) (SELECT 6, '2021-02-03');
INSERT INTO edge (a, d) SELECT 7, '2022-02-03' ORDER BY 1 LIMIT 1;
INSERT INTO edge (a, d) SELECT '8', '2022-02-03' UNION ALL SELECT '9', NULL;
--! 42804
INSERT INTO edge (a, d) SELECT 10, x FROM (SELECT '2022-02-03') s(x);
--! 42804
SELECT a, n, d, t FROM edge ORDER BY a;
--> 1|NULL|NULL|NULL
--> 2|2.5|NULL|NULL
--> 3|NULL|2020-01-01|NULL
--> 4|NULL|2020-01-01|NULL
--> 5|NULL|NULL|x
--> 6|NULL|2021-02-03|NULL
--> 7|NULL|2022-02-03|NULL
SELECT U&'\0000';
--! 42601
SELECT convert_from('\x6100', 'utf8');
--! 22021
SELECT ('{"a":"\u0000"}'::json)->>'a';
--! 22P05
SELECT ('{"a":"b\u0000"}'::json)#>>'{a}';
--! 22P05
SELECT ('{"a":"b"}'::json)->>'a';
--> b
SELECT replace('aXbXc', 'X', 'yy'), replace('aXbXc', 'X', ''), replace('aXbXc', 'XbX', '-');
--> ayybyyc|abc|a-c
DROP TABLE edge;

-- Eras, Roman numbers and weeks in templates.
SELECT to_char(timestamp '2020-01-31', 'YYYY AD B.C. bc a.d. RM|FMRM|rm|FMrm IYYY IYY IY I IDDD');
--> 2020 AD A.D. ad a.d. I   |I|i   |i 2020 020 20 0 033
SELECT to_char(timestamp '0044-03-15 BC', 'YYYY BC A.D. ad RM|'), to_char(timestamp '2020-12-31 23:00', 'A.M. p.m. AM pm Am a.M. RM| IDDD');
--> 0044 BC B.C. bc III ||P.M. p.m. PM pm Am a.M. XII | 368
SELECT to_timestamp('44 BC', 'YYYY BC') < to_timestamp('44 AD', 'YYYY BC'), to_date('44 b.c. 3', 'YYYY B.C. MM') = date '0044-03-01 BC';
--> t|t
SELECT to_date('III 2020', 'RM YYYY'), to_date('2020 viii 3', 'YYYY RM DD'), to_date('2020 IV', 'YYYY rm');
--> 2020-03-01|2020-08-03|2020-04-01
SELECT to_date('2020 XX', 'YYYY AD');
--! 22007
-- Hashes, chance, and letters of both cases.
select hashtext('abc'), hashtext(''), hashtext('ä'), hashtext(repeat('x', 100)), hashtext('1234567890ab'), hashtext('1234567890abc'), hashtext(null);
--> -785388649|-1477818771|-1429987189|1174826790|839012818|706296968|NULL
select hashtextextended('abc', 0), hashtextextended('', 7), hashtextextended('1234567890abcdef', -1);
--> -6747756470228489321|2755504096093790112|-2377647531690768762
select hashint4(5), hashint8(5), hashint8(-5), hashint2(5::int2), hashint8(5000000000), hashoid(5);
--> -1330264708|-1330264708|1412886042|-1330264708|-694934712|-1330264708
select pg_try_advisory_xact_lock(hashtext('a job'));
--> t
select pg_typeof(setseed(0.5));
--> void
select setseed(0.5), random(), random();
--> |0.9851677175347999|0.825301858027981
select setseed(-1), random();
--> |0.725656831544149
select setseed(2);
--! 22023
select setseed(null);
--> NULL
select length(timeofday()) > 20, pg_typeof(timeofday());
--> t|text
select upper('ß'), lower('İ'), upper('ŉ'), lower('Σ'), lower('ΑΣ'), upper('ǆ'), initcap('ǆx'), upper('ﬁ'), upper('ı'), lower('I'), initcap('ßa'), upper('ᾳᾐῼ');
--> ß|i|ŉ|σ|ασ|Ǆ|Ǆx|ﬁ|I|i|ßa|ᾼᾘῼ
select 'STRASSE' ilike 'straße', 'Straße' ilike 'STRAß_', 'ΑΣ' ilike 'ας';
--> f|t|f
-- Sizes.
select pg_column_size(1), pg_column_size(1::int2), pg_column_size(1::int8), pg_column_size('abc'::text), pg_column_size(''::text), pg_column_size(null::text), pg_column_size(true), pg_column_size(1.5), pg_column_size('\x0102'::bytea), pg_column_size(now()), pg_column_size('a'::name), pg_column_size(array[1,2]);
--> 4|2|8|7|4|NULL|1|10|6|8|64|32
select pg_column_size('{"a":1}'::jsonb), pg_column_size('{"a":1}'::json), pg_column_size('abc'::varchar(10)), pg_column_size('1.2.3.4'::inet), pg_column_size('00000000-0000-0000-0000-000000000001'::uuid), pg_column_size(interval '1 day'), pg_column_size(123456789.123), pg_column_size(0::numeric), pg_column_size(row(1,'a'::text));
--> 28|11|7|10|16|16|14|6|30
select pg_column_size('::1'::inet), pg_column_size('08:00:2b:01:02:03'::macaddr), pg_column_size('{}'::int[]), pg_column_size(array['a','bcd',null]), pg_column_size(array[1::int8,null]), pg_column_size(array[1::int2,2::int2,3::int2]), pg_column_size(array[true,false]);
--> 22|6|16|48|40|30|26
select pg_column_size('"x"'::jsonb), pg_column_size('5'::jsonb), pg_column_size('[]'::jsonb), pg_column_size('{}'::jsonb), pg_column_size('[1,"ab",null,true,{"k":[1.25,"zz"]},12345678901234567890.5]'::jsonb), pg_column_size('{"bb":"x","a":[1],"ccc":{"d":null}}'::jsonb);
--> 13|20|8|8|102|73
select pg_column_size(1e100::numeric), pg_column_size(1e-100::numeric), pg_column_size('NaN'::numeric), pg_column_size(10000::numeric), pg_column_size(1e300::numeric), pg_column_size(0.0001), pg_column_size(array[1.5,2]);
--> 8|10|6|8|10|8|44
select pg_column_size(row(1,2::int8,'a'::text,true)), pg_column_size(row(null,1)), pg_column_size(row(true,1::int2,1.5)), pg_column_size(row(repeat('x',200))), pg_column_size(date '2020-01-01'), pg_column_size(time '10:00'), pg_column_size('x'::"char"), pg_column_size(1::float4), pg_column_size('int4'::regtype);
--> 43|28|35|228|4|8|1|4|4
