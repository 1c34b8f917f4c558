//! Functions that the catalog answers: definitions, names of numbers, comments, privileges and sizes.
//!
//! Invariant: what a function with a blank in its name does is a conversion. A statement reaches it by `::` and not by its name.

use super::functions;

/// A table of functions that the catalog answers, in the same way throughout a statement.
macro_rules! answered {
    ($($name:literal ($($p:ident),*) -> $r:ident;)*) => {
        functions! {
            /// Functions that the catalog answers.
            FUNCTIONS: $($name ($($p),*) -> $r [stable] = |call, a| call.environment.ask($name, a);)*
        }
    };
}

answered! {
    "regclass in" (Text) -> RegClass;
    "regtype in" (Text) -> RegType;
    "regproc in" (Text) -> RegProc;
    "regprocedure in" (Text) -> RegProcedure;
    "regoperator in" (Text) -> RegOperator;
    "regnamespace in" (Text) -> RegNamespace;
    "regrole in" (Text) -> RegRole;
    "regclass out" (RegClass) -> Text;
    "regtype out" (RegType) -> Text;
    "regproc out" (RegProc) -> Text;
    "regprocedure out" (RegProcedure) -> Text;
    "regoperator out" (RegOperator) -> Text;
    "regnamespace out" (RegNamespace) -> Text;
    "regrole out" (RegRole) -> Text;
    "regclass shown" (RegClass) -> RegClass;
    "regtype shown" (RegType) -> RegType;
    "regproc shown" (RegProc) -> RegProc;
    "regprocedure shown" (RegProcedure) -> RegProcedure;
    "regoperator shown" (RegOperator) -> RegOperator;
    "regnamespace shown" (RegNamespace) -> RegNamespace;
    "regrole shown" (RegRole) -> RegRole;
    "to_regclass" (Text) -> RegClass;
    "to_regtype" (Text) -> RegType;
    "to_regproc" (Text) -> RegProc;
    "to_regprocedure" (Text) -> RegProcedure;
    "to_regoperator" (Text) -> RegOperator;
    "to_regnamespace" (Text) -> RegNamespace;
    "to_regrole" (Text) -> RegRole;

    "current_schemas" (Bool) -> NameArray;
    "pg_get_userbyid" (Oid) -> Name;
    "pg_table_is_visible" (Oid) -> Bool;
    "pg_type_is_visible" (Oid) -> Bool;
    "pg_function_is_visible" (Oid) -> Bool;
    "pg_operator_is_visible" (Oid) -> Bool;
    "pg_opclass_is_visible" (Oid) -> Bool;
    "pg_opfamily_is_visible" (Oid) -> Bool;
    "pg_collation_is_visible" (Oid) -> Bool;
    "pg_conversion_is_visible" (Oid) -> Bool;
    "pg_statistics_obj_is_visible" (Oid) -> Bool;
    "pg_ts_config_is_visible" (Oid) -> Bool;
    "pg_ts_dict_is_visible" (Oid) -> Bool;
    "pg_ts_parser_is_visible" (Oid) -> Bool;
    "pg_ts_template_is_visible" (Oid) -> Bool;

    "pg_my_temp_schema" () -> Oid;
    "pg_is_other_temp_schema" (Oid) -> Bool;

    "pg_get_expr" (Text, Oid) -> Text;
    "pg_get_expr" (Text, Oid, Bool) -> Text;
    "pg_get_constraintdef" (Oid) -> Text;
    "pg_get_constraintdef" (Oid, Bool) -> Text;
    "pg_get_indexdef" (Oid) -> Text;
    "pg_get_indexdef" (Oid, Int4, Bool) -> Text;
    "pg_get_viewdef" (Oid) -> Text;
    "pg_get_viewdef" (Oid, Bool) -> Text;
    "pg_get_viewdef" (Oid, Int4) -> Text;
    "pg_get_viewdef" (Text) -> Text;
    "pg_get_viewdef" (Text, Bool) -> Text;
    "pg_get_ruledef" (Oid) -> Text;
    "pg_get_ruledef" (Oid, Bool) -> Text;
    "pg_get_triggerdef" (Oid) -> Text;
    "pg_get_triggerdef" (Oid, Bool) -> Text;
    "pg_get_partkeydef" (Oid) -> Text;
    "pg_get_partition_constraintdef" (Oid) -> Text;
    "pg_get_statisticsobjdef" (Oid) -> Text;
    "pg_get_statisticsobjdef_columns" (Oid) -> Text;
    "pg_get_serial_sequence" (Text, Text) -> Text;
    "pg_get_functiondef" (Oid) -> Text;
    "pg_get_function_result" (Oid) -> Text;
    "pg_get_function_arguments" (Oid) -> Text;
    "pg_get_function_identity_arguments" (Oid) -> Text;
    "pg_get_function_sqlbody" (Oid) -> Text;
    "pg_sequence_last_value" (RegClass) -> Int8;
    "pg_relation_is_publishable" (RegClass) -> Bool;
    "pg_relation_is_updatable" (RegClass, Bool) -> Int4;
    "pg_column_is_updatable" (RegClass, Int2, Bool) -> Bool;

    "pg_describe_object" (Oid, Oid, Int4) -> Text;
    "acldefault" (InternalChar, Oid) -> TextArray;
    "obj_description" (Oid) -> Text;
    "obj_description" (Oid, Name) -> Text;
    "col_description" (Oid, Int4) -> Text;
    "shobj_description" (Oid, Name) -> Text;

    "has_table_privilege" (Text, Text) -> Bool;
    "has_table_privilege" (Oid, Text) -> Bool;
    "has_table_privilege" (Name, Text, Text) -> Bool;
    "has_table_privilege" (Name, Oid, Text) -> Bool;
    "has_table_privilege" (Oid, Oid, Text) -> Bool;
    "has_any_column_privilege" (Text, Text) -> Bool;
    "has_any_column_privilege" (Oid, Text) -> Bool;
    "has_any_column_privilege" (Name, Text, Text) -> Bool;
    "has_any_column_privilege" (Name, Oid, Text) -> Bool;
    "has_any_column_privilege" (Oid, Oid, Text) -> Bool;
    "has_column_privilege" (Text, Text, Text) -> Bool;
    "has_column_privilege" (Oid, Text, Text) -> Bool;
    "has_column_privilege" (Oid, Int2, Text) -> Bool;
    "has_column_privilege" (Text, Int2, Text) -> Bool;
    "has_column_privilege" (Name, Text, Text, Text) -> Bool;
    "has_column_privilege" (Name, Text, Int2, Text) -> Bool;
    "has_column_privilege" (Name, Oid, Text, Text) -> Bool;
    "has_column_privilege" (Name, Oid, Int2, Text) -> Bool;
    "has_sequence_privilege" (Text, Text) -> Bool;
    "has_sequence_privilege" (Oid, Text) -> Bool;
    "has_sequence_privilege" (Name, Text, Text) -> Bool;
    "has_sequence_privilege" (Name, Oid, Text) -> Bool;
    "has_schema_privilege" (Text, Text) -> Bool;
    "has_schema_privilege" (Oid, Text) -> Bool;
    "has_schema_privilege" (Name, Text, Text) -> Bool;
    "has_schema_privilege" (Name, Oid, Text) -> Bool;
    "has_database_privilege" (Text, Text) -> Bool;
    "has_database_privilege" (Oid, Text) -> Bool;
    "has_database_privilege" (Name, Text, Text) -> Bool;
    "has_database_privilege" (Name, Oid, Text) -> Bool;
    "has_function_privilege" (Oid, Text) -> Bool;
    "has_function_privilege" (Text, Text) -> Bool;
    "has_function_privilege" (Name, Text, Text) -> Bool;
    "has_function_privilege" (Name, Oid, Text) -> Bool;
    "has_type_privilege" (Text, Text) -> Bool;
    "has_type_privilege" (Oid, Text) -> Bool;
    "has_type_privilege" (Name, Text, Text) -> Bool;
    "has_type_privilege" (Name, Oid, Text) -> Bool;
    "has_type_privilege" (Oid, Text, Text) -> Bool;
    "has_type_privilege" (Oid, Oid, Text) -> Bool;
    "has_language_privilege" (Text, Text) -> Bool;
    "has_tablespace_privilege" (Text, Text) -> Bool;
    "has_tablespace_privilege" (Oid, Text) -> Bool;
    "pg_has_role" (Name, Text) -> Bool;
    "pg_has_role" (Oid, Text) -> Bool;
    "pg_has_role" (Name, Name, Text) -> Bool;
    "pg_has_role" (Oid, Oid, Text) -> Bool;

    "pg_relation_size" (RegClass) -> Int8;
    "pg_relation_size" (RegClass, Text) -> Int8;
    "pg_total_relation_size" (RegClass) -> Int8;
    "pg_table_size" (RegClass) -> Int8;
    "pg_indexes_size" (RegClass) -> Int8;
    "pg_database_size" (Name) -> Int8;
    "pg_database_size" (Oid) -> Int8;
    "pg_tablespace_size" (Name) -> Int8;
    "pg_tablespace_size" (Oid) -> Int8;
    "pg_relation_filenode" (RegClass) -> Oid;
}
