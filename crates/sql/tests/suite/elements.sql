-- Subscripts of jsonb and of arrays, sets in VALUES, and expressions in ROLLUP.
create table j (id int primary key, data jsonb, arr int[], txt text[]);
insert into j values (1,'{"a":{"b":1,"c":[10,20,30]},"s":"x"}','{1,2,3}','{a,b}'),(2,null,null,null),(3,'[1,[2,3]]','{}',null);
select id, data['a']['b'], data['a']['c'][1], data['a']['c'][-1], data['a']['c']['0'], data[1][0], data['nosuch']['x'] from j order by id;
--> 1|1|20|30|10|NULL|NULL
--> 2|NULL|NULL|NULL|NULL|NULL|NULL
--> 3|NULL|NULL|NULL|NULL|2|NULL
select data['a'] from j where data['a']['b'] = '1';
--> {"b": 1, "c": [10, 20, 30]}
select (data['a']['c'])[0], ('{"k":[1,2]}'::jsonb)['k'][1], (select data from j where id=1)['s'] from j where id=1;
--> 10|2|"x"
select data[null] from j where id=1;
--> NULL
select data[1.5] from j;
--! 42804
select data[1::bigint] from j;
--! 42804
select data['a':'b'] from j;
--! 42804
select data[true] from j;
--! 42804
select j.data['s'], data['s'] #>> '{}', data['s']::text from j where id=1;
--> "x"|x|"x"
select "jsonb element set"(null, null, '1', null);
--! 42883
select * from "array element set"(array[1], 1, 2);
--! 42883
update j set data['a']['b'] = '2' where id=1 returning data;
--> {"a": {"b": 2, "c": [10, 20, 30]}, "s": "x"}
update j set data['n'] = '{"x": 1}' where id=1 returning data['n'];
--> {"x": 1}
update j set data['new']['deep'][2] = '"v"' where id=1 returning data['new'];
--> {"deep": [null, null, "v"]}
update j set data['q'] = '1', data['r'] = '2' where id=1 returning data['q'], data['r'];
--> 1|2
update j set data['a']['c'][1] = to_jsonb(99), id = id where id=1 returning data['a']['c'];
--> [10, 99, 30]
update j set data['a'] = '1' where id=2 returning data;
--> {"a": 1}
update j set data[2] = '1' where id=2 returning data;
--> {"2": 1, "a": 1}
update j set data = null where id=2;
update j set data[2] = '1' where id=2 returning data;
--> [null, null, 1]
update j set data[1][3] = 'true' where id=3 returning data;
--> [1, [2, 3, null, true]]
update j set data[-1] = 'null' where id=3 returning data;
--> [1, null]
update j set data['x'] = '1' where id=3 returning data;
--! 22P02
update j set data['s']['t'] = '1' where id=1 returning data;
--! 22023
update j set data[-10] = '1' where id=3;
--! 22023
update j set data[null] = '1' where id=1;
--! 22004
update j set data['z'] = null where id=1 returning data['z'];
--> null
update j set data['z'] = 'text'::text where id=1;
--! 42804
update j set data['z'] = 'notjson' where id=1;
--! 22P02
update j set data['z'] = 5 where id=1;
--! 42804
update j set data[0:1] = '1' where id=1;
--! 42804
update j set arr[2] = 20 where id=1 returning arr;
--> {1,20,3}
update j set arr[5] = 50 where id=1 returning arr;
--> {1,20,3,NULL,50}
update j set arr[1] = 7 where id=2 returning arr;
--> {7}
update j set arr[1] = 7 where id=3 returning arr;
--> {7}
update j set arr[null] = 7 where id=1;
--! 22004
update j set arr[2] = 'x' where id=1;
--! 22P02
update j set arr[2] = 1.6 where id=1 returning arr;
--> {1,2,3,NULL,50}
update j set arr[1] = arr[2], txt[1] = 'q' || id where id=1 returning arr, txt;
--> {2,2,3,NULL,50}|{q1,b}
update j set arr[1] = 1, arr[2] = 2 where id=1 returning arr;
--> {1,2,3,NULL,50}
update j set arr[1] = 1, arr = '{}' where id=1;
--! 42601
update j set id[1] = 1 where id=1;
--! 42804
update j set nosuch[1] = 1;
--! 42703
update j set data['f'] = to_jsonb(x.v) from (values (1,'one')) x(i,v) where x.i = j.id returning data['f'];
--> "one"
insert into j values (1, '{}') on conflict (id) do update set data['up'] = excluded.data returning data['up'];
--> {}
insert into j values (1, '{}') on conflict (id) do update set data['up']['w'] = '1', arr[1] = 100 where j.id = 1 returning data['up'], arr;
--> {"w": 1}|{100,2,3,NULL,50}
with w as (update j set data['w'] = '0' where id=1 returning data['w'] as x) select * from w;
--> 0
merge into j using (values (1)) s(i) on s.i = j.id when matched then update set data['m'] = '1', arr[1] = 5;
select data['m'], arr from j where id = 1;
--> 1|{5,2,3,NULL,50}
prepare pj(text, jsonb) as update j set data[$1] = $2 where id=1 returning data[$1];
execute pj('k1', '[1]');
--> [1]
create view jv as select data['a']['c'][0] as x from j;
select * from jv order by 1;
--> 10
--> NULL
--> NULL
create table gs (i int, t text);
insert into gs values (generate_series(1,3));
insert into gs values (generate_series(1,3), 'x') returning *;
--> 1|x
--> 2|x
--> 3|x
insert into gs values (generate_series(1,2), generate_series(1,3)::text) returning *;
--> 1|1
--> 2|2
--> NULL|3
insert into gs values (generate_series(1,2)), (5);
--! 0A000
insert into gs (i) values (unnest(array[7,8])) returning i;
--> 7
--> 8
insert into gs (t, i) values ('a', generate_series(1,2) + 10) returning t, i;
--> a|11
--> a|12
values (generate_series(1,3));
--! 0A000
select * from (values (generate_series(1,3))) v;
--! 0A000
select count(*) from gs;
--> 13
select a, count(*) from (values (1),(2)) v(a) group by rollup((a)::text, a) order by 1,2;
--> 1|1
--> 2|1
--> NULL|1
--> NULL|1
--> NULL|2
select (a)::text, count(*) from (values (1),(2)) v(a) group by rollup((a)::text) order by 1,2;
--> 1|1
--> 2|1
--> NULL|2
select (a)::text, count(*) from (values (1),(2)) v(a) group by cube((a)::text, (a)+1) order by 1,2;
--> 1|1
--> 1|1
--> 2|1
--> 2|1
--> NULL|1
--> NULL|1
--> NULL|2
select a+1, count(*) from (values (1),(2)) v(a) group by rollup((a)+1) order by 1,2;
--> 2|1
--> 3|1
--> NULL|2
select count(*) from (values (1,2),(2,3)) v(a,b) group by rollup((a,b),(a)) order by 1;
--> 1
--> 1
--> 1
--> 1
--> 2
select (a)::text, count(*) from (values (1),(2)) v(a) group by grouping sets (((a)::text), ()) order by 1,2;
--> 1|1
--> 2|1
--> NULL|2
update j set data['a'] = default where id = 1;
--! 0A000
update only j as q set data['case'] = case when q.id = 1 then '1'::jsonb else '2' end, txt[2] = 'from, where' where q.data is distinct from null and id = 1 returning data['case'], txt;
--> 1|{q1,"from, where"}
select ('{"a":{"b":[5]}}'::jsonb)['a']['b'][0], ('[1,2]'::jsonb)[0:1];
--! 42804
select (1)[1];
--! 42804
alter table j add g int[] generated always as (arr) stored;
update j set g[1] = 2;
--! 428C9
insert into gs values (default, upper('x') || generate_series(1, 2)) returning i, t;
--> NULL|X1
--> NULL|X2
insert into gs (t) values (lower('Z')), (generate_series(1,2)::text);
--! 0A000
update j set data['deep']['er'][1]['x'] = '[]' where id = 1 returning data['deep'];
--> {"er": [null, {"x": []}]}
update j set data['n1'] = '1', data['n2'] = data['n1'] where id = 1 returning data['n1'], data['n2'];
--> 1|null
