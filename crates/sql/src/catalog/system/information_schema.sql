Views of information_schema. A line with two hyphens and a name begins the query of the view with that name.

-- information_schema_catalog_name
SELECT current_database() AS catalog_name

-- schemata
SELECT current_database() AS catalog_name, n.nspname AS schema_name, a.rolname AS schema_owner,
    NULL::name AS default_character_set_catalog, NULL::name AS default_character_set_schema,
    NULL::name AS default_character_set_name, NULL::varchar AS sql_path
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_authid a ON a.oid = n.nspowner
WHERE pg_catalog.pg_has_role(n.nspowner, 'USAGE') OR pg_catalog.has_schema_privilege(n.oid, 'CREATE, USAGE')

-- tables
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
    (CASE WHEN n.oid = pg_catalog.pg_my_temp_schema() THEN 'LOCAL TEMPORARY' WHEN c.relkind = 'v' THEN 'VIEW'
        WHEN c.relkind = 'f' THEN 'FOREIGN' ELSE 'BASE TABLE' END)::varchar AS table_type,
    NULL::name AS self_referencing_column_name, NULL::varchar AS reference_generation,
    NULL::name AS user_defined_type_catalog, NULL::name AS user_defined_type_schema, NULL::name AS user_defined_type_name,
    (CASE WHEN pg_catalog.pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END)::varchar
        AS is_insertable_into,
    'NO'::varchar AS is_typed, NULL::varchar AS commit_action
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'f', 'p') AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)
    AND (pg_catalog.pg_has_role(c.relowner, 'USAGE')
        OR pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- columns
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
    a.attname AS column_name, a.attnum::integer AS ordinal_position,
    (CASE WHEN a.attgenerated = '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END)::varchar AS column_default,
    (CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END)::varchar AS is_nullable,
    (CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' WHEN t.typtype = 'e' THEN 'USER-DEFINED'
        ELSE pg_catalog.format_type(a.atttypid, NULL) END)::varchar
        AS data_type,
    CASE WHEN a.atttypid IN (1042, 1043) AND a.atttypmod > 0 THEN a.atttypmod - 4 END AS character_maximum_length,
    CASE WHEN a.atttypid IN (25, 1042, 1043)
        THEN CASE WHEN a.atttypid = 25 OR a.atttypmod < 0 THEN 1073741824 ELSE (a.atttypmod - 4) * 4 END END
        AS character_octet_length,
    CASE a.atttypid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
        WHEN 1700 THEN CASE WHEN a.atttypmod > 0 THEN ((a.atttypmod - 4) >> 16) & 65535 END END AS numeric_precision,
    CASE WHEN a.atttypid IN (21, 23, 20, 700, 701) THEN 2 WHEN a.atttypid = 1700 THEN 10 END AS numeric_precision_radix,
    CASE WHEN a.atttypid IN (21, 23, 20) THEN 0
        WHEN a.atttypid = 1700 AND a.atttypmod > 0 THEN (a.atttypmod - 4) & 65535 END AS numeric_scale,
    CASE WHEN a.atttypid = 1082 THEN 0
        WHEN a.atttypid IN (1083, 1114, 1184, 1266) THEN CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END
        WHEN a.atttypid = 1186 THEN 6 END AS datetime_precision,
    NULL::varchar AS interval_type, NULL::integer AS interval_precision,
    NULL::name AS character_set_catalog, NULL::name AS character_set_schema, NULL::name AS character_set_name,
    CASE WHEN a.attcollation NOT IN (0, 100) THEN current_database() END AS collation_catalog,
    CASE WHEN a.attcollation NOT IN (0, 100) THEN 'pg_catalog'::name END AS collation_schema,
    CASE WHEN a.attcollation NOT IN (0, 100) THEN o.collname END AS collation_name,
    NULL::name AS domain_catalog, NULL::name AS domain_schema, NULL::name AS domain_name,
    current_database() AS udt_catalog, tn.nspname AS udt_schema, t.typname AS udt_name,
    NULL::name AS scope_catalog, NULL::name AS scope_schema, NULL::name AS scope_name,
    NULL::integer AS maximum_cardinality, (a.attnum::text)::name AS dtd_identifier, 'NO'::varchar AS is_self_referencing,
    (CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END)::varchar AS is_identity,
    (CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END)::varchar AS identity_generation,
    (CASE WHEN a.attidentity IN ('a', 'd') THEN s.seqstart END)::varchar AS identity_start,
    (CASE WHEN a.attidentity IN ('a', 'd') THEN s.seqincrement END)::varchar AS identity_increment,
    (CASE WHEN a.attidentity IN ('a', 'd') THEN s.seqmax END)::varchar AS identity_maximum,
    (CASE WHEN a.attidentity IN ('a', 'd') THEN s.seqmin END)::varchar AS identity_minimum,
    (CASE WHEN a.attidentity IN ('a', 'd') AND s.seqcycle THEN 'YES' ELSE 'NO' END)::varchar AS identity_cycle,
    (CASE WHEN a.attgenerated = '' THEN 'NEVER' ELSE 'ALWAYS' END)::varchar AS is_generated,
    (CASE WHEN a.attgenerated <> '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END)::varchar AS generation_expression,
    (CASE WHEN pg_catalog.pg_column_is_updatable(c.oid, a.attnum, false) THEN 'YES' ELSE 'NO' END)::varchar AS is_updatable
FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation
    LEFT JOIN (SELECT dep.refobjid, dep.refobjsubid, seq.* FROM pg_catalog.pg_depend dep
            JOIN pg_catalog.pg_sequence seq ON seq.seqrelid = dep.objid
        WHERE dep.classid = 1259 AND dep.deptype = 'i') s
        ON s.refobjid = a.attrelid AND s.refobjsubid = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
    AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)
    AND (pg_catalog.pg_has_role(c.relowner, 'USAGE')
        OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- table_constraints
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name,
    current_database() AS table_catalog, tn.nspname AS table_schema, c.relname AS table_name,
    (CASE k.contype WHEN 'c' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END)::varchar
        AS constraint_type,
    (CASE WHEN k.condeferrable THEN 'YES' ELSE 'NO' END)::varchar AS is_deferrable,
    (CASE WHEN k.condeferred THEN 'YES' ELSE 'NO' END)::varchar AS initially_deferred,
    'YES'::varchar AS enforced,
    (CASE WHEN k.contype = 'u' THEN 'YES' END)::varchar AS nulls_distinct
FROM pg_catalog.pg_constraint k
    JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
    JOIN pg_catalog.pg_namespace tn ON tn.oid = c.relnamespace
WHERE k.contype IN ('c', 'f', 'p', 'u') AND NOT pg_catalog.pg_is_other_temp_schema(tn.oid)
UNION ALL
SELECT current_database(), n.nspname, (n.oid::text || '_' || c.oid::text || '_' || a.attnum::text || '_not_null')::name,
    current_database(), n.nspname, c.relname, 'CHECK'::varchar, 'NO'::varchar, 'NO'::varchar, 'YES'::varchar, NULL::varchar
FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')
    AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)

-- check_constraints
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name,
    substring(pg_catalog.pg_get_constraintdef(k.oid) from 7)::varchar AS check_clause
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
WHERE k.contype = 'c'
UNION ALL
SELECT current_database(), n.nspname, (n.oid::text || '_' || c.oid::text || '_' || a.attnum::text || '_not_null')::name,
    (a.attname::text || ' IS NOT NULL')::varchar
FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')

-- key_column_usage
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name,
    current_database() AS table_catalog, tn.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name,
    s.n AS ordinal_position, CASE WHEN k.contype = 'f' THEN s.n END AS position_in_unique_constraint
FROM pg_catalog.pg_constraint k
    JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
    JOIN pg_catalog.pg_namespace tn ON tn.oid = c.relnamespace
    CROSS JOIN LATERAL generate_subscripts(k.conkey, 1) AS s(n)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[s.n]
WHERE k.contype IN ('f', 'p', 'u')

-- constraint_column_usage
SELECT current_database() AS table_catalog, tn.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name,
    current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name
FROM pg_catalog.pg_constraint k
    JOIN pg_catalog.pg_class c ON c.oid = CASE WHEN k.contype = 'f' THEN k.confrelid ELSE k.conrelid END
    JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
    JOIN pg_catalog.pg_namespace tn ON tn.oid = c.relnamespace
    CROSS JOIN LATERAL unnest(CASE WHEN k.contype = 'f' THEN k.confkey ELSE k.conkey END) AS s(number)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.number
WHERE k.contype IN ('c', 'f', 'p', 'u')

-- constraint_table_usage
SELECT current_database() AS table_catalog, tn.nspname AS table_schema, c.relname AS table_name,
    current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name
FROM pg_catalog.pg_constraint k
    JOIN pg_catalog.pg_class c ON c.oid = CASE WHEN k.contype = 'f' THEN k.confrelid ELSE k.conrelid END
    JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
    JOIN pg_catalog.pg_namespace tn ON tn.oid = c.relnamespace
WHERE k.contype IN ('f', 'p', 'u')

-- referential_constraints
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name,
    current_database() AS unique_constraint_catalog, un.nspname AS unique_constraint_schema,
    u.conname AS unique_constraint_name,
    (CASE k.confmatchtype WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' WHEN 's' THEN 'NONE' END)::varchar AS match_option,
    (CASE k.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
        WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END)::varchar AS update_rule,
    (CASE k.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
        WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END)::varchar AS delete_rule
FROM pg_catalog.pg_constraint k
    JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
    LEFT JOIN pg_catalog.pg_constraint u ON u.conindid = k.conindid AND u.contype IN ('p', 'u')
    LEFT JOIN pg_catalog.pg_namespace un ON un.oid = u.connamespace
WHERE k.contype = 'f'

-- views
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
    (CASE WHEN pg_catalog.pg_has_role(c.relowner, 'USAGE') THEN pg_catalog.pg_get_viewdef(c.oid) END)::varchar
        AS view_definition,
    (CASE WHEN 'check_option=cascaded' = ANY (c.reloptions) THEN 'CASCADED'
        WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL' ELSE 'NONE' END)::varchar AS check_option,
    (CASE WHEN pg_catalog.pg_relation_is_updatable(c.oid, false) & 20 = 20 THEN 'YES' ELSE 'NO' END)::varchar AS is_updatable,
    (CASE WHEN pg_catalog.pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END)::varchar
        AS is_insertable_into,
    'NO'::varchar AS is_trigger_updatable, 'NO'::varchar AS is_trigger_deletable,
    'NO'::varchar AS is_trigger_insertable_into
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v'
    AND (pg_catalog.pg_has_role(c.relowner, 'USAGE')
        OR pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- sequences
SELECT current_database() AS sequence_catalog, n.nspname AS sequence_schema, c.relname AS sequence_name,
    pg_catalog.format_type(s.seqtypid, NULL)::varchar AS data_type,
    CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END AS numeric_precision, 2 AS numeric_precision_radix,
    0 AS numeric_scale, s.seqstart::varchar AS start_value, s.seqmin::varchar AS minimum_value,
    s.seqmax::varchar AS maximum_value, s.seqincrement::varchar AS increment,
    (CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END)::varchar AS cycle_option
FROM pg_catalog.pg_sequence s
    JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'i')
    AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)

-- routines
SELECT current_database() AS specific_catalog, n.nspname AS specific_schema,
    (p.proname::text || '_' || p.oid::text)::name AS specific_name, current_database() AS routine_catalog,
    n.nspname AS routine_schema, p.proname AS routine_name,
    (CASE p.prokind WHEN 'p' THEN 'PROCEDURE' WHEN 'f' THEN 'FUNCTION' END)::varchar AS routine_type,
    NULL::name AS module_catalog, NULL::name AS module_schema, NULL::name AS module_name,
    NULL::name AS udt_catalog, NULL::name AS udt_schema, NULL::name AS udt_name,
    (CASE WHEN p.prokind <> 'p' THEN CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY'
        ELSE pg_catalog.format_type(p.prorettype, NULL) END END)::varchar AS data_type,
    NULL::integer AS character_maximum_length, NULL::integer AS character_octet_length,
    NULL::name AS character_set_catalog, NULL::name AS character_set_schema, NULL::name AS character_set_name,
    NULL::name AS collation_catalog, NULL::name AS collation_schema, NULL::name AS collation_name,
    NULL::integer AS numeric_precision, NULL::integer AS numeric_precision_radix, NULL::integer AS numeric_scale,
    NULL::integer AS datetime_precision, NULL::varchar AS interval_type, NULL::integer AS interval_precision,
    CASE WHEN p.prokind <> 'p' THEN current_database() END AS type_udt_catalog,
    CASE WHEN p.prokind <> 'p' THEN tn.nspname END AS type_udt_schema,
    CASE WHEN p.prokind <> 'p' THEN t.typname END AS type_udt_name,
    NULL::name AS scope_catalog, NULL::name AS scope_schema, NULL::name AS scope_name, NULL::integer AS maximum_cardinality,
    CASE WHEN p.prokind <> 'p' THEN '0'::name END AS dtd_identifier,
    'EXTERNAL'::varchar AS routine_body, p.prosrc::varchar AS routine_definition, p.proname::varchar AS external_name,
    upper(l.lanname::text)::varchar AS external_language, 'GENERAL'::varchar AS parameter_style,
    (CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END)::varchar AS is_deterministic,
    'MODIFIES'::varchar AS sql_data_access,
    (CASE WHEN p.prokind <> 'p' THEN CASE WHEN p.proisstrict THEN 'YES' ELSE 'NO' END END)::varchar AS is_null_call,
    NULL::varchar AS sql_path, 'YES'::varchar AS schema_level_routine, 0 AS max_dynamic_result_sets,
    NULL::varchar AS is_user_defined_cast, NULL::varchar AS is_implicitly_invocable,
    (CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END)::varchar AS security_type,
    NULL::name AS to_sql_specific_catalog, NULL::name AS to_sql_specific_schema, NULL::name AS to_sql_specific_name,
    'NO'::varchar AS as_locator, NULL::timestamptz AS created, NULL::timestamptz AS last_altered,
    NULL::varchar AS new_savepoint_level, 'NO'::varchar AS is_udt_dependent,
    NULL::varchar AS result_cast_from_data_type, NULL::varchar AS result_cast_as_locator,
    NULL::integer AS result_cast_char_max_length, NULL::integer AS result_cast_char_octet_length,
    NULL::name AS result_cast_char_set_catalog, NULL::name AS result_cast_char_set_schema,
    NULL::name AS result_cast_char_set_name, NULL::name AS result_cast_collation_catalog,
    NULL::name AS result_cast_collation_schema, NULL::name AS result_cast_collation_name,
    NULL::integer AS result_cast_numeric_precision, NULL::integer AS result_cast_numeric_precision_radix,
    NULL::integer AS result_cast_numeric_scale, NULL::integer AS result_cast_datetime_precision,
    NULL::varchar AS result_cast_interval_type, NULL::integer AS result_cast_interval_precision,
    NULL::name AS result_cast_type_udt_catalog, NULL::name AS result_cast_type_udt_schema,
    NULL::name AS result_cast_type_udt_name, NULL::name AS result_cast_scope_catalog,
    NULL::name AS result_cast_scope_schema, NULL::name AS result_cast_scope_name,
    NULL::integer AS result_cast_maximum_cardinality, NULL::name AS result_cast_dtd_identifier
FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_catalog.pg_language l ON l.oid = p.prolang
    LEFT JOIN pg_catalog.pg_type t ON t.oid = p.prorettype
    LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace

-- enabled_roles
SELECT rolname AS role_name FROM pg_catalog.pg_authid WHERE pg_catalog.pg_has_role(oid, 'USAGE')

-- applicable_roles
SELECT a.rolname AS grantee, b.rolname AS role_name,
    (CASE WHEN m.admin_option THEN 'YES' ELSE 'NO' END)::varchar AS is_grantable
FROM pg_catalog.pg_auth_members m
    JOIN pg_catalog.pg_authid a ON a.oid = m.member
    JOIN pg_catalog.pg_authid b ON b.oid = m.roleid

-- administrable_role_authorizations
SELECT grantee, role_name, is_grantable FROM information_schema.applicable_roles WHERE is_grantable = 'YES'

-- character_sets
SELECT NULL::name AS character_set_catalog, NULL::name AS character_set_schema,
    pg_catalog.pg_encoding_to_char(d.encoding) AS character_set_name, 'UCS'::name AS character_repertoire,
    pg_catalog.pg_encoding_to_char(d.encoding) AS form_of_use, current_database() AS default_collate_catalog,
    'pg_catalog'::name AS default_collate_schema, 'C'::name AS default_collate_name
FROM pg_catalog.pg_database d WHERE d.datname = current_database()

-- collations
SELECT current_database() AS collation_catalog, n.nspname AS collation_schema, c.collname AS collation_name,
    'NO PAD'::varchar AS pad_attribute
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace

-- table_privileges
SELECT trim('"' from split_part(i.item, '/', 2))::name AS grantor,
    coalesce(nullif(trim('"' from split_part(i.item, '=', 1)), ''), 'PUBLIC')::name AS grantee,
    current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
    p.word::varchar AS privilege_type,
    (CASE WHEN position(p.letter || '*' in split_part(i.item, '=', 2)) > 0
        OR pg_catalog.pg_get_userbyid(c.relowner) = trim('"' from split_part(i.item, '=', 1)) THEN 'YES' ELSE 'NO' END)::varchar
        AS is_grantable,
    (CASE WHEN p.word = 'SELECT' THEN 'YES' ELSE 'NO' END)::varchar AS with_hierarchy
FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_authid o ON o.oid = c.relowner
    CROSS JOIN LATERAL unnest(coalesce(c.relacl, ARRAY[o.rolname::text || '=arwdDxt/' || o.rolname::text])) AS i(item)
    CROSS JOIN (VALUES ('INSERT', 'a'), ('SELECT', 'r'), ('UPDATE', 'w'), ('DELETE', 'd'), ('TRUNCATE', 'D'),
        ('REFERENCES', 'x'), ('TRIGGER', 't')) AS p(word, letter)
WHERE c.relkind IN ('r', 'v', 'f', 'p') AND position(p.letter in split_part(split_part(i.item, '=', 2), '/', 1)) > 0

-- role_table_grants
SELECT * FROM information_schema.table_privileges WHERE grantee <> 'PUBLIC'

-- column_privileges
SELECT trim('"' from split_part(i.item, '/', 2))::name AS grantor,
    coalesce(nullif(trim('"' from split_part(i.item, '=', 1)), ''), 'PUBLIC')::name AS grantee,
    current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name,
    p.word::varchar AS privilege_type,
    (CASE WHEN position(p.letter || '*' in split_part(i.item, '=', 2)) > 0
        OR pg_catalog.pg_get_userbyid(c.relowner) = trim('"' from split_part(i.item, '=', 1)) THEN 'YES' ELSE 'NO' END)::varchar
        AS is_grantable
FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_authid o ON o.oid = c.relowner
    CROSS JOIN LATERAL unnest(coalesce(c.relacl, ARRAY[o.rolname::text || '=arwx/' || o.rolname::text])
        || coalesce(a.attacl, ARRAY[]::text[])) AS i(item)
    CROSS JOIN (VALUES ('SELECT', 'r'), ('INSERT', 'a'), ('UPDATE', 'w'), ('REFERENCES', 'x')) AS p(word, letter)
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
    AND position(p.letter in split_part(split_part(i.item, '=', 2), '/', 1)) > 0

-- role_column_grants
SELECT * FROM information_schema.column_privileges WHERE grantee <> 'PUBLIC'

-- column_udt_usage
SELECT current_database() AS udt_catalog, tn.nspname AS udt_schema, t.typname AS udt_name,
    current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name
FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')

-- element_types
SELECT current_database() AS object_catalog, n.nspname AS object_schema, c.relname AS object_name,
    (CASE WHEN c.relkind = 'v' THEN 'VIEW' ELSE 'TABLE' END)::varchar AS object_type,
    (a.attnum::text)::name AS collection_type_identifier,
    (CASE WHEN e.typtype = 'e' THEN 'USER-DEFINED' ELSE pg_catalog.format_type(e.oid, NULL) END)::varchar AS data_type, NULL::integer AS character_maximum_length,
    NULL::integer AS character_octet_length, NULL::name AS character_set_catalog, NULL::name AS character_set_schema,
    NULL::name AS character_set_name, NULL::name AS collation_catalog, NULL::name AS collation_schema,
    NULL::name AS collation_name, NULL::integer AS numeric_precision, NULL::integer AS numeric_precision_radix,
    NULL::integer AS numeric_scale, NULL::integer AS datetime_precision, NULL::varchar AS interval_type,
    NULL::integer AS interval_precision, NULL::varchar AS domain_default, current_database() AS udt_catalog,
    en.nspname AS udt_schema, e.typname AS udt_name, NULL::name AS scope_catalog, NULL::name AS scope_schema,
    NULL::name AS scope_name, NULL::integer AS maximum_cardinality, ('a' || a.attnum::text)::name AS dtd_identifier
FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_type e ON e.oid = t.typelem
    JOIN pg_catalog.pg_namespace en ON en.oid = e.typnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND t.typlen = -1 AND c.relkind IN ('r', 'v', 'f', 'p')

-- parameters
SELECT current_database() AS specific_catalog, n.nspname AS specific_schema,
    (p.proname::text || '_' || p.oid::text)::name AS specific_name, s.n AS ordinal_position,
    (CASE WHEN p.proargmodes IS NULL OR p.proargmodes[s.n] = 'i' THEN 'IN' ELSE 'OUT' END)::varchar AS parameter_mode,
    'NO'::varchar AS is_result, 'NO'::varchar AS as_locator, (p.proargnames[s.n])::name AS parameter_name,
    (CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' WHEN t.typtype = 'e' THEN 'USER-DEFINED'
        ELSE pg_catalog.format_type(t.oid, NULL) END)::varchar
        AS data_type,
    NULL::integer AS character_maximum_length, NULL::integer AS character_octet_length,
    NULL::name AS character_set_catalog, NULL::name AS character_set_schema, NULL::name AS character_set_name,
    NULL::name AS collation_catalog, NULL::name AS collation_schema, NULL::name AS collation_name,
    NULL::integer AS numeric_precision, NULL::integer AS numeric_precision_radix, NULL::integer AS numeric_scale,
    NULL::integer AS datetime_precision, NULL::varchar AS interval_type, NULL::integer AS interval_precision,
    current_database() AS udt_catalog, tn.nspname AS udt_schema, t.typname AS udt_name, NULL::name AS scope_catalog,
    NULL::name AS scope_schema, NULL::name AS scope_name, NULL::integer AS maximum_cardinality,
    (s.n::text)::name AS dtd_identifier, NULL::varchar AS parameter_default
FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    CROSS JOIN LATERAL generate_series(1, coalesce(cardinality(p.proallargtypes), p.pronargs::integer)) AS s(n)
    JOIN pg_catalog.pg_type t ON t.oid = coalesce(p.proallargtypes[s.n], p.proargtypes[s.n - 1])
    JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
