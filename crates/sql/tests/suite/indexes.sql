-- Indexes on expressions, and partial ones.
CREATE TABLE t (id int PRIMARY KEY, email text NOT NULL, status varchar(20), qty int, note text, active boolean NOT NULL DEFAULT true, at timestamp NOT NULL DEFAULT '2020-01-01');
INSERT INTO t (id, email, status, qty, note, active, at) SELECT i, 'User' || i || '@X.org', CASE WHEN i % 10 = 0 THEN 'pending' ELSE 'done' END, i % 7, null, i % 3 = 0, timestamp '2020-01-01' + i * interval '1 minute' FROM generate_series(1, 60) i;
CREATE UNIQUE INDEX t_email ON t (lower(email));
CREATE INDEX ON t ((qty + id));
CREATE INDEX t_pending ON t (at) WHERE status = 'pending';
CREATE UNIQUE INDEX ON t (qty, note) WHERE active AND qty > 3;
CREATE INDEX ON t (lower(email), id) WHERE note IS NOT NULL;
CREATE INDEX t_name ON t ((id), email);
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1;
--> t_email|CREATE UNIQUE INDEX t_email ON public.t USING btree (lower(email))
--> t_expr_idx|CREATE INDEX t_expr_idx ON public.t USING btree (((qty + id)))
--> t_lower_id_idx|CREATE INDEX t_lower_id_idx ON public.t USING btree (lower(email), id) WHERE (note IS NOT NULL)
--> t_name|CREATE INDEX t_name ON public.t USING btree (id, email)
--> t_pending|CREATE INDEX t_pending ON public.t USING btree (at) WHERE ((status)::text = 'pending'::text)
--> t_pkey|CREATE UNIQUE INDEX t_pkey ON public.t USING btree (id)
--> t_qty_note_idx|CREATE UNIQUE INDEX t_qty_note_idx ON public.t USING btree (qty, note) WHERE (active AND (qty > 3))
SELECT indexrelid::regclass, indkey, pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid, true) FROM pg_index WHERE indrelid = 't'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
--> t_email|0|lower(email)|NULL
--> t_expr_idx|0|(qty + id)|NULL
--> t_lower_id_idx|0 1|lower(email)|note IS NOT NULL
--> t_name|1 2|NULL|NULL
--> t_pending|7|NULL|status::text = 'pending'::text
--> t_pkey|1|NULL|NULL
--> t_qty_note_idx|4 5|NULL|active AND qty > 3
SELECT attname FROM pg_attribute WHERE attrelid = 't_lower_id_idx'::regclass ORDER BY attnum;
--> lower
--> id
SELECT pg_get_indexdef('t_lower_id_idx'::regclass, 1, true), pg_get_indexdef('t_expr_idx'::regclass, 1, true), pg_get_indexdef('t_lower_id_idx'::regclass, 2, true);
--> lower(email)|(qty + id)|id
SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0;
--> 7
INSERT INTO t (id, email) VALUES (1000, 'USER5@x.org');
--! 23505
INSERT INTO t (id, email) VALUES (1000, 'new@x.org');
UPDATE t SET email = 'UsEr7@x.org' WHERE id = 1000;
--! 23505
UPDATE t SET email = 'UsEr77@x.org' WHERE id = 1000;
SELECT id FROM t WHERE lower(email) = 'user77@x.org';
--> 1000
SELECT id FROM t WHERE lower(email) IN ('user7@x.org', 'user8@x.org') ORDER BY 1;
--> 7
--> 8
SELECT id FROM t WHERE lower(email) BETWEEN 'user7' AND 'user8' ORDER BY 1;
--> 7
--> 1000
SELECT id FROM t WHERE lower(email) IS NULL;
SELECT id FROM t WHERE status = 'pending' ORDER BY at LIMIT 3;
--> 10
--> 20
--> 30
SELECT id FROM t WHERE status = 'pending' AND at > '2020-01-01 00:35' ORDER BY at;
--> 40
--> 50
--> 60
SELECT count(*) FROM t WHERE qty + id = 20;
--> 1
SELECT a.id, b.id FROM t a JOIN t b ON lower(b.email) = lower(a.email) WHERE a.id < 4 ORDER BY 1;
--> 1|1
--> 2|2
--> 3|3
SELECT a.id, b.id FROM t a LEFT JOIN t b ON lower(b.email) = lower(a.email) AND b.id <> a.id WHERE a.id < 3 ORDER BY 1;
--> 1|NULL
--> 2|NULL
SELECT lower(email), count(*) FROM t WHERE id < 3 GROUP BY lower(email) ORDER BY 1;
--> user1@x.org|1
--> user2@x.org|1
SELECT * FROM t WHERE id = 10;
--> 10|User10@X.org|pending|3|NULL|f|2020-01-01 00:10:00
SELECT t FROM t WHERE id = 10;
--> (10,User10@X.org,pending,3,,f,"2020-01-01 00:10:00")
SELECT row_to_json(t) FROM t WHERE lower(email) = 'user10@x.org';
--> {"id":10,"email":"User10@X.org","status":"pending","qty":3,"note":null,"active":false,"at":"2020-01-01T00:10:00"}
SELECT * FROM (VALUES (10)) q(a) JOIN t ON t.id = q.a;
--> 10|10|User10@X.org|pending|3|NULL|f|2020-01-01 00:10:00
WITH x AS (INSERT INTO t (id, email) VALUES (2000, 'w') RETURNING *) SELECT * FROM x;
--> 2000|w|NULL|NULL|NULL|t|2020-01-01 00:00:00
UPDATE t SET email = u.email FROM (SELECT 'zz' AS email) u WHERE id = 2000 RETURNING t.*;
--> 2000|zz|NULL|NULL|NULL|t|2020-01-01 00:00:00
DELETE FROM t WHERE lower(email) = 'zz' RETURNING id, email;
--> 2000|zz
CREATE VIEW v AS SELECT * FROM t;
SELECT id FROM v WHERE lower(email) = 'user10@x.org';
--> 10
CREATE TABLE c AS SELECT * FROM t WHERE id = 1;
SELECT * FROM c;
--> 1|User1@X.org|done|1|NULL|f|2020-01-01 00:01:00
SELECT osier_computed_1 FROM t;
--! 42703
-- Unique among the rows of which the condition holds.
INSERT INTO t (id, email, qty, note) VALUES (3000, 'n1', 5, 'same');
INSERT INTO t (id, email, qty, note) VALUES (3001, 'n2', 5, 'same');
--! 23505
INSERT INTO t (id, email, qty, note, active) VALUES (3001, 'n2', 5, 'same', false);
UPDATE t SET active = true WHERE id = 3001;
--! 23505
UPDATE t SET qty = 3 WHERE id = 3000;
UPDATE t SET active = true WHERE id = 3001;
UPDATE t SET qty = 4, note = null WHERE id >= 3000;
-- ON CONFLICT names expressions and conditions.
INSERT INTO t (id, email) VALUES (4, 'user4@X.ORG') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO t (id, email) VALUES (4000, 'user4@X.ORG') ON CONFLICT (lower(email)) DO UPDATE SET qty = excluded.id + t.qty RETURNING id, email, qty;
--> 4|User4@X.org|4004
INSERT INTO t (id, email) VALUES (4000, 'user4@X.ORG') ON CONFLICT ((lower(email))) WHERE id > 5 DO NOTHING RETURNING id;
INSERT INTO t (id, email) VALUES (4000, 'n4') ON CONFLICT (upper(email)) DO NOTHING;
--! 42P10
INSERT INTO t (id, email, qty, note) VALUES (4000, 'n4', 6, 'k') ON CONFLICT (qty, note) DO NOTHING;
--! 42P10
INSERT INTO t (id, email, qty, note) VALUES (4000, 'n4', 6, 'k') ON CONFLICT (qty, note) WHERE active DO NOTHING;
--! 42P10
INSERT INTO t (id, email, qty, note) VALUES (4000, 'n4', 6, 'k') ON CONFLICT (note, qty) WHERE active AND qty > 5 DO UPDATE SET note = 'l' RETURNING id, note;
--> 4000|k
INSERT INTO t (id, email, qty, note) VALUES (4001, 'n5', 6, 'k') ON CONFLICT (note, qty) WHERE active AND qty > 5 DO UPDATE SET note = 'l' RETURNING id, note;
--> 4000|l
INSERT INTO t (id, email, qty, note, active) VALUES (4002, 'n6', 6, 'l', false) ON CONFLICT (note, qty) WHERE active AND qty > 3 DO UPDATE SET note = 'm' RETURNING id, note;
--> 4002|l
INSERT INTO t (id, email) VALUES (1, 'n7') ON CONFLICT (id) WHERE active DO UPDATE SET email = excluded.email || t.id RETURNING id, email;
--> 1|n71
INSERT INTO t (id, email) VALUES (5000, 'q'), (5001, 'Q') ON CONFLICT (lower(email)) DO UPDATE SET qty = 1;
--! 21000
INSERT INTO t (id, email) VALUES (5000, 'q') ON CONFLICT (lower(nosuch)) DO NOTHING;
--! 42703
PREPARE p AS INSERT INTO t (id, email, qty) VALUES ($1, $2, $3) ON CONFLICT (lower(email)) DO UPDATE SET qty = excluded.qty + t.qty RETURNING id, qty;
EXECUTE p (6000, 'New', 1);
--> 6000|1
EXECUTE p (6001, 'NEW', 2);
--> 6000|3
-- What is renamed, changed and dropped.
ALTER TABLE t RENAME COLUMN email TO mail;
ALTER TABLE t RENAME TO tt;
INSERT INTO tt (id, mail) VALUES (7000, 'USER6@x.org');
--! 23505
ALTER TABLE tt ALTER COLUMN qty TYPE bigint;
--! 0A000
DROP VIEW v;
ALTER TABLE tt ALTER COLUMN mail TYPE varchar(100);
SELECT id FROM tt WHERE lower(mail) = 'user9@x.org';
--> 9
INSERT INTO tt (id, mail) VALUES (7000, 'USER6@x.org');
--! 23505
SELECT indexdef FROM pg_indexes WHERE tablename = 'tt' ORDER BY indexname COLLATE "C";
--> CREATE UNIQUE INDEX t_email ON public.tt USING btree (lower((mail)::text))
--> CREATE INDEX t_expr_idx ON public.tt USING btree (((qty + id)))
--> CREATE INDEX t_lower_id_idx ON public.tt USING btree (lower((mail)::text), id) WHERE (note IS NOT NULL)
--> CREATE INDEX t_name ON public.tt USING btree (id, mail)
--> CREATE INDEX t_pending ON public.tt USING btree (at) WHERE ((status)::text = 'pending'::text)
--> CREATE UNIQUE INDEX t_pkey ON public.tt USING btree (id)
--> CREATE UNIQUE INDEX t_qty_note_idx ON public.tt USING btree (qty, note) WHERE (active AND (qty > 3))
ALTER TABLE tt ADD COLUMN k int DEFAULT 5;
SELECT id, k FROM tt WHERE lower(mail) = 'user9@x.org';
--> 9|5
CREATE TABLE u (LIKE tt INCLUDING INDEXES);
SELECT indexdef FROM pg_indexes WHERE tablename = 'u' ORDER BY indexname COLLATE "C";
--> CREATE INDEX u_at_idx ON public.u USING btree (at) WHERE ((status)::text = 'pending'::text)
--> CREATE INDEX u_expr_idx ON public.u USING btree (((qty + id)))
--> CREATE INDEX u_id_mail_idx ON public.u USING btree (id, mail)
--> CREATE INDEX u_lower_id_idx ON public.u USING btree (lower((mail)::text), id) WHERE (note IS NOT NULL)
--> CREATE UNIQUE INDEX u_lower_idx ON public.u USING btree (lower((mail)::text))
--> CREATE UNIQUE INDEX u_pkey ON public.u USING btree (id)
--> CREATE UNIQUE INDEX u_qty_note_idx ON public.u USING btree (qty, note) WHERE (active AND (qty > 3))
INSERT INTO u (id, mail, active, at) VALUES (1, 'a', true, now());
INSERT INTO u (id, mail, active, at) VALUES (2, 'A', true, now());
--! 23505
ALTER TABLE tt DROP COLUMN mail;
SELECT indexname FROM pg_indexes WHERE tablename = 'tt' ORDER BY indexname COLLATE "C";
--> t_expr_idx
--> t_pending
--> t_pkey
--> t_qty_note_idx
DROP INDEX t_pending;
SELECT count(*) FROM tt WHERE status = 'pending';
--> 6
ALTER TABLE tt DROP CONSTRAINT t_pkey;
ALTER TABLE tt ADD PRIMARY KEY (k, id);
SELECT k, id FROM tt WHERE qty + id = 20;
--> 5|17
SELECT indexname FROM pg_indexes WHERE tablename = 'tt' ORDER BY indexname COLLATE "C";
--> t_expr_idx
--> t_qty_note_idx
--> tt_pkey
ALTER TABLE tt DROP COLUMN status, DROP COLUMN note;
SELECT indexname FROM pg_indexes WHERE tablename = 'tt' ORDER BY indexname COLLATE "C";
--> t_expr_idx
--> tt_pkey
ALTER INDEX t_expr_idx RENAME TO sums;
COMMENT ON INDEX sums IS 'of two';
SELECT obj_description('sums'::regclass, 'pg_class');
--> of two
BEGIN;
DROP INDEX sums;
CREATE INDEX sums ON tt ((qty * 2)) WHERE k = 5;
SELECT indexdef FROM pg_indexes WHERE indexname = 'sums';
--> CREATE INDEX sums ON public.tt USING btree (((qty * 2))) WHERE (k = 5)
ROLLBACK;
SELECT indexdef FROM pg_indexes WHERE indexname = 'sums';
--> CREATE INDEX sums ON public.tt USING btree (((qty + id)))
TRUNCATE tt;
INSERT INTO tt (id, qty) VALUES (1, 4), (2, 3);
SELECT id FROM tt WHERE qty + id = 5 ORDER BY id;
--> 1
--> 2
-- What is refused.
CREATE INDEX ON tt (random());
--! 42P17
CREATE INDEX ON tt (id) WHERE id > (SELECT 1);
--! 0A000
CREATE INDEX ON tt (count(*));
--! 42803
CREATE INDEX ON tt (id) WHERE qty;
--! 42804
CREATE INDEX ON tt ((at::timestamptz));
--! 42P17
CREATE INDEX ON tt (id) WHERE now() > at;
--! 42P17
CREATE INDEX ON tt (nosuch);
--! 42703
CREATE INDEX ON tt (lower(nosuch));
--! 42703
CREATE INDEX ON tt (id) WHERE nosuch;
--! 42703
CREATE UNIQUE INDEX ON tt ((qty * 0));
--! 23505
CREATE UNIQUE INDEX ON tt ((qty * 0)) WHERE qty > 3;
CREATE TABLE f (a bigint REFERENCES tt (qty));
--! 42830
INSERT INTO tt (id, qty) VALUES (3), (4, 5);
--! 42601
-- The condition must follow from that of the query.
CREATE TABLE m (a int PRIMARY KEY, b int, s text, f bool);
CREATE UNIQUE INDEX m_big ON m (b) WHERE a > 10;
CREATE INDEX m_some ON m (b) WHERE s IN ('x', 'y') OR f;
CREATE INDEX m_there ON m (b) WHERE s IS NOT NULL AND NOT f;
INSERT INTO m VALUES (1, 5, 'x', false), (2, 5, null, true), (11, 5, 'y', null), (12, 6, 'z', false), (20, 7, 'x', true);
INSERT INTO m VALUES (13, 5);
--! 23505
UPDATE m SET a = 13 WHERE a = 2;
--! 23505
SELECT a FROM m WHERE a > 10 ORDER BY b;
--> 11
--> 12
--> 20
SELECT a FROM m WHERE a > 20 AND b = 5;
SELECT a FROM m WHERE a >= 11 AND b = 5;
--> 11
SELECT a FROM m WHERE a >= 10 AND b = 5;
--> 11
SELECT a FROM m WHERE b = 5 ORDER BY a;
--> 1
--> 2
--> 11
SELECT a FROM m WHERE s = 'x' AND b = 5;
--> 1
SELECT a FROM m WHERE s = 'z' AND b = 6;
--> 12
SELECT a FROM m WHERE f AND b > 1 ORDER BY a;
--> 2
--> 20
SELECT a FROM m WHERE f IS TRUE ORDER BY a;
--> 2
--> 20
SELECT a FROM m WHERE (s = 'x' OR s = 'y') AND b = 5 ORDER BY a;
--> 1
--> 11
SELECT a FROM m WHERE s > 'a' AND f = false ORDER BY a;
--> 1
--> 12
SELECT a FROM m WHERE s = 'x' AND f IS NOT TRUE ORDER BY a;
--> 1
SELECT x.a, y.a FROM m x JOIN m y ON y.b = x.b AND y.a > 10 ORDER BY 1, 2;
--> 1|11
--> 2|11
--> 11|11
--> 12|12
--> 20|20
SELECT x.a, y.a FROM m x LEFT JOIN m y ON y.b = x.b AND y.a > 10 AND y.a <> x.a ORDER BY 1, 2;
--> 1|11
--> 2|11
--> 11|NULL
--> 12|NULL
--> 20|NULL
SELECT a FROM m WHERE b IN (SELECT b FROM m WHERE a > 10 AND b = 6) ORDER BY 1;
--> 12
DELETE FROM m WHERE a > 10 AND b = 5 RETURNING a;
--> 11
SELECT a FROM m WHERE a = 1;
--> 1
SELECT a FROM m WHERE a = 1 AND a > 10;
DROP TABLE tt, u, c, m;
-- Expressions of a partial index are computed where its condition holds.
CREATE TABLE k (id int PRIMARY KEY, kind text, data text, e text);
CREATE INDEX k_num ON k ((data::int)) WHERE kind = 'num';
CREATE INDEX ON k ((100 / length(e))) WHERE e <> '';
CREATE INDEX ON k (lower(e), (e || 'x')) WHERE length(e) < 100;
CREATE INDEX ON k (e) WHERE length(e) < 100;
CREATE INDEX ON k ((data::int), id) WHERE kind = 'num' AND e IS NOT NULL;
INSERT INTO k VALUES (1, 'str', 'hello', ''), (2, 'str', 'x', repeat('x', 5000)), (3, 'num', '7', 'x'), (4, 'num', '8', NULL);
INSERT INTO k VALUES (5, 'num', 'hello', 'x');
--! 22P02
UPDATE k SET kind = 'num' WHERE id = 1;
--! 22P02
SELECT id FROM k WHERE length(e) < 100 AND lower(e) = 'x';
--> 3
SELECT id FROM k WHERE e <> '' AND e = 'x';
--> 3
CREATE INDEX ON k ((length(e) / 0)) WHERE false;
SELECT indexname FROM pg_indexes WHERE tablename = 'k' ORDER BY indexname COLLATE "C";
--> k_data_id_idx
--> k_e_idx
--> k_expr_idx
--> k_expr_idx1
--> k_lower_expr_idx
--> k_num
--> k_pkey
CREATE TABLE l (LIKE k INCLUDING INDEXES);
INSERT INTO l VALUES (1, 'str', 'hello', '');
SELECT indexdef FROM pg_indexes WHERE tablename = 'l' ORDER BY indexname COLLATE "C";
--> CREATE INDEX l_data_id_idx ON public.l USING btree (((data)::integer), id) WHERE ((kind = 'num'::text) AND (e IS NOT NULL))
--> CREATE INDEX l_data_idx ON public.l USING btree (((data)::integer)) WHERE (kind = 'num'::text)
--> CREATE INDEX l_e_idx ON public.l USING btree (e) WHERE (length(e) < 100)
--> CREATE INDEX l_expr_idx ON public.l USING btree (((100 / length(e)))) WHERE (e <> ''::text)
--> CREATE INDEX l_expr_idx1 ON public.l USING btree (((length(e) / 0))) WHERE false
--> CREATE INDEX l_lower_expr_idx ON public.l USING btree (lower(e), ((e || 'x'::text))) WHERE (length(e) < 100)
--> CREATE UNIQUE INDEX l_pkey ON public.l USING btree (id)
ALTER TABLE k RENAME COLUMN kind TO sort;
ALTER TABLE k RENAME COLUMN data TO what;
INSERT INTO k VALUES (9, 'str', 'hello', 'x'), (10, 'num', '55', 'x');
ALTER TABLE k ALTER COLUMN sort TYPE varchar(10);
SELECT id FROM k WHERE sort = 'num' ORDER BY what;
--> 10
--> 3
--> 4
ALTER TABLE k DROP COLUMN sort;
INSERT INTO k VALUES (11, 'hello', 'y');
SELECT indexname FROM pg_indexes WHERE tablename = 'k' ORDER BY indexname COLLATE "C";
--> k_e_idx
--> k_expr_idx
--> k_expr_idx1
--> k_lower_expr_idx
--> k_pkey
-- A cast that changes nothing, an alias, and a list.
CREATE TABLE n (id int PRIMARY KEY, v varchar(8), c char(4), a int);
CREATE UNIQUE INDEX u1 ON n ((v::text));
INSERT INTO n VALUES (1, 'a');
INSERT INTO n VALUES (2, 'a') ON CONFLICT ((v::text)) DO NOTHING;
SELECT id FROM n WHERE v::text = 'a';
--> 1
CREATE UNIQUE INDEX u4 ON n ((c::text));
INSERT INTO n VALUES (4, 'c', 'q');
INSERT INTO n VALUES (5, 'b', 'q') ON CONFLICT ((c::text)) DO NOTHING;
CREATE UNIQUE INDEX u5 ON n ((a % 10)) WHERE id > 2;
INSERT INTO n VALUES (13, 'd', 'r', 5);
INSERT INTO n AS z VALUES (12, 'e', 's', 25) ON CONFLICT ((z.a % 10)) WHERE z.id > 2 DO NOTHING;
INSERT INTO n VALUES (12, 'e', 's', 25) ON CONFLICT ((a % 10)) WHERE id IN (5, 6) DO NOTHING;
INSERT INTO n VALUES (12, 'e', 's', 25) ON CONFLICT ((a % 10)) WHERE id IN (1, 6) DO NOTHING;
--! 42P10
MERGE INTO n USING (VALUES (20, 'v20', 7), (13, 'v13', 8)) s(id, v, a) ON n.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (id, v, a) VALUES (s.id, s.v, s.a);
SELECT id FROM n WHERE a % 10 = 8 AND id > 5;
--> 13
SELECT id FROM n WHERE a % 10 = 7 AND id > 5;
--> 20
DROP TABLE k, l, n;
-- A column that takes the values of another one.
CREATE TABLE o (id int PRIMARY KEY, a int CHECK (a > 0), b int);
INSERT INTO o VALUES (1, 1, 50), (2, 60, 2);
CREATE INDEX ON o ((a + 1));
CREATE INDEX ON o (id) WHERE a > 10;
ALTER TABLE o ALTER COLUMN a TYPE int USING b;
SELECT id FROM o WHERE a + 1 = 51;
--> 1
SELECT id FROM o WHERE a > 10 AND id < 9;
--> 1
SELECT id FROM o WHERE a + 1 = 2;
UPDATE o SET b = -1;
ALTER TABLE o ALTER COLUMN a TYPE int USING b;
--! 23514
DROP TABLE o;

-- Orders of keys.
create table io(a int, b int, c text);
create index io1 on io(a, b desc);
create index io2 on io(a desc, b desc);
create index io3 on io(a nulls first, b desc nulls last, c);
create unique index io4 on io(lower(c) desc, a) where a > 0;
create index io5 on io(a);
select indexname, indexdef from pg_indexes where tablename = 'io' order by 1;
--> io1|CREATE INDEX io1 ON public.io USING btree (a, b DESC)
--> io2|CREATE INDEX io2 ON public.io USING btree (a DESC, b DESC)
--> io3|CREATE INDEX io3 ON public.io USING btree (a NULLS FIRST, b DESC NULLS LAST, c)
--> io4|CREATE UNIQUE INDEX io4 ON public.io USING btree (lower(c) DESC, a) WHERE (a > 0)
--> io5|CREATE INDEX io5 ON public.io USING btree (a)
select indexrelid::regclass, indoption from pg_index where indrelid = 'io'::regclass order by indexrelid::regclass::text;
--> io1|0 3
--> io2|3 3
--> io3|2 1 0
--> io4|3 0
--> io5|0
insert into io values (1,1,'x'),(1,2,'y'),(2,1,null),(null,1,'z'),(2,null,'w');
select a, b from io order by a, b desc;
--> 1|2
--> 1|1
--> 2|NULL
--> 2|1
--> NULL|1
select a, b from io order by a nulls first, b desc nulls last;
--> NULL|1
--> 1|2
--> 1|1
--> 2|1
--> 2|NULL
select a, b from io where a = 1 order by b desc;
--> 1|2
--> 1|1
alter index io1 rename to io9;
alter table io rename column b to bb;
alter table io add column d int;
drop index io2;
drop index io9;
create index io1 on io(a);
create table io_like(like io including all);
alter table io drop column bb;
