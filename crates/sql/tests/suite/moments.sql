-- Parts of dates, infinite ones among them, and intervals by templates.
SELECT to_char(interval '-5 days', 'DD'), to_char(interval '5 days', 'DD'), to_char(interval '-15 days', 'DD'), to_char(interval '-5 mons', 'MM'), to_char(interval '-5 years', 'YYYY'), to_char(interval '-5 hours', 'HH24:MI:SS'), to_char(interval '-5 days', 'FMDD'), to_char(interval '-5 days', 'DDD'), to_char(interval '100 days', 'DDD'), to_char(interval '-100 days', 'DD');
--> -5|05|-15|-05|-0005|-05:00:00|-5|-05|100|-100
SELECT to_char(interval '3 months', 'RM'), to_char(interval '15 months', 'RM'), to_char(interval '-3 months', 'RM'), to_char(interval '0', 'RM'), to_char(interval '-1 month', 'rm'), to_char(interval '12 months', 'RM'), to_char(interval '1 day', 'RM');
--> III |III |X   ||xii |XII |
SELECT to_char(interval '1 day', 'Month');
--! 22007
SELECT sign('nan'::float8), sign('NaN'::numeric), sign('-inf'::float8), sign(-0.0::float8);
--> 0|NaN|-1|0
SELECT sign('nan');
--> 0
SELECT extract(epoch from 'infinity'::timestamp), extract(epoch from '-infinity'::timestamptz), extract(epoch from 'infinity'::date);
--> Infinity|-Infinity|Infinity
SELECT extract(year from 'infinity'::timestamp), extract(year from '-infinity'::date), extract(century from 'infinity'::timestamp), extract(decade from '-infinity'::timestamp), extract(millennium from 'infinity'::timestamp), extract(julian from 'infinity'::timestamp), extract(isoyear from 'infinity'::timestamp);
--> Infinity|-Infinity|Infinity|-Infinity|Infinity|Infinity|Infinity
SELECT extract(month from 'infinity'::timestamp), extract(day from 'infinity'::date), extract(hour from 'infinity'::timestamptz), extract(dow from 'infinity'::timestamp), extract(week from '-infinity'::timestamp);
--> NULL|NULL|NULL|NULL|NULL
SELECT date_part('epoch', 'infinity'::timestamp), date_part('year', '-infinity'::timestamp), date_part('month', 'infinity'::timestamp), date_part('year', 'infinity'::date);
--> Infinity|-Infinity|NULL|Infinity
SELECT extract(nosuch from 'infinity'::timestamp);
--! 22023
SELECT extract(hour from 'infinity'::date);
--! 0A000
SELECT date_trunc('day', 'infinity'::timestamp), 'infinity'::timestamp + '1 day', 'infinity'::timestamp::date, 'infinity'::date + 1;
--> infinity|infinity|infinity|infinity
SELECT extract(epoch from d), extract(year from d), date_part('epoch', d) FROM (SELECT date '2024-01-01' AS d) AS s;
--> 1704067200|2024|1704067200
SELECT extract(epoch from (SELECT date '2024-01-01'));
--> 1704067200
SELECT extract(epoch from date '2024-01-01'), extract(epoch from timestamp '2024-01-01'), extract(epoch from interval '1 day'), extract(epoch from time '01:00');
--> 1704067200|1704067200.000000|86400.000000|3600.000000
SELECT '5'::jsonb::int, '5.7'::jsonb::int, 'true'::jsonb::boolean;
--> 5|6|t
SELECT 'null'::jsonb::int;
--! 22023
SELECT 'null'::jsonb::boolean;
--! 22023
SELECT '"5"'::jsonb::int;
--! 22023
SELECT '[1]'::jsonb::int;
--! 22023
SELECT '{}'::jsonb::numeric;
--! 22023
SELECT 'true'::jsonb::int;
--! 22023
SELECT '5'::jsonb::boolean;
--! 22023
SELECT ('{"a": null}'::jsonb -> 'a')::int;
--! 22023
SELECT ('{"a": null}'::jsonb -> 'b')::int;
--> NULL
SELECT 'null'::jsonb::float8, 'null'::jsonb::numeric, 'null'::jsonb::smallint, 'null'::jsonb::bigint, 'null'::jsonb::real;
--! 22023
