-- Styles of dates and intervals. PostgreSQL agrees with all of it.
CREATE TABLE styled (a date, b timestamp, c timestamptz);
SET TIME ZONE 'UTC';
INSERT INTO styled VALUES ('2021-03-04', '2021-03-04 05:06:07.891', '2021-03-04 05:06:07+00');
SET datestyle = 'SQL, DMY';
SHOW datestyle;
--> SQL, DMY
SELECT a::text, b::text, c::text FROM styled;
--> 04/03/2021|04/03/2021 05:06:07.891|04/03/2021 05:06:07 UTC
SELECT ('04/03/2021'::date)::text, ('04/03/2021 05:06'::timestamp)::text;
--> 04/03/2021|04/03/2021 05:06:00
SELECT '13/03/2021'::date = '2021-03-13'::date;
--> t
SELECT '03/13/2021'::date;
--! 22008
SELECT to_json(a), to_jsonb(b), to_json(c) FROM styled;
--> "2021-03-04"|"2021-03-04T05:06:07.891"|"2021-03-04T05:06:07+00:00"
SELECT array[a]::text, ROW(a, b)::text, 'a' || a, concat(b), format('%s', c) FROM styled;
--> {04/03/2021}|(04/03/2021,"04/03/2021 05:06:07.891")|a04/03/2021|04/03/2021 05:06:07.891|04/03/2021 05:06:07 UTC
SET datestyle = 'SQL, MDY';
SELECT a::text, b::text, c::text FROM styled;
--> 03/04/2021|03/04/2021 05:06:07.891|03/04/2021 05:06:07 UTC
SELECT ('03/13/2021'::date)::text;
--> 03/13/2021
SELECT '13/03/2021'::date;
--! 22008
SET datestyle = 'Postgres, DMY';
SELECT a::text, b::text, c::text FROM styled;
--> 04-03-2021|Thu 04 Mar 05:06:07.891 2021|Thu 04 Mar 05:06:07 2021 UTC
SELECT ('Thu 04 Mar 05:06:07 2021 UTC'::timestamptz)::text;
--> Thu 04 Mar 05:06:07 2021 UTC
SELECT array[b]::text, ROW(a, b)::text FROM styled;
--> {"Thu 04 Mar 05:06:07.891 2021"}|(04-03-2021,"Thu 04 Mar 05:06:07.891 2021")
SET datestyle = 'Postgres';
SHOW datestyle;
--> Postgres, DMY
SET datestyle = 'Postgres, MDY';
SELECT a::text, b::text, c::text FROM styled;
--> 03-04-2021|Thu Mar 04 05:06:07.891 2021|Thu Mar 04 05:06:07 2021 UTC
SELECT ('Thu Mar 04 05:06:07 2021'::timestamp)::text, ('Mar 4 2021'::date)::text, ('4 Mar 2021'::date)::text;
--> Thu Mar 04 05:06:07 2021|03-04-2021|03-04-2021
SET datestyle = 'German';
SHOW datestyle;
--> German, DMY
SELECT a::text, b::text, c::text FROM styled;
--> 04.03.2021|04.03.2021 05:06:07.891|04.03.2021 05:06:07 UTC
SELECT ('04.03.2021'::date)::text;
--> 04.03.2021
SET datestyle = 'ISO, YMD';
SHOW datestyle;
--> ISO, YMD
SELECT a::text, b::text, c::text FROM styled;
--> 2021-03-04|2021-03-04 05:06:07.891|2021-03-04 05:06:07+00
SELECT '21/03/04'::date, '21-Mar-04'::date, '4-Mar-2021'::date;
--> 2021-03-04|2021-03-04|2021-03-04
SET datestyle = 'ISO, DMY';
SELECT '04-03-2021'::date, '01 02 2020'::date;
--> 2021-03-04|2020-02-01
SET datestyle = 'sql';
SELECT (date '0044-03-15 BC')::text, (timestamp 'infinity')::text, (timestamptz '0044-03-15 12:00 BC')::text;
--> 15/03/0044 BC|infinity|15/03/0044 12:00:00 UTC BC
SET datestyle = 'postgres';
SELECT (date '0044-03-15 BC')::text, (date '-infinity')::text, (timestamptz '0044-03-15 12:00 BC')::text;
--> 15-03-0044 BC|-infinity|Fri 15 Mar 12:00:00 0044 UTC BC
SET datestyle = 'ISO, SQL';
--! 22023
SET datestyle = 'DMY, MDY';
--! 22023
SET datestyle = 'nonsense';
--! 22023
SET datestyle TO sql, dmy;
SHOW datestyle;
--> SQL, DMY
SET datestyle = 'US';
SHOW datestyle;
--> SQL, MDY
SET datestyle = 'European';
SHOW datestyle;
--> SQL, DMY
SET datestyle = 'NonEuropean';
SHOW datestyle;
--> SQL, MDY
SET datestyle = 'German, YMD';
SHOW datestyle;
--> German, YMD
SET datestyle TO DEFAULT;
SHOW datestyle;
--> ISO, MDY
-- What is kept means the same under every style.
SET datestyle = 'SQL, DMY';
CREATE VIEW of_style AS SELECT date '05/04/2021' AS d, a = '04/03/2021' AS e FROM styled;
CREATE TABLE of_default (k int, d date DEFAULT '05/04/2021');
SET datestyle TO DEFAULT;
SELECT * FROM of_style;
--> 2021-04-05|t
INSERT INTO of_default VALUES (1) RETURNING *;
--> 1|2021-04-05
CREATE TABLE of_text (d date, t text GENERATED ALWAYS AS (d::text) STORED);
--! 42P17
PREPARE read_date AS SELECT ($1::text)::date - date '2021-01-01';
EXECUTE read_date('05/04/2021');
--> 123
SET datestyle = 'SQL, DMY';
EXECUTE read_date('05/04/2021');
--> 94
SELECT '05/04/2021'::date - date '2021-04-01';
--> 4
SET datestyle TO DEFAULT;
SELECT '05/04/2021'::date - date '2021-04-01';
--> 33
DEALLOCATE read_date;
DROP VIEW of_style;
DROP TABLE styled, of_default;
SET TIME ZONE 'America/New_York';
SET datestyle = 'SQL, MDY';
SELECT (timestamptz '2021-01-01 12:00+00')::text, (timestamptz '2021-07-01 12:00+00')::text;
--> 01/01/2021 07:00:00 EST|07/01/2021 08:00:00 EDT
SET datestyle = 'German';
SELECT (timestamptz '2021-01-01 12:00+00')::text, (timestamptz '2021-07-01 12:00+00')::text;
--> 01.01.2021 07:00:00 EST|01.07.2021 08:00:00 EDT
SET datestyle = 'Postgres, MDY';
SELECT (timestamptz '2021-01-01 12:00+00')::text, (timestamptz '2021-07-01 12:00+00')::text;
--> Fri Jan 01 07:00:00 2021 EST|Thu Jul 01 08:00:00 2021 EDT
SET TIME ZONE 'Asia/Kolkata';
SELECT (timestamptz '2021-01-01 12:00+00')::text;
--> Fri Jan 01 17:30:00 2021 IST
SET TIME ZONE 'America/Sao_Paulo';
SELECT (timestamptz '2021-01-01 12:00+00')::text;
--> Fri Jan 01 09:00:00 2021 -03
SET datestyle = 'SQL, MDY';
SELECT (timestamptz '2021-01-01 12:00+00')::text;
--> 01/01/2021 09:00:00 -03
SET datestyle TO DEFAULT;
SET TIME ZONE 'UTC';
-- Intervals.
SET intervalstyle = iso_8601;
SHOW intervalstyle;
--> iso_8601
SELECT (interval '1 year 2 months 3 days 04:05:06.7')::text, (interval '0')::text, (interval '-1 day')::text;
--> P1Y2M3DT4H5M6.7S|PT0S|P-1D
SELECT (interval '1 day -00:00:01')::text, (interval '-1 mons +2 days')::text, (interval '-00:00:00.5')::text;
--> P1DT-1S|P-1M2D|PT-0.5S
SELECT (interval '13 months')::text, (interval '100 hours')::text, (interval '-90 minutes')::text;
--> P1Y1M|PT100H|PT-1H-30M
SELECT ('P1Y2M3DT4H5M6S'::interval)::text, ARRAY[interval '1 day']::text, to_json(interval '1 day');
--> P1Y2M3DT4H5M6S|{P1D}|"P1D"
SET intervalstyle = 'POSTGRES_VERBOSE';
SHOW intervalstyle;
--> postgres_verbose
SELECT (interval '1 year 2 months 3 days 04:05:06.7')::text, (interval '0')::text, (interval '-1 day')::text;
--> @ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs|@ 0|@ 1 day ago
SELECT (interval '1 day -00:00:01')::text, (interval '-1 mons +2 days')::text, (interval '-00:00:00.5')::text;
--> @ 1 day -1 sec|@ 1 mon -2 days ago|@ 0.5 secs ago
SELECT (interval '1 sec')::text, (interval '1.5 sec')::text, (interval '-1 sec')::text, (interval '13 months 1 min')::text;
--> @ 1 sec|@ 1.5 secs|@ 1 sec ago|@ 1 year 1 mon 1 min
SELECT '@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs ago'::interval = interval '-1 year -2 mons +3 days -04:05:06.7';
--> t
SET intervalstyle = nonsense;
--! 22023
SET intervalstyle TO DEFAULT;
SHOW intervalstyle;
--> postgres
