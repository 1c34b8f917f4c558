-- Who listens, and what of it counts when.
SELECT * FROM pg_listening_channels();
LISTEN first;
LISTEN second;
LISTEN first;
SELECT * FROM pg_listening_channels();
--> first
--> second
SELECT pg_listening_channels() AS channel, 1 ORDER BY channel DESC;
--> second|1
--> first|1
UNLISTEN first;
UNLISTEN nosuch;
SELECT * FROM pg_listening_channels();
--> second
BEGIN;
LISTEN third;
UNLISTEN second;
SELECT * FROM pg_listening_channels();
--> second
ROLLBACK;
SELECT * FROM pg_listening_channels();
--> second
BEGIN;
LISTEN a;
SAVEPOINT s;
LISTEN b;
UNLISTEN *;
ROLLBACK TO SAVEPOINT s;
LISTEN c;
SAVEPOINT t;
LISTEN d;
RELEASE SAVEPOINT t;
COMMIT;
SELECT * FROM pg_listening_channels() ORDER BY 1;
--> a
--> c
--> d
--> second
BEGIN;
UNLISTEN a;
LISTEN e;
SELECT 1 / 0;
--! 22012
LISTEN f;
--! 25P02
NOTIFY f;
--! 25P02
UNLISTEN *;
--! 25P02
COMMIT;
SELECT count(*) FROM pg_listening_channels();
--> 4
BEGIN;
UNLISTEN *;
LISTEN lone;
UNLISTEN lone;
LISTEN last;
COMMIT;
SELECT * FROM pg_listening_channels();
--> last
BEGIN READ ONLY;
LISTEN of_reader;
NOTIFY of_reader, 'x';
SELECT pg_notify('of_reader', 'y'), 0;
--> |0
COMMIT;
SELECT * FROM pg_listening_channels();
--> last
--> of_reader
DISCARD ALL;
SELECT count(*) FROM pg_listening_channels();
--> 0

-- Names.
LISTEN "With Blank";
LISTEN Upper;
LISTEN between;
LISTEN "*";
LISTEN ünï;
LISTEN a2345678901234567890123456789012345678901234567890123456789012345678901234567890;
SELECT * FROM pg_listening_channels();
--> With Blank
--> upper
--> between
--> *
--> ünï
--> a23456789012345678901234567890123456789012345678901234567890123
UNLISTEN "*";
SELECT count(*) FROM pg_listening_channels();
--> 5
UNLISTEN *;
SELECT count(*) FROM pg_listening_channels();
--> 0
LISTEN;
--! 42601
LISTEN select;
--! 42601
LISTEN left;
--! 42601
LISTEN 'text';
--! 42601
LISTEN a.b;
--! 42601
LISTEN a, b;
--! 42601
LISTEN *;
--! 42601
LISTEN "";
--! 42601
UNLISTEN;
--! 42601
UNLISTEN 5;
--! 42601

-- What is sent.
NOTIFY nobody;
NOTIFY nobody, 'text';
NOTIFY nobody, E'a\tb';
NOTIFY nobody, $$text$$;
NOTIFY nobody, U&'\00e4';
NOTIFY "With Blank", '';
NOTIFY nobody, 5;
--! 42601
NOTIFY nobody, text;
--! 42601
NOTIFY nobody, 'a' || 'b';
--! 42601
NOTIFY nobody, NULL;
--! 42601
NOTIFY nobody 'text';
--! 42601
NOTIFY 'nobody';
--! 42601
NOTIFY "";
--! 42601
NOTIFY;
--! 42601
PREPARE p AS NOTIFY nobody;
--! 42601
EXPLAIN NOTIFY nobody;
--! 42601
EXPLAIN LISTEN nobody;
--! 42601
SELECT pg_notify('nobody', 'text'), 0;
--> |0
SELECT pg_notify('nobody', NULL) IS NULL;
--> f
SELECT pg_notify('nobody', n::text), n FROM generate_series(1, 2) AS n;
--> |1
--> |2
SELECT pg_notify(NULL, 'text');
--! 22023
SELECT pg_notify('', 'text');
--! 22023
SELECT pg_notify(repeat('a', 63), 'text'), 0;
--> |0
SELECT pg_notify(repeat('a', 64), 'text');
--! 22023
SELECT pg_notify(repeat('ä', 32), 'text');
--! 22023
SELECT pg_notify('nobody', repeat('a', 7999)), 0;
--> |0
SELECT pg_notify('nobody', repeat('a', 8000));
--! 22023
SELECT pg_notify('nobody', repeat('ä', 4000));
--! 22023
SELECT pg_notify('nobody', 1);
--! 42883
SELECT pg_notify('nobody');
--! 42883
SELECT pg_notification_queue_usage();
--> 0
SELECT pg_typeof(pg_notification_queue_usage()), pg_typeof(pg_notify('nobody', ''));
--> double precision|void
SELECT pg_typeof(c) FROM pg_listening_channels() AS c;
