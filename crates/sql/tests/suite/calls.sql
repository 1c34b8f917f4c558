-- Calls of procedures: those of calls.procedures. PostgreSQL has none of them, so that it does not answer this file.
CALL nothing();
SELECT nothing();
SELECT * FROM nothing();
CALL deposit(1, 50);
--> 150.00
SELECT deposit(1, 50);
--> 200.00
SELECT deposit(1, 50) AS now;
--> 250.00
SELECT * FROM deposit(2, 1.25);
--> 51.50
SELECT * FROM deposit(2, 1.255) AS d(balance);
--> 52.76
SELECT * FROM deposit(2, 1) d;
--> 53.76
CALL transfer(1, 2, 100);
--> 150.00|153.76
SELECT transfer(1, 2, 10);
--> (140.00,163.76)
SELECT * FROM transfer(1, 2, 10);
--> 130.00|173.76
CALL open(3, 'cat');
SELECT id, owner, balance FROM accounts ORDER BY id;
--> 1|ann|130.00
--> 2|bob|173.76
--> 3|cat|0.00
CALL richer(100);
--> 1|ann
--> 2|bob
SELECT * FROM richer(0);
--> 1|ann
--> 2|bob
SELECT * FROM richer(0) AS r(account, name);
--> 1|ann
--> 2|bob
SELECT * FROM richer(1000000);
SELECT numbers(3);
--> 1
--> 2
--> 3
CALL numbers(0);
SELECT * FROM numbers(2);
--> 1
--> 2
CALL perhaps(true);
--> yes
CALL perhaps(false);
--> NULL
SELECT perhaps(false);
--> NULL
SELECT * FROM perhaps(false);
--> NULL

-- Types of arguments and results.
CALL echo(true, 1, 2, 3, 1.5, 1.25, 'text', '\x00ff', '2024-02-29 12:00');
--! 42883
CALL echo(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
--> NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL
CALL echo('t', '1', '2', '3', '1.5', '1.25', 'text', 'abc', '2024-02-29');
--> t|1|2|3|1.5|1.250|text|\x616263|2024-02-29 00:00:00
CALL echo(1 > 2, 7::smallint, 2 * 3, length('abc'), 1e3, round(1.23456, 3), 'a' || 'b', '\x', timestamp '2024-01-01');
--> f|7|6|3|1000|1.235|ab|\x|2024-01-01 00:00:00
CALL echo(true, 40000, 2, 3, 1, 1, 'x', 'x', '2024-01-01');
--! 42883
CALL echo(true, '40000', 2, 3, 1, 1, 'x', 'x', '2024-01-01');
--! 22003
CALL echo(true, 1::smallint, 3000000000, 3, 1, 1, 'x', 'x', '2024-01-01');
--! 42883
CALL echo(true, 1::smallint, 2, 3, 1, 1000, 'x', 'x', '2024-01-01');
--! 22003
CALL echo('maybe', 1::smallint, 2, 3, 1, 1, 'x', 'x', '2024-01-01');
--! 22P02
CALL arrays('{1,2,NULL}', '{a,b}');
--> 1|2|{1,2,NULL}|{a,b}
CALL arrays(ARRAY[4, 5], ARRAY['x', 'y', 'z']);
--> 4|3|{4,5}|{x,y,z}
CALL arrays('{}', NULL);
--> NULL|NULL|{}|NULL
CALL arrays(ARRAY['x'], ARRAY['x']);
--! 42883

-- Arguments by their names.
CALL deposit(account => 1, amount => 1);
--> 131.00
CALL deposit(amount => 2, account => 1);
--> 133.00
CALL deposit(1, amount => 3);
--> 136.00
CALL deposit(1, account => 3);
--! 42883
CALL deposit(account => 1, nosuch => 3);
--! 42883

-- What there is not.
CALL nosuch();
--! 42883
CALL nosuch(1, 'x');
--! 42883
SELECT nosuch(1);
--! 42883
SELECT * FROM nosuch(1);
--! 42883
CALL deposit(1);
--! 42883
CALL deposit(1, 2, 3);
--! 42883
CALL deposit(true, 1);
--! 42883
SELECT deposit(true, 1);
--! 42883
CALL deposit('x', 1);
--! 22P02
CALL deposit;
--! 42601
CALL abs(1);
--! 42809
CALL public.nothing();
CALL other.nothing();
--! 42883
CALL deposit((SELECT 1), 1);
--! 0A000
CALL deposit(count(*), 1);
--! 42803
CALL deposit(id, 1);
--! 42703
CALL "Deposit"(1, 1);
--! 42883
CALL DEPOSIT(1, 1);
--> 137.00

-- Beside other work.
SELECT deposit(1, 1) + 1;
--! 0A000
SELECT deposit(id, 1) FROM accounts;
--! 0A000
SELECT 1, nothing();
--! 0A000
SELECT * FROM accounts, richer(0);
--! 0A000
SELECT * FROM richer(0) WHERE id = 1;
--! 0A000
SELECT id FROM richer(0);
--! 0A000
INSERT INTO accounts VALUES (9, 'x', deposit(1, 1));
--! 0A000

-- Procedures that give up.
CALL deposit(99, 1);
--! P0002
CALL transfer(1, 2, 1000000);
--! P0001
CALL fail('own');
--! ZZ123
CALL fail('conflict');
--! 40001
CALL fail('division');
--! 22012
CALL fail('duplicate');
--! 23505
CALL fail('no');
SELECT balance FROM accounts WHERE id = 1;
--> 137.00

-- Within a block.
BEGIN;
CALL deposit(1, 5);
--> 142.00
SAVEPOINT s;
CALL deposit(1, 5);
--> 147.00
CALL deposit(99, 5);
--! P0002
CALL nothing();
--! 25P02
ROLLBACK TO s;
SELECT balance FROM accounts WHERE id = 1;
--> 142.00
COMMIT;
SELECT balance FROM accounts WHERE id = 1;
--> 142.00
BEGIN;
CALL open(4, 'dan');
ROLLBACK;
SELECT count(*) FROM accounts;
--> 3

-- Where nothing may be written.
BEGIN READ ONLY;
CALL richer(100);
--! 25006
CALL deposit(1, 1);
--! 25P02
ROLLBACK;
BEGIN;
SET TRANSACTION READ ONLY;
SELECT * FROM numbers(1);
--! 25006
ROLLBACK;
BEGIN READ ONLY;
SELECT numbers(1);
--! 25006
ROLLBACK;
BEGIN READ ONLY;
SELECT nosuch(1);
--! 42883
ROLLBACK;
SET default_transaction_read_only = on;
CALL numbers(1);
--> 1
CALL deposit(1, 1);
--! 25006
SET default_transaction_read_only = off;

-- Arguments that need the database.
CREATE SEQUENCE ids START 20;
CALL open(nextval('ids'), 'by number');
CALL open(nextval('ids'), now()::text || current_user);
SELECT id FROM accounts WHERE id >= 20 ORDER BY id;
--> 20
--> 21

-- What only other databases have.
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
--! 0A000
CREATE OR REPLACE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a; END';
--! 0A000
CREATE PROCEDURE p() LANGUAGE sql AS $$ SELECT 1 $$;
--! 0A000
DROP FUNCTION f;
--! 0A000
DO $$ BEGIN NULL; END $$;
--! 0A000
PREPARE TRANSACTION 'x';
--! 0A000
COMMIT PREPARED 'x';
--! 0A000
UPDATE accounts SET owner = 'x' WHERE CURRENT OF c;
--! 0A000
FLUSH TABLES;
--! 42601
EXPLAIN CALL nothing();
--! 42601
PREPARE p AS CALL nothing();
--! 42601
CHECKPOINT;
BEGIN;
CHECKPOINT;
--! 25001
ROLLBACK;
