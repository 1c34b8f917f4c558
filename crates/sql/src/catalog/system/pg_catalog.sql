Views of pg_catalog. A line with two hyphens and a name begins the query of the view with that name.

-- pg_roles
SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolconnlimit,
    '********'::text AS rolpassword, rolvaliduntil, rolbypassrls, NULL::text[] AS rolconfig, oid
FROM pg_catalog.pg_authid

-- pg_shadow
SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper, rolreplication AS userepl,
    rolbypassrls AS usebypassrls, rolpassword AS passwd, rolvaliduntil AS valuntil, NULL::text[] AS useconfig
FROM pg_catalog.pg_authid WHERE rolcanlogin

-- pg_user
SELECT usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls, '********'::text AS passwd, valuntil, useconfig
FROM pg_catalog.pg_shadow

-- pg_group
SELECT rolname AS groname, oid AS grosysid,
    ARRAY(SELECT member FROM pg_catalog.pg_auth_members WHERE roleid = a.oid) AS grolist
FROM pg_catalog.pg_authid a WHERE NOT rolcanlogin

-- pg_tables
SELECT n.nspname AS schemaname, c.relname AS tablename, pg_catalog.pg_get_userbyid(c.relowner) AS tableowner,
    t.spcname AS tablespace, c.relhasindex AS hasindexes, c.relhasrules AS hasrules, c.relhastriggers AS hastriggers,
    c.relrowsecurity AS rowsecurity
FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace
WHERE c.relkind IN ('r', 'p')

-- pg_views
SELECT n.nspname AS schemaname, c.relname AS viewname, pg_catalog.pg_get_userbyid(c.relowner) AS viewowner,
    pg_catalog.pg_get_viewdef(c.oid) AS definition
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v'

-- pg_matviews
SELECT n.nspname AS schemaname, c.relname AS matviewname, pg_catalog.pg_get_userbyid(c.relowner) AS matviewowner,
    t.spcname AS tablespace, c.relhasindex AS hasindexes, c.relispopulated AS ispopulated,
    pg_catalog.pg_get_viewdef(c.oid) AS definition
FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace
WHERE c.relkind = 'm'

-- pg_indexes
SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname, t.spcname AS tablespace,
    pg_catalog.pg_get_indexdef(i.oid) AS indexdef
FROM pg_catalog.pg_index x
    JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
    JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = i.reltablespace
WHERE c.relkind IN ('r', 'm', 'p') AND i.relkind IN ('i', 'I')

-- pg_sequences
SELECT n.nspname AS schemaname, c.relname AS sequencename, pg_catalog.pg_get_userbyid(c.relowner) AS sequenceowner,
    s.seqtypid::regtype AS data_type, s.seqstart AS start_value, s.seqmin AS min_value, s.seqmax AS max_value,
    s.seqincrement AS increment_by, s.seqcycle AS cycle, s.seqcache AS cache_size,
    pg_catalog.pg_sequence_last_value(c.oid) AS last_value
FROM pg_catalog.pg_sequence s
    JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace

-- pg_stat_all_tables
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname, NULL::bigint AS seq_scan, NULL::bigint AS seq_tup_read,
    NULL::bigint AS idx_scan, NULL::bigint AS idx_tup_fetch, NULL::bigint AS n_tup_ins, NULL::bigint AS n_tup_upd,
    NULL::bigint AS n_tup_del, NULL::bigint AS n_tup_hot_upd, NULL::bigint AS n_live_tup, NULL::bigint AS n_dead_tup,
    NULL::bigint AS n_mod_since_analyze, NULL::bigint AS n_ins_since_vacuum, NULL::timestamptz AS last_vacuum,
    NULL::timestamptz AS last_autovacuum, NULL::timestamptz AS last_analyze, NULL::timestamptz AS last_autoanalyze,
    NULL::bigint AS vacuum_count, NULL::bigint AS autovacuum_count, NULL::bigint AS analyze_count,
    NULL::bigint AS autoanalyze_count
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 't', 'm', 'p')

-- pg_stat_user_tables
SELECT * FROM pg_catalog.pg_stat_all_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')

-- pg_statio_all_tables
SELECT relid, schemaname, relname, NULL::bigint AS heap_blks_read, NULL::bigint AS heap_blks_hit,
    NULL::bigint AS idx_blks_read, NULL::bigint AS idx_blks_hit, NULL::bigint AS toast_blks_read,
    NULL::bigint AS toast_blks_hit, NULL::bigint AS tidx_blks_read, NULL::bigint AS tidx_blks_hit
FROM pg_catalog.pg_stat_all_tables

-- pg_statio_user_tables
SELECT * FROM pg_catalog.pg_statio_all_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')

-- pg_stat_all_indexes
SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname, i.relname AS indexrelname,
    NULL::bigint AS idx_scan, NULL::bigint AS idx_tup_read, NULL::bigint AS idx_tup_fetch
FROM pg_catalog.pg_index x
    JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
    JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace

-- pg_stat_user_indexes
SELECT * FROM pg_catalog.pg_stat_all_indexes WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
