-- Addresses: inet, cidr and macaddr.
create table net (id int primary key, i inet, c cidr, m macaddr, l inet[]);
insert into net values (1,'192.168.1.5','10.0.0.0/8','08:00:2b:01:02:03','{1.2.3.4,::1}'),(2,'192.168.1.0/24','10.1.0.0/16','08:00:2b:01:02:04',null),(3,'::1','::/0',null,'{}'),(4,'10.0.0.1/8','192.168.1.0/24','00:00:00:00:00:00','{null,10.0.0.0/8}');
select * from net order by i;
--> 4|10.0.0.1/8|192.168.1.0/24|00:00:00:00:00:00|{NULL,10.0.0.0/8}
--> 2|192.168.1.0/24|10.1.0.0/16|08:00:2b:01:02:04|NULL
--> 1|192.168.1.5|10.0.0.0/8|08:00:2b:01:02:03|{1.2.3.4,::1}
--> 3|::1|::/0|NULL|{}
select id from net order by c desc, m;
--> 3
--> 4
--> 2
--> 1
create index on net (i); create index on net(c); create unique index on net (m);
select id from net where i = '192.168.1.5';
--> 1
select id from net where i << '192.168.1.0/24';
--> 1
select id from net where i <<= '192.168.1.0/24' order by 1;
--> 1
--> 2
select id from net where c >> inet '10.1.2.3' order by 1;
--> 1
--> 2
select id from net where c >>= '10.1.0.0/16' order by 1;
--> 1
--> 2
select id from net where i && '192.168.0.0/16' order by 1;
--> 1
--> 2
select ~ i, i & '255.255.0.0'::inet from net where family(i)=4 order by id;
--> 63.87.254.250|192.168.0.0
--> 63.87.254.255/24|192.168.0.0
--> 245.255.255.254/8|10.0.0.0
select inet '1.2.3.4' | inet '0.0.0.255', inet '1.2.3.4/8' & inet '0.0.0.255/16';
--> 1.2.3.255|0.0.0.4/16
select inet '1.2.3.4' & inet '::1';
--! 22023
select inet '1.2.3.4' | inet '::1';
--! 22023
select i + 1, 5 + i, i - 1 from net where id <> 3 order by id;
--> 192.168.1.6|192.168.1.10|192.168.1.4
--> 192.168.1.1/24|192.168.1.5/24|192.168.0.255/24
--> 10.0.0.2/8|10.0.0.6/8|10.0.0.0/8
select inet '::1' + 1, inet '::1' - 1, inet '255.255.255.255' - inet '0.0.0.0';
--> ::2|::|4294967295
select inet '255.255.255.255' + 1;
--! 22003
select inet '0.0.0.0' - 1;
--! 22003
select inet 'ffff::' - inet '::';
--! 22003
select inet '::' - inet '1.2.3.4';
--! 22023
select inet '::ffff:ffff' + 9223372036854775807, inet '::' - (-9223372036854775808)::int8;
--! 22003
select host(i), text(i), abbrev(i), broadcast(i), family(i), hostmask(i), masklen(i), netmask(i), network(i), set_masklen(i,16) from net order by id;
--> 192.168.1.5|192.168.1.5/32|192.168.1.5|192.168.1.5|4|0.0.0.0|32|255.255.255.255|192.168.1.5/32|192.168.1.5/16
--> 192.168.1.0|192.168.1.0/24|192.168.1.0/24|192.168.1.255/24|4|0.0.0.255|24|255.255.255.0|192.168.1.0/24|192.168.1.0/16
--> ::1|::1/128|::1|::1|6|::|128|ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff|::1/128|::1/16
--> 10.0.0.1|10.0.0.1/8|10.0.0.1/8|10.255.255.255/8|4|0.255.255.255|8|255.0.0.0|10.0.0.0/8|10.0.0.1/16
select abbrev(c), set_masklen(c, 4), host(c), text(c), c::text, c::inet, i::cidr, i::text, i::varchar, c::char(4) from net order by id;
--> 10/8|0.0.0.0/4|10.0.0.0|10.0.0.0/8|10.0.0.0/8|10.0.0.0/8|192.168.1.5/32|192.168.1.5/32|192.168.1.5/32|10.0
--> 10.1/16|0.0.0.0/4|10.1.0.0|10.1.0.0/16|10.1.0.0/16|10.1.0.0/16|192.168.1.0/24|192.168.1.0/24|192.168.1.0/24|10.1
--> ::/0|::/4|::|::/0|::/0|::/0|::1/128|::1/128|::1/128|::/0
--> 192.168.1/24|192.0.0.0/4|192.168.1.0|192.168.1.0/24|192.168.1.0/24|192.168.1.0/24|10.0.0.0/8|10.0.0.1/8|10.0.0.1/8|192.
select set_masklen(inet '1.2.3.4', 33);
--! 22023
select set_masklen(inet '1.2.3.4', -1), set_masklen(inet '1.2.3.4/8', -2);
--! 22023
select inet_same_family('1.2.3.4', '::1'), inet_merge('192.168.1.5/24', '192.168.2.5/24'), inet_merge('::1','::2');
--> f|192.168.0.0/22|::/126
select inet_merge('1.2.3.4', '::1');
--! 22023
select abbrev(cidr '10.1.0.0/16'), abbrev(cidr '10.0.0.0/8'), abbrev(cidr '0.0.0.0/0'), abbrev(cidr '1.2.3.4/32'), abbrev(cidr '1.2.3.0/25');
--> 10.1/16|10/8|0/0|1.2.3.4/32|1.2.3.0/25
select abbrev(x::cidr) from unnest(array['::/0','::/1','8000::/1','2001:db8::/32','2001:db8:1::/48','::ffff:1.2.3.4/128','::ffff:1.2.3.0/120','::ffff:1.2.0.0/112','::1.2.3.4/128','::1/128','1::/16','1:2:3:4:5:6:7:8/128','0:0:1::/48','1:0:0:1::/64','::1:0:0:0:0/80','::1.2.0.0/112','::ffff:0:0/96','::ffff:1.0.0.0/104','::0:0/96']) x;
--> ::/0
--> ::/1
--> 8000::/1
--> 2001:db8/32
--> 2001:db8:1/48
--> ::ffff:1.2.3.4/128
--> ::ffff:1.2.3/120
--> ::ffff:1.2/112
--> ::1.2.3.4/128
--> ::1/128
--> 1::/16
--> 1:2:3:4:5:6:7:8/128
--> ::1/48
--> 1::1/64
--> ::1:0/80
--> ::1.2/112
--> ::ffff/96
--> ::ffff:1.0/104
--> ::/96
select x::inet from unnest(array['1:0:0:2:0:0:0:3','::ffff:0:1','0:0:0:0:0:ffff:1:2','::ffff:ffff','0:0:0:0:0:0:7:8','0:1::','1::','1:2:3:4:5:6:7::','1:2:3:4:5:6:7:0','0:0:3:4:5:6:7:8','0:2:3:4:5:6:7:8','fe80::1/64']) x;
--> 1:0:0:2::3
--> ::ffff:0.0.0.1
--> ::ffff:0.1.0.2
--> ::255.255.255.255
--> ::0.7.0.8
--> 0:1::
--> 1::
--> 1:2:3:4:5:6:7:0
--> 1:2:3:4:5:6:7:0
--> ::3:4:5:6:7:8
--> 0:2:3:4:5:6:7:8
--> fe80::1/64
select x::cidr from unnest(array['10','10.1','172.16','192.168.1','224','224.1','240','0x0a','0xA0b','0','128','127']) x;
--> 10.0.0.0/8
--> 10.1.0.0/16
--> 172.16.0.0/16
--> 192.168.1.0/24
--> 224.0.0.0/4
--> 224.1.0.0/16
--> 240.0.0.0/32
--> 10.0.0.0/8
--> 160.176.0.0/16
--> 0.0.0.0/8
--> 128.0.0.0/16
--> 127.0.0.0/8
select '1.2.3'::inet;
--! 22P02
select '10.0.0.1/8'::cidr;
--! 22P02
select 'x'::cidr;
--! 22P02
select '1.2.3.4/33'::inet;
--! 22P02
select ''::inet;
--! 22P02
select '1.2.3.4'::inet = '1.2.3.4/32'::cidr, '1.2.3.4'::inet <> '1.2.3.4/24', cidr '10.0.0.0/8' = inet '10.0.0.0/8', cidr '10.0.0.0/8' < inet '10.0.0.1/8';
--> t|t|t|t
select max(i), min(i), max(c), min(c) from net;
--> ::1|10.0.0.1/8|::/0|10.0.0.0/8
select max(m) from net;
--! 42883
select i, count(*) from (values (inet '1.1.1.1'), ('1.1.1.1'), ('1.1.1.1/8')) v(i) group by i order by 1;
--> 1.1.1.1/8|1
--> 1.1.1.1|2
select pg_typeof(i), pg_typeof(network(i)), pg_typeof(c), pg_typeof(coalesce(c,i)), pg_typeof(i - i) from net limit 1;
--> inet|cidr|cidr|inet|bigint
select 'a' || i, i || 'a', c || 'x', concat(i, c), format('%s %s', i, c) from net where id=1;
--> a192.168.1.5/32|192.168.1.5/32a|10.0.0.0/8x|192.168.1.510.0.0.0/8|192.168.1.5 10.0.0.0/8
select to_json(i), to_jsonb(c), row_to_json(row(i,c,m)), array_agg(i) over () from net where id = 1;
--> "192.168.1.5"|"10.0.0.0/8"|{"f1":"192.168.1.5","f2":"10.0.0.0/8","f3":"08:00:2b:01:02:03"}|{192.168.1.5}
select '1.2.3.4'::text::inet, '1.2.3.4'::varchar::cidr, 'x'::text::inet;
--! 22P02
insert into net (id,c) values (9, inet '1.2.3.4/8');
insert into net (id,c) values (9, '1.2.3.4/8');
--! 22P02
select c from net where id=9;
--> 1.0.0.0/8
insert into net (id,i) values (10, cidr '1.0.0.0/8') returning i;
--> 1.0.0.0/8
insert into net (id,m) values (11, '08:00:2b:01:02:03');
--! 23505
select trunc(m), ~m, m & 'ff:ff:00:00:00:00', m | '00:00:00:00:00:ff', m::text, m = '08002b010203', m < '09:00:00:00:00:00' from net where id=1;
--> 08:00:2b:00:00:00|f7:ff:d4:fe:fd:fc|08:00:00:00:00:00|08:00:2b:01:02:ff|08:00:2b:01:02:03|t|t
select '08:00:2b:01:02'::macaddr;
--! 22P02
select '08:00:2b:01:02:1ff'::macaddr;
--! 22003
select 'null'::macaddr;
--! 22P02
select x::macaddr from unnest(array['08:00:2b:01:02:03','08-00-2b-01-02-03','8:0:2b:1:2:3','08002b:010203','08002b-010203','0800.2b01.0203','0800-2b01-0203','08002b010203']) x;
--> 08:00:2b:01:02:03
--> 08:00:2b:01:02:03
--> 08:00:2b:01:02:03
--> 08:00:2b:01:02:03
--> 08:00:2b:01:02:03
--> 08:00:2b:01:02:03
--> 08:00:2b:01:02:03
--> 08:00:2b:01:02:03
select m + 1 from net;
--! 42883
select trunc('1.2.3.4'::inet);
--! 42883
select sum(i) from net;
--! 42883
select i::int from net;
--! 42846
select 1::inet;
--! 42846
select format_type('inet'::regtype,-1), 'inet[]'::regtype, typcategory, typispreferred, typlen, typalign, typstorage, typinput from pg_type where typname='inet';
--> inet|inet[]|I|t|-1|i|m|inet_in
select castsource::regtype, casttarget::regtype, castcontext from pg_cast where castsource in ('inet'::regtype,'cidr'::regtype) order by 1,2;
--> cidr|text|a
--> cidr|inet|i
--> cidr|character|a
--> cidr|character varying|a
--> inet|text|a
--> inet|cidr|a
--> inet|character|a
--> inet|character varying|a
select indexdef from pg_indexes where tablename = 'net' and indexname like '%c_idx';
--> CREATE INDEX net_c_idx ON public.net USING btree (c)
select opcname from pg_opclass where opcintype='inet'::regtype and opcmethod=403 order by 1;
--> cidr_ops
--> inet_ops
select i between '10.0.0.0' and '11.0.0.0', i in ('192.168.1.5','::1'), i is distinct from c from net order by id;
--> f|t|t
--> f|f|t
--> f|t|t
--> f|f|t
--> NULL|NULL|t
--> f|f|t
select distinct family(i) from net order by 1;
--> 4
--> 6
--> NULL
create table net2 (c cidr primary key, i inet unique default '0.0.0.0/0', check (masklen(c) <= 24));
insert into net2 values ('10.0.0.0/8'), ('10.1.0.0/16', '::1') returning *;
--! 42601
insert into net2 values ('10.0.0.0/8', '1.1.1.1');
insert into net2 values ('1.1.1.1', '1.1.1.1');
--! 23514
insert into net2 values ('11.0.0.0/8', '::1') on conflict (i) do update set c = excluded.c returning *;
--> 11.0.0.0/8|::1
select * from net2 where c = '11.0.0.0/8';
--> 11.0.0.0/8|::1
select * from net2 where c = inet '11.0.0.0/8';
--> 11.0.0.0/8|::1
alter table net2 alter c type inet;
alter table net2 alter c type text;
--! 42883
select * from net2 order by 1;
--> 10.0.0.0/8|1.1.1.1
--> 11.0.0.0/8|::1
alter table net2 alter c type cidr using c::cidr;
select * from net2 join net on net.i >>= net2.i order by 1,2,3;
--> 10.0.0.0/8|1.1.1.1|10|1.0.0.0/8|NULL|NULL|NULL
--> 11.0.0.0/8|::1|3|::1|::/0|NULL|{}
create table net3 (a inet references net2 (i)); 
insert into net3 values ('::1'); insert into net3 values ('::2');
--! 23503
select inet_client_addr() is null or true, inet_server_port() is null or true;
--> t|t
select * from net where i::text like '192%' and host(i) ilike '%5';
--> 1|192.168.1.5|10.0.0.0/8|08:00:2b:01:02:03|{1.2.3.4,::1}
select i from net where host(i) = '::1';
--> ::1
select set_masklen('10.0.0.0/8'::cidr, 16), set_masklen('1.2.3.4', 16);
--> 10.0.0.0/16|1.2.3.4/16
select netmask('192.168.1.5/24'), host('192.168.1.5/24'), network('192.168.1.5/24');
--> 255.255.255.0|192.168.1.5|192.168.1.0/24
select '::1' << '::/0'::inet, inet '1.2.3.4' <<= '1.2.3.4', '1.2.3.0/24' >> inet '1.2.3.4', inet '1.2.3.0/24' >>= inet '1.2.3.4' = true;
--> t|t|t|t
