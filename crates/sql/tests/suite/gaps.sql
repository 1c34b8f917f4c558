-- LIKE in CREATE TABLE.
CREATE TABLE source (id serial PRIMARY KEY, name varchar(20) NOT NULL DEFAULT 'anon', price numeric(8,2) CHECK (price >= 0), code text UNIQUE, CONSTRAINT named CHECK (length(name) < 10));
CREATE INDEX ON source (name, price);
CREATE UNIQUE INDEX source_two ON source (name, code);
COMMENT ON COLUMN source.name IS 'who';
INSERT INTO source (name, price, code) VALUES ('a', 1, 'x');
CREATE TABLE plain (LIKE source);
INSERT INTO plain (id, name, price) VALUES (1, 'a', -1) RETURNING *;
--> 1|a|-1.00|NULL
INSERT INTO plain (id) VALUES (1);
--! 23502
SELECT count(*) FROM pg_indexes WHERE tablename = 'plain';
--> 0
SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns WHERE table_name = 'plain' ORDER BY ordinal_position;
--> id|integer|NO|NULL
--> name|character varying|NO|NULL
--> price|numeric|YES|NULL
--> code|text|YES|NULL
CREATE TABLE with_defaults (LIKE source INCLUDING DEFAULTS, extra int DEFAULT 3, CHECK (extra > 0));
INSERT INTO with_defaults (price) VALUES (-5) RETURNING name, price, extra;
--> anon|-5.00|3
INSERT INTO with_defaults (extra) VALUES (0);
--! 23514
CREATE TABLE everything (before int, LIKE source INCLUDING ALL, behind text);
SELECT indexname FROM pg_indexes WHERE tablename = 'everything' ORDER BY 1;
--> everything_code_key
--> everything_name_code_idx
--> everything_name_price_idx
--> everything_pkey
SELECT conname FROM pg_constraint WHERE conrelid = 'everything'::regclass AND contype <> 'n' ORDER BY 1;
--> everything_code_key
--> everything_pkey
--> named
--> source_price_check
INSERT INTO everything (price) VALUES (-1);
--! 23514
INSERT INTO everything (code, name) VALUES ('c', 'muchtoolong');
--! 23514
INSERT INTO everything (id, code) VALUES (9, 'c') RETURNING *;
--> NULL|9|anon|NULL|c|NULL
INSERT INTO everything (id, code) VALUES (10, 'c');
--! 23505
SELECT col_description('everything'::regclass, 3);
--> who
CREATE TABLE partly (LIKE source INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS);
SELECT count(*) FROM pg_constraint WHERE conrelid = 'partly'::regclass AND contype <> 'n';
--> 0
INSERT INTO partly (price) VALUES (-1) RETURNING name, price;
--> anon|-1.00
CREATE TABLE generated_source (id int GENERATED ALWAYS AS IDENTITY (START 50 INCREMENT 5), v int);
CREATE TABLE without_identity (LIKE generated_source);
INSERT INTO without_identity (v) VALUES (1);
--! 23502
CREATE TABLE with_identity (LIKE generated_source INCLUDING IDENTITY);
INSERT INTO with_identity (v) VALUES (1), (2) RETURNING id;
--> 50
--> 55
INSERT INTO with_identity VALUES (1, 1);
--! 428C9
CREATE TABLE two (LIKE generated_source, LIKE source INCLUDING INDEXES);
--! 42701
CREATE TABLE two (LIKE generated_source, LIKE without_identity);
--! 42701
CREATE TABLE other (LIKE missing);
--! 42P01
CREATE TABLE other (LIKE source INCLUDING NOTHING);
--! 42601
CREATE TABLE other (LIKE source INCLUDING);
--! 42601
CREATE TABLE other (LIKE source INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE, z int);
SELECT count(*) FROM information_schema.columns WHERE table_name = 'other';
--> 5
CREATE TABLE IF NOT EXISTS other (LIKE source);

-- UPDATE ... SET (a, b) = ...
CREATE TABLE target (id int PRIMARY KEY, a int, b text, c numeric(6,2));
INSERT INTO target VALUES (1, 10, 'x', 1), (2, 20, 'y', 2), (3, 30, 'z', 3);
UPDATE target SET (a, b) = (11, 'xx') WHERE id = 1 RETURNING *;
--> 1|11|xx|1.00
UPDATE target SET (a, b) = ROW (12, 'xy') WHERE id = 1 RETURNING *;
--> 1|12|xy|1.00
UPDATE target SET (a, b) = (SELECT 13, 'sub') WHERE id = 1 RETURNING *;
--> 1|13|sub|1.00
UPDATE target SET (b, a, c) = (SELECT t.b || '!', t.a + 1, target.id FROM target t WHERE t.id = target.id - 1) WHERE id > 1 RETURNING *;
--> 2|14|sub!|2.00
--> 3|21|y!|3.00
UPDATE target SET (a, b) = (SELECT 1, 'none' WHERE false) WHERE id = 3 RETURNING *;
--> 3|NULL|NULL|3.00
UPDATE target SET (a, b) = (SELECT a, b FROM target) WHERE id = 3;
--! 21000
UPDATE target SET (a, b) = (SELECT 1) WHERE id = 3;
--! 42601
UPDATE target SET (a, b) = (1, 'x', 3) WHERE id = 3;
--! 42601
UPDATE target SET (a, b) = (SELECT 'no', 'x') WHERE id = 3;
--! 42804
UPDATE target SET (a, b) = 5 WHERE id = 3;
--! 0A000
UPDATE target SET (a, a) = (SELECT 1, 2) WHERE id = 3;
--! 42601
UPDATE target SET (a, missing) = (SELECT 1, 2) WHERE id = 3;
--! 42703
UPDATE target SET (a, b) = (DEFAULT, 'd'), c = 4.567 WHERE id = 3 RETURNING *;
--> 3|NULL|d|4.57
UPDATE target SET (a) = (SELECT 77) WHERE id = 3 RETURNING a;
--> 77
UPDATE target SET (a) = ROW (78) WHERE id = 3 RETURNING a;
--> 78
UPDATE target SET (a) = (79) WHERE id = 3 RETURNING a;
--! 0A000
UPDATE target SET (a) = 80 WHERE id = 3 RETURNING a;
--! 0A000
UPDATE target t SET (a, b) = (SELECT s.id, s.name FROM source s WHERE s.id = t.id), c = o.id FROM source o WHERE t.id = 1 AND o.id = 1 RETURNING t.*, o.name;
--> 1|1|a|1.00|a
UPDATE target SET (a, b) = (SELECT max(a), min(b) FROM target);
SELECT id, a, b FROM target ORDER BY id;
--> 1|78|a
--> 2|78|a
--> 3|78|a

-- Locks.
BEGIN;
SELECT id FROM target WHERE id = 1 FOR UPDATE NOWAIT;
--> 1
SELECT id FROM target WHERE id = 1 FOR NO KEY UPDATE;
--> 1
SELECT id FROM target WHERE id = 1 FOR SHARE NOWAIT;
--> 1
SELECT id FROM target WHERE id = 1 FOR KEY SHARE;
--> 1
SELECT t.id FROM target t JOIN source s ON s.id = t.id FOR UPDATE OF t NOWAIT;
--> 1
SELECT t.id FROM target t JOIN source s ON s.id = t.id FOR UPDATE OF t FOR SHARE OF s;
--> 1
COMMIT;
SELECT id FROM target FOR UPDATE OF missing;
--! 42P01
SELECT t.id FROM target t FOR UPDATE OF target;
--! 42P01
SELECT t.id FROM target t FOR UPDATE OF public.t;
--! 42601
SELECT count(*) FROM target FOR UPDATE NOWAIT;
--! 0A000
-- TABLE behind a list.
WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) TABLE r ORDER BY 1 OFFSET 2;
--> 3
--> 4
--> 5
WITH r(n) AS (SELECT 1) TABLE r;
--> 1
-- Signs behind each other.
SELECT - -1, ~ + 1, - ~ 1, - - - 2 ^ 2, @ -3;
--> 1|-2|2|4|3
CREATE VIEW signs AS SELECT - -1 AS a, ~ + 1 AS b, @ -3 AS c;
SELECT * FROM signs;
--> 1|-2|3
SELECT -2 ^ 2, ~ 1 + 1, @ -5 + 2, |/ 16 + 9, - 2 ^ 2 * 3, -3 % 2, 2 - -2 ^ 2, ~ 5 & 4, 7 - ~ 1 * 2, @ - 2 ^ 3, -(-2) ^ 2, ~5 = -6, - 1 < 0;
--> 4|-3|3|5|12|-1|-2|0|10|8|4|t|t
SELECT -interval '1 day', -'1 day'::interval, - 2::numeric(5,2), -9223372036854775808, -x.a[1] FROM (SELECT ARRAY[4] AS a) x;
--> -1 days|-1 days|-2.00|-9223372036854775808|-4
CREATE VIEW powers AS SELECT -2 ^ 2 AS a, ~ 1 + 1 AS b, @ - 2 ^ 3 AS c, 1 - -2 AS d;
SELECT * FROM powers;
--> 4|-3|8|3
TABLE order;
--! 42601
SELECT 1 AS table;
--> 1
-- Literals that are kept as texts.
CREATE TABLE quoted (a text DEFAULT 'x''''y', b text DEFAULT 'back\''s', CHECK (a <> 'no''''no' AND b <> '\'''));
INSERT INTO quoted DEFAULT VALUES RETURNING *;
--> x''y|back\'s
INSERT INTO quoted VALUES ('no''''no', '');
--! 23514
INSERT INTO quoted VALUES ('', '\''');
--! 23514
CREATE VIEW quotes AS SELECT '''''' AS a, 'a''''b'' OR true --' AS b, '\''' AS c FROM quoted WHERE a <> 'z''''z';
SELECT * FROM quotes;
--> ''|a''b' OR true --|\'

-- FOR UPDATE SKIP LOCKED and NOWAIT, where nobody else has a row.
CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL, priority int NOT NULL, payload text, owner int);
CREATE INDEX ON jobs (state, priority);
INSERT INTO jobs SELECT n, CASE WHEN n % 3 = 0 THEN 'done' ELSE 'new' END, n % 5, 'p' || n FROM generate_series(1, 20) AS n;
SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
--> 1
SELECT id, payload FROM jobs WHERE state = 'new' ORDER BY priority DESC, id DESC LIMIT 3 FOR UPDATE SKIP LOCKED;
--> 19|p19
--> 14|p14
--> 4|p4
SELECT id FROM jobs WHERE state = 'new' ORDER BY payload LIMIT 2 OFFSET 1 FOR NO KEY UPDATE SKIP LOCKED;
--> 10
--> 11
SELECT id + 1 AS next FROM jobs WHERE id IN (4, 5, 6) AND state = 'new' ORDER BY next DESC FOR SHARE SKIP LOCKED;
--> 6
--> 5
SELECT id FROM jobs WHERE id = 7 FOR KEY SHARE SKIP LOCKED;
--> 7
SELECT id FROM jobs WHERE id = 99 FOR UPDATE SKIP LOCKED;
SELECT id FROM jobs WHERE id = 3 AND state = 'new' FOR UPDATE SKIP LOCKED;
SELECT count(*) FROM (SELECT id FROM jobs FOR UPDATE SKIP LOCKED) AS all_of_them;
--> 20
SELECT j.id, k.id FROM jobs AS j JOIN jobs AS k ON k.id = j.id + 1 WHERE j.state = 'new' AND k.state = 'done' ORDER BY 1 FOR UPDATE OF j SKIP LOCKED;
--> 2|3
--> 5|6
--> 8|9
--> 11|12
--> 14|15
--> 17|18
SELECT j.id FROM jobs AS j JOIN jobs AS k ON k.id = j.id + 1 WHERE j.id = 2 FOR UPDATE OF j SKIP LOCKED FOR SHARE OF k NOWAIT;
--> 2
SELECT id FROM jobs WHERE id = 2 FOR UPDATE SKIP LOCKED FOR UPDATE NOWAIT;
--> 2
UPDATE jobs SET state = 'running', owner = 5 WHERE id = (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, state, owner;
--> 1|running|5
WITH next AS (SELECT id FROM jobs WHERE state = 'new' ORDER BY priority, id LIMIT 2 FOR UPDATE SKIP LOCKED) UPDATE jobs SET state = 'running' FROM next WHERE jobs.id = next.id RETURNING jobs.id;
--> 5
--> 10
DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING id;
--> 2
--> 4
BEGIN;
SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
--> 7
UPDATE jobs SET state = 'done' WHERE id = 7;
SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
--> 8
INSERT INTO jobs VALUES (0, 'new', 0);
SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
--> 0
ROLLBACK;
SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
--> 7
SELECT id FROM jobs WHERE state = 'new' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 2 OFFSET 1;
--> 8
--> 11
SELECT id FROM jobs AS j ORDER BY id DESC FOR UPDATE OF j SKIP LOCKED FOR SHARE OF j FETCH FIRST 1 ROW ONLY;
--> 20
SELECT * FROM (SELECT id FROM jobs ORDER BY id FOR UPDATE LIMIT 1) AS first;
--> 1
DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state = 'done' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id;
--> 3
DELETE FROM jobs WHERE id = ANY(ARRAY(SELECT id FROM jobs WHERE state = 'done' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED)) RETURNING state;
--> done
--> done
UPDATE jobs AS j SET owner = 6 WHERE EXISTS (SELECT FROM jobs AS k WHERE k.id = j.id AND k.priority = 4 FOR UPDATE SKIP LOCKED) RETURNING id > 0;
--> t
--> t
UPDATE jobs AS j SET owner = 8 FROM jobs AS k LEFT JOIN jobs AS l ON l.id = k.id + 100 WHERE k.id = j.id AND j.id IN (SELECT id FROM jobs WHERE id > 18 FOR UPDATE SKIP LOCKED) RETURNING j.id > 18, l.id;
--> t|NULL
--> t|NULL
SELECT j.id, k.id FROM jobs AS j LEFT JOIN jobs AS k ON k.id = j.id + 1 AND k.state = 'done' WHERE j.id > 16 ORDER BY 1 LIMIT 3 FOR UPDATE OF j SKIP LOCKED;
--> 17|18
--> 18|NULL
--> 19|NULL
SELECT id FROM jobs WHERE id IN (SELECT k.id + 1 FROM jobs AS k WHERE k.priority = 1) AND state = 'new' ORDER BY id;
--> 17
CREATE VIEW new_jobs AS SELECT id AS number, priority * 10 AS rank, upper(payload) AS what FROM jobs WHERE state = 'new';
SELECT * FROM new_jobs WHERE number = 7 FOR UPDATE;
--> 7|20|P7
SELECT * FROM new_jobs WHERE number > 10 AND rank = 10 AND what LIKE 'P%' ORDER BY number FOR UPDATE SKIP LOCKED;
--> 11|10|P11
--> 16|10|P16
SELECT n.number, j.id FROM new_jobs AS n LEFT JOIN jobs AS j ON j.id = n.number + 1 WHERE n.number = 10 OR j.id = 12 ORDER BY 1;
--> 11|12
SELECT number FROM (SELECT number, rank FROM new_jobs UNION ALL SELECT id, priority FROM jobs) AS u WHERE number = 7 AND rank < 30 ORDER BY rank;
--> 7
--> 7
SELECT DISTINCT rank FROM (SELECT DISTINCT rank, what FROM new_jobs) AS d WHERE rank >= 30 ORDER BY 1;
--> 30
--> 40
SELECT number FROM (SELECT number FROM new_jobs ORDER BY number LIMIT 3) AS l WHERE number > 2 ORDER BY 1;
--> 7
--> 8
--> 11
SELECT n, r FROM (SELECT number AS n, row_number() OVER (ORDER BY number DESC) AS r FROM new_jobs) AS w WHERE n = 7;
--> 7|9
SELECT a.number, b.rank FROM (SELECT j.id AS number, k.id AS rank FROM jobs AS j JOIN jobs AS k ON k.id = j.id + 1) AS a JOIN new_jobs AS b ON b.number = a.number WHERE a.rank IN (5, 8) ORDER BY 1;
--> 7|20
SELECT 1 FROM (SELECT DISTINCT number FROM new_jobs) AS d WHERE number = 1 FOR UPDATE;
--! 0A000
PREPARE next_job (text) AS SELECT id FROM jobs WHERE state = $1 ORDER BY id DESC LIMIT 1 FOR UPDATE SKIP LOCKED;
EXECUTE next_job ('new');
--> 20
EXECUTE next_job ('none');
DEALLOCATE next_job;
SELECT DISTINCT state FROM jobs FOR UPDATE SKIP LOCKED;
--! 0A000
SELECT count(*) FROM jobs FOR UPDATE SKIP LOCKED;
--! 0A000
SELECT state FROM jobs GROUP BY state FOR UPDATE SKIP LOCKED;
--! 0A000
SELECT row_number() OVER () FROM jobs FOR UPDATE SKIP LOCKED;
--! 0A000
SELECT id FROM jobs FOR UPDATE OF missing SKIP LOCKED;
--! 42P01
BEGIN READ ONLY;
SELECT id FROM jobs FOR UPDATE SKIP LOCKED;
--! 25006
ROLLBACK;
SELECT id FROM jobs FOR UPDATE SKIP;
--! 42601
DROP VIEW new_jobs;
DROP TABLE jobs;
-- Literals.
SELECT extract('year' FROM date '2020-01-02'), extract('MONTH' FROM date '2020-01-02'), extract("day" FROM date '2020-01-02');
--> 2020|1|2
SELECT extract('nonsense' FROM date '2020-01-02');
--! 22023
SELECT U&'d\0061t\+000061' AS u;
--> data
SELECT pg_sleep_for('1 ms') IS NULL, pg_sleep_until(now()) IS NULL, pg_sleep_until('2001-01-01') IS NULL;
--> f|f|f
CREATE VIEW of_unicode AS SELECT U&'it\0027s \005c' AS u;
SELECT * FROM of_unicode;
--> it's \
DROP VIEW of_unicode;
CREATE TABLE indexed (a int);
CREATE INDEX indexed_a ON indexed (a);
DROP INDEX CONCURRENTLY indexed_a;
DROP INDEX CONCURRENTLY indexed_a;
--! 42704
DROP INDEX CONCURRENTLY IF EXISTS indexed_a;
DROP TABLE indexed;
CREATE TABLE collated (a text COLLATE "C", b varchar(3) COLLATE "POSIX", c text COLLATE "default", e text);
SELECT attname, attcollation FROM pg_attribute WHERE attrelid = 'collated'::regclass AND attnum > 0 ORDER BY attnum;
--> a|950
--> b|951
--> c|100
--> e|100
SELECT column_name, collation_name FROM information_schema.columns WHERE table_name = 'collated' ORDER BY ordinal_position;
--> a|C
--> b|POSIX
--> c|NULL
--> e|NULL
CREATE TABLE like_collated (LIKE collated);
ALTER TABLE collated ALTER a TYPE varchar(10);
SELECT attcollation FROM pg_attribute WHERE attrelid = 'collated'::regclass AND attname = 'a';
--> 100
SELECT attcollation FROM pg_attribute WHERE attrelid = 'like_collated'::regclass AND attname = 'a';
--> 950
DROP TABLE collated, like_collated;
SELECT relname, reltype > 0 AS has_type FROM pg_class WHERE relname = 'pg_class';
--> pg_class|t
SELECT count(*) FROM pg_statio_all_tables WHERE relname = 'nosuch';
--> 0

-- Extensions that there are: pgcrypto and uuid-ossp. What is expected is what PostgreSQL 15 answers.
create extension pgcrypto;
create extension if not exists pgcrypto;
create extension "uuid-ossp" with schema public;
create extension nosuch;
--! 0A000
drop extension nosuch;
--! 42704
drop extension if exists nosuch;
select hmac('a','b','md5'), hmac('a','b','sha224'), hmac('a'::bytea, repeat('k', 200)::bytea, 'sha512'), hmac('x', repeat('k',100), 'SHA-256');
--> \x5e69fae25f4b4f3e8cc5de09a8163520|\xa04a3802594be5c1ccaa49445f7a1170671c7d7f7eba996f05e6ca19|\x47286c7ddfd89c1319a8a8b013c1fb96d7c2a9d77751a2997142a6dfe596d558abc00f8c3c1f68f1279fd69d36df02aec13e05364bc531a4139fd6438556deee|\x8c1858bff6cf9cb73708b4b54f43bca6e1b8b4c3380760dc009001b265b64c6f
select uuid_generate_v3(uuid_ns_url(),'x'), uuid_generate_v5(uuid_ns_x500(),'x'), uuid_nil(), digest('a','SHA1'), digest('a', 'sha-256'), digest('\x00'::bytea, 'md5'), uuid_ns_dns(), uuid_ns_oid();
--> 60a7f89c-e446-309c-8b4f-460bfdfd0dee|456e503f-63e3-56c1-b807-4cd79bf8cc22|00000000-0000-0000-0000-000000000000|\x86f7e437faa5a7fce15d1ddcb9eaeaea377667b8|\xca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb|\x93b885adfe0da089cdf634904fd59f71|6ba7b810-9dad-11d1-80b4-00c04fd430c8|6ba7b812-9dad-11d1-80b4-00c04fd430c8
select digest('a','sha3');
--! 22023
select length(gen_random_bytes(20)), gen_random_bytes(0);
--! 39000
select length(gen_random_bytes(20)), substr(uuid_generate_v1()::text, 15, 1), substr(uuid_generate_v4()::text, 15, 1), uuid_generate_v1() = uuid_generate_v1mc();
--> 20|1|4|f
create table et(id uuid primary key default public.uuid_generate_v4(), k uuid default uuid_generate_v4());
insert into et default values;
select count(*) from et where id <> k;
--> 1
select extname, extversion, extnamespace::regnamespace, extrelocatable from pg_extension where extname <> 'plpgsql' order by extname collate "C";
--> pgcrypto|1.3|public|t
--> uuid-ossp|1.1|public|t
select * from pg_available_extensions where name ~ 'pgc|uuid' order by name;
--> pgcrypto|1.3|1.3|cryptographic functions
--> uuid-ossp|1.1|1.1|generate universally unique identifiers (UUIDs)
drop extension "uuid-ossp";
--! 2BP01
comment on extension pgcrypto is 'secrets';
select obj_description(oid, 'pg_extension') from pg_extension where extname = 'pgcrypto';
--> secrets
create schema es;
alter extension pgcrypto set schema es;
select es.digest('a', 'md5');
--> \x0cc175b9c0f1b6a831c399e269772661
select public.digest('a', 'md5');
--! 42883
alter extension pgcrypto update;
drop table et;
drop extension pgcrypto, "uuid-ossp";
