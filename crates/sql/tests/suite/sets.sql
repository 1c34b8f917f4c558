-- Functions that return sets, wherever they may stand.
create table st(id int primary key, tags text[], j jsonb);
insert into st values (1,'{a,b}','[{"k":1},{"k":2}]'),(2,'{b}','[]'),(3,null,null),(4,'{a,a,c}','[{"k":3}]');
select unnest(array[1,1,2]) u, count(*) from (values(1)) v group by 1 order by 1;
--> 1|2
--> 2|1
select generate_series(1,2) g, count(*) from (values(1)) v group by grouping sets((1),()) order by 1;
--> 1|1
--> 2|1
--> NULL|2
select unnest(tags), count(*) from st group by 1 order by 1;
--> a|3
--> b|2
--> c|1
select unnest(tags) as tag, count(*) from st group by tag order by count(*) desc, tag;
--> a|3
--> b|2
--> c|1
select unnest(tags), count(*) from st group by unnest(tags) order by 1;
--> a|3
--> b|2
--> c|1
select unnest(tags) || 'x', count(*), min(id) from st group by 1 order by 1;
--> ax|3|1
--> bx|2|1
--> cx|1|4
select upper(unnest(tags)) as t, id from st order by id, t;
--> A|1
--> B|1
--> B|2
--> A|4
--> A|4
--> C|4
select id, generate_series(1, id) from st order by id, 2 desc;
--> 1|1
--> 2|2
--> 2|1
--> 3|3
--> 3|2
--> 3|1
--> 4|4
--> 4|3
--> 4|2
--> 4|1
select date '2024-01-01' + generate_series(0,6,3);
--> 2024-01-01
--> 2024-01-04
--> 2024-01-07
select (jsonb_array_elements(j))->>'k' as k, id from st order by 1;
--> 1|1
--> 2|1
--> 3|4
select id, (jsonb_array_elements(j))->>'k' as k from st where id < 4 order by id desc, k desc;
--> 1|2
--> 1|1
select distinct unnest(tags) from st order by 1;
--> a
--> b
--> c
select distinct on (1) unnest(tags) as t, id from st order by 1, id desc;
--> a|4
--> b|2
--> c|4
select distinct on (t) unnest(tags) as t, id from st order by t, id;
--> a|1
--> b|1
--> c|4
select generate_series(1,3), generate_series(1,2);
--> 1|1
--> 2|2
--> 3|NULL
select generate_series(1,3) + generate_series(10,11);
--> 11
--> 13
--> NULL
select generate_series(1, generate_series(1,3));
--> 1
--> 1
--> 2
--> 1
--> 2
--> 3
select generate_series(1, max(id)) from st;
--> 1
--> 2
--> 3
--> 4
select count(*), generate_series(1, count(*)) from st where id < 3;
--> 2|1
--> 2|2
select id from st order by unnest(tags), id;
--> 1
--> 4
--> 4
--> 1
--> 2
--> 4
select id, unnest(tags) from st order by unnest(tags) desc nulls last, id limit 3;
--> 4|c
--> 1|b
--> 2|b
select unnest(tags) from st limit 2;
--> a
--> b
select 1 from st where unnest(tags) = 'a';
--! 0A000
select 1 from st having unnest(tags) = 'a';
--! 0A000
select count(unnest(tags)) from st;
--! 0A000
select case when true then generate_series(1,2) end;
--! 0A000
select coalesce(generate_series(1,2), 0);
--! 0A000
select generate_series(1,2) from st join st s2 on generate_series(1,2) = 1;
--! 0A000
values (generate_series(1,2));
--! 0A000
update st set id = generate_series(1,2);
--! 0A000
insert into st(id) select generate_series(10,12) + 5 returning id;
--> 15
--> 16
--> 17
insert into st(id) values (30) returning generate_series(1,2);
--! 0A000
select id from st limit generate_series(1,2);
--! 0A000
select * from generate_series(1, generate_series(1,2));
--! 0A000
select (select unnest(tags) limit 1) from st order by id;
--> a
--> b
--> NULL
--> a
--> NULL
--> NULL
--> NULL
select array(select unnest(tags) || '!') from st order by id limit 2;
--> {a!,b!}
--> {b!}
select id, row_number() over (order by id), unnest(tags) from st order by 1, 3;
--> 1|1|a
--> 1|1|b
--> 2|2|b
--> 4|4|a
--> 4|4|a
--> 4|4|c
select row_number() over (), generate_series(1,2);
--> 1|1
--> 1|2
select generate_series(1, row_number() over (order by id)) from st where id < 4;
--> 1
--> 1
--> 2
--> 1
--> 2
--> 3
select unnest(tags) u, count(*) filter (where id > 1) from st group by u having count(*) > 1 order by u;
--> a|2
--> b|1
select id, count(*), unnest(array_agg(id)) from st where id < 3 group by id order by id;
--> 1|1|1
--> 2|1|2
select regexp_split_to_table('a b a', ' ') w, count(*) from (values (1)) v group by w order by w;
--> a|2
--> b|1
select generate_series(1,2) g union all select generate_series(3,4) order by g desc;
--> 4
--> 3
--> 2
--> 1
select x.g * 2 from (select generate_series(1,3) g) x order by 1;
--> 2
--> 4
--> 6
select array[generate_series(1,2), 5];
--> {1,5}
--> {2,5}
select generate_series(1,4) % 2 = 0 as even, count(*) from (values (1)) v group by 1 order by 1;
--> f|2
--> t|2
select jsonb_object_keys('{"a":1,"b":2}'::jsonb) || '?';
--> a?
--> b?
select (jsonb_each('{"a":1,"b":2}'::jsonb)).key;
--> a
--> b
select upper((jsonb_each_text('{"a":"x","b":"y"}'::jsonb)).value);
--> X
--> Y
select generate_series(1,3) as n, 'k' order by n desc;
--> 3|k
--> 2|k
--> 1|k
select generate_series('2024-01-01'::timestamp, '2024-01-03', '1 day')::date;
--> 2024-01-01
--> 2024-01-02
--> 2024-01-03
create table st2 as select generate_series(1,3) * 2 as v;
select * from st2 order by v;
--> 2
--> 4
--> 6
create view sv as select id, upper(unnest(tags)) as t from st;
select * from sv where t = 'A' order by id;
--> 1|A
--> 4|A
--> 4|A
select t, count(*) from sv group by t order by t;
--> A|3
--> B|2
--> C|1
select exists(select unnest(tags)) from st order by id limit 4;
--> t
--> t
--> f
--> t
select id from st where id in (select generate_series(1,2) + 1) order by id;
--> 2
--> 3
select id, t from st, lateral (select unnest(tags) || id::text as t) l order by id, t;
--> 1|a1
--> 1|b1
--> 2|b2
--> 4|a4
--> 4|a4
--> 4|c4
select generate_series(1,3) from st group by id having id = 1;
--> 1
--> 2
--> 3
select unnest(tags), unnest(tags) from st where id = 1;
--> a|a
--> b|b
prepare sp as select $1::int + generate_series(1,$2);
execute sp(10, 2);
--> 11
--> 12
select generate_series(1,5) as g order by g offset 1 limit 2;
--> 2
--> 3
select v, generate_series(1, v) from (values (2),(0),(1)) t(v);
--> 2|1
--> 2|2
--> 1|1
select random() < 2, generate_series(1,2) where true;
--> t|1
--> t|2
-- Types of parameters, and subqueries that are repeated.
create table pt(a int, b date, c varchar(3), d numeric(5,1));
prepare p1 as insert into pt select $1, $2, $3, $4;
execute p1(1, '2020-01-01', 'abc', 1.25);
execute p1('2', '2020-01-01', 'abcd', 1.25);
--! 22001
prepare p2 as select 1 union select $1;
execute p2(5);
--> 1
--> 5
prepare p3 as select $1 union all select $2;
execute p3('a','b');
--> a
--> b
prepare p4 as insert into pt(b) select $1 from generate_series(1,2) returning b;
execute p4('2021-02-03');
--> 2021-02-03
--> 2021-02-03
insert into pt(a) select '7';
insert into pt(a) select 'x';
--! 22P02
insert into pt(b, c) select '2020-05-05', 'abcd';
--! 22001
insert into pt(a, b) select '8', now()::date - now()::date + date '2020-01-01';
insert into pt(a) select '9' union all select '10';
--! 42804
insert into pt(a) select null;
insert into pt(c) select distinct 'abc';
prepare p6 as insert into pt(a) values ($1), ($2 + 1);
select * from pt order by 1, 2, 3;
--> 1|2020-01-01|abc|1.3
--> 7|NULL|NULL|NULL
--> 8|2020-01-01|NULL|NULL
--> NULL|2021-02-03|NULL|NULL
--> NULL|2021-02-03|NULL|NULL
--> NULL|NULL|abc|NULL
--> NULL|NULL|NULL|NULL
select v in (select 1), count(*) from r group by v in (select 1) order by 1;
--! 42P01
select exists(select 1 where v = 2), count(*) from r group by exists(select 1 where v = 2) order by 1;
--! 42P01
select (select 1) + v, count(*) from r group by (select 1) + v order by 1;
--! 42P01
-- What stands beside a set is evaluated for each row that it gives.
create table sids(id uuid primary key, n int);
insert into sids select gen_random_uuid(), generate_series(1,3);
select count(*) from sids;
--> 3
create sequence ssq;
select count(distinct n), count(*) from (select nextval('ssq') n, generate_series(1,3)) x;
--> 3|3
select count(distinct n), count(*) from (select nextval('ssq') n, generate_series(1,2) + 10 from (values(1),(2)) v) x;
--> 4|4
select count(distinct r) from (select random() r, generate_series(1,5)) x;
--> 5
create table sj(id int, j jsonb);
insert into sj values (1,'{"a":1,"b":2}'),(2,'{"a":3}'),(3,'{}');
select (jsonb_each(j)).key, count(*) from sj group by (jsonb_each(j)).key order by 1;
--> a|2
--> b|1
select distinct (jsonb_each(j)).key from sj order by (jsonb_each(j)).key;
--> a
--> b
select id, (jsonb_each(j)).value from sj order by 1, 2;
--> 1|1
--> 1|2
--> 2|3
select (generate_series(1,2)).x;
--! 42809
select generate_series(1,2) over ();
--! 42809
select 1 + generate_series(1,3) filter (where false);
--! 42809
select unnest(distinct array[1]);
--! 42809
select unnest(array[2,1] order by 1);
--! 42809
select id from sj order by generate_series(1,2) for update;
--! 0A000
select * from "sequence row"('public.ssq'::bytea);
--! 42883
select "sequence row"('public.ssq'::bytea);
--! 42883
select id, generate_series(1,id), unnest(array[id, 7, 8]) from sj order by id desc, 2, 3;
--> 3|1|3
--> 3|2|7
--> 3|3|8
--> 2|1|2
--> 2|2|7
--> 2|NULL|8
--> 1|1|1
--> 1|NULL|7
--> 1|NULL|8
select generate_series(1,3) g, count(*) over () from sj order by 1;
--> 1|3
--> 1|3
--> 1|3
--> 2|3
--> 2|3
--> 2|3
--> 3|3
--> 3|3
--> 3|3
select sj.*, generate_series(1,2) from sj where id = 1 limit 1;
--> 1|{"a": 1, "b": 2}|1
-- Common table expressions within recursive ones see the last round.
with recursive r(n) as (select 1 union all (with c as (select n+1 m from r where n<5) select m from c)) select * from r;
--> 1
--> 2
--> 3
--> 4
--> 5
with recursive r(n) as (select 1 union all select m from (with c as (select n+1 m from r where n<5) select m from c) q) select * from r;
--> 1
--> 2
--> 3
--> 4
--> 5
with recursive r(n) as (select 1 union select n from (with c as (select n+1 as n from r) select n from c where n < 5) x) select * from r;
--> 1
--> 2
--> 3
--> 4
select id, (with recursive r(n) as (select sj.id union all (with c as (select n+1 m from r where n<4) select m from c)) select string_agg(n::text, ',') from r) from sj order by 1;
--> 1|1,2,3,4
--> 2|2,3,4
--> 3|3,4
with recursive r(d,n) as (select date '2020-01-01', 1 union all select '2020-02-02', n+1 from r where n<3) select * from r;
--> 2020-01-01|1
--> 2020-02-02|2
--> 2020-02-02|3
select id, (with x as (select sj.id as v) select sum((select v from x)) from generate_series(1,2)) from sj order by 1;
--> 1|2
--> 2|4
--> 3|6
