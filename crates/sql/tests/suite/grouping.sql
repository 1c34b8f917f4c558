-- GROUP BY with grouping sets, and aggregates: what PostgreSQL 15 answers. A statement is one line.

CREATE TABLE sales (id int PRIMARY KEY, region text, product text, year int, amount numeric(10,2), qty int, at timestamp, took interval);
INSERT INTO sales VALUES (1, 'n', 'a', 2020, 10.00, 1, '2020-01-01', '1 hour'), (2, 'n', 'b', 2020, 20.50, 2, '2020-02-01', '2 hours'), (3, 's', 'a', 2020, 5.25, 3, '2020-03-01', '1 day'), (4, 's', 'a', 2021, 7.75, NULL, '2021-01-01', NULL), (5, 's', 'b', 2021, NULL, 5, NULL, '30 min'), (6, NULL, 'b', 2021, 1.00, 6, '2021-12-31', '3 hours'), (7, 'n', 'a', 2021, 2.00, 1, '2021-06-01', '4 hours');
CREATE TABLE regions (code text PRIMARY KEY, name text, boss text);
INSERT INTO regions VALUES ('n', 'North', 'ann'), ('s', 'South', 'bob');

-- Grouping sets.
SELECT region, product, sum(qty) FROM sales GROUP BY GROUPING SETS ((region), (product), ()) ORDER BY 1, 2, 3;
--> n|NULL|4
--> s|NULL|8
--> NULL|a|5
--> NULL|b|13
--> NULL|NULL|6
--> NULL|NULL|18
SELECT region, product, sum(qty), grouping(region, product) FROM sales GROUP BY ROLLUP (region, product) ORDER BY 4, 1, 2;
--> n|a|2|0
--> n|b|2|0
--> s|a|3|0
--> s|b|5|0
--> NULL|b|6|0
--> n|NULL|4|1
--> s|NULL|8|1
--> NULL|NULL|6|1
--> NULL|NULL|18|3
SELECT region, product, sum(qty), grouping(region), grouping(product) FROM sales GROUP BY CUBE (region, product) ORDER BY 4, 5, 1, 2;
--> n|a|2|0|0
--> n|b|2|0|0
--> s|a|3|0|0
--> s|b|5|0|0
--> NULL|b|6|0|0
--> n|NULL|4|0|1
--> s|NULL|8|0|1
--> NULL|NULL|6|0|1
--> NULL|a|5|1|0
--> NULL|b|13|1|0
--> NULL|NULL|18|1|1
SELECT region, year, count(*) FROM sales GROUP BY region, ROLLUP (year) ORDER BY 1, 2, 3;
--> n|2020|2
--> n|2021|1
--> n|NULL|3
--> s|2020|1
--> s|2021|2
--> s|NULL|3
--> NULL|2021|1
--> NULL|NULL|1
SELECT region, product, year, count(*) FROM sales GROUP BY ROLLUP ((region, product), year) ORDER BY 1, 2, 3, 4;
--> n|a|2020|1
--> n|a|2021|1
--> n|a|NULL|2
--> n|b|2020|1
--> n|b|NULL|1
--> s|a|2020|1
--> s|a|2021|1
--> s|a|NULL|2
--> s|b|2021|1
--> s|b|NULL|1
--> NULL|b|2021|1
--> NULL|b|NULL|1
--> NULL|NULL|NULL|7
SELECT region, product, year, count(*), grouping(region, product, year) FROM sales GROUP BY CUBE ((region, product), year) ORDER BY 5, 1, 2, 3;
--> n|a|2020|1|0
--> n|a|2021|1|0
--> n|b|2020|1|0
--> s|a|2020|1|0
--> s|a|2021|1|0
--> s|b|2021|1|0
--> NULL|b|2021|1|0
--> n|a|NULL|2|1
--> n|b|NULL|1|1
--> s|a|NULL|2|1
--> s|b|NULL|1|1
--> NULL|b|NULL|1|1
--> NULL|NULL|2020|3|6
--> NULL|NULL|2021|4|6
--> NULL|NULL|NULL|7|7
SELECT region, product, count(*) FROM sales GROUP BY GROUPING SETS (region, product) ORDER BY 1, 2;
--> n|NULL|3
--> s|NULL|3
--> NULL|a|4
--> NULL|b|3
--> NULL|NULL|1
SELECT region, product, count(*) FROM sales GROUP BY GROUPING SETS ((region, product)) ORDER BY 1, 2;
--> n|a|2
--> n|b|1
--> s|a|2
--> s|b|1
--> NULL|b|1
SELECT region, product, year, count(*) FROM sales GROUP BY GROUPING SETS (ROLLUP (region, product), year) ORDER BY 1, 2, 3, 4;
--> n|a|NULL|2
--> n|b|NULL|1
--> n|NULL|NULL|3
--> s|a|NULL|2
--> s|b|NULL|1
--> s|NULL|NULL|3
--> NULL|b|NULL|1
--> NULL|NULL|2020|3
--> NULL|NULL|2021|4
--> NULL|NULL|NULL|1
--> NULL|NULL|NULL|7
SELECT region, product, count(*) FROM sales GROUP BY GROUPING SETS (CUBE (region, product), ()) ORDER BY 1, 2, 3;
--> n|a|2
--> n|b|1
--> n|NULL|3
--> s|a|2
--> s|b|1
--> s|NULL|3
--> NULL|a|4
--> NULL|b|1
--> NULL|b|3
--> NULL|NULL|1
--> NULL|NULL|7
--> NULL|NULL|7
SELECT region, count(*) FROM sales GROUP BY GROUPING SETS (region, region) ORDER BY 1, 2;
--> n|3
--> n|3
--> s|3
--> s|3
--> NULL|1
--> NULL|1
SELECT region, product, count(*) FROM sales GROUP BY ROLLUP (region), ROLLUP (product) ORDER BY 1, 2, 3;
--> n|a|2
--> n|b|1
--> n|NULL|3
--> s|a|2
--> s|b|1
--> s|NULL|3
--> NULL|a|4
--> NULL|b|1
--> NULL|b|3
--> NULL|NULL|1
--> NULL|NULL|7
SELECT count(*) FROM sales GROUP BY ();
--> 7
SELECT count(*), sum(qty) FROM sales WHERE false GROUP BY ();
--> 0|NULL
SELECT region, count(*) FROM sales WHERE false GROUP BY GROUPING SETS (region, ());
--> NULL|0
SELECT region, count(*) FROM sales WHERE false GROUP BY GROUPING SETS ((), ());
--! 42803
SELECT region, count(*) FROM sales WHERE false GROUP BY ROLLUP (region);
--> NULL|0
SELECT region, count(*) FROM sales WHERE false GROUP BY region;
SELECT upper(region) r, sum(qty) FROM sales GROUP BY ROLLUP (r) ORDER BY 1, 2;
--> N|4
--> S|8
--> NULL|6
--> NULL|18
SELECT upper(region), sum(qty) FROM sales GROUP BY ROLLUP (1) ORDER BY 1, 2;
--> N|4
--> S|8
--> NULL|6
--> NULL|18
SELECT year % 2, year / 2, count(*) FROM sales GROUP BY GROUPING SETS (year % 2, year / 2) ORDER BY 1, 2;
--> 0|NULL|3
--> 1|NULL|4
--> NULL|1010|7
SELECT region, sum(qty) FROM sales GROUP BY ROLLUP (region) HAVING grouping(region) = 1;
--> NULL|18
SELECT region, sum(qty) FROM sales GROUP BY ROLLUP (region) ORDER BY grouping(region) DESC, region;
--> NULL|18
--> n|4
--> s|8
--> NULL|6
SELECT CASE WHEN grouping(region) = 1 THEN 'all' ELSE coalesce(region, 'none') END AS r, sum(qty) FROM sales GROUP BY ROLLUP (region) ORDER BY r;
--> all|18
--> n|4
--> none|6
--> s|8
SELECT region, year, sum(qty), rank() OVER (PARTITION BY grouping(region, year) ORDER BY sum(qty) DESC) FROM sales GROUP BY ROLLUP (region, year) ORDER BY grouping(region, year), 4, 1, 2;
--> NULL|2021|6|1
--> s|2021|5|2
--> n|2020|3|3
--> s|2020|3|3
--> n|2021|1|5
--> s|NULL|8|1
--> NULL|NULL|6|2
--> n|NULL|4|3
--> NULL|NULL|18|1
SELECT region, coalesce(product, '-'), array_agg(id ORDER BY id) FROM sales GROUP BY CUBE (region, product) ORDER BY 1, 2, 3;
--> n|-|{1,2,7}
--> n|a|{1,7}
--> n|b|{2}
--> s|-|{3,4,5}
--> s|a|{3,4}
--> s|b|{5}
--> NULL|-|{1,2,3,4,5,6,7}
--> NULL|-|{6}
--> NULL|a|{1,3,4,7}
--> NULL|b|{2,5,6}
--> NULL|b|{6}
SELECT count(DISTINCT product), region FROM sales GROUP BY ROLLUP (region) ORDER BY region, 1;
--> 2|n
--> 2|s
--> 1|NULL
--> 2|NULL
SELECT DISTINCT grouping(region) FROM sales GROUP BY CUBE (region, product) ORDER BY 1;
--> 0
--> 1
SELECT s.region, sum(qty) FROM sales s GROUP BY CUBE (s.region) ORDER BY 1, 2;
--> n|4
--> s|8
--> NULL|6
--> NULL|18
SELECT grouping(region) FROM sales GROUP BY region ORDER BY region;
--> 0
--> 0
--> 0
SELECT grouping(qty) FROM sales GROUP BY region;
--! 42803
SELECT grouping(region) FROM sales;
--! 42803
SELECT id FROM sales WHERE grouping(id) = 1;
--! 42803
SELECT region, product FROM sales GROUP BY GROUPING SETS (region);
--! 42803
SELECT sum(grouping(region)) FROM sales GROUP BY region;
--! 42803
SELECT region FROM sales GROUP BY CUBE (region, product, year, qty, id, amount, at, took, id + 1, id + 2, id + 3, id + 4, id + 5);
--! 54011
SELECT region FROM sales GROUP BY region, sum(qty);
--! 42803
SELECT sum(qty) AS q FROM sales GROUP BY q;
--! 42803
SELECT count(*) FROM (SELECT year, region FROM sales GROUP BY (year, region)) t;
--> 5
SELECT region, sum(qty) + grouping(region) FROM sales GROUP BY ROLLUP (region) ORDER BY 1, 2;
--> n|4
--> s|8
--> NULL|6
--> NULL|19

-- A primary key says what the other columns are.
SELECT code, name, boss, count(s.id) FROM regions LEFT JOIN sales s ON region = code GROUP BY code ORDER BY code;
--> n|North|ann|3
--> s|South|bob|3
SELECT upper(name) || code FROM regions GROUP BY code ORDER BY 1;
--> NORTHn
--> SOUTHs
SELECT r.*, sum(qty) FROM regions r JOIN sales ON region = code GROUP BY r.code ORDER BY 1;
--> n|North|ann|4
--> s|South|bob|8
SELECT code, name FROM regions GROUP BY code HAVING length(boss) = 3 ORDER BY boss DESC;
--> s|South
--> n|North
SELECT code, product FROM regions JOIN sales ON region = code GROUP BY code;
--! 42803
SELECT name, boss FROM regions GROUP BY name;
--! 42803
SELECT code, name FROM regions GROUP BY ROLLUP (code);
--! 42803

-- DISTINCT, ORDER BY and FILTER in aggregates.
SELECT array_agg(DISTINCT product), string_agg(DISTINCT region, ',') FROM sales;
--> {a,b}|n,s
SELECT array_agg(DISTINCT qty ORDER BY qty DESC) FROM sales;
--> {NULL,6,5,3,2,1}
SELECT array_agg(DISTINCT qty) FROM sales;
--> {1,2,3,5,6,NULL}
SELECT string_agg(product, '' ORDER BY id DESC) FROM sales;
--> abbaaba
SELECT string_agg(DISTINCT product, ',' ORDER BY product DESC) FROM sales;
--> b,a
SELECT string_agg(product, ',' ORDER BY region NULLS FIRST, year DESC, id) FROM sales;
--> b,a,a,b,a,b,a
SELECT count(DISTINCT qty), sum(DISTINCT qty), avg(DISTINCT qty), count(DISTINCT (region, product)) FROM sales;
--> 5|17|3.4000000000000000|5
SELECT count(*) FILTER (WHERE year = 2020), sum(qty) FILTER (WHERE region = 'n'), array_agg(id ORDER BY id) FILTER (WHERE qty > 2) FROM sales;
--> 3|4|{3,5,6}
SELECT region, count(*) FILTER (WHERE year = 2020) FROM sales GROUP BY region ORDER BY 1;
--> n|2
--> s|1
--> NULL|0
SELECT json_agg(product ORDER BY id) FROM sales WHERE id < 4;
--> ["a", "b", "a"]
SELECT json_object_agg(id, product ORDER BY id) FROM sales WHERE id < 3;
--> { "1" : "a", "2" : "b" }
SELECT array_agg(DISTINCT qty ORDER BY id) FROM sales;
--! 42P10
SELECT count(DISTINCT *) FROM sales;
--! 42601
SELECT count() FROM sales;
--! 42809
SELECT upper(DISTINCT region) FROM sales;
--! 42809
SELECT upper(region) FILTER (WHERE true) FROM sales;
--! 42809
SELECT sum(qty ORDER BY nosuch) FROM sales;
--! 42703
SELECT sum(sum(qty)) FROM sales;
--! 42803
SELECT sum(qty) FILTER (WHERE count(*) > 1) FROM sales;
--! 42803
SELECT upper(max(region)), length(coalesce(max(product), '')) FROM sales;
--> S|1

-- WITHIN GROUP.
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY qty) FROM sales;
--> 2.5
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY amount), percentile_disc(0.25) WITHIN GROUP (ORDER BY amount) FROM sales;
--> 2.8125|2.00
SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY qty DESC) FROM sales;
--> 4
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY took) FROM sales;
--> 02:30:00
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY took), percentile_disc(0.9) WITHIN GROUP (ORDER BY region) FROM sales;
--> 02:00:00|s
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY at) FROM sales;
--> 2020-03-01 00:00:00
SELECT percentile_cont(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY qty) FROM sales;
--> {1,2.5,6}
SELECT percentile_disc(ARRAY[0.1, NULL, 0.9]) WITHIN GROUP (ORDER BY product) FROM sales;
--> {a,NULL,b}
SELECT percentile_cont(NULL) WITHIN GROUP (ORDER BY qty) FROM sales;
--> NULL
SELECT percentile_disc(0) WITHIN GROUP (ORDER BY qty), percentile_disc(1) WITHIN GROUP (ORDER BY qty) FROM sales;
--> 1|6
SELECT region, percentile_cont(0.5) WITHIN GROUP (ORDER BY qty) FROM sales GROUP BY region ORDER BY 1;
--> n|1
--> s|4
--> NULL|6
SELECT region, percentile_cont(0.5) WITHIN GROUP (ORDER BY qty) FILTER (WHERE year = 2020) FROM sales GROUP BY region ORDER BY 1;
--> n|1.5
--> s|3
--> NULL|NULL
SELECT year, percentile_disc((year - 2020) / 2.0) WITHIN GROUP (ORDER BY id) FROM sales GROUP BY year ORDER BY 1;
--> 2020|1
--> 2021|5
SELECT mode() WITHIN GROUP (ORDER BY product), mode() WITHIN GROUP (ORDER BY qty DESC) FROM sales;
--> a|1
SELECT region, mode() WITHIN GROUP (ORDER BY product) FROM sales GROUP BY ROLLUP (region) ORDER BY 1, 2;
--> n|a
--> s|a
--> NULL|a
--> NULL|b
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY qty), mode() WITHIN GROUP (ORDER BY region) FROM sales WHERE false;
--> NULL|NULL
SELECT rank(3) WITHIN GROUP (ORDER BY qty), dense_rank(3) WITHIN GROUP (ORDER BY qty), percent_rank(3) WITHIN GROUP (ORDER BY qty), cume_dist(3) WITHIN GROUP (ORDER BY qty) FROM sales;
--> 4|3|0.42857142857142855|0.625
SELECT rank('n', 2021) WITHIN GROUP (ORDER BY region DESC NULLS LAST, year) FROM sales;
--> 6
SELECT rank(1) WITHIN GROUP (ORDER BY qty), cume_dist(1) WITHIN GROUP (ORDER BY qty) FROM sales WHERE false;
--> 1|1
SELECT rank(2.5) WITHIN GROUP (ORDER BY qty) FROM sales;
--> 4
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY qty) FROM sales;
--! 22003
SELECT percentile_cont(-0.1) WITHIN GROUP (ORDER BY qty) FROM sales;
--! 22003
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY product) FROM sales;
--! 42883
SELECT percentile_cont(0.5, 1) WITHIN GROUP (ORDER BY qty) FROM sales;
--! 42883
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY qty, id) FROM sales;
--! 42883
SELECT percentile_cont(0.5) FROM sales;
--! 42883
SELECT mode() FROM sales;
--! 42883
SELECT sum(qty) WITHIN GROUP (ORDER BY qty) FROM sales;
--! 42883
SELECT string_agg(region) WITHIN GROUP (ORDER BY product) FROM sales;
--! 42809
SELECT rank(1) FROM sales;
--! 42809
SELECT upper(region) WITHIN GROUP (ORDER BY qty) FROM sales;
--! 42883
SELECT percentile_cont(qty) WITHIN GROUP (ORDER BY qty) FROM sales;
--! 42803
SELECT rank(1, 2) WITHIN GROUP (ORDER BY qty) FROM sales;
--! 42883
SELECT percentile_cont(DISTINCT 0.5) WITHIN GROUP (ORDER BY qty) FROM sales;
--! 42601

-- More aggregates.
SELECT corr(id, year), covar_pop(id, year), covar_samp(id, year) FROM sales;
--> 0.8660254037844387|0.8571428571428571|1
SELECT regr_slope(qty, id), regr_intercept(qty, id), regr_r2(qty, id), regr_count(qty, id) FROM sales;
--> 0.3571428571428572|1.5714285714285712|0.1623376623376624|6
SELECT regr_avgx(qty, id), regr_avgy(qty, id), regr_sxx(qty, id), regr_syy(qty, id), regr_sxy(qty, id) FROM sales;
--> 4|3|28.000000000000004|22.000000000000004|10.000000000000004
SELECT bit_xor(qty), bool_or(qty > 5), every(qty > 0) FROM sales;
--> 2|t|t
SELECT variance(qty), stddev_pop(qty), stddev(amount), stddev(amount / 1000000), stddev(qty * 10000000000000) FROM sales;
--> 4.4000000000000000|1.9148542155126762|7.1063352017759477|0.000007106335201775947748485464743814041340094993|20976176963403
SELECT avg(took), sum(took) FROM sales;
--> 05:45:00|1 day 10:30:00
SELECT max(took), min(at), max(region) FROM sales;
--> 1 day|2020-01-01 00:00:00|s
SELECT array_agg(x) FROM (VALUES (NULL::int), (1)) v(x);
--> {NULL,1}
