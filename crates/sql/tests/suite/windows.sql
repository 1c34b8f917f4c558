-- Windows: what PostgreSQL 15 answers. A statement is one line.

CREATE TABLE emp (id int PRIMARY KEY, dept text, name text, salary int, bonus numeric(8,2), hired date, score float8);
INSERT INTO emp VALUES (1, 'dev', 'ann', 5200, 100.50, '2020-01-10', 1.5), (2, 'dev', 'bob', 4200, NULL, '2020-02-10', 2.5), (3, 'dev', 'cat', 4500, 20.25, '2020-02-15', NULL), (4, 'dev', 'dan', 6000, 7, '2020-06-01', 4.0), (5, 'dev', 'eve', 5200, 3.125, '2021-01-10', 2.5);
INSERT INTO emp VALUES (6, 'ops', 'fay', 3500, 10, '2020-01-10', 0.5), (7, 'ops', 'gus', 3900, NULL, '2019-12-31', 0.5), (8, 'hr', 'hal', 4800, 50, '2022-03-01', -1), (9, 'hr', 'ida', 5000, 1.50, NULL, 'NaN'), (10, NULL, 'jon', 5000, 0, '2020-01-11', 'Infinity');

-- Functions of their own.
SELECT id, row_number() OVER (ORDER BY id) FROM emp ORDER BY id;
--> 1|1
--> 2|2
--> 3|3
--> 4|4
--> 5|5
--> 6|6
--> 7|7
--> 8|8
--> 9|9
--> 10|10
SELECT id, row_number() OVER (PARTITION BY dept ORDER BY salary DESC, id) FROM emp ORDER BY id;
--> 1|2
--> 2|5
--> 3|4
--> 4|1
--> 5|3
--> 6|2
--> 7|1
--> 8|2
--> 9|1
--> 10|1
SELECT id, rank() OVER (PARTITION BY dept ORDER BY salary) FROM emp ORDER BY id;
--> 1|3
--> 2|1
--> 3|2
--> 4|5
--> 5|3
--> 6|1
--> 7|2
--> 8|1
--> 9|2
--> 10|1
SELECT id, dense_rank() OVER (PARTITION BY dept ORDER BY salary) FROM emp ORDER BY id;
--> 1|3
--> 2|1
--> 3|2
--> 4|4
--> 5|3
--> 6|1
--> 7|2
--> 8|1
--> 9|2
--> 10|1
SELECT id, percent_rank() OVER (PARTITION BY dept ORDER BY salary), cume_dist() OVER (PARTITION BY dept ORDER BY salary) FROM emp ORDER BY id;
--> 1|0.5|0.8
--> 2|0|0.2
--> 3|0.25|0.4
--> 4|1|1
--> 5|0.5|0.8
--> 6|0|0.5
--> 7|1|1
--> 8|0|0.5
--> 9|1|1
--> 10|0|1
SELECT id, ntile(3) OVER (ORDER BY id) FROM emp ORDER BY id;
--> 1|1
--> 2|1
--> 3|1
--> 4|1
--> 5|2
--> 6|2
--> 7|2
--> 8|3
--> 9|3
--> 10|3
SELECT id, ntile(4) OVER (PARTITION BY dept ORDER BY id) FROM emp ORDER BY id;
--> 1|1
--> 2|1
--> 3|2
--> 4|3
--> 5|4
--> 6|1
--> 7|2
--> 8|1
--> 9|2
--> 10|1
SELECT id, ntile(id) OVER (ORDER BY id DESC) FROM emp ORDER BY id;
--> 1|10
--> 2|9
--> 3|8
--> 4|7
--> 5|6
--> 6|5
--> 7|4
--> 8|3
--> 9|2
--> 10|1
SELECT id, ntile(NULL) OVER (ORDER BY id) FROM emp ORDER BY id LIMIT 2;
--> 1|NULL
--> 2|NULL
SELECT id, lag(name) OVER (ORDER BY id), lead(name) OVER (ORDER BY id) FROM emp ORDER BY id;
--> 1|NULL|bob
--> 2|ann|cat
--> 3|bob|dan
--> 4|cat|eve
--> 5|dan|fay
--> 6|eve|gus
--> 7|fay|hal
--> 8|gus|ida
--> 9|hal|jon
--> 10|ida|NULL
SELECT id, lag(salary, 2) OVER (PARTITION BY dept ORDER BY id), lead(salary, 2, -1) OVER (PARTITION BY dept ORDER BY id) FROM emp ORDER BY id;
--> 1|NULL|4500
--> 2|NULL|6000
--> 3|5200|5200
--> 4|4200|-1
--> 5|4500|-1
--> 6|NULL|-1
--> 7|NULL|-1
--> 8|NULL|-1
--> 9|NULL|-1
--> 10|NULL|-1
SELECT id, lag(salary, -1, 0) OVER (ORDER BY id), lead(salary, NULL, 0) OVER (ORDER BY id) FROM emp ORDER BY id LIMIT 3;
--> 1|4200|NULL
--> 2|4500|NULL
--> 3|6000|NULL
SELECT id, lag(salary, id % 3, id) OVER (ORDER BY id) FROM emp ORDER BY id;
--> 1|1
--> 2|2
--> 3|4500
--> 4|4500
--> 5|4500
--> 6|3500
--> 7|3500
--> 8|3500
--> 9|5000
--> 10|5000
SELECT id, lag(bonus, 1, 0) OVER (ORDER BY id) FROM emp ORDER BY id;
--> 1|0
--> 2|100.50
--> 3|NULL
--> 4|20.25
--> 5|7.00
--> 6|3.13
--> 7|10.00
--> 8|NULL
--> 9|50.00
--> 10|1.50
SELECT id, lag(salary, 1, 2.5) OVER (ORDER BY id) FROM emp ORDER BY id LIMIT 3;
--> 1|2.5
--> 2|5200
--> 3|4200
SELECT id, lag(id, 1, 'x') OVER (ORDER BY id) FROM emp;
--! 22P02
SELECT id, first_value(name) OVER (PARTITION BY dept ORDER BY salary, id), last_value(name) OVER (PARTITION BY dept ORDER BY salary, id) FROM emp ORDER BY id;
--> 1|bob|ann
--> 2|bob|bob
--> 3|bob|cat
--> 4|bob|dan
--> 5|bob|eve
--> 6|fay|fay
--> 7|fay|gus
--> 8|hal|hal
--> 9|hal|ida
--> 10|jon|jon
SELECT id, last_value(name) OVER (PARTITION BY dept ORDER BY salary) FROM emp WHERE dept = 'dev' AND id IN (1, 2) ORDER BY id;
--> 1|ann
--> 2|bob
SELECT id, nth_value(name, 2) OVER (PARTITION BY dept ORDER BY id) FROM emp ORDER BY id;
--> 1|NULL
--> 2|bob
--> 3|bob
--> 4|bob
--> 5|bob
--> 6|NULL
--> 7|gus
--> 8|NULL
--> 9|ida
--> 10|NULL
SELECT id, nth_value(name, 2) OVER (PARTITION BY dept ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM emp ORDER BY id;
--> 1|bob
--> 2|bob
--> 3|bob
--> 4|bob
--> 5|bob
--> 6|gus
--> 7|gus
--> 8|ida
--> 9|ida
--> 10|NULL
SELECT id, nth_value(name, NULL) OVER (ORDER BY id) FROM emp ORDER BY id LIMIT 1;
--> 1|NULL
SELECT nth_value(name, 0) OVER (ORDER BY id) FROM emp;
--! 22016
SELECT ntile(0) OVER (ORDER BY id) FROM emp;
--! 22014
SELECT ntile(-1) OVER () FROM emp;
--! 22014
SELECT row_number() OVER (), rank() OVER (), percent_rank() OVER (), cume_dist() OVER () FROM emp WHERE id < 3;
--> 1|1|0|1
--> 2|1|0|1

-- Aggregates.
SELECT id, sum(salary) OVER (ORDER BY id) FROM emp ORDER BY id;
--> 1|5200
--> 2|9400
--> 3|13900
--> 4|19900
--> 5|25100
--> 6|28600
--> 7|32500
--> 8|37300
--> 9|42300
--> 10|47300
SELECT id, sum(salary) OVER (PARTITION BY dept) FROM emp ORDER BY id;
--> 1|25100
--> 2|25100
--> 3|25100
--> 4|25100
--> 5|25100
--> 6|7400
--> 7|7400
--> 8|9800
--> 9|9800
--> 10|5000
SELECT id, count(*) OVER (), count(bonus) OVER (PARTITION BY dept ORDER BY id) FROM emp ORDER BY id;
--> 1|10|1
--> 2|10|1
--> 3|10|2
--> 4|10|3
--> 5|10|4
--> 6|10|1
--> 7|10|1
--> 8|10|1
--> 9|10|2
--> 10|10|1
SELECT id, avg(salary) OVER (PARTITION BY dept ORDER BY salary) FROM emp ORDER BY id;
--> 1|4775.0000000000000000
--> 2|4200.0000000000000000
--> 3|4350.0000000000000000
--> 4|5020.0000000000000000
--> 5|4775.0000000000000000
--> 6|3500.0000000000000000
--> 7|3700.0000000000000000
--> 8|4800.0000000000000000
--> 9|4900.0000000000000000
--> 10|5000.0000000000000000
SELECT id, min(salary) OVER w, max(salary) OVER w FROM emp WINDOW w AS (PARTITION BY dept ORDER BY id) ORDER BY id;
--> 1|5200|5200
--> 2|4200|5200
--> 3|4200|5200
--> 4|4200|6000
--> 5|4200|6000
--> 6|3500|3500
--> 7|3500|3900
--> 8|4800|4800
--> 9|4800|5000
--> 10|5000|5000
SELECT id, sum(bonus) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM emp ORDER BY id;
--> 1|100.50
--> 2|120.75
--> 3|27.25
--> 4|30.38
--> 5|20.13
--> 6|13.13
--> 7|60.00
--> 8|51.50
--> 9|51.50
--> 10|1.50
SELECT id, sum(bonus) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM emp ORDER BY id;
--> 1|NULL
--> 2|100.50
--> 3|100.50
--> 4|20.25
--> 5|27.25
--> 6|10.13
--> 7|13.13
--> 8|10.00
--> 9|50.00
--> 10|51.50
SELECT id, avg(bonus) OVER (ORDER BY id ROWS 1 PRECEDING) FROM emp ORDER BY id;
--> 1|100.5000000000000000
--> 2|100.5000000000000000
--> 3|20.2500000000000000
--> 4|13.6250000000000000
--> 5|5.0650000000000000
--> 6|6.5650000000000000
--> 7|10.0000000000000000
--> 8|50.0000000000000000
--> 9|25.7500000000000000
--> 10|0.75000000000000000000
SELECT id, sum(score) OVER (ORDER BY id ROWS 1 PRECEDING) FROM emp ORDER BY id;
--> 1|1.5
--> 2|4
--> 3|2.5
--> 4|4
--> 5|6.5
--> 6|3
--> 7|1
--> 8|-0.5
--> 9|NaN
--> 10|NaN
SELECT id, string_agg(name, ',') OVER (PARTITION BY dept ORDER BY id) FROM emp ORDER BY id;
--> 1|ann
--> 2|ann,bob
--> 3|ann,bob,cat
--> 4|ann,bob,cat,dan
--> 5|ann,bob,cat,dan,eve
--> 6|fay
--> 7|fay,gus
--> 8|hal
--> 9|hal,ida
--> 10|jon
SELECT id, array_agg(id) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM emp ORDER BY id;
--> 1|{2,3}
--> 2|{3,4}
--> 3|{4,5}
--> 4|{5,6}
--> 5|{6,7}
--> 6|{7,8}
--> 7|{8,9}
--> 8|{9,10}
--> 9|{10}
--> 10|NULL
SELECT id, bool_and(salary > 4000) OVER (PARTITION BY dept ORDER BY id) FROM emp ORDER BY id;
--> 1|t
--> 2|t
--> 3|t
--> 4|t
--> 5|t
--> 6|f
--> 7|f
--> 8|t
--> 9|t
--> 10|t
SELECT id, count(*) FILTER (WHERE salary > 4500) OVER (ORDER BY id) FROM emp ORDER BY id;
--> 1|1
--> 2|1
--> 3|1
--> 4|2
--> 5|3
--> 6|3
--> 7|3
--> 8|4
--> 9|5
--> 10|6
SELECT id, sum(salary) FILTER (WHERE bonus IS NULL) OVER (PARTITION BY dept) FROM emp ORDER BY id;
--> 1|4200
--> 2|4200
--> 3|4200
--> 4|4200
--> 5|4200
--> 6|3900
--> 7|3900
--> 8|NULL
--> 9|NULL
--> 10|NULL
SELECT id, stddev(salary) OVER (PARTITION BY dept ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM emp ORDER BY id;
--> 1|701.427116670007
--> 2|701.427116670007
--> 3|701.427116670007
--> 4|701.427116670007
--> 5|701.427116670007
--> 6|282.842712474619
--> 7|282.842712474619
--> 8|141.421356237310
--> 9|141.421356237310
--> 10|NULL
SELECT id, json_agg(id) OVER (ORDER BY id ROWS 1 PRECEDING) FROM emp ORDER BY id LIMIT 3;
--> 1|[1]
--> 2|[1, 2]
--> 3|[2, 3]
SELECT id, min(name) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM emp ORDER BY id;
--> 1|ann
--> 2|bob
--> 3|cat
--> 4|dan
--> 5|eve
--> 6|fay
--> 7|gus
--> 8|hal
--> 9|ida
--> 10|jon
SELECT id, max(salary) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM emp ORDER BY id;
--> 1|5200
--> 2|5200
--> 3|5200
--> 4|6000
--> 5|6000
--> 6|6000
--> 7|5200
--> 8|4800
--> 9|5000
--> 10|5000
SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN 3 FOLLOWING AND UNBOUNDED FOLLOWING) FROM emp ORDER BY id;
--> 1|7
--> 2|6
--> 3|5
--> 4|4
--> 5|3
--> 6|2
--> 7|1
--> 8|0
--> 9|0
--> 10|0
SELECT id, sum(salary) OVER (ORDER BY id ROWS BETWEEN 5 FOLLOWING AND 2 FOLLOWING) FROM emp ORDER BY id LIMIT 2;
--> 1|NULL
--> 2|NULL

-- Frames: RANGE and GROUPS.
SELECT id, sum(salary) OVER (ORDER BY salary) FROM emp ORDER BY id;
--> 1|41300
--> 2|11600
--> 3|16100
--> 4|47300
--> 5|41300
--> 6|3500
--> 7|7400
--> 8|20900
--> 9|30900
--> 10|30900
SELECT id, sum(salary) OVER (ORDER BY salary RANGE BETWEEN 300 PRECEDING AND 300 FOLLOWING) FROM emp ORDER BY id;
--> 1|20400
--> 2|12600
--> 3|13500
--> 4|6000
--> 5|20400
--> 6|3500
--> 7|8100
--> 8|19300
--> 9|25200
--> 10|25200
SELECT id, count(*) OVER (ORDER BY salary DESC RANGE BETWEEN 300 PRECEDING AND CURRENT ROW) FROM emp ORDER BY id;
--> 1|2
--> 2|2
--> 3|2
--> 4|1
--> 5|2
--> 6|1
--> 7|2
--> 8|3
--> 9|4
--> 10|4
SELECT id, count(*) OVER (ORDER BY salary DESC RANGE BETWEEN 500 FOLLOWING AND 1000 FOLLOWING) FROM emp ORDER BY id;
--> 1|2
--> 2|1
--> 3|2
--> 4|4
--> 5|2
--> 6|0
--> 7|0
--> 8|2
--> 9|2
--> 10|2
SELECT id, count(*) OVER (ORDER BY salary RANGE BETWEEN 1000 PRECEDING AND 500 PRECEDING) FROM emp ORDER BY id;
--> 1|2
--> 2|1
--> 3|2
--> 4|4
--> 5|2
--> 6|0
--> 7|0
--> 8|2
--> 9|2
--> 10|2
SELECT id, array_agg(id) OVER (ORDER BY hired RANGE BETWEEN '1 month' PRECEDING AND '1 month' FOLLOWING) FROM emp ORDER BY hired, id;
--> 7|{7,1,6,10}
--> 1|{7,1,6,10,2}
--> 6|{7,1,6,10,2}
--> 10|{7,1,6,10,2}
--> 2|{1,6,10,2,3}
--> 3|{2,3}
--> 4|{4}
--> 5|{5}
--> 8|{8}
--> 9|{9}
SELECT id, count(*) OVER (ORDER BY hired RANGE BETWEEN interval '10 days' PRECEDING AND CURRENT ROW) FROM emp ORDER BY id;
--> 1|3
--> 2|1
--> 3|2
--> 4|1
--> 5|1
--> 6|3
--> 7|1
--> 8|1
--> 9|1
--> 10|3
SELECT id, count(*) OVER (ORDER BY hired DESC NULLS LAST RANGE BETWEEN '1 year'::interval PRECEDING AND '1 day' FOLLOWING) FROM emp ORDER BY id;
--> 1|7
--> 2|4
--> 3|3
--> 4|2
--> 5|1
--> 6|7
--> 7|7
--> 8|1
--> 9|1
--> 10|7
SELECT id, count(*) OVER (ORDER BY bonus RANGE BETWEEN 10 PRECEDING AND 10.5 FOLLOWING) FROM emp ORDER BY id;
--> 1|1
--> 2|2
--> 3|1
--> 4|5
--> 5|5
--> 6|6
--> 7|2
--> 8|1
--> 9|5
--> 10|5
SELECT id, count(*) OVER (ORDER BY bonus NULLS FIRST RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) FROM emp ORDER BY id;
--> 1|1
--> 2|2
--> 3|1
--> 4|3
--> 5|4
--> 6|2
--> 7|2
--> 8|1
--> 9|3
--> 10|3
SELECT id, count(*) OVER (ORDER BY bonus DESC RANGE BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING) FROM emp ORDER BY id;
--> 1|3
--> 2|2
--> 3|5
--> 4|7
--> 5|9
--> 6|7
--> 7|2
--> 8|4
--> 9|10
--> 10|10
SELECT id, count(*) OVER (ORDER BY score RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM emp ORDER BY id;
--> 1|5
--> 2|3
--> 3|1
--> 4|1
--> 5|3
--> 6|3
--> 7|3
--> 8|1
--> 9|1
--> 10|1
SELECT id, count(*) OVER (ORDER BY score RANGE BETWEEN 'Infinity' PRECEDING AND 1.5 FOLLOWING) FROM emp ORDER BY id;
--> 1|6
--> 2|7
--> 3|1
--> 4|7
--> 5|7
--> 6|4
--> 7|4
--> 8|3
--> 9|1
--> 10|8
SELECT id, count(*) OVER (ORDER BY score DESC RANGE BETWEEN 1.5 PRECEDING AND 0 FOLLOWING) FROM emp ORDER BY id;
--> 1|3
--> 2|3
--> 3|1
--> 4|1
--> 5|3
--> 6|3
--> 7|3
--> 8|3
--> 9|1
--> 10|1
SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN 9223372036854775807 PRECEDING AND 1 FOLLOWING) FROM (VALUES (1::bigint), (2), (-9223372036854775807), (9223372036854775807)) v(x) ORDER BY x;
--> -9223372036854775807|1
--> 1|2
--> 2|2
--> 9223372036854775807|3
SELECT t, count(*) OVER (ORDER BY t RANGE BETWEEN '90 minutes' PRECEDING AND '1 hour' FOLLOWING) FROM (VALUES (time '00:30'), ('01:30'), ('03:00'), ('23:30')) v(t) ORDER BY t;
--> 00:30:00|2
--> 01:30:00|2
--> 03:00:00|2
--> 23:30:00|1
SELECT t, count(*) OVER (ORDER BY t RANGE BETWEEN '1 day' PRECEDING AND '1 hour' FOLLOWING) FROM (VALUES (timestamp '2024-01-01 00:30'), ('2024-01-01 01:30'), ('2024-01-02 01:00'), ('2024-01-05')) v(t) ORDER BY t;
--> 2024-01-01 00:30:00|2
--> 2024-01-01 01:30:00|2
--> 2024-01-02 01:00:00|2
--> 2024-01-05 00:00:00|1
SELECT t, count(*) OVER (ORDER BY t RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW) FROM (VALUES (interval '1 hour'), ('20 hours'), ('30 hours'), ('3 days')) v(t) ORDER BY t;
--> 01:00:00|1
--> 20:00:00|2
--> 30:00:00|2
--> 3 days|1
SELECT id, sum(salary) OVER (ORDER BY dept GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM emp ORDER BY id;
--> 1|25100
--> 2|25100
--> 3|25100
--> 4|25100
--> 5|25100
--> 6|17200
--> 7|17200
--> 8|34900
--> 9|34900
--> 10|12400
SELECT id, count(*) OVER (ORDER BY salary GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM emp ORDER BY id;
--> 1|5
--> 2|3
--> 3|3
--> 4|3
--> 5|5
--> 6|2
--> 7|3
--> 8|4
--> 9|5
--> 10|5
SELECT id, count(*) OVER (ORDER BY salary GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM emp ORDER BY id;
--> 1|1
--> 2|2
--> 3|3
--> 4|0
--> 5|1
--> 6|2
--> 7|2
--> 8|4
--> 9|3
--> 10|3
SELECT id, count(*) OVER (ORDER BY salary GROUPS BETWEEN 3 PRECEDING AND 2 PRECEDING) FROM emp ORDER BY id;
--> 1|2
--> 2|1
--> 3|2
--> 4|3
--> 5|2
--> 6|0
--> 7|0
--> 8|2
--> 9|2
--> 10|2
SELECT id, first_value(id) OVER (ORDER BY salary GROUPS 1 PRECEDING), last_value(id) OVER (ORDER BY salary, id GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM emp WHERE id < 5 ORDER BY id;
--> 1|3|4
--> 2|2|4
--> 3|2|4
--> 4|1|4
SELECT id, count(*) OVER (PARTITION BY dept RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM emp ORDER BY id;
--> 1|5
--> 2|5
--> 3|5
--> 4|5
--> 5|5
--> 6|2
--> 7|2
--> 8|2
--> 9|2
--> 10|1
SELECT id, sum(id) OVER (ORDER BY salary RANGE BETWEEN CURRENT ROW AND CURRENT ROW) FROM emp ORDER BY id;
--> 1|6
--> 2|2
--> 3|3
--> 4|4
--> 5|6
--> 6|6
--> 7|7
--> 8|8
--> 9|19
--> 10|19
SELECT id, sum(id) OVER (ORDER BY id ROWS (1 + 1) PRECEDING) FROM emp ORDER BY id LIMIT 4;
--> 1|1
--> 2|3
--> 3|6
--> 4|9
SELECT id, sum(id) OVER (ORDER BY id ROWS (SELECT 1) PRECEDING) FROM emp ORDER BY id LIMIT 4;
--> 1|1
--> 2|3
--> 3|5
--> 4|7
SELECT id, sum(id) OVER (ORDER BY id ROWS '2' PRECEDING) FROM emp ORDER BY id LIMIT 4;
--> 1|1
--> 2|3
--> 3|6
--> 4|9

-- EXCLUDE.
SELECT id, array_agg(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM emp ORDER BY id;
--> 1|{2}
--> 2|{1,3}
--> 3|{2,4}
--> 4|{3,5}
--> 5|{4,6}
--> 6|{5,7}
--> 7|{6,8}
--> 8|{7,9}
--> 9|{8,10}
--> 10|{9}
SELECT id, sum(salary) OVER (ORDER BY salary RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP) FROM emp ORDER BY id;
--> 1|30900
--> 2|7400
--> 3|11600
--> 4|41300
--> 5|30900
--> 6|NULL
--> 7|3500
--> 8|16100
--> 9|20900
--> 10|20900
SELECT id, sum(id) OVER (ORDER BY salary GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM emp WHERE id NOT IN (9, 10) ORDER BY id;
--> 1|13
--> 2|12
--> 3|13
--> 4|10
--> 5|17
--> 6|13
--> 7|15
--> 8|17
SELECT id, count(*) OVER (PARTITION BY dept ORDER BY salary RANGE UNBOUNDED PRECEDING EXCLUDE NO OTHERS) FROM emp ORDER BY id;
--> 1|4
--> 2|1
--> 3|2
--> 4|5
--> 5|4
--> 6|1
--> 7|2
--> 8|1
--> 9|2
--> 10|1
SELECT id, first_value(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING EXCLUDE CURRENT ROW), last_value(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM emp ORDER BY id;
--> 1|2|NULL
--> 2|3|1
--> 3|4|2
--> 4|5|3
--> 5|6|4
--> 6|7|5
--> 7|8|6
--> 8|9|7
--> 9|10|8
--> 10|NULL|9
SELECT id, nth_value(id, 2) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW) FROM emp ORDER BY id;
--> 1|3
--> 2|3
--> 3|4
--> 4|5
--> 5|6
--> 6|7
--> 7|8
--> 8|9
--> 9|10
--> 10|NULL
SELECT id, count(*) OVER w FROM emp WINDOW w AS (PARTITION BY dept ORDER BY salary ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) ORDER BY id;
--> 1|4
--> 2|5
--> 3|5
--> 4|5
--> 5|4
--> 6|2
--> 7|2
--> 8|2
--> 9|2
--> 10|1
SELECT id, count(*) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP) FROM emp WINDOW w AS (PARTITION BY dept ORDER BY salary) ORDER BY id;
--> 1|3
--> 2|4
--> 3|4
--> 4|4
--> 5|3
--> 6|1
--> 7|1
--> 8|1
--> 9|1
--> 10|0
SELECT id, sum(id) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) FROM emp ORDER BY id LIMIT 3;
--> 1|54
--> 2|53
--> 3|52

-- Named windows.
SELECT id, rank() OVER w, sum(salary) OVER w FROM emp WINDOW w AS (PARTITION BY dept ORDER BY salary) ORDER BY id;
--> 1|3|19100
--> 2|1|4200
--> 3|2|8700
--> 4|5|25100
--> 5|3|19100
--> 6|1|3500
--> 7|2|7400
--> 8|1|4800
--> 9|2|9800
--> 10|1|5000
SELECT id, rank() OVER (w ORDER BY salary), count(*) OVER w FROM emp WINDOW w AS (PARTITION BY dept) ORDER BY id;
--> 1|3|5
--> 2|1|5
--> 3|2|5
--> 4|5|5
--> 5|3|5
--> 6|1|2
--> 7|2|2
--> 8|1|2
--> 9|2|2
--> 10|1|1
SELECT id, sum(id) OVER (w ROWS 1 PRECEDING) FROM emp WINDOW w AS (ORDER BY id) ORDER BY id LIMIT 3;
--> 1|1
--> 2|3
--> 3|5
SELECT id, sum(id) OVER v FROM emp WINDOW w AS (PARTITION BY dept), v AS (w ORDER BY id) ORDER BY id;
--> 1|1
--> 2|3
--> 3|6
--> 4|10
--> 5|15
--> 6|6
--> 7|13
--> 8|8
--> 9|17
--> 10|10
SELECT id, sum(id) OVER "W w" FROM emp WINDOW "W w" AS (ORDER BY id) ORDER BY id LIMIT 2;
--> 1|1
--> 2|3
SELECT id FROM emp WINDOW w AS (ORDER BY id) ORDER BY id LIMIT 1;
--> 1
SELECT sum(id) OVER w FROM emp WINDOW w AS (ORDER BY id), w AS (ORDER BY name);
--! 42P20
SELECT sum(id) OVER nosuch FROM emp;
--! 42704
SELECT sum(id) OVER (nosuch) FROM emp;
--! 42704
SELECT sum(id) OVER (w PARTITION BY name) FROM emp WINDOW w AS (ORDER BY id);
--! 42P20
SELECT sum(id) OVER (w ORDER BY name) FROM emp WINDOW w AS (ORDER BY id);
--! 42P20
SELECT sum(id) OVER (w) FROM emp WINDOW w AS (ORDER BY id ROWS 1 PRECEDING);
--! 42P20
SELECT sum(id) OVER (w ROWS 2 PRECEDING) FROM emp WINDOW w AS (ORDER BY id ROWS 1 PRECEDING);
--! 42P20
SELECT sum(id) OVER w FROM emp WINDOW w AS (ORDER BY nosuch);
--! 42703
SELECT id FROM emp WINDOW w AS (ORDER BY rank() OVER ());
--! 42P20

-- Windows above groups.
SELECT dept, sum(salary), rank() OVER (ORDER BY sum(salary) DESC) FROM emp GROUP BY dept ORDER BY 3;
--> dev|25100|1
--> hr|9800|2
--> ops|7400|3
--> NULL|5000|4
SELECT dept, sum(sum(salary)) OVER (ORDER BY dept) FROM emp GROUP BY dept ORDER BY dept;
--> dev|25100
--> hr|34900
--> ops|42300
--> NULL|47300
SELECT dept, count(*), count(*) OVER () FROM emp GROUP BY dept ORDER BY dept;
--> dev|5|4
--> hr|2|4
--> ops|2|4
--> NULL|1|4
SELECT dept, round(100.0 * sum(salary) / sum(sum(salary)) OVER (), 2) FROM emp GROUP BY dept ORDER BY dept;
--> dev|53.07
--> hr|20.72
--> ops|15.64
--> NULL|10.57
SELECT dept, lag(max(salary)) OVER (ORDER BY dept) FROM emp GROUP BY dept HAVING count(*) > 1 ORDER BY dept;
--> dev|NULL
--> hr|6000
--> ops|5000
SELECT sum(count(*)) OVER () FROM emp;
--> 10
SELECT dept, sum(salary) FILTER (WHERE sum(salary) > 1) OVER () FROM emp GROUP BY dept;
--! 42803
SELECT dept, sum(sum(salary)) FILTER (WHERE count(*) > 1) OVER () FROM emp GROUP BY dept ORDER BY dept;
--! 42803
SELECT dept, salary, rank() OVER (ORDER BY salary) FROM emp GROUP BY dept;
--! 42803
SELECT dept, rank() OVER (PARTITION BY name ORDER BY dept) FROM emp GROUP BY dept;
--! 42803

-- In ORDER BY, under DISTINCT, in subqueries, and several of them.
SELECT id FROM emp ORDER BY rank() OVER (ORDER BY salary DESC), id LIMIT 4;
--> 4
--> 1
--> 5
--> 9
SELECT DISTINCT count(*) OVER (PARTITION BY dept) FROM emp ORDER BY 1;
--> 1
--> 2
--> 5
SELECT DISTINCT dept, max(salary) OVER (PARTITION BY dept) FROM emp ORDER BY dept;
--> dev|6000
--> hr|5000
--> ops|3900
--> NULL|5000
SELECT DISTINCT ON (rank() OVER (PARTITION BY dept ORDER BY salary)) id FROM emp ORDER BY rank() OVER (PARTITION BY dept ORDER BY salary), id;
--> 2
--> 3
--> 1
--> 4
SELECT dept, name FROM (SELECT dept, name, row_number() OVER (PARTITION BY dept ORDER BY salary DESC, id) r FROM emp) t WHERE r = 1 ORDER BY dept;
--> dev|dan
--> hr|ida
--> ops|gus
--> NULL|jon
WITH r AS (SELECT *, row_number() OVER (ORDER BY salary DESC, id) n FROM emp) SELECT n, name FROM r WHERE n BETWEEN 2 AND 4 ORDER BY n;
--> 2|ann
--> 3|eve
--> 4|ida
SELECT id, (SELECT sum(x) OVER () FROM generate_series(1, e.id) x LIMIT 1) FROM emp e ORDER BY id LIMIT 4;
--> 1|1
--> 2|3
--> 3|6
--> 4|10
SELECT y, (SELECT sum(x) FROM generate_series(1, y) x), (SELECT v FROM LATERAL (SELECT y * 2 AS v) t) FROM generate_series(1, 3) y ORDER BY y;
--> 1|1|2
--> 2|3|4
--> 3|6|6
SELECT e.id, s.r FROM emp e, LATERAL (SELECT rank() OVER (ORDER BY salary) r, id FROM emp f WHERE f.dept = e.dept) s WHERE s.id = e.id ORDER BY 1;
--> 1|3
--> 2|1
--> 3|2
--> 4|5
--> 5|3
--> 6|1
--> 7|2
--> 8|1
--> 9|2
SELECT id, rank() OVER (ORDER BY salary) + 1, upper(lag(name) OVER (ORDER BY id)) FROM emp ORDER BY id LIMIT 3;
--> 1|9|NULL
--> 2|4|ANN
--> 3|5|BOB
SELECT id, salary - avg(salary) OVER (PARTITION BY dept) FROM emp ORDER BY id;
--> 1|180.0000000000000000
--> 2|-820.0000000000000000
--> 3|-520.0000000000000000
--> 4|980.0000000000000000
--> 5|180.0000000000000000
--> 6|-200.0000000000000000
--> 7|200.0000000000000000
--> 8|-100.0000000000000000
--> 9|100.0000000000000000
--> 10|0.0000000000000000
SELECT id, row_number() OVER (ORDER BY salary, id), row_number() OVER (ORDER BY name DESC), row_number() OVER (PARTITION BY dept ORDER BY salary, id), sum(id) OVER (PARTITION BY dept), count(*) OVER () FROM emp ORDER BY id;
--> 1|8|10|3|15|10
--> 2|3|9|1|15|10
--> 3|4|8|2|15|10
--> 4|10|7|5|15|10
--> 5|9|6|4|15|10
--> 6|1|5|1|13|10
--> 7|2|4|2|13|10
--> 8|5|3|1|17|10
--> 9|6|2|2|17|10
--> 10|7|1|1|10|10
SELECT id, CASE WHEN lag(dept) OVER (ORDER BY id) IS DISTINCT FROM dept THEN 1 ELSE 0 END FROM emp ORDER BY id;
--> 1|1
--> 2|0
--> 3|0
--> 4|0
--> 5|0
--> 6|1
--> 7|0
--> 8|1
--> 9|0
--> 10|1
SELECT x, sum(x) OVER (ORDER BY x) FROM generate_series(1, 5) x ORDER BY x DESC;
--> 5|15
--> 4|10
--> 3|6
--> 2|3
--> 1|1
SELECT sum(x) OVER (ORDER BY x), x FROM (SELECT 1 AS x WHERE false) t;
SELECT count(*) FROM (SELECT rank() OVER (ORDER BY x % 100), sum(x) OVER (PARTITION BY x % 7 ORDER BY x) FROM generate_series(1, 2000) x) t;
--> 2000
SELECT max(s) FROM (SELECT sum(x) OVER (ORDER BY x ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING) s FROM generate_series(1, 1000) x) t;
--> 20790
SELECT rank() OVER (ORDER BY salary) FROM emp UNION SELECT 100 ORDER BY 1;
--> 1
--> 2
--> 3
--> 4
--> 5
--> 6
--> 8
--> 10
--> 100
SELECT id, row_number() OVER (ORDER BY 1) IS NOT NULL FROM emp ORDER BY id LIMIT 1;
--> 1|t
SELECT id, count(*) OVER (PARTITION BY salary > 4500 ORDER BY id) FROM emp ORDER BY id;
--> 1|1
--> 2|1
--> 3|2
--> 4|2
--> 5|3
--> 6|3
--> 7|4
--> 8|4
--> 9|5
--> 10|6
SELECT id, lag(emp.name) OVER (ORDER BY emp.id) AS before FROM emp ORDER BY before NULLS FIRST, id LIMIT 3;
--> 1|NULL
--> 2|ann
--> 3|bob
SELECT generate_series(1, 2), rank() OVER (ORDER BY id) FROM emp WHERE id < 3;
--> 1|1
--> 2|1
--> 1|2
--> 2|2
UPDATE emp SET score = r FROM (SELECT id AS i, rank() OVER (ORDER BY id DESC) r FROM emp) t WHERE i = id;
SELECT score FROM emp ORDER BY id LIMIT 2;
--> 10
--> 9
INSERT INTO emp SELECT 20 + row_number() OVER (ORDER BY id), dept FROM emp WHERE id < 3;
DELETE FROM emp WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY dept ORDER BY id DESC) r FROM emp) t WHERE r > 2);
SELECT id FROM emp ORDER BY id;
--> 6
--> 7
--> 8
--> 9
--> 10
--> 21
--> 22

-- Where they may not stand, and other mistakes.
SELECT id FROM emp WHERE rank() OVER (ORDER BY id) = 1;
--! 42P20
SELECT id FROM emp GROUP BY rank() OVER (ORDER BY id);
--! 42P20
SELECT rank() OVER (ORDER BY id) FROM emp GROUP BY 1;
--! 42P20
SELECT id FROM emp GROUP BY id HAVING rank() OVER (ORDER BY id) = 1;
--! 42P20
SELECT e.id FROM emp e JOIN emp f ON rank() OVER (ORDER BY e.id) = f.id;
--! 42P20
SELECT id FROM emp LIMIT rank() OVER ();
--! 42P20
UPDATE emp SET salary = rank() OVER (ORDER BY id);
--! 42P20
DELETE FROM emp WHERE rank() OVER (ORDER BY id) = 1;
--! 42P20
INSERT INTO emp (id) VALUES (rank() OVER ());
--! 42P20
DELETE FROM emp RETURNING rank() OVER ();
--! 42P20
SELECT sum(rank() OVER (ORDER BY id)) FROM emp;
--! 42803
SELECT sum(rank() OVER (ORDER BY id)) OVER () FROM emp;
--! 42P20
SELECT rank() OVER (ORDER BY rank() OVER (ORDER BY id)) FROM emp;
--! 42P20
SELECT count(*) FILTER (WHERE rank() OVER () > 1) FROM emp;
--! 42P20
SELECT count(*) FILTER (WHERE rank() OVER () > 1) OVER () FROM emp;
--! 42P20
SELECT rank() FROM emp;
--! 42809
SELECT row_number() FROM emp;
--! 42809
SELECT lag(id) FROM emp;
--! 42809
SELECT upper(name) OVER () FROM emp;
--! 42809
SELECT nosuch(name) OVER () FROM emp;
--! 42883
SELECT rank(id) OVER () FROM emp;
--! 42809
SELECT lag() OVER () FROM emp;
--! 42883
SELECT count(DISTINCT id) OVER () FROM emp;
--! 0A000
SELECT array_agg(id ORDER BY id) OVER () FROM emp;
--! 0A000
SELECT rank() FILTER (WHERE true) OVER () FROM emp;
--! 0A000
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) OVER () FROM emp;
--! 0A000
SELECT count() OVER () FROM emp;
--! 42809
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM emp;
--! 42P20
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED PRECEDING) FROM emp;
--! 42P20
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM emp;
--! 42P20
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) FROM emp;
--! 42P20
SELECT sum(id) OVER (ORDER BY id ROWS 1 FOLLOWING) FROM emp;
--! 42P20
SELECT sum(id) OVER (ORDER BY id ROWS -1 PRECEDING) FROM emp;
--! 22013
SELECT sum(id) OVER (ORDER BY id ROWS NULL PRECEDING) FROM emp;
--! 22004
SELECT sum(id) OVER (ORDER BY id ROWS id PRECEDING) FROM emp;
--! 42P10
SELECT sum(id) OVER (ORDER BY id ROWS count(*) PRECEDING) FROM emp;
--! 42803
SELECT sum(id) OVER (ORDER BY id ROWS 'x' PRECEDING) FROM emp;
--! 22P02
SELECT sum(id) OVER (RANGE 1 PRECEDING) FROM emp;
--! 42P20
SELECT sum(id) OVER (ORDER BY id, name RANGE 1 PRECEDING) FROM emp;
--! 42P20
SELECT sum(id) OVER (ORDER BY name RANGE 1 PRECEDING) FROM emp;
--! 0A000
SELECT sum(id) OVER (ORDER BY hired RANGE 1 PRECEDING) FROM emp;
--! 0A000
SELECT sum(id) OVER (ORDER BY id RANGE 1.5 PRECEDING) FROM emp;
--! 0A000
SELECT sum(id) OVER (ORDER BY id RANGE '1 day' PRECEDING) FROM emp;
--! 22P02
SELECT sum(id) OVER (ORDER BY id RANGE -1 PRECEDING) FROM emp;
--! 22013
SELECT sum(id) OVER (ORDER BY hired RANGE '-1 day' PRECEDING) FROM emp;
--! 22013
SELECT sum(id) OVER (GROUPS 1 PRECEDING) FROM emp;
--! 42P20
SELECT sum(id) OVER (PARTITION BY '{}'::json) FROM emp;
--! 42883
SELECT id, count(*) OVER () FROM emp FOR UPDATE;
--! 0A000
SELECT sum(id) OVER (ORDER BY id EXCLUDE TIES) FROM emp;
--! 42601
