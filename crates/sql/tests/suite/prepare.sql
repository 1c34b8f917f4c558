-- Prepared statements: PREPARE, EXECUTE, DEALLOCATE.
CREATE TABLE item (id int PRIMARY KEY, name varchar(10) NOT NULL, price numeric(8,2), added date DEFAULT '2024-01-01');
INSERT INTO item VALUES (1, 'bolt', 0.10), (2, 'nut', 0.05), (3, 'gear', 12.50), (4, 'belt', NULL);

-- Types of parameters that are inferred.
PREPARE by_id AS SELECT name, price FROM item WHERE id = $1;
EXECUTE by_id(1);
--> bolt|0.10
EXECUTE by_id(3);
--> gear|12.50
EXECUTE by_id(99);
EXECUTE by_id('2');
--> nut|0.05
EXECUTE by_id(NULL);
EXECUTE by_id(1 + 1);
--> nut|0.05
EXECUTE by_id(length('abcd'));
--> belt|NULL
EXECUTE by_id;
--! 42601
EXECUTE by_id();
--! 42601
EXECUTE by_id(1, 2);
--! 42601
EXECUTE by_id('x');
--! 22P02
EXECUTE by_id(true);
--! 42804
EXECUTE by_id((SELECT 1));
--! 0A000
EXECUTE by_id(1.4);
--> bolt|0.10
EXECUTE by_id(2.5);
--> gear|12.50
EXECUTE by_id(3000000000);
--! 22003
EXECUTE by_id(id);
--! 42703
EXECUTE by_id(count(*));
--! 42803
EXECUTE nosuch(1);
--! 26000
EXECUTE nosuch;
--! 26000
EXECUTE "by_id"(4);
--> belt|NULL
EXECUTE BY_ID(4);
--> belt|NULL
EXECUTE "BY_ID"(4);
--! 26000

-- Names.
PREPARE by_id AS SELECT 1;
--! 42P05
PREPARE "Quoted" AS SELECT 'quoted';
EXECUTE "Quoted";
--> quoted
EXECUTE Quoted;
--! 26000
DEALLOCATE "Quoted";
EXECUTE "Quoted";
--! 26000
DEALLOCATE by_id;
EXECUTE by_id(1);
--! 26000
DEALLOCATE by_id;
--! 26000
DEALLOCATE PREPARE by_id;
--! 26000
PREPARE by_id AS SELECT count(*) FROM item;
EXECUTE by_id;
--> 4
DEALLOCATE PREPARE by_id;

-- Types that are declared.
PREPARE declared(int, text) AS SELECT $1 + 1, $2 || '!';
EXECUTE declared(1, 'a');
--> 2|a!
EXECUTE declared('41', 'b');
--> 42|b!
EXECUTE declared(1.6, 'c');
--> 3|c!
EXECUTE declared('x', 'c');
--! 22P02
EXECUTE declared(1, 2);
--> 2|2!
EXECUTE declared(1);
--! 42601
PREPARE more(int) AS SELECT $1, $2::text;
EXECUTE more(1, 'two');
--> 1|two
PREPARE unused(int, int) AS SELECT $1 * 2;
EXECUTE unused(4, 5);
--> 8
EXECUTE unused(4);
--! 42601
PREPARE arrays(int[]) AS SELECT cardinality($1), $1[2];
EXECUTE arrays('{1,2,3}');
--> 3|2
EXECUTE arrays(ARRAY[7,8]);
--> 2|8
EXECUTE arrays(ARRAY['x','y']);
--! 42804
PREPARE numbers(numeric(6,2)) AS SELECT $1;
EXECUTE numbers(1.234);
--> 1.234
PREPARE dates(date) AS SELECT $1 + 1;
EXECUTE dates('2024-02-28');
--> 2024-02-29
EXECUTE dates(timestamp '2024-02-28 13:00');
--> 2024-02-29
EXECUTE dates(5);
--! 42804
PREPARE nosuchtype(nosuch) AS SELECT $1;
--! 42704
PREPARE texts AS SELECT $1;
EXECUTE texts('as it is');
--> as it is
EXECUTE texts(5);
--> 5

-- What a statement may be.
PREPARE add(int, text, numeric) AS INSERT INTO item (id, name, price) VALUES ($1, $2, $3);
EXECUTE add(5, 'pin', 0.01);
EXECUTE add(5, 'pin', 0.01);
--! 23505
EXECUTE add(6, 'much too long a name', 1);
--! 22001
EXECUTE add(7, NULL, 1);
--! 23502
PREPARE raise AS UPDATE item SET price = price * $2 WHERE id = $1 RETURNING id, price;
EXECUTE raise(3, 2);
--> 3|25.00
EXECUTE raise(99, 2);
PREPARE remove(int) AS DELETE FROM item WHERE id = $1;
EXECUTE remove(5);
SELECT id, name, price FROM item ORDER BY id;
--> 1|bolt|0.10
--> 2|nut|0.05
--> 3|gear|25.00
--> 4|belt|NULL
PREPARE lots AS VALUES (1, 'one'), (2, 'two');
EXECUTE lots;
--> 1|one
--> 2|two
PREPARE common AS WITH c AS (SELECT id FROM item WHERE price > $1) SELECT count(*) FROM c;
EXECUTE common(1);
--> 1
EXECUTE common(0);
--> 3
PREPARE limited(bigint) AS SELECT id FROM item ORDER BY id LIMIT $1;
EXECUTE limited(2);
--> 1
--> 2
EXECUTE limited(-1);
--! 2201W
PREPARE any_of(int[]) AS SELECT name FROM item WHERE id = ANY($1) ORDER BY id;
EXECUTE any_of('{1,3}');
--> bolt
--> gear
EXECUTE any_of('{}');
PREPARE like_this(text) AS SELECT name FROM item WHERE name LIKE $1 ORDER BY name;
EXECUTE like_this('b%');
--> belt
--> bolt
PREPARE ddl AS CREATE TABLE u (a int);
--! 42601
PREPARE tx AS BEGIN;
--! 42601
PREPARE nested AS EXECUTE lots;
--! 42601
PREPARE AS SELECT 1;
--! 42601
PREPARE bad AS SELECT nosuch FROM item;
--! 42703
PREPARE bad AS SELECT * FROM nosuch;
--! 42P01
PREPARE bad(int) AS SELECT $1 || $1 || 'x' WHERE $1;
--! 42883
PREPARE bad AS SELEC 1;
--! 42601
EXECUTE bad;
--! 26000

-- Statements stay when their transaction does not.
BEGIN;
PREPARE inside AS SELECT 'inside';
ROLLBACK;
EXECUTE inside;
--> inside
BEGIN;
EXECUTE add(8, 'clip', 1);
SAVEPOINT s;
EXECUTE add(8, 'clip', 1);
--! 23505
EXECUTE inside;
--! 25P02
ROLLBACK TO s;
EXECUTE inside;
--> inside
COMMIT;
SELECT name FROM item WHERE id = 8;
--> clip

-- Tables that change.
PREPARE whole AS SELECT * FROM item WHERE id = 1;
EXECUTE whole;
--> 1|bolt|0.10|2024-01-01
CREATE INDEX item_name ON item (name);
EXECUTE whole;
--> 1|bolt|0.10|2024-01-01
PREPARE named AS SELECT id FROM item WHERE name = $1;
EXECUTE named('nut');
--> 2
DROP INDEX item_name;
EXECUTE named('nut');
--> 2
ALTER TABLE item ALTER COLUMN price SET DEFAULT 7;
EXECUTE whole;
--> 1|bolt|0.10|2024-01-01
ALTER TABLE item ADD COLUMN extra int;
EXECUTE whole;
--! 0A000
EXECUTE named('nut');
--> 2
DROP TABLE item;
EXECUTE named('nut');
--! 42P01
EXECUTE lots;
--> 1|one
--> 2|two
DEALLOCATE ALL;
EXECUTE lots;
--! 26000
EXECUTE named('nut');
--! 26000
DEALLOCATE ALL;

-- Transactions that follow one another.
CREATE TABLE t (a int PRIMARY KEY);
COMMIT AND CHAIN;
--! 25P01
ROLLBACK AND CHAIN;
--! 25P01
BEGIN;
INSERT INTO t VALUES (1);
COMMIT AND CHAIN;
INSERT INTO t VALUES (2);
ROLLBACK AND CHAIN;
INSERT INTO t VALUES (3);
SELECT a FROM t ORDER BY a;
--> 1
--> 3
COMMIT AND NO CHAIN;
SELECT a FROM t ORDER BY a;
--> 1
--> 3
BEGIN READ ONLY;
SHOW transaction_read_only;
--> on
SELECT count(*) FROM t;
--> 2
COMMIT AND CHAIN;
SHOW transaction_read_only;
--> on
INSERT INTO t VALUES (4);
--! 25006
ROLLBACK AND CHAIN;
INSERT INTO t VALUES (4);
--! 25006
ROLLBACK;
SHOW transaction_read_only;
--> off
BEGIN;
INSERT INTO t VALUES (1);
--! 23505
COMMIT AND CHAIN;
INSERT INTO t VALUES (5);
COMMIT;
SELECT a FROM t ORDER BY a;
--> 1
--> 3
--> 5
ABORT;
BEGIN;
INSERT INTO t VALUES (6);
ABORT;
BEGIN;
INSERT INTO t VALUES (6);
ABORT WORK AND NO CHAIN;
SELECT a FROM t ORDER BY a;
--> 1
--> 3
--> 5

-- SET TRANSACTION.
SET TRANSACTION READ ONLY;
INSERT INTO t VALUES (7);
BEGIN;
SET TRANSACTION READ ONLY;
INSERT INTO t VALUES (8);
--! 25006
ROLLBACK;
BEGIN READ ONLY;
SET TRANSACTION READ WRITE;
INSERT INTO t VALUES (8);
COMMIT;
BEGIN READ ONLY;
SELECT count(*) FROM t;
--> 5
SET TRANSACTION READ WRITE;
--! 25001
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (9);
SET TRANSACTION READ ONLY;
INSERT INTO t VALUES (10);
--! 25006
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SHOW transaction_isolation;
--> serializable
SELECT count(*) FROM t;
--> 5
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
--! 25001
ROLLBACK;
BEGIN;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY;
SHOW transaction_isolation;
--> serializable
SHOW transaction_read_only;
--> on
ROLLBACK;
SET default_transaction_read_only = on;
INSERT INTO t VALUES (11);
--! 25006
SET default_transaction_read_only = off;
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY;
INSERT INTO t VALUES (11);
--! 25006
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE;
INSERT INTO t VALUES (11);
BEGIN;
SET LOCAL timezone = 'Europe/Berlin';
SHOW timezone;
--> Europe/Berlin
COMMIT;
LOCK TABLE t;
--! 25P01
BEGIN;
LOCK TABLE t IN EXCLUSIVE MODE;
LOCK t;
LOCK TABLE ONLY t IN ACCESS SHARE MODE NOWAIT;
LOCK TABLE nosuch;
--! 42P01
ROLLBACK;
UNLISTEN *;

-- Settings go back with the savepoint.
BEGIN;
SET LOCAL lock_timeout = 5;
SET statement_timeout = 7000;
SAVEPOINT q;
SET LOCAL lock_timeout = 50;
SET statement_timeout = 8000;
ROLLBACK TO q;
SELECT current_setting('lock_timeout') LIKE '5%', current_setting('statement_timeout') LIKE '7%', current_setting('lock_timeout') LIKE '50%';
--> t|t|f
SET statement_timeout = 9000;
RELEASE q;
COMMIT;
SELECT current_setting('lock_timeout') = '0', current_setting('statement_timeout') LIKE '9%';
--> t|t
RESET statement_timeout;
-- The statements that are there.
deallocate all;
prepare listed (int, text) as select $1, $2;
select name, parameter_types::text, from_sql from pg_prepared_statements;
--> listed|{integer,text}|t
select prepare_time between now() - interval '1 hour' and clock_timestamp() from pg_prepared_statements;
--> t
deallocate listed;
select name from pg_prepared_statements;
