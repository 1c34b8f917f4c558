-- What PostgreSQL 15 answers: rows behind `--> `, or the SQLSTATE behind `--! `. A statement is one line.


-- Tables that the queries read.
CREATE TABLE customers (id int PRIMARY KEY, name varchar(20) NOT NULL, city text, credit numeric(10,2) DEFAULT 0, since date);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int, total numeric(12,2), placed timestamp, note text);
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX orders_placed ON orders (placed, id);
INSERT INTO customers VALUES (1, 'ann', 'Berlin', 100.50, '2020-01-15'), (2, 'bob', 'Paris', NULL, '2021-06-30'), (3, 'cat', 'Berlin', 20, NULL), (4, 'dan', NULL, 0, '2019-12-31');
INSERT INTO orders SELECT g, 1 + g % 4, g * 1.25, timestamp '2024-01-01' + g * interval '6 hours', CASE WHEN g % 3 = 0 THEN NULL ELSE 'n' || g END FROM generate_series(1, 40) g;

-- Lists and conditions.
SELECT * FROM customers ORDER BY id;
--> 1|ann|Berlin|100.50|2020-01-15
--> 2|bob|Paris|NULL|2021-06-30
--> 3|cat|Berlin|20.00|NULL
--> 4|dan|NULL|0.00|2019-12-31
SELECT name AS n, upper(name), length(city) FROM customers ORDER BY n DESC;
--> dan|DAN|NULL
--> cat|CAT|6
--> bob|BOB|5
--> ann|ANN|6
SELECT id FROM customers WHERE city = 'Berlin' AND credit > 50;
--> 1
SELECT id FROM customers WHERE city IS NULL OR credit IS NULL ORDER BY id;
--> 2
--> 4
SELECT id FROM customers WHERE NOT (city = 'Berlin') ORDER BY 1;
--> 2
SELECT id FROM customers WHERE name LIKE '%a%' ORDER BY id;
--> 1
--> 3
--> 4
SELECT id FROM customers WHERE since BETWEEN '2020-01-01' AND '2021-12-31' ORDER BY id;
--> 1
--> 2
SELECT id FROM customers WHERE id IN (4, 2, 9) ORDER BY id;
--> 2
--> 4
SELECT id FROM customers WHERE id = ANY (ARRAY[1, 3]) ORDER BY id;
--> 1
--> 3
SELECT id FROM customers WHERE id NOT IN (1, NULL);
SELECT id FROM customers WHERE (city, name) = ('Berlin', 'cat');
--> 3
SELECT count(*) FROM orders WHERE id > 10 AND id <= 20;
--> 10
SELECT count(*) FROM orders WHERE customer_id = 2;
--> 10
SELECT id FROM orders WHERE placed < '2024-01-02 00:00:01' ORDER BY placed;
--> 1
--> 2
--> 3
--> 4
SELECT id FROM orders WHERE placed >= '2024-01-10' ORDER BY placed DESC, id DESC LIMIT 3;
--> 40
--> 39
--> 38
SELECT id, total FROM orders ORDER BY total DESC LIMIT 3 OFFSET 2;
--> 38|47.50
--> 37|46.25
--> 36|45.00
SELECT id FROM orders WHERE id = 7 OR id = 9 ORDER BY id;
--> 7
--> 9
SELECT id FROM orders WHERE id < 0;
SELECT id FROM orders WHERE id = 3000000000;
SELECT id FROM orders WHERE id < 3000000000 ORDER BY id LIMIT 2;
--> 1
--> 2
SELECT id FROM orders WHERE total = 2.5;
--> 2
SELECT id FROM orders WHERE total = 2.501;
SELECT DISTINCT city FROM customers ORDER BY city;
--> Berlin
--> Paris
--> NULL
SELECT DISTINCT customer_id, id % 2 FROM orders ORDER BY 1, 2;
--> 1|0
--> 2|1
--> 3|0
--> 4|1
SELECT DISTINCT ON (customer_id) customer_id, id FROM orders ORDER BY customer_id, id DESC;
--> 1|40
--> 2|37
--> 3|38
--> 4|39
SELECT id FROM customers ORDER BY credit NULLS FIRST, id;
--> 2
--> 4
--> 3
--> 1
SELECT id FROM customers ORDER BY credit DESC, id;
--> 2
--> 1
--> 3
--> 4
SELECT id FROM customers ORDER BY credit DESC NULLS LAST, id;
--> 1
--> 3
--> 4
--> 2
SELECT name FROM customers ORDER BY length(name), name DESC;
--> dan
--> cat
--> bob
--> ann

-- Joins.
SELECT c.name, o.id FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.id < 6 ORDER BY o.id;
--> bob|1
--> cat|2
--> dan|3
--> ann|4
--> bob|5
SELECT c.name, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.id > 38 GROUP BY c.name ORDER BY 1;
--> ann|1
--> bob|0
--> cat|0
--> dan|1
SELECT c.id, o.id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id AND c.city = 'Paris' WHERE o.id < 4 ORDER BY o.id;
--> 2|1
--> NULL|2
--> NULL|3
SELECT c.id, o.id FROM customers c FULL JOIN (SELECT * FROM orders WHERE id < 3) o ON o.customer_id = c.id ORDER BY 1, 2;
--> 1|NULL
--> 2|1
--> 3|2
--> 4|NULL
SELECT a.id, b.id FROM customers a, customers b WHERE a.id < b.id AND a.city = b.city;
--> 1|3
SELECT a.id, b.id, c.id FROM customers a JOIN customers b ON b.id = a.id + 1 JOIN customers c ON c.id = b.id + 1 ORDER BY 1;
--> 1|2|3
--> 2|3|4
SELECT count(*) FROM customers CROSS JOIN orders;
--> 160
SELECT id, name, total FROM customers JOIN (SELECT customer_id AS id, total FROM orders WHERE id IN (1, 2)) o USING (id) ORDER BY id;
--> 2|bob|1.25
--> 3|cat|2.50
SELECT * FROM (SELECT id, name FROM customers) a NATURAL JOIN (SELECT id, city FROM customers) b ORDER BY id;
--> 1|ann|Berlin
--> 2|bob|Paris
--> 3|cat|Berlin
--> 4|dan|NULL
SELECT c.id, x.m FROM customers c, LATERAL (SELECT max(total) AS m FROM orders WHERE customer_id = c.id) x ORDER BY 1;
--> 1|50.00
--> 2|46.25
--> 3|47.50
--> 4|48.75
SELECT c.id, x.id FROM customers c LEFT JOIN LATERAL (SELECT id FROM orders WHERE customer_id = c.id AND id > 37 ORDER BY id DESC LIMIT 1) x ON true ORDER BY 1;
--> 1|40
--> 2|NULL
--> 3|38
--> 4|39
SELECT c.name, g FROM customers c, generate_series(1, c.id) g WHERE c.id < 3 ORDER BY 1, 2;
--> ann|1
--> bob|1
--> bob|2

-- Subqueries.
SELECT name, (SELECT count(*) FROM orders WHERE customer_id = c.id AND total > 20) FROM customers c ORDER BY id;
--> ann|6
--> bob|6
--> cat|6
--> dan|6
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.note IS NULL AND o.id < 5) ORDER BY id;
--> 4
SELECT id FROM customers WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = customers.id AND id > 39) ORDER BY id;
--> 2
--> 3
--> 4
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total > 48) ORDER BY id;
--> 1
--> 4
SELECT id FROM customers WHERE id > ALL (SELECT customer_id FROM orders WHERE id IN (4, 5));
--> 3
--> 4
SELECT id FROM customers WHERE credit = (SELECT max(credit) FROM customers);
--> 1
SELECT ARRAY(SELECT id FROM customers ORDER BY id DESC);
--> {4,3,2,1}
SELECT sum(s) FROM (SELECT customer_id, sum(total) AS s FROM orders GROUP BY customer_id) t WHERE s > 250;
--> 537.50
SELECT (SELECT max(x) FROM (SELECT c.id * 2 AS x) q) FROM customers c ORDER BY 1;
--> 2
--> 4
--> 6
--> 8

-- Groups.
SELECT city, count(*), sum(credit), avg(credit), min(name), max(since) FROM customers GROUP BY city ORDER BY city;
--> Berlin|2|120.50|60.2500000000000000|ann|2020-01-15
--> Paris|1|NULL|NULL|bob|2021-06-30
--> NULL|1|0.00|0.00000000000000000000|dan|2019-12-31
SELECT customer_id, count(*) FILTER (WHERE note IS NULL), string_agg(note, '-' ORDER BY id) FROM orders WHERE id < 13 GROUP BY customer_id ORDER BY 1;
--> 1|1|n4-n8
--> 2|1|n1-n5
--> 3|1|n2-n10
--> 4|1|n7-n11
SELECT count(*), count(note), count(DISTINCT customer_id) FROM orders;
--> 40|27|4
SELECT customer_id % 2 AS k, sum(total) FROM orders GROUP BY k HAVING sum(total) > 500 ORDER BY k;
--> 1|525.00
SELECT max(id), min(id) FROM orders WHERE false;
--> NULL|NULL
SELECT date_trunc('day', placed) AS d, count(*) FROM orders GROUP BY d ORDER BY d LIMIT 3;
--> 2024-01-01 00:00:00|3
--> 2024-01-02 00:00:00|4
--> 2024-01-03 00:00:00|4
SELECT bool_and(total > 1), bool_or(note IS NULL), array_agg(id ORDER BY id DESC) FROM orders WHERE id < 4;
--> t|t|{3,2,1}
SELECT stddev(id), variance(id), sum(id::float8) FROM orders WHERE id < 6;
--> 1.5811388300841897|2.5000000000000000|15
SELECT upper(city) FROM customers GROUP BY city ORDER BY upper(city);
--> BERLIN
--> PARIS
--> NULL

-- Sets.
SELECT city FROM customers UNION SELECT note FROM orders WHERE id < 3 ORDER BY 1;
--> Berlin
--> Paris
--> n1
--> n2
--> NULL
SELECT id FROM customers UNION ALL SELECT id FROM orders WHERE id < 3 ORDER BY id;
--> 1
--> 1
--> 2
--> 2
--> 3
--> 4
SELECT id FROM orders INTERSECT SELECT id FROM customers ORDER BY 1;
--> 1
--> 2
--> 3
--> 4
SELECT id FROM customers EXCEPT SELECT customer_id FROM orders WHERE id < 3 ORDER BY 1;
--> 1
--> 4
SELECT 1 AS a UNION SELECT 2.5 ORDER BY a;
--> 1
--> 2.5
WITH big AS (SELECT * FROM orders WHERE total > 45), n AS (SELECT count(*) AS c FROM big) SELECT big.id, n.c FROM big, n ORDER BY 1;
--> 37|4
--> 38|4
--> 39|4
--> 40|4
WITH RECURSIVE f(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f WHERE b < 50) SELECT a FROM f;
--> 0
--> 1
--> 1
--> 2
--> 3
--> 5
--> 8
--> 13
--> 21
--> 34
WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT (n + 1) % 4 FROM r) SELECT n FROM r ORDER BY n;
--> 0
--> 1
--> 2
--> 3
VALUES (1, 'x'), (2, NULL);
--> 1|x
--> 2|NULL
SELECT * FROM (VALUES (1, 2.5, 'a'), (2, 3, 'b')) v (i, n, t) ORDER BY i DESC;
--> 2|3|b
--> 1|2.5|a
SELECT generate_series(1, 3) AS g, 'k' AS k;
--> 1|k
--> 2|k
--> 3|k
SELECT * FROM unnest(ARRAY['a', 'b']) WITH ORDINALITY AS u(v, n);
--> a|1
--> b|2

-- Changes.
INSERT INTO customers (id, name) VALUES (5, 'eve'), (6, 'fay') RETURNING id, credit, city;
--> 5|0.00|NULL
--> 6|0.00|NULL
UPDATE customers SET credit = credit + 1, city = DEFAULT WHERE id = 5 RETURNING *;
--> 5|eve|NULL|1.00|NULL
WITH u AS (UPDATE customers c SET credit = o.s FROM (SELECT customer_id, sum(total) AS s FROM orders GROUP BY customer_id) o WHERE o.customer_id = c.id AND c.id < 3 RETURNING c.id, c.credit) SELECT * FROM u ORDER BY id;
--> 1|275.00
--> 2|237.50
DELETE FROM customers USING orders WHERE customers.id = orders.id + 4 AND orders.id = 1 RETURNING customers.name;
--> eve
INSERT INTO customers VALUES (6, 'dup') ON CONFLICT DO NOTHING;
INSERT INTO customers VALUES (6, 'dup', 'Rome') ON CONFLICT (id) DO UPDATE SET city = excluded.city, name = customers.name || '!' RETURNING name, city;
--> fay!|Rome
UPDATE orders SET id = id + 100 WHERE id > 38 RETURNING id;
--> 139
--> 140
WITH gone AS (DELETE FROM orders WHERE id > 100 RETURNING id) SELECT count(*) FROM gone;
--> 2
SELECT count(*) FROM orders;
--> 38

-- Errors.
SELECT nosuch FROM customers;
--! 42703
SELECT c.nosuch FROM customers c;
--! 42703
SELECT x.id FROM customers;
--! 42P01
SELECT * FROM nosuch;
--! 42P01
SELECT id FROM customers a, customers b;
--! 42702
SELECT city, name FROM customers GROUP BY city;
--! 42803
SELECT sum(id) FROM customers WHERE sum(id) > 1;
--! 42803
SELECT 1 / 0;
--! 22012
SELECT 'abc'::int;
--! 22P02
SELECT 1 + true;
--! 42883
SELECT nosuch(1);
--! 42883
SELECT * FROM customers WHERE id;
--! 42804
SELECT (SELECT id FROM customers);
--! 21000
INSERT INTO customers VALUES (1, 'again');
--! 23505
INSERT INTO customers (id) VALUES (77);
--! 23502
INSERT INTO customers VALUES (77, 'a name that is much too long for it');
--! 22001
INSERT INTO customers (id, name, nosuch) VALUES (1, 'x', 2);
--! 42703
INSERT INTO customers (id, name) VALUES (1);
--! 42601
UPDATE customers SET id = 'x';
--! 22P02
UPDATE customers SET nosuch = 1;
--! 42703
SELECT id FROM customers ORDER BY 9;
--! 42P10
SELECT id FROM customers ORDER BY -1;
--! 42P10
SELECT id FROM customers LIMIT -1;
--! 2201W
SELECT 1 UNION SELECT 1, 2;
--! 42601
