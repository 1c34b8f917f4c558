-- pg_catalog and information_schema, with the answers of PostgreSQL 15.

CREATE TABLE author (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, born date DEFAULT '2000-01-01', rating numeric(4,2) DEFAULT 1.5 CHECK (rating >= 0), tags text[], active boolean DEFAULT true, created timestamptz DEFAULT now())
CREATE TABLE book (isbn char(13) PRIMARY KEY, title text NOT NULL DEFAULT 'untitled', author_id int, price numeric(8,2), CHECK (price > 0 AND price < 1000))
CREATE INDEX book_author ON book (author_id)
CREATE UNIQUE INDEX book_title ON book (title, author_id)
CREATE SEQUENCE sq INCREMENT 2 START 5 CACHE 32
CREATE TABLE nokey (a int, b bigint GENERATED ALWAYS AS IDENTITY)
CREATE TABLE "Odd Name" ("Key" int, "select" text, CONSTRAINT "Odd Key" PRIMARY KEY ("Key", "select"))
-- pg_class
SELECT relname, relkind, relnatts, relchecks, relhasindex FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY relname
--> Odd Key|i|2|0|f
--> Odd Name|r|2|0|t
--> author|r|7|1|t
--> author_id_seq|S|3|0|f
--> author_name_key|i|1|0|f
--> author_pkey|i|1|0|f
--> book|r|4|1|t
--> book_author|i|1|0|f
--> book_pkey|i|1|0|f
--> book_title|i|2|0|f
--> nokey|r|2|0|f
--> nokey_b_seq|S|3|0|f
--> sq|S|3|0|f
SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r' AND relname LIKE 'b%' AND relnamespace = 2200
--> book
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind = 'i'
--> 6
SELECT c.relname, n.nspname, pg_get_userbyid(c.relowner) FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(book)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3
--> book|public|osier
SELECT relname, relpersistence, relreplident, relispartition, reltablespace, relrowsecurity FROM pg_class WHERE oid = 'book'::regclass
--> book|p|d|f|0|f
SELECT relname FROM pg_class WHERE oid = 'public.book'::regclass::oid
--> book
SELECT relname FROM pg_class WHERE relname = 'pg_class'
--> pg_class
SELECT am.amname FROM pg_class c JOIN pg_am am ON am.oid = c.relam WHERE c.relname IN ('book', 'book_author') ORDER BY 1
--> btree
--> heap
SELECT relname FROM pg_class WHERE oid = 0
SELECT relkind, count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace GROUP BY relkind ORDER BY 1
--> S|3
--> i|6
--> r|4
-- pg_attribute
SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef, attnum FROM pg_attribute WHERE attrelid = 'author'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
--> id|integer|t|t|1
--> name|character varying(40)|t|f|2
--> born|date|f|t|3
--> rating|numeric(4,2)|f|t|4
--> tags|text[]|f|f|5
--> active|boolean|f|t|6
--> created|timestamp with time zone|f|t|7
SELECT attname, attlen, attndims, attbyval, attalign, attstorage, attcollation FROM pg_attribute WHERE attrelid = 'author'::regclass AND attnum > 0 ORDER BY attnum
--> id|4|0|t|i|p|0
--> name|-1|0|f|i|x|100
--> born|4|0|t|i|p|0
--> rating|-1|0|f|i|m|0
--> tags|-1|1|f|i|x|100
--> active|1|0|t|c|p|0
--> created|8|0|t|d|p|0
SELECT attname, attidentity, attgenerated FROM pg_attribute WHERE attrelid = 'nokey'::regclass AND attnum > 0 ORDER BY attnum
--> a||
--> b|a|
SELECT attname, atttypid::regtype, atttypmod FROM pg_attribute WHERE attrelid = 'book'::regclass AND attnum > 0 ORDER BY attnum
--> isbn|character|17
--> title|text|-1
--> author_id|integer|-1
--> price|numeric|524294
SELECT attname FROM pg_attribute WHERE attrelid = 'book_title'::regclass ORDER BY attnum
--> title
--> author_id
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'pg_namespace'::regclass AND attnum > 0 ORDER BY attnum LIMIT 3
--> oid|oid
--> nspname|name
--> nspowner|oid
SELECT attname FROM pg_attribute WHERE attrelid = 'sq'::regclass AND attnum > 0 ORDER BY attnum
--> last_value
--> log_cnt
--> is_called
SELECT c.relname, count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = 2200 AND c.relkind = 'r' AND a.attnum > 0 GROUP BY 1 ORDER BY 1
--> Odd Name|2
--> author|7
--> book|4
--> nokey|2
-- pg_attrdef
SELECT a.attname, pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = 'author'::regclass ORDER BY d.adnum
--> id|nextval('author_id_seq'::regclass)
--> born|'2000-01-01'::date
--> rating|1.5
--> active|true
--> created|now()
SELECT pg_get_expr(adbin, adrelid, true) FROM pg_attrdef WHERE adrelid = 'book'::regclass
--> 'untitled'::text
SELECT a.attname, (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef) FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'book'::regclass AND a.attnum > 0 ORDER BY a.attnum
--> isbn|NULL
--> title|'untitled'::text
--> author_id|NULL
--> price|NULL
-- pg_index
SELECT i.indexrelid::regclass, indisunique, indisprimary, indnatts, indnkeyatts, indkey, indoption FROM pg_index i WHERE indrelid = 'book'::regclass ORDER BY i.indexrelid::regclass::text
--> book_author|f|f|1|1|3|0
--> book_pkey|t|t|1|1|1|0
--> book_title|t|f|2|2|2 3|0 0
SELECT indexrelid::regclass::text, indkey[0], indkey[1], indclass, indcollation FROM pg_index WHERE indrelid = 'book'::regclass ORDER BY 1
--> book_author|3|NULL|1978|0
--> book_pkey|1|NULL|10004|100
--> book_title|2|3|3126 1978|100 0
SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indrelid = 'book'::regclass AND i.indisprimary
--> isbn
SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indrelid = 'book'::regclass AND NOT i.indisprimary ORDER BY i.indnatts, a.attnum
--> author_id
--> title
--> author_id
SELECT array_lower(indkey, 1), array_upper(indkey, 1), array_position(indkey, 3::smallint) FROM pg_index WHERE indexrelid = 'book_title'::regclass
--> 0|1|1
SELECT generate_subscripts(indkey, 1) FROM pg_index WHERE indexrelid = 'book_title'::regclass
--> 0
--> 1
SELECT k.n, a.attname FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, n) JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE i.indexrelid = 'book_title'::regclass ORDER BY k.n
--> 1|title
--> 2|author_id
SELECT (information_schema._pg_expandarray(i.indkey)).n FROM pg_index i WHERE indexrelid = 'book_title'::regclass
--> 1
--> 2
SELECT result.n, (result.keys).x FROM (SELECT (information_schema._pg_expandarray(i.indkey)).n AS n, information_schema._pg_expandarray(i.indkey) AS keys FROM pg_index i WHERE i.indexrelid = 'book_title'::regclass) result ORDER BY 1
--> 1|2
--> 2|3
SELECT pg_get_indexdef('book_title'::regclass)
--> CREATE UNIQUE INDEX book_title ON public.book USING btree (title, author_id)
SELECT pg_get_indexdef('book_title'::regclass, 0, true), pg_get_indexdef('book_title'::regclass, 1, true), pg_get_indexdef('book_title'::regclass, 2, false)
--> CREATE UNIQUE INDEX book_title ON book USING btree (title, author_id)|title|author_id
SELECT pg_get_indexdef('book_pkey'::regclass)
--> CREATE UNIQUE INDEX book_pkey ON public.book USING btree (isbn)
SELECT pg_get_indexdef('"Odd Key"'::regclass)
--> CREATE UNIQUE INDEX "Odd Key" ON public."Odd Name" USING btree ("Key", "select")
SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = 'author' ORDER BY 1
--> author_name_key|CREATE UNIQUE INDEX author_name_key ON public.author USING btree (name)
--> author_pkey|CREATE UNIQUE INDEX author_pkey ON public.author USING btree (id)
SELECT tablename, indexname, tablespace FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2
--> Odd Name|Odd Key|NULL
--> author|author_name_key|NULL
--> author|author_pkey|NULL
--> book|book_author|NULL
--> book|book_pkey|NULL
--> book|book_title|NULL
-- pg_constraint
SELECT conname, contype, conrelid::regclass, conkey, condeferrable, convalidated FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY conname
--> Odd Key|p|"Odd Name"|{1,2}|f|t
--> author_name_key|u|author|{2}|f|t
--> author_pkey|p|author|{1}|f|t
--> author_rating_check|c|author|{4}|f|t
--> book_pkey|p|book|{1}|f|t
--> book_price_check|c|book|{4}|f|t
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'book'::regclass ORDER BY 1
--> book_pkey|PRIMARY KEY (isbn)
--> book_price_check|CHECK (((price > (0)::numeric) AND (price < (1000)::numeric)))
SELECT conname, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = 'book'::regclass ORDER BY 1
--> book_pkey|PRIMARY KEY (isbn)
--> book_price_check|CHECK (price > 0::numeric AND price < 1000::numeric)
SELECT conname, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = 'author'::regclass ORDER BY 1
--> author_name_key|UNIQUE (name)
--> author_pkey|PRIMARY KEY (id)
--> author_rating_check|CHECK (rating >= 0::numeric)
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '"Odd Name"'::regclass
--> PRIMARY KEY ("Key", "select")
SELECT c2.relname, i.indisprimary, i.indisunique, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')) WHERE c.oid = 'book'::regclass AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname
--> book_pkey|t|t|CREATE UNIQUE INDEX book_pkey ON book USING btree (isbn)|PRIMARY KEY (isbn)|p
--> book_author|f|f|CREATE INDEX book_author ON book USING btree (author_id)|NULL|NULL
--> book_title|f|t|CREATE UNIQUE INDEX book_title ON book USING btree (title, author_id)|NULL|NULL
-- checks and defaults as they are shown
CREATE TABLE shown (a int DEFAULT -1, b bigint DEFAULT 7, c text DEFAULT 'it''s', d varchar(9) DEFAULT 'x', e double precision DEFAULT 0.5, f timestamptz DEFAULT CURRENT_TIMESTAMP, g date DEFAULT CURRENT_DATE, h boolean DEFAULT false, i jsonb DEFAULT '{}', j uuid DEFAULT gen_random_uuid(), k text DEFAULT upper('a') || 'b', l int DEFAULT 2 + 3 * 4, m text DEFAULT NULL, n numeric DEFAULT 0, o text[] DEFAULT '{}')
SELECT a.attname, pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = 'shown'::regclass AND a.attname IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'n', 'o') ORDER BY 1
--> a|'-1'::integer
--> b|7
--> c|'it''s'::text
--> d|'x'::character varying
--> e|0.5
--> f|CURRENT_TIMESTAMP
--> g|CURRENT_DATE
--> h|false
--> i|'{}'::jsonb
--> j|gen_random_uuid()
--> n|0
--> o|'{}'::text[]
CREATE TABLE checks (a int CONSTRAINT c1 CHECK (a BETWEEN 1 AND 9), b text CONSTRAINT c2 CHECK (b IN ('x', 'y')), c varchar(5) CONSTRAINT c3 CHECK (c <> ''), d text CONSTRAINT c4 CHECK (d LIKE 'a%' OR d IS NULL), e int CONSTRAINT c5 CHECK (NOT e = 3), CONSTRAINT c6 CHECK (a > e AND (b = 'x' OR length(d) > 2)), f numeric CONSTRAINT c7 CHECK (coalesce(f, 0) >= 0))
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'checks'::regclass ORDER BY 1
--> c1|CHECK (((a >= 1) AND (a <= 9)))
--> c2|CHECK ((b = ANY (ARRAY['x'::text, 'y'::text])))
--> c3|CHECK (((c)::text <> ''::text))
--> c4|CHECK (((d ~~ 'a%'::text) OR (d IS NULL)))
--> c5|CHECK ((NOT (e = 3)))
--> c6|CHECK (((a > e) AND ((b = 'x'::text) OR (length(d) > 2))))
--> c7|CHECK ((COALESCE(f, (0)::numeric) >= (0)::numeric))
SELECT conname, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = 'checks'::regclass ORDER BY 1
--> c1|CHECK (a >= 1 AND a <= 9)
--> c2|CHECK (b = ANY (ARRAY['x'::text, 'y'::text]))
--> c3|CHECK (c::text <> ''::text)
--> c4|CHECK (d ~~ 'a%'::text OR d IS NULL)
--> c5|CHECK (NOT e = 3)
--> c6|CHECK (a > e AND (b = 'x'::text OR length(d) > 2))
--> c7|CHECK (COALESCE(f, 0::numeric) >= 0::numeric)
-- types and casts
SELECT typname, typlen, typtype, typcategory, typispreferred, typdelim, typelem, typarray FROM pg_type WHERE oid IN (16, 20, 23, 25, 1043, 1700, 1184, 1007, 1009) ORDER BY oid
--> bool|1|b|B|t|,|0|1000
--> int8|8|b|N|f|,|0|1016
--> int4|4|b|N|f|,|0|1007
--> text|-1|b|S|t|,|0|1009
--> _int4|-1|b|A|f|,|23|0
--> _text|-1|b|A|f|,|25|0
--> varchar|-1|b|S|f|,|0|1015
--> timestamptz|8|b|D|t|,|0|1185
--> numeric|-1|b|N|f|,|0|1231
SELECT typname, typinput, typoutput, typreceive, typsend FROM pg_type WHERE typname IN ('int4', '_int4', 'numeric', 'text', 'oidvector') ORDER BY 1
--> _int4|array_in|array_out|array_recv|array_send
--> int4|int4in|int4out|int4recv|int4send
--> numeric|numeric_in|numeric_out|numeric_recv|numeric_send
--> oidvector|oidvectorin|oidvectorout|oidvectorrecv|oidvectorsend
--> text|textin|textout|textrecv|textsend
SELECT typinput = 'pg_catalog.array_in'::regproc FROM pg_type WHERE typname = '_text'
--> t
SELECT 'integer'::regtype, 'varchar'::regtype::oid, '_text'::regtype, 'timestamp with time zone'::regtype, 1700::regtype, 'int4'::regtype::text
--> integer|1043|text[]|timestamp with time zone|numeric|integer
SELECT 'book'::regclass, 'public.book'::regclass, '"Odd Name"'::regclass, 'pg_class'::regclass, 'pg_catalog.pg_type'::regclass::oid, 'information_schema.tables'::regclass
--> book|book|"Odd Name"|pg_class|1247|information_schema.tables
SELECT 'book'::regclass::text || '!', 'public'::regnamespace, 'pg_catalog'::regnamespace::oid, 0::regclass, '-'::regclass::oid
--> book!|public|11|-|0
SELECT to_regclass('nosuch') IS NULL, to_regclass('book') = 'book'::regclass, to_regtype('nosuch') IS NULL, to_regtype('int'), to_regnamespace('nosuch') IS NULL
--> t|t|t|integer|t
SELECT 'nosuch'::regclass
--! 42P01
SELECT 'nosuch'::regtype
--! 42704
SELECT 'nosuch'::regnamespace
--! 3F000
SELECT 'nosuch'::regrole
--! 42704
SELECT 'nosuch.nosuch'::regclass
--! 3F000
SELECT pg_typeof(1), pg_typeof('x'::text), pg_typeof(ARRAY[1, 2]), pg_typeof('book'::regclass), pg_typeof(1)::text
--> integer|text|integer[]|regclass|integer
SELECT format_type(1043, 14), format_type(1700, 786438), format_type(1184, 3), format_type(1007, -1), format_type(0, NULL), format_type(23, NULL), format_type(22, NULL)
--> character varying(10)|numeric(12,2)|timestamp(3) with time zone|integer[]|-|integer|int2vector
SELECT '1 2 3'::int2vector, '1 2 3'::oidvector, ('4 5'::int2vector)[0], ('4 5'::int2vector)[1]
--> 1 2 3|1 2 3|4|5
SELECT 'x'::"char", 'abc'::name, 'a'::"char" = 'a', pg_encoding_to_char(6)
--> x|abc|t|UTF8
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast WHERE castsource = 23 AND casttarget IN (20, 21, 16, 1700) ORDER BY 2
--> integer|boolean|e
--> integer|bigint|i
--> integer|smallint|a
--> integer|numeric|i
SELECT nspname FROM pg_namespace WHERE nspname IN ('public', 'pg_catalog', 'information_schema') ORDER BY 1
--> information_schema
--> pg_catalog
--> public
SELECT current_schema(), current_schemas(false), current_schemas(true)
--> public|{public}|{pg_catalog,public}
-- sequences
SELECT schemaname, sequencename, data_type, start_value, increment_by, cycle FROM pg_sequences ORDER BY 2
--> public|author_id_seq|integer|1|1|f
--> public|nokey_b_seq|bigint|1|1|f
--> public|sq|bigint|5|2|f
SELECT seqrelid::regclass, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcycle FROM pg_sequence ORDER BY seqrelid::regclass::text
--> author_id_seq|integer|1|1|2147483647|1|f
--> nokey_b_seq|bigint|1|1|9223372036854775807|1|f
--> sq|bigint|5|2|9223372036854775807|1|f
SELECT pg_get_serial_sequence('author', 'id'), pg_get_serial_sequence('nokey', 'b'), pg_get_serial_sequence('book', 'title')
--> public.author_id_seq|public.nokey_b_seq|NULL
SELECT pg_get_serial_sequence('nosuch', 'id')
--! 42P01
SELECT pg_get_serial_sequence('author', 'nosuch')
--! 42703
SELECT nextval('sq'::regclass), nextval('sq'), currval('sq'::regclass)
--> 5|7|7
SELECT nextval('nosuch'::regclass)
--! 42P01
SELECT d.deptype, a.attname, c.relname FROM pg_depend d JOIN pg_class c ON c.oid = d.objid JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid WHERE d.classid = 'pg_class'::regclass AND c.relkind = 'S' ORDER BY c.relname
--> a|id|author_id_seq
--> i|b|nokey_b_seq
-- views of pg_catalog
SELECT schemaname, tablename, hasindexes, hasrules, hastriggers, rowsecurity FROM pg_tables WHERE schemaname = 'public' ORDER BY 2
--> public|Odd Name|t|f|f|f
--> public|author|t|f|f|f
--> public|book|t|f|f|f
--> public|checks|f|f|f|f
--> public|nokey|f|f|f|f
--> public|shown|f|f|f|f
SELECT count(*) FROM pg_views WHERE schemaname = 'public'
--> 0
SELECT count(*) FROM pg_matviews
--> 0
SELECT rolname, rolsuper, rolcanlogin, rolinherit, rolpassword FROM pg_roles WHERE rolname = current_user
--> osier|t|t|t|********
SELECT usename, usesuper FROM pg_user WHERE usename = current_user
--> osier|t
SELECT name, setting FROM pg_settings WHERE name IN ('search_path', 'standard_conforming_strings', 'server_encoding') ORDER BY 1
--> search_path|"$user", public
--> server_encoding|UTF8
--> standard_conforming_strings|on
SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = pg_backend_pid()
--> t
SELECT relname FROM pg_stat_user_tables ORDER BY 1
--> Odd Name
--> author
--> book
--> checks
--> nokey
--> shown
SELECT count(*) FROM pg_trigger
--> 0
SELECT count(*) FROM pg_policy
--> 0
SELECT count(*) FROM pg_inherits
--> 0
SELECT count(*) FROM pg_publication
--> 0
SELECT count(*) FROM pg_foreign_table
--> 0
SELECT count(*) FROM pg_enum
--> 0
SELECT datname = current_database() AND encoding = 6 FROM pg_database WHERE datname = current_database()
--> t
SELECT proname, prokind, prorettype::regtype, pronargs FROM pg_proc WHERE proname = 'upper' AND prorettype = 25
--> upper|f|text|1
SELECT spcname FROM pg_tablespace ORDER BY 1
--> pg_default
--> pg_global
-- information_schema
SELECT table_name, table_type, is_insertable_into FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1
--> Odd Name|BASE TABLE|YES
--> author|BASE TABLE|YES
--> book|BASE TABLE|YES
--> checks|BASE TABLE|YES
--> nokey|BASE TABLE|YES
--> shown|BASE TABLE|YES
SELECT column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision, udt_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'author' ORDER BY 2
--> id|1|nextval('author_id_seq'::regclass)|NO|integer|NULL|NULL|32|2|0|NULL|int4
--> name|2|NULL|NO|character varying|40|160|NULL|NULL|NULL|NULL|varchar
--> born|3|'2000-01-01'::date|YES|date|NULL|NULL|NULL|NULL|NULL|0|date
--> rating|4|1.5|YES|numeric|NULL|NULL|4|10|2|NULL|numeric
--> tags|5|NULL|YES|ARRAY|NULL|NULL|NULL|NULL|NULL|NULL|_text
--> active|6|true|YES|boolean|NULL|NULL|NULL|NULL|NULL|NULL|bool
--> created|7|now()|YES|timestamp with time zone|NULL|NULL|NULL|NULL|NULL|6|timestamptz
SELECT column_name, is_identity, identity_generation, identity_start, identity_increment, identity_cycle, is_updatable FROM information_schema.columns WHERE table_name = 'nokey' ORDER BY 1
--> a|NO|NULL|NULL|NULL|NO|YES
--> b|YES|ALWAYS|1|1|NO|YES
SELECT constraint_name, constraint_type, is_deferrable, enforced FROM information_schema.table_constraints WHERE table_name = 'book' AND constraint_name NOT LIKE '%not_null' ORDER BY 1
--> book_pkey|PRIMARY KEY|NO|YES
--> book_price_check|CHECK|NO|YES
SELECT count(*) FROM information_schema.table_constraints WHERE table_name = 'book'
--> 4
SELECT constraint_name, column_name, ordinal_position FROM information_schema.key_column_usage WHERE constraint_schema = 'public' ORDER BY 1, 3
--> Odd Key|Key|1
--> Odd Key|select|2
--> author_name_key|name|1
--> author_pkey|id|1
--> book_pkey|isbn|1
SELECT constraint_name, table_name, column_name FROM information_schema.constraint_column_usage WHERE table_name = 'book' ORDER BY 1, 3
--> book_pkey|book|isbn
--> book_price_check|book|price
SELECT constraint_name, check_clause FROM information_schema.check_constraints WHERE constraint_name LIKE 'book%' ORDER BY 1
--> book_price_check|(((price > (0)::numeric) AND (price < (1000)::numeric)))
SELECT sequence_name, data_type, start_value, increment, cycle_option FROM information_schema.sequences WHERE sequence_schema = 'public' ORDER BY 1
--> author_id_seq|integer|1|1|NO
--> sq|bigint|5|2|NO
SELECT count(*) FROM information_schema.views WHERE table_schema = 'public'
--> 0
SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('public', 'pg_catalog') ORDER BY 1
--> pg_catalog
--> public
SELECT count(*) FROM information_schema.referential_constraints
--> 0
SELECT privilege_type FROM information_schema.table_privileges WHERE table_name = 'book' AND grantee = current_user ORDER BY 1
--> DELETE
--> INSERT
--> REFERENCES
--> SELECT
--> TRIGGER
--> TRUNCATE
--> UPDATE
SELECT collection_type_identifier, data_type, udt_name FROM information_schema.element_types WHERE object_name = 'author'
--> 5|text|text
SELECT tc.table_name, kcu.column_name FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kcu ON tc.constraint_name = kcu.constraint_name AND tc.table_schema = kcu.table_schema WHERE tc.constraint_type = 'PRIMARY KEY' AND tc.table_name = 'Odd Name' ORDER BY kcu.ordinal_position
--> Odd Name|Key
--> Odd Name|select
-- comments
COMMENT ON TABLE book IS 'books'
COMMENT ON COLUMN book.title IS 'the title'
COMMENT ON COLUMN public.book.price IS 'a price'
COMMENT ON INDEX book_author IS 'by author'
COMMENT ON INDEX book_pkey IS 'by isbn'
COMMENT ON CONSTRAINT book_price_check ON book IS 'sane'
COMMENT ON SEQUENCE sq IS 'numbers'
COMMENT ON SCHEMA public IS 'the public one'
SELECT obj_description('book'::regclass), obj_description('book'::regclass, 'pg_class'), col_description('book'::regclass, 2), col_description('book'::regclass, 1)
--> books|books|the title|NULL
SELECT obj_description('book_author'::regclass, 'pg_class'), obj_description('book_pkey'::regclass, 'pg_class'), obj_description('sq'::regclass, 'pg_class'), obj_description('public'::regnamespace, 'pg_namespace')
--> by author|by isbn|numbers|the public one
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'book_price_check'
--> sane
SELECT objoid::regclass, objsubid, description FROM pg_description WHERE classoid = 'pg_class'::regclass AND objoid IN ('book'::regclass, 'sq'::regclass) ORDER BY 1, 2
--> book|0|books
--> book|2|the title
--> book|4|a price
--> sq|0|numbers
BEGIN
COMMENT ON TABLE book IS 'gone'
SELECT obj_description('book'::regclass, 'pg_class')
--> gone
ROLLBACK
SELECT obj_description('book'::regclass, 'pg_class')
--> books
ALTER TABLE book ADD COLUMN pages int DEFAULT 1
SELECT obj_description('book'::regclass, 'pg_class'), col_description('book'::regclass, 2), obj_description('book_author'::regclass, 'pg_class')
--> books|the title|by author
COMMENT ON TABLE book IS NULL
SELECT obj_description('book'::regclass, 'pg_class') IS NULL
--> t
COMMENT ON COLUMN book.title IS ''
SELECT col_description('book'::regclass, 2) IS NULL
--> t
COMMENT ON TABLE nosuch IS 'x'
--! 42P01
COMMENT ON COLUMN book.nosuch IS 'x'
--! 42703
COMMENT ON INDEX nosuch IS 'x'
--! 42P01
COMMENT ON CONSTRAINT nosuch ON book IS 'x'
--! 42704
COMMENT ON SEQUENCE nosuch IS 'x'
--! 42P01
COMMENT ON SCHEMA nosuch IS 'x'
--! 3F000
COMMENT ON DATABASE nosuch IS 'x'
-- privileges and visibility
SELECT has_table_privilege('book', 'SELECT'), has_table_privilege('book', 'select, update'), has_schema_privilege('public', 'CREATE'), has_table_privilege(current_user, 'book', 'DELETE')
--> t|t|t|t
SELECT has_table_privilege('book', 'EAT')
--! 22023
SELECT has_table_privilege('nosuch', 'SELECT')
--! 42P01
SELECT has_column_privilege('book', 'title', 'SELECT')
--> t
SELECT has_column_privilege('book', 'nosuch', 'SELECT')
--! 42703
SELECT pg_has_role(current_user, 'USAGE'), has_sequence_privilege('sq', 'USAGE')
--> t|t
SELECT pg_table_is_visible('book'::regclass), pg_table_is_visible('pg_class'::regclass), pg_table_is_visible('information_schema.tables'::regclass), pg_table_is_visible(0) IS NULL
--> t|t|f|t
SELECT pg_get_userbyid(99999999)
--> unknown (OID=99999999)
SELECT pg_size_pretty(10240::bigint), pg_size_pretty(1::bigint)
--> 10 kB|1 bytes
-- what a transaction defines, it sees
BEGIN
CREATE TABLE fresh (id int PRIMARY KEY)
SELECT relname FROM pg_class WHERE relname LIKE 'fresh%' ORDER BY 1
--> fresh
--> fresh_pkey
DROP TABLE fresh
SELECT count(*) FROM pg_class WHERE relname LIKE 'fresh%'
--> 0
ROLLBACK
SELECT count(*) FROM pg_class WHERE relname LIKE 'fresh%'
--> 0
-- writes are refused
UPDATE pg_tables SET tablename = 'x'
--! 55000
INSERT INTO pg_tables (tablename) VALUES ('x')
--! 55000
DELETE FROM information_schema.columns
--! 55000
DROP TABLE pg_class
--! 42501
CREATE TABLE pg_catalog.mine (id int)
--! 42501
ALTER TABLE pg_class ADD COLUMN x int
--! 42501
SELECT * FROM pg_catalog.nosuch
--! 42P01
SELECT * FROM information_schema.nosuch
--! 42P01
SELECT nosuch FROM pg_class
--! 42703
-- a user's table does not hide one of the catalog
SELECT count(*) > 50 FROM (SELECT relname FROM pg_class EXCEPT SELECT 'x') s
--> t
WITH pg_class AS (SELECT 1 AS one) SELECT * FROM pg_class
--> 1
SELECT count(*) FROM pg_catalog.pg_class a, LATERAL (SELECT attname FROM pg_catalog.pg_attribute b WHERE b.attrelid = a.oid AND b.attnum > 0) s WHERE a.relname = 'book'
--> 5
-- foreign keys
CREATE TABLE fkp (a int, b int, PRIMARY KEY (a, b), UNIQUE (b))
CREATE TABLE fkc (x int, y int, z int REFERENCES fkp (b) ON UPDATE CASCADE, CONSTRAINT fkboth FOREIGN KEY (x, y) REFERENCES fkp MATCH FULL ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED)
SELECT conname, contype, condeferrable, condeferred, convalidated, conrelid::regclass, conindid::regclass, confrelid::regclass, confupdtype, confdeltype, confmatchtype, conkey, confkey, confdelsetcols FROM pg_constraint WHERE contype = 'f' AND conrelid = 'fkc'::regclass ORDER BY conname
--> fkboth|f|t|t|t|fkc|fkp_pkey|fkp|a|n|f|{1,2}|{1,2}|NULL
--> fkc_z_fkey|f|f|f|t|fkc|fkp_b_key|fkp|c|a|s|{3}|{2}|NULL
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' AND conrelid = 'fkc'::regclass ORDER BY conname
--> fkboth|FOREIGN KEY (x, y) REFERENCES fkp(a, b) MATCH FULL ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED
--> fkc_z_fkey|FOREIGN KEY (z) REFERENCES fkp(b) ON UPDATE CASCADE
SELECT relname, relhastriggers FROM pg_class WHERE relname IN ('fkp', 'fkc') ORDER BY 1
--> fkc|t
--> fkp|t
SELECT constraint_name, unique_constraint_name, match_option, update_rule, delete_rule FROM information_schema.referential_constraints WHERE constraint_name IN ('fkboth', 'fkc_z_fkey') ORDER BY 1
--> fkboth|fkp_pkey|FULL|NO ACTION|SET NULL
--> fkc_z_fkey|fkp_b_key|NONE|CASCADE|NO ACTION
SELECT constraint_name, column_name, ordinal_position, position_in_unique_constraint FROM information_schema.key_column_usage WHERE table_name = 'fkc' ORDER BY 1, 3
--> fkboth|x|1|1
--> fkboth|y|2|2
--> fkc_z_fkey|z|1|1
SELECT table_name, column_name, constraint_name FROM information_schema.constraint_column_usage WHERE constraint_name IN ('fkboth', 'fkc_z_fkey') ORDER BY 3, 2
--> fkp|a|fkboth
--> fkp|b|fkboth
--> fkp|b|fkc_z_fkey
SELECT constraint_name, constraint_type, is_deferrable, initially_deferred FROM information_schema.table_constraints WHERE table_name = 'fkc' AND constraint_type = 'FOREIGN KEY' ORDER BY 1
--> fkboth|FOREIGN KEY|YES|YES
--> fkc_z_fkey|FOREIGN KEY|NO|NO
COMMENT ON CONSTRAINT fkboth ON fkc IS 'both of them'
SELECT description FROM pg_description d JOIN pg_constraint c ON c.oid = d.objoid WHERE conname = 'fkboth'
--> both of them
ALTER TABLE fkc RENAME CONSTRAINT fkboth TO fkpair
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'fkpair'
--> both of them
COMMENT ON CONSTRAINT nosuch ON fkc IS 'x'
--! 42704
SELECT conname FROM pg_constraint WHERE conindid = 'fkp_pkey'::regclass ORDER BY 1
--> fkp_pkey
--> fkpair
SELECT quote_ident('ilike'), quote_ident('a$b'), format('%I', 'authorization')
--> "ilike"|"a$b"|"authorization"
ALTER TABLE fkc DROP CONSTRAINT fkpair
SELECT count(*) FROM pg_description WHERE description = 'both of them'
--> 0

-- Names that are made of long ones.
CREATE TABLE xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (id serial PRIMARY KEY, yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy int UNIQUE, zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz int CHECK (zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz > 0), a int CHECK (a > 1) CHECK (a < 9));
CREATE TABLE wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww (id int PRIMARY KEY, vvvvvvvvvvvvvvvvvvvvvvvvvvvvvv int REFERENCES xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, UNIQUE (id, vvvvvvvvvvvvvvvvvvvvvvvvvvvvvv));
CREATE INDEX ON xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy, zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz);
CREATE INDEX ON xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy);
CREATE INDEX ON xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy);
INSERT INTO xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (id) VALUES (1), (1);
--! 23505
SELECT conname FROM pg_constraint WHERE conrelid IN ('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'::regclass, 'wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww'::regclass) ORDER BY 1;
--> wwwwwwwwwwwwwwwwwwwwwwwwwwwww_id_vvvvvvvvvvvvvvvvvvvvvvvvvv_key
--> wwwwwwwwwwwwwwwwwwwwwwwwwwwww_vvvvvvvvvvvvvvvvvvvvvvvvvvvv_fkey
--> wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww_pkey
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxx_zzzzzzzzzzzzzzzzzzzzzzzzzzzz_check
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyyy_key
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_a_check1
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_a_check
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_pkey
SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'::regclass ORDER BY 1;
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyy_idx1
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyy_idx2
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyyy_idx
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyyy_key
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_pkey
SELECT relname FROM pg_class WHERE relname LIKE 'xxxx%' ORDER BY 1;
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyy_idx1
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyy_idx2
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyyy_idx
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxx_yyyyyyyyyyyyyyyyyyyyyyyyyyyyy_key
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_id_seq
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_pkey
--> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
SELECT pg_get_serial_sequence('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'id');
--> public.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_id_seq
DROP TABLE wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx;

-- What psql asks of things that there are none of, and of functions and operators.

CREATE TABLE tools_p (id serial PRIMARY KEY, g int GENERATED ALWAYS AS IDENTITY);
CREATE VIEW tools_v AS SELECT id FROM tools_p;
SELECT * FROM pg_partition_ancestors('tools_p');
SELECT * FROM pg_partition_tree('tools_p');
SELECT * FROM pg_options_to_table('{a=1,b,c=,d=e=f}');
--> a|1
--> b|NULL
--> c|
--> d|e=f
SELECT * FROM pg_options_to_table('{NULL}');
--! 22004
SELECT pg_char_to_encoding('UTF8'), pg_char_to_encoding('utf-8'), pg_char_to_encoding('SQL_ASCII'), pg_char_to_encoding('x');
--> 6|6|0|-1
SELECT count(*), min(word), max(word) FROM pg_get_keywords();
--> 460|abort|zone
SELECT * FROM pg_get_keywords() WHERE word IN ('abort', 'select', 'between', 'left', 'year') ORDER BY word;
--> abort|U|t|unreserved|can be bare label
--> between|C|t|unreserved (cannot be function or type name)|can be bare label
--> left|T|t|reserved (can be function or type name)|can be bare label
--> select|R|t|reserved|can be bare label
--> year|U|f|unreserved|requires AS
SELECT * FROM pg_user_mappings;
SELECT acldefault('r', 10), acldefault('c', 10), acldefault('f', 10), acldefault('d', 10);
--> {osier=arwdDxt/osier}|{}|{=X/osier,osier=X/osier}|{=Tc/osier,osier=CTc/osier}
SELECT pg_describe_object('pg_class'::regclass, 'tools_p'::regclass, 0), pg_describe_object('pg_class'::regclass, 'tools_p'::regclass, 1);
--> table tools_p|column id of table tools_p
SELECT pg_describe_object('pg_class'::regclass, 'tools_v'::regclass, 0), pg_describe_object('pg_class'::regclass, 'tools_p_id_seq'::regclass, 0);
--> view tools_v|sequence tools_p_id_seq
SELECT pg_describe_object('pg_class'::regclass, 'tools_p_pkey'::regclass, 0), pg_describe_object('pg_type'::regclass, 'int4'::regtype, 0);
--> index tools_p_pkey|type integer
SELECT pg_describe_object('pg_constraint'::regclass, oid, 0) FROM pg_constraint WHERE conname = 'tools_p_pkey';
--> constraint tools_p_pkey on table tools_p
SELECT pg_describe_object('pg_attrdef'::regclass, oid, 0) FROM pg_attrdef WHERE adrelid = 'tools_p'::regclass;
--> default value for column id of table tools_p
SELECT pg_describe_object('pg_namespace'::regclass, 'public'::regnamespace, 0), pg_describe_object('pg_authid'::regclass, 'osier'::regrole, 0), pg_describe_object(0, 0, 0);
--> schema public|role osier|NULL
SELECT 'now()'::regprocedure, 'upper(text)'::regprocedure, '+(int,int)'::regoperator, '-(NONE, int)'::regoperator, 0::regprocedure;
--> now()|upper(text)|+(integer,integer)|-(NONE,integer)|-
SELECT 'x'::regprocedure;
--! 22P02
SELECT 'x()'::regprocedure;
--! 42883
SELECT 'now(foo)'::regprocedure;
--! 42704
SELECT '+'::regoperator;
--! 22P02
SELECT '+(int)'::regoperator;
--! 42P02
SELECT '+(int,bool)'::regoperator;
--! 42883
SELECT 'trigger'::regtype;
--> trigger
SELECT 'x'::trigger;
--! 0A000
CREATE TABLE tools_t (a trigger);
--! 42P16
SELECT pg_get_serial_sequence('tools_p', 'id'), pg_get_serial_sequence('tools_p', 'g'), pg_get_serial_sequence('tools_v', 'id');
--> public.tools_p_id_seq|public.tools_p_g_seq|NULL
SELECT pg_get_serial_sequence('tools_v', 'nope');
--! 42703
SELECT pg_get_serial_sequence('tools_nope', 'id');
--! 42P01
SELECT pg_size_pretty(12.5::numeric), pg_size_pretty(10240::numeric), pg_size_pretty(1e15::numeric);
--> 12.5 bytes|10 kB|909 TB
SHOW password_encryption;
--> scram-sha-256
CREATE TABLE tools_i (a bigint NOT NULL, b int NOT NULL);
ALTER TABLE public.tools_i ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME public.tools_own START WITH 10 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);
ALTER TABLE tools_i ALTER b ADD GENERATED BY DEFAULT AS IDENTITY (INCREMENT BY 5 SEQUENCE NAME tools_own);
--! 42P07
ALTER TABLE tools_i ALTER b ADD GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME pg_temp.tools_b);
--! 55000
ALTER TABLE tools_i ALTER b ADD GENERATED BY DEFAULT AS IDENTITY;
INSERT INTO tools_i DEFAULT VALUES RETURNING *;
--> 10|1
SELECT pg_get_serial_sequence('tools_i', 'a'), pg_get_serial_sequence('tools_i', 'b');
--> public.tools_own|public.tools_i_b_seq
DROP TABLE tools_i;
DROP VIEW tools_v;
DROP TABLE tools_p;
