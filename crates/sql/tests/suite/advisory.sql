-- One session: what it holds, how often, and for how long.
SELECT pg_advisory_lock(1) IS NOT NULL;
--> t
SELECT pg_advisory_lock(1) IS NOT NULL;
--> t
SELECT locktype, classid, objid, objsubid, mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY 2, 3, 4, 5;
--> advisory|0|1|1|ExclusiveLock|t
SELECT pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock(1);
--> t|t|f
SELECT pg_advisory_unlock_shared(1);
--> f
-- How numbers are shown.
SELECT pg_advisory_lock(4294967297), pg_advisory_lock(-1), pg_advisory_lock(9223372036854775807), pg_advisory_lock(-9223372036854775808);
--> |||
SELECT pg_advisory_lock_shared(1, 2), pg_advisory_lock_shared(-1, 2147483647), pg_try_advisory_lock(-2147483648, 0);
--> ||t
SELECT classid, objid, objsubid, mode, granted, pid = pg_backend_pid() AS own, database = (SELECT oid FROM pg_database WHERE datname = current_database()) AS here FROM pg_locks WHERE locktype = 'advisory' ORDER BY classid, objid, objsubid;
--> 1|1|1|ExclusiveLock|t|t|t
--> 1|2|2|ShareLock|t|t|t
--> 2147483647|4294967295|1|ExclusiveLock|t|t|t
--> 2147483648|0|1|ExclusiveLock|t|t|t
--> 2147483648|0|2|ExclusiveLock|t|t|t
--> 4294967295|2147483647|2|ShareLock|t|t|t
--> 4294967295|4294967295|1|ExclusiveLock|t|t|t
SELECT relation, page, tuple, virtualxid, transactionid, fastpath FROM pg_locks WHERE locktype = 'advisory' AND classid = 1 AND objid = 2;
--> NULL|NULL|NULL|NULL|NULL|f
SELECT pg_advisory_unlock(1, 2), pg_advisory_unlock_shared(1, 2), pg_advisory_unlock(1);
--> f|t|f
SELECT pg_advisory_unlock_all() IS NOT NULL;
--> t
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
--> 0
-- Both modes by one session are two entries, and each is given back by its name.
SELECT pg_advisory_lock_shared(7), pg_advisory_lock(7), pg_advisory_lock_shared(7);
--> ||
SELECT mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1;
--> ExclusiveLock|t
--> ShareLock|t
SELECT pg_advisory_unlock(7), pg_advisory_unlock(7);
--> t|f
SELECT mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1;
--> ShareLock|t
SELECT pg_advisory_unlock_shared(7), pg_advisory_unlock_shared(7), pg_advisory_unlock_shared(7);
--> t|t|f
-- NULL is no lock.
SELECT pg_advisory_lock(NULL), pg_try_advisory_lock(NULL), pg_advisory_unlock(NULL), pg_advisory_lock(1, NULL), pg_try_advisory_xact_lock(NULL, 1);
--> NULL|NULL|NULL|NULL|NULL
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
--> 0
-- Which functions there are.
SELECT proname, pronargs, provolatile, prorettype::regtype FROM pg_proc WHERE proname LIKE 'pg\_%advisory\_%' ORDER BY 1, 2;
--> pg_advisory_lock|1|v|void
--> pg_advisory_lock|2|v|void
--> pg_advisory_lock_shared|1|v|void
--> pg_advisory_lock_shared|2|v|void
--> pg_advisory_unlock|1|v|boolean
--> pg_advisory_unlock|2|v|boolean
--> pg_advisory_unlock_all|0|v|void
--> pg_advisory_unlock_shared|1|v|boolean
--> pg_advisory_unlock_shared|2|v|boolean
--> pg_advisory_xact_lock|1|v|void
--> pg_advisory_xact_lock|2|v|void
--> pg_advisory_xact_lock_shared|1|v|void
--> pg_advisory_xact_lock_shared|2|v|void
--> pg_try_advisory_lock|1|v|boolean
--> pg_try_advisory_lock|2|v|boolean
--> pg_try_advisory_lock_shared|1|v|boolean
--> pg_try_advisory_lock_shared|2|v|boolean
--> pg_try_advisory_xact_lock|1|v|boolean
--> pg_try_advisory_xact_lock|2|v|boolean
--> pg_try_advisory_xact_lock_shared|1|v|boolean
--> pg_try_advisory_xact_lock_shared|2|v|boolean
SELECT pg_advisory_lock();
--! 42883
SELECT pg_advisory_lock('x');
--! 22P02
SELECT pg_advisory_lock(1.5);
--! 42883
SELECT pg_advisory_lock(3000000000, 1);
--! 42883
SELECT pg_advisory_lock('5'), pg_advisory_unlock('5');
--> |t
SELECT * FROM pg_try_advisory_lock(8);
--> t
SELECT * FROM pg_advisory_unlock(8) AS given;
--> t
-- Of the transaction: by itself a statement is one.
SELECT pg_advisory_xact_lock(1), pg_advisory_xact_lock_shared(2, 3), pg_try_advisory_xact_lock(4), pg_try_advisory_xact_lock_shared(5);
--> ||t|t
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
--> 0
BEGIN;
SELECT pg_advisory_xact_lock(1), pg_advisory_xact_lock(1);
--> |
SELECT pg_advisory_unlock(1);
--> f
SELECT pg_advisory_unlock_all() IS NOT NULL;
--> t
SELECT objid, mode FROM pg_locks WHERE locktype = 'advisory';
--> 1|ExclusiveLock
COMMIT;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
--> 0
-- Behind a savepoint.
BEGIN;
SELECT pg_advisory_xact_lock(1) IS NOT NULL;
--> t
SAVEPOINT a;
SELECT pg_advisory_xact_lock(1), pg_advisory_xact_lock(2), pg_advisory_lock(3);
--> ||
SAVEPOINT b;
SELECT pg_advisory_xact_lock_shared(4) IS NOT NULL;
--> t
RELEASE SAVEPOINT b;
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1;
--> 1
--> 2
--> 3
--> 4
ROLLBACK TO SAVEPOINT a;
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1;
--> 1
--> 3
SELECT pg_advisory_xact_lock(5) IS NOT NULL;
--> t
SELECT 1 / 0;
--! 22012
ROLLBACK TO SAVEPOINT a;
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1;
--> 1
--> 3
SELECT 1 / 0;
--! 22012
ROLLBACK;
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1;
--> 3
SELECT pg_advisory_unlock(3);
--> t
-- The session keeps what a rolled back transaction has taken for it, and what a statement has that failed.
BEGIN;
SELECT pg_advisory_lock(1), pg_advisory_xact_lock(1);
--> |
ROLLBACK;
SELECT pg_advisory_lock(2), 1 / (SELECT 0);
--! 22012
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1;
--> 1
--> 2
DISCARD ALL;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
--> 0
-- In a transaction that reads only.
BEGIN READ ONLY;
SELECT pg_advisory_xact_lock(1), pg_advisory_lock_shared(2), pg_try_advisory_lock(3);
--> ||t
SELECT pg_advisory_unlock(3);
--> t
COMMIT;
SELECT pg_advisory_unlock_shared(2);
--> t
SET default_transaction_read_only = on;
SELECT pg_advisory_lock(1), pg_advisory_unlock(1);
--> |t
RESET default_transaction_read_only;
-- Once for each row.
CREATE TABLE numbered (id int PRIMARY KEY, v int);
INSERT INTO numbered SELECT n, n % 3 FROM generate_series(1, 6) AS n;
SELECT id, pg_advisory_lock(v) FROM numbered ORDER BY id;
--> 1|
--> 2|
--> 3|
--> 4|
--> 5|
--> 6|
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1;
--> 0
--> 1
--> 2
SELECT pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock(1);
--> t|t|f
SELECT count(*) FILTER (WHERE pg_advisory_unlock(v)) FROM numbered;
--> 4
SELECT id FROM numbered WHERE pg_try_advisory_xact_lock(id) AND id > 4 ORDER BY id;
--> 5
--> 6
WITH taken AS (SELECT id, pg_try_advisory_lock(id) AS got FROM numbered WHERE id < 3) SELECT * FROM taken ORDER BY id;
--> 1|t
--> 2|t
UPDATE numbered SET v = 10 WHERE pg_advisory_unlock(id);
SELECT id FROM numbered WHERE v = 10 ORDER BY id;
--> 1
--> 2
-- Prepared.
PREPARE taking (bigint) AS SELECT pg_try_advisory_lock($1);
EXECUTE taking (11);
--> t
EXECUTE taking (11);
--> t
SELECT pg_advisory_unlock(11), pg_advisory_unlock(11), pg_advisory_unlock(11);
--> t|t|f
DEALLOCATE taking;
DROP TABLE numbered;
