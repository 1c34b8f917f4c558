-- Enumerations: types whose values are labels. What is expected is what PostgreSQL 15 answers.

-- Labels, functions, conversions and what depends on a type.
create type mood as enum ('sad','ok','happy');
create table t(id int primary key, m mood default 'ok' check (m <> 'sad'), s text default 'ok'::mood::text, a mood[], g text);
alter table t add constraint c2 check (g <> ('sad'::mood)::text);
create index ti on t ((m = 'sad'));
create view v as select id, m from t where m > 'sad';
create view w as select 'ok'::mood as x;
create view z as select * from w;
drop type mood;
--! 2BP01
drop type mood cascade;
create type mood as enum ('sad','ok','happy');
create type mood as enum ('sad','ok','happy');
--! 42710
create type e3 as enum ();
select enum_first(null::mood), enum_last(null::mood), enum_range(null::mood), enum_range('ok'::mood, null), enum_range('happy','sad'::mood), enum_range('a','b');
--! 42883
select enum_first('x');
--! 42883
select 'x'::mood;
--! 22P02
select 'ok'::mood = 'ok', 'ok'::mood < 'happy'::mood, 'ok'::mood = 'ok'::text;
--! 42883
alter type mood add value 'ok';
--! 42710
alter type mood add value if not exists 'ok';
alter type mood add value 'meh' before 'ok';
alter type mood add value 'x' after 'nosuch';
--! 22023
alter type mood rename value 'meh' to 'ok';
--! 42710
alter type mood rename value 'nosuch' to 'k';
--! 22023
alter type nosuch add value 'x';
--! 42704
alter type int4 add value 'x';
--! 42809
drop type int4;
--! 2BP01
drop type nosuch;
--! 42704
drop type if exists nosuch;
create table mood(i int);
--! 42710
create view mood as select 1;
--! 42710
create sequence mood;
--! 42710
drop sequence mood;
--! 42P01
create table tt(i int);
create type tt as enum ('a');
--! 42710
select pg_typeof('ok'::mood), pg_typeof(array['ok'::mood]), format_type('mood'::regtype, -1), 'mood'::regtype, 'mood[]'::regtype;
--> mood|mood[]|mood|mood|mood[]
select 'ok'::mood || 'x', length('ok'::mood::text), upper('ok'::mood::text);
--> okx|2|OK
select min(x), max(x), array_agg(x order by x) from unnest(array['happy','sad']::mood[]) x;
--> sad|happy|{sad,happy}
select to_json('ok'::mood), to_jsonb(array['ok'::mood]), row('ok'::mood, 1), json_build_object('ok'::mood, 'sad'::mood);
--> "ok"|["ok"]|(ok,1)|{"ok" : "sad"}
select case when true then 'ok'::mood else 'sad' end, coalesce(null, 'ok'::mood), greatest('sad'::mood, 'happy');
--> ok|ok|happy
select 'ok'::mood in ('ok','sad'), 'ok'::mood = any('{ok,sad}');
--> t|t
create type m2 as enum ('ok');
select 'ok'::mood = 'ok'::m2;
--! 42883
select 'ok'::mood::m2;
--! 42846
select 'ok'::mood::text::m2;
--> ok
select 'ok'::mood::int;
--! 42846
select 1::mood;
--! 42846
select 'ok'::varchar::mood;
--> ok
select 'ok'::mood::varchar(1), 'ok'::mood::name;
--> o|ok

drop type mood cascade;
drop type m2;
drop type e3;
drop table t;

-- Renames, schemas, and the change of a type that migrations make.
create schema app;
create type app.mood as enum ('sad','ok','happy');
create table app.t(id int primary key, m app.mood not null default 'ok', check (m <> 'sad'));
insert into app.t values (1, default), (2,'happy');
insert into app.t values (3,'sad');
--! 23514
insert into app.t values (3,'bad');
--! 22P02
select * from app.t order by m;
--> 1|ok
--> 2|happy
set search_path = app, public;
select 'ok'::mood, pg_typeof(m) from t limit 1;
--> ok|mood
create view v as select id, m from t where m = 'ok';
create table u(m mood primary key, n int);
insert into u values ('happy',1),('sad',2),('ok',3);
select * from u order by m;
--> sad|2
--> ok|3
--> happy|1
select * from u where m > 'sad' order by m desc;
--> happy|1
--> ok|3
alter type mood rename value 'ok' to 'fine';
select * from v;
--> 1|fine
select * from u order by 1;
--> sad|2
--> fine|3
--> happy|1
insert into t(id) values (4);
select * from t order by id;
--> 1|fine
--> 2|happy
--> 4|fine
alter type mood add value 'meh' before 'fine';
alter type mood add value 'super' after 'happy';
insert into u values ('meh', 4), ('super', 5);
select * from u order by m;
--> sad|2
--> meh|4
--> fine|3
--> happy|1
--> super|5
select enumlabel from pg_enum order by enumsortorder;
--> sad
--> meh
--> fine
--> happy
--> super
alter type mood rename to feeling;
select * from v;
--> 1|fine
--> 4|fine
insert into t(id) values (5);
alter type feeling set schema public;
select * from v;
--> 1|fine
--> 4|fine
--> 5|fine
insert into t(id) values (6);
reset search_path;
select m::text, count(*) from app.t group by m order by m;
--> fine|4
--> happy|1
alter table app.t add column fs feeling[] default '{fine,meh}';
insert into app.t(id) values (7);
select * from app.t where id > 5;
--> 6|fine|{fine,meh}
--> 7|fine|{fine,meh}
alter type feeling rename value 'meh' to 'so so';
insert into app.t(id) values (8);
select * from app.t where id > 5;
--> 6|fine|{fine,"so so"}
--> 7|fine|{fine,"so so"}
--> 8|fine|{fine,"so so"}
select * from app.t where 'so so' = any(fs);
--> 1|fine|{fine,"so so"}
--> 2|happy|{fine,"so so"}
--> 4|fine|{fine,"so so"}
--> 5|fine|{fine,"so so"}
--> 6|fine|{fine,"so so"}
--> 7|fine|{fine,"so so"}
--> 8|fine|{fine,"so so"}
select distinct unnest(fs) from app.t order by 1;
--> so so
--> fine
begin;
create type feeling_new as enum ('fine','happy');
drop view app.v;
alter table app.t alter m drop default;
alter table app.t drop constraint t_m_check;
alter table app.t alter m type feeling_new using m::text::feeling_new;
alter type feeling rename to feeling_old;
alter type feeling_new rename to feeling;
alter table app.t drop column fs;
drop table app.u;
drop type feeling_old;
alter table app.t alter m set default 'fine';
commit;
select * from app.t order by id;
--> 1|fine
--> 2|happy
--> 4|fine
--> 5|fine
--> 6|fine
--> 7|fine
--> 8|fine
prepare p(feeling) as select * from app.t where m = $1;
execute p('happy');
--> 2|happy
execute p('bad');
--! 22P02
prepare q as insert into app.t values ($1, $2);
execute q(10, 'happy');
execute q(11, 'x');
--! 22P02
select * from app.t where id = 10;
--> 10|happy
create temp table tmp as select * from app.t;
select * from tmp order by m desc, id limit 2;
--> 2|happy
--> 10|happy
create index on app.t(m);
create unique index on app.t(m, id);
select count(*) from app.t where m = 'fine';
--> 6
update app.t set m = 'happy' where m = 'fine' and id < 5 returning id, m;
--> 1|happy
--> 4|happy
select m, lag(m) over (order by id) from app.t order by id limit 3;
--> happy|NULL
--> happy|happy
--> happy|happy
create table fk(m feeling references fkp);
--! 42P01
create table fkp(m feeling primary key);
create table fk(m feeling references fkp);
insert into fkp values ('fine');
insert into fk values ('fine'),('happy');
--! 23503
create type other as enum ('fine');
create table fk2(m other references fkp);
--! 42804
comment on type feeling is 'how one feels';
select obj_description('feeling'::regtype, 'pg_type');
--> how one feels
select column_name, data_type, udt_schema, udt_name from information_schema.columns where table_name = 't' order by ordinal_position;
--> id|integer|pg_catalog|int4
--> m|USER-DEFINED|public|feeling
select typname, typtype, typcategory, typlen, typbyval, typelem = 0, typarray <> 0 from pg_type where typname in ('feeling', '_feeling') order by 1;
--> _feeling|b|A|-1|f|f|f
--> feeling|e|E|4|t|t|t
create type "Weird ""Type" as enum ('it''s', 'a\b', 'ünï', '');
create type "Text" as enum ('a', 'b');
create table w(a "Text" default 'a', b "Text"[] default array['a','b']::"Text"[]);
insert into w default values;
select * from w;
--> a|{a,b}
drop type "Text";
--! 2BP01
drop type "Text" cascade;
drop schema app cascade;
drop type feeling cascade;

drop table fk, fkp, tmp, w;

-- Texts that the catalog keeps, indexes and queries.
create type m as enum ('a','b','c');
create table d(i int, x m[] default array['a','b']::m[], y m[] default '{a,b}', z m, w m default coalesce(null, 'c'::m), v text default cast('a' as m), u m[] default array['a'::m,('b')], check (z in ('a','b')), check (w = any (array['a','c']::m[])), check (w = any('{a,c}')));
create view dv as select i from d where z = 'a' and w in ('a','c') and x @> array['a']::m[] and y = '{a,b}' and (z, w) = ('a','c') and z::text = 'a';
alter type m rename value 'a' to 'A1';
insert into d(i) values (1);
select * from d;
--> 1|{A1,b}|{A1,b}|NULL|c|A1|{A1,b}
select * from dv;
alter type m rename to mm;
insert into d(i) values (2);
select * from d;
--> 1|{A1,b}|{A1,b}|NULL|c|A1|{A1,b}
--> 2|{A1,b}|{A1,b}|NULL|c|A1|{A1,b}
select * from dv;
create table e(i int generated always as identity, m mm, n mm generated always as (case when m = 'A1' then 'b'::mm else 'c' end) stored);
insert into e(m) values ('A1'),('b');
select * from e;
--> 1|A1|b
--> 2|b|c
alter type mm rename value 'b' to 'B b';
update e set m = 'A1' where m = 'B b';
select * from e;
--> 1|A1|B b
--> 2|A1|B b
create index on e(n) where m = 'A1';
create unique index on e((m = 'c'), i);
alter type mm rename value 'A1' to 'a''1';
select * from e where m = 'a''1';
--> 1|a'1|B b
--> 2|a'1|B b
insert into e(m) values ('c');
select i from e where m = 'c';
--> 3
alter table e alter n drop expression;
alter table e alter column n type text;
select * from e order by i;
--> 1|a'1|B b
--> 2|a'1|B b
--> 3|c|c
select n from e group by n order by n;
--> B b
--> c
create table f(like e including all);
create table g as select m, array_agg(i order by i) from e group by m;
merge into g using (values ('c'::mm)) v(x) on m = x when matched then delete;
select * from g;
--> a'1|{1,2}
insert into e(m) select m from g on conflict do nothing returning m;
--> a'1
with q as (delete from e where m = 'c' returning m) select * from q;
--> c
select m, count(*) over (partition by m order by m) from e order by m, i;
--> a'1|3
--> a'1|3
--> a'1|3
select max(m), min(m) from e;
--> a'1|a'1
select * from e union select * from e order by 2, 1;
--> 1|a'1|B b
--> 2|a'1|B b
--> 4|a'1|NULL
create table h(k mm, v int, primary key (k, v));
insert into h select 'c', generate_series(1,3);
insert into h select 'B b', generate_series(1,2);
select * from h where k = 'c' and v > 1;
--> c|2
--> c|3
select * from h where (k, v) > ('B b', 1) order by k, v;
--> B b|2
--> c|1
--> c|2
--> c|3
select * from h where k between 'B b' and 'c' order by k desc, v desc limit 2;
--> c|3
--> c|2
insert into h values ('c', 1) on conflict (k, v) do update set v = 9 returning *;
--> c|9
insert into h values ('c', 9);
--! 23505
delete from h where k = 'zzz';
--! 22P02
select k from h where k::text like 'B%' limit 1;
--> B b
select array_to_json(array_agg(distinct k)) from h;
--> ["B b","c"]
select jsonb_agg(k order by k) from h where v = 1;
--> ["B b"]
select string_agg(k::text, ',' order by k) from h where v = 1;
--> B b
select string_agg(k, ',') from h;
--! 42883
select quote_literal(k::text), nullif(k, 'c') from h order by 1 limit 1;
--> 'B b'|B b
select 'c' < 'B b'::mm, greatest('c'::mm, 'B b'), array['c','B b']::mm[] || 'c'::mm, array_position(array['c','B b']::mm[], 'B b');
--> f|c|{c,"B b",c}|2
select unnest(enum_range(null::mm));
--> a'1
--> B b
--> c
select generate_subscripts(enum_range(null::mm), 1);
--> 1
--> 2
--> 3


-- Common table expressions that name columns of the query around them.
create table o(id int primary key, n int);
insert into o values (1,3),(2,2),(3,null),(4,3);
select id, (with x as (select n * 10 as v) select v from x) from o order by id;
--> 1|30
--> 2|20
--> 3|NULL
--> 4|30
select id, (with x as (select o.n as v), y as (select v + 1 as w from x) select w from y) from o order by id;
--> 1|4
--> 2|3
--> 3|NULL
--> 4|4
select id, (with x as (select o.n as v), y as (select v + 1 as w from x), z as (select count(*) c from o) select w + c from y, z) from o order by id;
--> 1|8
--> 2|7
--> 3|NULL
--> 4|8
select id, (with recursive r(k) as (select 1 union all select k + 1 from r where k < o.n) select string_agg(k::text, ',') from r) from o order by id;
--> 1|1,2,3
--> 2|1,2
--> 3|1
--> 4|1,2,3
select id from o where exists (with x as (select * from generate_series(1, o.n) g) select from x where g = 3) order by id;
--> 1
--> 4
select o.id, l.* from o, lateral (with x as (select o.n + 1 as a) select a, a * 2 as b from x) l order by 1;
--> 1|4|8
--> 2|3|6
--> 3|NULL|NULL
--> 4|4|8
select id from o where n in (with x as (select o.id + 1 as v) select v from x) order by id;
with a as (select 5 as q) select id, (with x as (select q + o.n as v from a) select v from x) from o order by id;
--> 1|8
--> 2|7
--> 3|NULL
--> 4|8
select id, (select sum(v) from (with x as (select o.n as v union all select 1) select * from x) s) from o order by id;
--> 1|4
--> 2|3
--> 3|1
--> 4|4
select id, (with x as (select random() as r, o.id) select count(distinct r) from (select r from x union all select r from x) t) from o order by id;
--> 1|1
--> 2|1
--> 3|1
--> 4|1
select id, (with x as (select (with y as (select o.n + z.k as m) select m from y) as mm from (values (1),(2)) z(k)) select sum(mm) from x) from o order by id;
--> 1|9
--> 2|7
--> 3|NULL
--> 4|9
select (with x as (update o set n = 1 returning id) select id from x);
--! 0A000
select id, array(with x as (select generate_series(1, o.n)) select * from x) from o order by id;
--> 1|{1,2,3}
--> 2|{1,2}
--> 3|{}
--> 4|{1,2,3}
select id, n = any (with x as (select o.id - 1 as v) select v from x) from o order by id;
--> 1|f
--> 2|f
--> 3|NULL
--> 4|t
update o set n = (with x as (select o.n + 100 as v) select v from x) where id < 3 returning *;
--> 1|103
--> 2|102
delete from o where id = (with x as (select max(id) m from o) select m from x) returning id;
--> 4
select id, (with x as (select o.n as v) select v from x limit (with y as (select 1 as c) select c from y)) from o order by id;
--> 1|103
--> 2|102
--> 3|NULL

-- Odd literals and names, and what is computed for each row of the query around.
drop table o;
create type mood as enum ('a','ok');
create table t (i int, l mood[]);
create index on t ((cardinality(l)));
insert into t values (1,'{a}'),(2,'{a,ok}');
select * from t where cardinality(l) = 1;
--> 1|{a}
create table t3 (m mood);
create index on t3 ((m = $$ok$$::mood));
create view v3 as select m from t3 where m = $x$ok$x$::mood;
alter type mood rename value 'ok' to 'fine';
insert into t3 values ('fine'),('a');
select * from t3 where m = 'fine';
--> fine
select * from v3;
--> fine
create schema app;
set search_path = app;
create type mood as enum ('a');
create table app (i int, m mood, check (app.m = 'a'::mood), g bool generated always as (app.m = 'a'::app.mood) stored);
create index on app ((m = 'a'::mood));
insert into app values (1,'a');
reset search_path;
insert into app.app values (2,'a');
select * from app.app order by 1;
--> 1|a|t
--> 2|a|t
create table o(id int, n int);
insert into o values (1,10),(2,20),(3,20);
select id, (with x as (select o.n as v) select (select v from x)) from o order by id;
--> 1|10
--> 2|20
--> 3|20
select id, (with x as (select o.n as v) select exists(select from x where v = 20)) from o order by id;
--> 1|f
--> 2|t
--> 3|t
select id, (with x as (select o.n as v) select 20 in (select v from x)) from o order by id;
--> 1|f
--> 2|t
--> 3|t
select id, (with x as (select o.n as v) select array(select v from x)) from o order by id;
--> 1|{10}
--> 2|{20}
--> 3|{20}
select n, (with x as (select t.n::text as v) select v from x) from (values (1.0),(1.00)) t(n);
--> 1.0|1.0
--> 1.00|1.00
create sequence s;
select id, (with x as (select nextval('s') v, t.n) select v from x) from (values (1,5),(2,5)) t(id,n);
--> 1|1
--> 2|2
select id, (with x as (select o.n as v), y as (select count(*) c from generate_series(1,3) g where g * 10 < (select v from x)) select c from y) from o order by id;
--> 1|0
--> 2|1
--> 3|1
deallocate all;
prepare p(mood) as select $1;
alter type mood add value 'new';
execute p('new');
--> new
alter type mood rename value 'fine' to 'fine2';
execute p('fine');
--! 22P02
execute p('fine2');
--> fine2
prepare q(mood) as select enum_range($1);
execute q(null);
--> {a,fine2,new}
alter type mood add value 'z' before 'a';
execute q(null);
--> {z,a,fine2,new}
create type t1 as enum ('a');
create type t2 as enum ('x');
select 'a'::t1, 'x'::t2 from o group by 'a'::t1, 'x'::t2;
--> a|x
create type gm as enum ('a','b');
create table gt (i int, m gm, g bool generated always as (m = 'a') stored, h text, check (h <> 'a'::gm::text), k text default 'b'::gm::text);
create index on gt(h) where m = 'b';
create index on gt((case h when 'x' then 'b'::gm end));
insert into gt(i, m) values (1,'a');
drop type gm cascade;
insert into gt(i) values (2);
select * from gt order by i;
--> 1|NULL|b
--> 2|NULL|NULL
select (with c0 as (select o.n v), c1 as (select v from c0 union all select v from c0), c2 as (select v from c1 union all select v from c1), c3 as (select v from c2 union all select v from c2), c4 as (select v from c3 union all select v from c3) select count(*) from c4) from o;
--> 16
--> 16
--> 16
-- Arrays in parentheses are read as the type says, too.
create type paren as enum ('a', 'b');
create table parens (id int, m paren default $$a$$::paren, arr paren[] default (array['a'])::paren[], check (m <> $$b$$::paren));
create view parens_seen as select * from parens where m = any((array['a'])::paren[]);
create index parens_few on parens (id) where m = any(((array['a', 'b']))::paren[]);
insert into parens(id) values (1);
alter type paren rename value 'a' to 't';
alter type paren rename value 'b' to 'a';
alter type paren rename value 't' to 'b';
insert into parens(id) values (2);
select * from parens order by 1;
--> 1|b|{b}
--> 2|b|{b}
select * from parens_seen order by 1;
--> 1|b|{b}
--> 2|b|{b}
with recursive r as (select 'a'::paren m, 1 n union all select 'b', n+1 from r where n<3) select * from r;
--> a|1
--> b|2
--> b|3
-- Generated columns go with the column that they are computed of, and views with them.
create type gone as enum ('a');
create table gone_in (i int, m gone, g bool generated always as (m is null) stored);
create view gone_seen as select g from gone_in;
drop type gone;
--! 2BP01
drop type gone cascade;
select column_name from information_schema.columns where table_name = 'gone_in';
--> i
select * from gone_seen;
--! 42P01
-- Types by other names: literals behind the name of the type, arrays, and names in quotes.
create type feeling as enum ('sad', 'ok');
create type "integer" as enum ('one');
select feeling 'sad', feeling E'\x6fk', feeling $$ok$$, feeling 'sad'::text, feeling 'ok' > 'sad', pg_typeof(feeling 'ok');
--> sad|ok|ok|sad|t|feeling
select _feeling '{ok,sad}', '{sad}'::_feeling, '{sad}'::feeling array, '{sad}'::feeling array[4], '{1}'::int array, '{1.5}'::numeric(4,2) array;
--> {ok,sad}|{sad}|{sad}|{sad}|{1}|{1.50}
select feeling 'nope';
--! 22P02
select nosuch 'x';
--! 42704
select nosuch.feeling 'sad';
--! 3F000
select '1'::"integer";
--! 22P02
select 'one'::"integer", "integer" 'one';
--> one|one
select '1'::"int4", 'a'::pg_catalog."text", 'abcd'::"varchar"(3), 'abcd'::pg_catalog.varchar(2), 'abc'::"char", 'abc'::char, 'abc'::"bpchar";
--> 1|a|abc|ab|a|a|abc
select 'abc'::pg_catalog.char, '1.256'::pg_catalog.numeric(4,2);
--> a|1.26
select '1'::pg_catalog.integer;
--! 42704
select '1'::pg_catalog.int;
--! 42704
select '1'::"boolean";
--! 42704
select '1'::serial;
--! 42704
select '1'::"double precision";
--! 42704
select '1'::"Int4";
--! 42704
select name 'abc', oid '5', int4 '7', text 'x', uuid '00000000-0000-0000-0000-000000000001', jsonb '{"a":1}';
--> abc|5|7|x|00000000-0000-0000-0000-000000000001|{"a": 1}
select not 'a' like 'b', case 'x' when 'y' then 1 end, array[1] || array[2];
--> t|NULL|{1,2}
create table felt (a "integer", b feeling array, c _feeling, d "serial", e int array, f text array[3], g "timestamptz"(3), m feeling default feeling 'ok' check (m <> feeling 'sad'));
create table felt_not (h "character varying");
--! 42704
insert into felt (a, b, c, e) values ('one', '{sad}', '{ok}', '{1,2}');
select * from felt;
--> one|{sad}|{ok}|1|{1,2}|NULL|NULL|ok
select attname, atttypid::regtype from pg_attribute where attrelid = 'felt'::regclass and attnum > 0 order by attnum;
--> a|"integer"
--> b|feeling[]
--> c|feeling[]
--> d|integer
--> e|integer[]
--> f|text[]
--> g|timestamp with time zone
--> m|feeling
create view felt_seen as select feeling 'ok' as m, a, '{sad}'::_feeling as l from felt where m = feeling 'ok' and c = _feeling '{ok}';
alter type feeling rename value 'sad' to 'blue';
alter type feeling rename value 'ok' to 'fine';
select * from felt_seen;
--> fine|one|{blue}
insert into felt (m) values (default) returning m;
--> fine
insert into felt (m) values ('blue');
--! 23514
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'felt'::regclass;
--> CHECK ((m <> 'blue'::feeling))
prepare felt_in (_feeling, "int4") as select $1, $2;
execute felt_in ('{fine}', 3);
--> {fine}|3
deallocate felt_in;
select has_type_privilege('feeling', 'usage'), has_type_privilege('int4[]', 'usage with grant option'), has_type_privilege('_feeling', 'USAGE');
--> t|t|t
select has_type_privilege('nosuch', 'usage');
--! 42704
select has_type_privilege('feeling', 'select');
--! 22023
select has_type_privilege('osier', 'feeling', 'usage'), has_type_privilege(23, 'usage'), has_type_privilege(4::oid, 'usage'), has_type_privilege('feeling'::regtype, 'usage');
--> t|t|NULL|t
select has_type_privilege('nobody', 'feeling', 'usage');
--! 42704
select 'feeling'::regtype, '_feeling'::regtype, 'feeling[]'::regtype, 'feeling array'::regtype, to_regtype('"integer"'), to_regtype('integer'), to_regtype('nosuch');
--> feeling|feeling[]|feeling[]|feeling[]|"integer"|integer|NULL
drop type feeling, "integer" cascade;
drop table felt cascade;
