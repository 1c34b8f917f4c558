-- Plans. They are not those of PostgreSQL, so that it does not answer this file.
CREATE TABLE item (id int PRIMARY KEY, kind int NOT NULL, name text, price numeric(8,2));
CREATE INDEX item_kind ON item (kind);
CREATE UNIQUE INDEX item_name ON item (name);
CREATE TABLE part (item_id int, no int, note text, PRIMARY KEY (item_id, no));
CREATE TABLE heap (a int, b text);
INSERT INTO item SELECT g, g % 10, 'name ' || g, g FROM generate_series(1, 100) g;
INSERT INTO part SELECT g % 100 + 1, g, 'note' FROM generate_series(1, 300) g;
EXPLAIN SELECT 1;
--> Result  (cost=0.00..0.01 rows=1 width=4)
EXPLAIN SELECT * FROM heap;
--> Seq Scan on heap  (cost=0.00..10.00 rows=1000 width=16)
EXPLAIN SELECT * FROM heap h WHERE h.a > 1 AND b = 'x';
--> Seq Scan on heap h  (cost=0.00..15.00 rows=2 width=16)
-->   Filter: ((a > 1) AND (b = 'x'::text))
EXPLAIN SELECT * FROM item WHERE id = 7;
--> Index Scan using item_pkey on item  (cost=0.03..0.04 rows=1 width=24)
-->   Index Cond: (id = 7)
EXPLAIN (COSTS off) SELECT * FROM item WHERE id = 7;
--> Index Scan using item_pkey on item
-->   Index Cond: (id = 7)
EXPLAIN (COSTS off) SELECT * FROM item WHERE id = 7 AND price > 1;
--> Index Scan using item_pkey on item
-->   Index Cond: (id = 7)
-->   Filter: (price > '1'::numeric)
EXPLAIN (COSTS off) SELECT * FROM item WHERE id IN (1, 2, 3);
--> Index Scan using item_pkey on item
-->   Index Cond: (id = ANY (ARRAY[1, 2, 3]))
EXPLAIN (COSTS off) SELECT * FROM item WHERE id = ANY ('{1,2}');
--> Index Scan using item_pkey on item
-->   Index Cond: (id = ANY (ARRAY[1, 2]))
EXPLAIN (COSTS off) SELECT * FROM item WHERE id > 5 AND id <= 10;
--> Index Scan using item_pkey on item
-->   Index Cond: ((id > 5) AND (id <= 10))
EXPLAIN (COSTS off) SELECT * FROM item WHERE kind = 3;
--> Index Scan using item_kind on item
-->   Index Cond: (kind = 3)
EXPLAIN (COSTS off) SELECT * FROM item WHERE name = 'x';
--> Index Scan using item_name on item
-->   Index Cond: (name = 'x'::text)
EXPLAIN (COSTS off) SELECT * FROM item WHERE name LIKE 'x%';
--> Seq Scan on item
-->   Filter: (name ~~ 'x%'::text)
EXPLAIN (COSTS off) SELECT * FROM item WHERE price IS NULL OR NOT (kind = 1);
--> Seq Scan on item
-->   Filter: ((price IS NULL) OR (NOT (kind = 1)))
EXPLAIN (COSTS off) SELECT * FROM item WHERE price IS NOT NULL AND name IS DISTINCT FROM 'x';
--> Seq Scan on item
-->   Filter: ((price IS NOT NULL) AND (name IS DISTINCT FROM 'x'::text))
EXPLAIN (COSTS off) SELECT id FROM item ORDER BY id;
--> Seq Scan on item
EXPLAIN (COSTS off) SELECT id FROM item ORDER BY id DESC LIMIT 3;
--> Limit
-->   ->  Index Scan Backward using item_pkey on item
EXPLAIN (COSTS off) SELECT id FROM item ORDER BY kind;
--> Index Scan using item_kind on item
EXPLAIN (COSTS off) SELECT id FROM item ORDER BY price DESC, name NULLS FIRST;
--> Sort
-->   Sort Key: price DESC, name NULLS FIRST
-->   ->  Seq Scan on item
EXPLAIN SELECT id FROM item ORDER BY price LIMIT 5;
--> Limit  (cost=3.66..3.68 rows=5 width=4)
-->   ->  Sort  (cost=3.66..4.16 rows=100 width=4)
-->         Sort Key: price
-->         ->  Seq Scan on item  (cost=0.00..1.00 rows=100 width=12)
EXPLAIN (COSTS off) SELECT * FROM part WHERE item_id = 1 ORDER BY no DESC LIMIT 1;
--> Limit
-->   ->  Index Scan Backward using part_pkey on part
-->         Index Cond: (item_id = 1)
EXPLAIN (COSTS off) SELECT * FROM item i JOIN part p ON p.item_id = i.id WHERE i.id = 5;
--> Nested Loop
-->   ->  Index Scan using item_pkey on item i
-->         Index Cond: (i.id = 5)
-->   ->  Index Scan using part_pkey on part p
-->         Index Cond: (p.item_id = 5)
EXPLAIN (COSTS off) SELECT * FROM item i LEFT JOIN part p ON p.item_id = i.id AND p.no > 3;
--> Merge Left Join
-->   Merge Cond: (i.id = p.item_id)
-->   ->  Seq Scan on item i
-->   ->  Seq Scan on part p
-->         Filter: (p.no > 3)
EXPLAIN (COSTS off) SELECT * FROM item JOIN heap ON heap.a = item.kind AND heap.b < item.name;
--> Hash Join
-->   Hash Cond: (heap.a = item.kind)
-->   Join Filter: (heap.b < item.name)
-->   ->  Seq Scan on heap
-->   ->  Hash
-->         ->  Seq Scan on item
EXPLAIN (COSTS off) SELECT * FROM heap x FULL JOIN heap y ON x.a = y.a;
--> Hash Full Join
-->   Hash Cond: (x.a = y.a)
-->   ->  Seq Scan on heap x
-->   ->  Hash
-->         ->  Seq Scan on heap y
EXPLAIN (COSTS off) SELECT * FROM heap x, heap y WHERE x.a < y.a;
--> Nested Loop
-->   Join Filter: (x.a < y.a)
-->   ->  Seq Scan on heap x
-->   ->  Materialize
-->         ->  Seq Scan on heap y
EXPLAIN (COSTS off) SELECT count(*), sum(price) FROM item WHERE kind = 1;
--> Aggregate
-->   ->  Index Scan using item_kind on item
-->         Index Cond: (kind = 1)
EXPLAIN (COSTS off) SELECT kind, count(*) FROM item GROUP BY kind HAVING count(*) > 1 ORDER BY 2 DESC;
--> Sort
-->   Sort Key: count(*) DESC
-->   ->  HashAggregate
-->         Group Key: kind
-->         Filter: (count(*) > 1)
-->         ->  Seq Scan on item
EXPLAIN (COSTS off) SELECT DISTINCT kind FROM item;
--> HashAggregate
-->   Group Key: kind
-->   ->  Seq Scan on item
EXPLAIN (COSTS off) SELECT DISTINCT ON (kind) kind, id FROM item ORDER BY kind, id;
--> Unique
-->   ->  Sort
-->         Sort Key: kind, id
-->         ->  Seq Scan on item
EXPLAIN (COSTS off) SELECT 1 UNION ALL SELECT id FROM item;
--> Append
-->   ->  Result
-->   ->  Seq Scan on item
EXPLAIN (COSTS off) SELECT id FROM item EXCEPT SELECT item_id FROM part;
--> HashSetOp Except
-->   ->  Seq Scan on item
-->   ->  Seq Scan on part
EXPLAIN (COSTS off) SELECT * FROM generate_series(1, 3) g;
--> Function Scan on generate_series
EXPLAIN (COSTS off, VERBOSE) SELECT * FROM generate_series(1, 3) g;
--> Function Scan on generate_series
-->   Function Call: generate_series(1, 3)
EXPLAIN (COSTS off) SELECT generate_series(1, 2);
--> ProjectSet
-->   ->  Result
EXPLAIN (COSTS off) VALUES (1), (2);
--> Values Scan on "*VALUES*"
EXPLAIN (COSTS off) SELECT (SELECT max(no) FROM part WHERE item_id = i.id) FROM item i WHERE i.id = 1;
--> Index Scan using item_pkey on item i
-->   Index Cond: (id = 1)
-->   SubPlan 1
-->     ->  Aggregate
-->           ->  Index Scan using part_pkey on part
-->                 Index Cond: (item_id = id)
EXPLAIN (COSTS off) SELECT * FROM item WHERE id = (SELECT max(item_id) FROM part);
--> Index Scan using item_pkey on item
-->   Index Cond: (id = $0)
-->   Filter: (id = $1)
-->   InitPlan 1 (returns $0)
-->     ->  Aggregate
-->           ->  Seq Scan on part
-->   InitPlan 2 (returns $1)
-->     ->  Aggregate
-->           ->  Seq Scan on part
EXPLAIN (COSTS off) SELECT * FROM item i WHERE EXISTS (SELECT 1 FROM part WHERE item_id = i.id);
--> Seq Scan on item i
-->   Filter: (SubPlan 1)
-->   SubPlan 1
-->     ->  Index Scan using part_pkey on part
-->           Index Cond: (item_id = id)
EXPLAIN (COSTS off) SELECT * FROM item WHERE kind IN (SELECT a FROM heap);
--> Seq Scan on item
-->   Filter: (kind = ANY (SubPlan 1))
-->   SubPlan 1
-->     ->  Seq Scan on heap
EXPLAIN (COSTS off) WITH c AS (SELECT id FROM item WHERE kind = 1) SELECT * FROM c a, c b;
--> Nested Loop
-->   CTE cte1
-->     ->  Index Scan using item_kind on item
-->           Index Cond: (item.kind = 1)
-->   ->  CTE Scan on cte1
-->   ->  Materialize
-->         ->  CTE Scan on cte1
EXPLAIN (COSTS off) WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r;
--> CTE Scan on cte1
-->   CTE cte1
-->     ->  Recursive Union
-->           ->  Result
-->           ->  WorkTable Scan on cte1
-->                 Filter: ("*VALUES*".column1 < 3)
EXPLAIN (COSTS off) INSERT INTO heap VALUES (1, 'x');
--> Insert on heap
-->   ->  Result
EXPLAIN (COSTS off) INSERT INTO heap SELECT id, name FROM item WHERE kind = 1;
--> Insert on heap
-->   ->  Index Scan using item_kind on item
-->         Index Cond: (kind = 1)
EXPLAIN (COSTS off) INSERT INTO item (id, kind) VALUES (1, 1) ON CONFLICT (id) DO NOTHING;
--> Insert on item
-->   Conflict Resolution: NOTHING
-->   Conflict Arbiter Indexes: item_pkey
-->   ->  Result
EXPLAIN (COSTS off) INSERT INTO item (id, kind, name) VALUES (1, 1, 'x') ON CONFLICT (name) DO UPDATE SET kind = 2;
--> Insert on item
-->   Conflict Resolution: UPDATE
-->   Conflict Arbiter Indexes: item_name
-->   ->  Result
EXPLAIN (COSTS off) UPDATE item SET price = 1 WHERE id = 7;
--> Update on item
-->   ->  Index Scan using item_pkey on item
-->         Index Cond: (id = 7)
EXPLAIN (COSTS off) UPDATE item SET price = 1 FROM part WHERE part.item_id = item.id AND part.no = 1;
--> Update on item
-->   ->  Nested Loop
-->         ->  Seq Scan on part
-->               Filter: (part.no = 1)
-->         ->  Index Scan using item_pkey on item
-->               Index Cond: (item.id = part.item_id)
EXPLAIN (COSTS off) DELETE FROM item WHERE kind = 2;
--> Delete on item
-->   ->  Index Scan using item_kind on item
-->         Index Cond: (kind = 2)
EXPLAIN (COSTS off) CREATE TABLE u AS SELECT * FROM item WHERE id = 1;
--> Index Scan using item_pkey on item
-->   Index Cond: (id = 1)
EXPLAIN (COSTS off) DECLARE c CURSOR FOR SELECT * FROM item WHERE id = 1;
--> Index Scan using item_pkey on item
-->   Index Cond: (id = 1)
PREPARE one(int) AS SELECT name FROM item WHERE id = $1;
EXPLAIN (COSTS off) EXECUTE one(5);
--> Index Scan using item_pkey on item
-->   Index Cond: (id = $1)
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) EXECUTE one(5);
--> Index Scan using item_pkey on item (actual rows=1 loops=1)
-->   Index Cond: (id = $1)
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT * FROM item WHERE kind = 3;
--> Index Scan using item_kind on item (actual rows=10 loops=1)
-->   Index Cond: (kind = 3)
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT * FROM item WHERE kind = 3 AND id < 50 ORDER BY price LIMIT 2;
--> Limit (actual rows=2 loops=1)
-->   ->  Sort (actual rows=2 loops=1)
-->         Sort Key: price
-->         ->  Index Scan using item_kind on item (actual rows=5 loops=1)
-->               Index Cond: (kind = 3)
-->               Filter: (id < 50)
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT * FROM item i JOIN part p ON p.item_id = i.id WHERE i.id < 4;
--> Nested Loop (actual rows=9 loops=1)
-->   ->  Index Scan using item_pkey on item i (actual rows=3 loops=1)
-->         Index Cond: (i.id < 4)
-->   ->  Index Scan using part_pkey on part p (actual rows=3 loops=3)
-->         Index Cond: (p.item_id = i.id)
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT * FROM heap x JOIN heap y ON x.a = y.a;
--> Hash Join (actual rows=0 loops=1)
-->   Hash Cond: (x.a = y.a)
-->   ->  Seq Scan on heap x (actual rows=0 loops=1)
-->   ->  Hash (actual rows=0 loops=1)
-->         ->  Seq Scan on heap y (actual rows=0 loops=1)
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT count(*) FROM item WHERE id > (SELECT avg(no) FROM part);
--> Aggregate (actual rows=1 loops=1)
-->   ->  Seq Scan on item (actual rows=0 loops=1)
-->         Filter: ((id)::numeric > $0)
-->         InitPlan 1 (returns $0)
-->           ->  Aggregate (actual rows=1 loops=1)
-->                 ->  Seq Scan on part (actual rows=300 loops=1)
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) INSERT INTO heap VALUES (1, 'x'), (2, 'y');
--> Insert on heap (actual rows=0 loops=1)
-->   ->  Values Scan on "*VALUES*" (actual rows=2 loops=1)
SELECT * FROM heap ORDER BY a;
--> 1|x
--> 2|y
BEGIN;
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) DELETE FROM heap WHERE a = 1;
--> Delete on heap (actual rows=0 loops=1)
-->   ->  Seq Scan on heap (actual rows=1 loops=1)
-->         Filter: (a = 1)
ROLLBACK;
SELECT count(*) FROM heap;
--> 2
EXPLAIN (COSTS off, FORMAT json) SELECT * FROM item WHERE id = 7;
--> [
-->   {
-->     "Plan": {
-->       "Alias": "item",
-->       "Index Cond": "(id = 7)",
-->       "Index Name": "item_pkey",
-->       "Node Type": "Index Scan",
-->       "Relation Name": "item"
-->     }
-->   }
--> ]
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, FORMAT json) SELECT name FROM item WHERE kind = 3 AND price > 50;
--> [
-->   {
-->     "Plan": {
-->       "Actual Loops": 1,
-->       "Actual Rows": 5,
-->       "Alias": "item",
-->       "Filter": "(price > '50'::numeric)",
-->       "Index Cond": "(kind = 3)",
-->       "Index Name": "item_kind",
-->       "Node Type": "Index Scan",
-->       "Relation Name": "item"
-->     }
-->   }
--> ]
EXPLAIN (COSTS off, BUFFERS, SETTINGS) SELECT 1;
--> Result
EXPLAIN (FORMAT xml) SELECT 1;
--! 0A000
EXPLAIN (FORMAT nosuch) SELECT 1;
--! 22023
EXPLAIN (NOSUCH) SELECT 1;
--! 42601
EXPLAIN (ANALYZE maybe) SELECT 1;
--! 42601
EXPLAIN (TIMING) SELECT 1;
--! 22023
EXPLAIN (WAL) SELECT 1;
--! 22023
EXPLAIN;
--! 42601
EXPLAIN EXPLAIN SELECT 1;
--! 42601
EXPLAIN SELEC 1;
--! 42601
EXPLAIN SELECT nosuch FROM item;
--! 42703
EXPLAIN SELECT * FROM nosuch;
--! 42P01
EXPLAIN DROP TABLE item;
--! 42601
EXPLAIN BEGIN;
--! 42601
EXPLAIN EXECUTE nosuch;
--! 26000
EXPLAIN (SELECT 1);
--> Result  (cost=0.00..0.01 rows=1 width=4)
BEGIN READ ONLY;
EXPLAIN (COSTS off) DELETE FROM heap;
--> Delete on heap
-->   ->  Seq Scan on heap
EXPLAIN ANALYZE DELETE FROM heap;
--! 25006
ROLLBACK;

-- Rows are found by indexes through views and subqueries.
CREATE TABLE xa (id int PRIMARY KEY, n int);
CREATE TABLE xb (id int PRIMARY KEY, a int);
CREATE INDEX xb_a ON xb (a);
INSERT INTO xa SELECT i, i % 7 FROM generate_series(1, 2000) i;
INSERT INTO xb SELECT i, i % 500 FROM generate_series(1, 2000) i;
CREATE VIEW xv AS SELECT id, n + 1 AS m FROM xa WHERE n <> 3;
CREATE VIEW xw AS SELECT xv.id, xv.m, xb.id AS bid FROM xv LEFT JOIN xb ON xb.a = xv.id;
EXPLAIN (COSTS off) SELECT * FROM xv WHERE id = 5;
--> Index Scan using xa_pkey on xa
-->   Index Cond: (id = 5)
-->   Filter: (n <> 3)
EXPLAIN (COSTS off) SELECT m FROM xw WHERE id = 5;
--> Nested Loop Left Join
-->   ->  Index Scan using xa_pkey on xa
-->         Index Cond: (xa.id = 5)
-->         Filter: (xa.n <> 3)
-->   ->  Index Scan using xb_a on xb
-->         Index Cond: (xb.a = xa.id)
EXPLAIN (COSTS off) SELECT * FROM xb LEFT JOIN xv ON xv.id = xb.a WHERE xb.id = 4;
--> Nested Loop Left Join
-->   ->  Index Scan using xb_pkey on xb
-->         Index Cond: (xb.id = 4)
-->   ->  Index Scan using xa_pkey on xa
-->         Index Cond: (xa.id = xb.a)
-->         Filter: (xa.n <> 3)
EXPLAIN (COSTS off) SELECT * FROM xb JOIN xv ON xv.id = xb.a WHERE xb.id = 4;
--> Nested Loop
-->   ->  Index Scan using xb_pkey on xb
-->         Index Cond: (xb.id = 4)
-->   ->  Index Scan using xa_pkey on xa
-->         Index Cond: (xa.id = xb.a)
-->         Filter: (xa.n <> 3)
EXPLAIN (COSTS off) SELECT * FROM xv ORDER BY id DESC LIMIT 1;
--> Limit
-->   ->  Index Scan Backward using xa_pkey on xa
-->         Filter: (n <> 3)
EXPLAIN (COSTS off) SELECT * FROM (SELECT * FROM xv) s, LATERAL (SELECT * FROM xb WHERE xb.a = s.id) l WHERE s.id = 3;
--> Nested Loop
-->   ->  Index Scan using xa_pkey on xa
-->         Index Cond: (xa.id = 3)
-->         Filter: (xa.n <> 3)
-->   ->  Index Scan using xb_a on xb
-->         Index Cond: (xb.a = xa.id)
EXPLAIN (COSTS off) SELECT s.m FROM xb FULL JOIN (SELECT id, m FROM xv WHERE m > 2) s ON s.id = xb.a WHERE xb.id = 3;
--> Hash Full Join
-->   Hash Cond: (xb.a = xa.id)
-->   Filter: (xb.id = 3)
-->   ->  Seq Scan on xb
-->   ->  Hash
-->         ->  Seq Scan on xa
-->               Filter: ((xa.n <> 3) AND ((xa.n + 1) > 2))
DROP VIEW xw, xv;
DROP TABLE xa, xb;
-- Indexes on expressions, and partial ones.
CREATE TABLE job (id int PRIMARY KEY, state text NOT NULL, at int NOT NULL, email text);
CREATE UNIQUE INDEX job_email ON job (lower(email));
CREATE INDEX job_waiting ON job (at) WHERE state = 'waiting';
CREATE INDEX job_sum ON job ((id + at)) WHERE at > 5;
INSERT INTO job SELECT g, CASE WHEN g % 100 = 0 THEN 'waiting' ELSE 'done' END, g, 'E' || g FROM generate_series(1, 2000) g;
EXPLAIN (COSTS off) SELECT * FROM job WHERE lower(email) = 'e7';
--> Index Scan using job_email on job
-->   Index Cond: (lower(email) = 'e7'::text)
EXPLAIN (COSTS off) SELECT * FROM job WHERE state = 'waiting' ORDER BY at LIMIT 3;
--> Limit
-->   ->  Index Scan using job_waiting on job
-->         Filter: (state = 'waiting'::text)
EXPLAIN (COSTS off) SELECT * FROM job WHERE state = 'waiting' AND at > 500;
--> Index Scan using job_waiting on job
-->   Index Cond: (at > 500)
-->   Filter: (state = 'waiting'::text)
EXPLAIN (COSTS off) SELECT * FROM job WHERE id + at = 20 AND at = 10;
--> Index Scan using job_sum on job
-->   Index Cond: ((id + at) = 20)
-->   Filter: (at = 10)
EXPLAIN (COSTS off) SELECT * FROM job WHERE id + at = 20;
--> Seq Scan on job
-->   Filter: ((id + at) = 20)
EXPLAIN (COSTS off) SELECT * FROM job WHERE state = 'done' AND at > 500;
--> Seq Scan on job
-->   Filter: ((state = 'done'::text) AND (at > 500))
EXPLAIN (COSTS off) SELECT b.id FROM job a JOIN job b ON lower(b.email) = lower(a.email) WHERE a.id = 5;
--> Nested Loop
-->   ->  Index Scan using job_pkey on job a
-->         Index Cond: (a.id = 5)
-->   ->  Index Scan using job_email on job b
-->         Index Cond: (lower(b.email) = lower(a.email))
EXPLAIN (COSTS off) SELECT b.id FROM item a LEFT JOIN job b ON b.at = a.kind AND b.state = 'waiting' WHERE a.id = 5;
--> Nested Loop Left Join
-->   ->  Index Scan using item_pkey on item a
-->         Index Cond: (a.id = 5)
-->   ->  Index Scan using job_waiting on job b
-->         Index Cond: (b.at = a.kind)
-->         Filter: (b.state = 'waiting'::text)
