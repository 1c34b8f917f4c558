//! What a statement fails with: an SQLSTATE, a message that names the object, and what PostgreSQL's clients show beside it.
//!
//! Invariant: errors of the engine become SQL errors here and nowhere else.

use std::fmt;

use osier::{Error, ProcedureError, TransactionError};

use crate::catalog::name::made_name;

/// What a statement gives, or why it fails.
pub type Result<T> = std::result::Result<T, SqlError>;

/// The conditions that statements fail with, and their codes in the SQL standard and PostgreSQL.
macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        /// A condition, which clients know by its code of five characters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum SqlState {
            $($(#[$doc])* $name,)*
        }

        impl SqlState {
            /// Returns the code.
            pub fn code(self) -> &'static str {
                match self {
                    $(SqlState::$name => $code,)*
                }
            }

            /// Returns the condition with that code, if it is one of these.
            pub fn of_code(code: &str) -> Option<SqlState> {
                match code {
                    $($code => Some(SqlState::$name),)*
                    _ => None,
                }
            }
        }
    };
}

states! {
    /// `successful_completion`.
    SuccessfulCompletion = "00000";
    /// `warning`.
    Warning = "01000";
    /// `protocol_violation`.
    ProtocolViolation = "08P01";
    /// `feature_not_supported`.
    FeatureNotSupported = "0A000";
    /// `cardinality_violation`.
    CardinalityViolation = "21000";
    /// `data_exception`.
    DataException = "22000";
    /// `string_data_right_truncation`.
    StringDataRightTruncation = "22001";
    /// `numeric_value_out_of_range`.
    NumericValueOutOfRange = "22003";
    /// `null_value_not_allowed`.
    NullValueNotAllowed = "22004";
    /// `invalid_datetime_format`.
    InvalidDatetimeFormat = "22007";
    /// `datetime_field_overflow`.
    DatetimeFieldOverflow = "22008";
    /// `substring_error`.
    SubstringError = "22011";
    /// `division_by_zero`.
    DivisionByZero = "22012";
    /// `interval_field_overflow`.
    IntervalFieldOverflow = "22015";
    /// `invalid_preceding_or_following_size`.
    InvalidPrecedingOrFollowingSize = "22013";
    /// `invalid_argument_for_ntile_function`.
    InvalidArgumentForNtile = "22014";
    /// `invalid_argument_for_nth_value_function`.
    InvalidArgumentForNthValue = "22016";
    /// `invalid_argument_for_width_bucket_function`.
    InvalidArgumentForWidthBucket = "2201G";
    /// `too_many_arguments`.
    TooManyArguments = "54023";
    /// `invalid_argument_for_logarithm`.
    InvalidArgumentForLogarithm = "2201E";
    /// `invalid_argument_for_power_function`.
    InvalidArgumentForPowerFunction = "2201F";
    /// `invalid_row_count_in_limit_clause`.
    InvalidRowCountInLimitClause = "2201W";
    /// `invalid_row_count_in_result_offset_clause`.
    InvalidRowCountInOffsetClause = "2201X";
    /// `invalid_regular_expression`.
    InvalidRegularExpression = "2201B";
    /// `character_not_in_repertoire`.
    CharacterNotInRepertoire = "22021";
    /// `invalid_parameter_value`.
    InvalidParameterValue = "22023";
    /// `invalid_escape_sequence`.
    InvalidEscapeSequence = "22025";
    /// `array_subscript_error`.
    ArraySubscriptError = "2202E";
    /// `invalid_text_representation`.
    InvalidTextRepresentation = "22P02";
    /// `invalid_binary_representation`.
    InvalidBinaryRepresentation = "22P03";
    /// `bad_copy_file_format`.
    BadCopyFileFormat = "22P04";
    /// `not_null_violation`.
    NotNullViolation = "23502";
    /// `foreign_key_violation`.
    ForeignKeyViolation = "23503";
    /// `unique_violation`.
    UniqueViolation = "23505";
    /// `check_violation`.
    CheckViolation = "23514";
    /// `invalid_cursor_state`.
    InvalidCursorState = "24000";
    /// `invalid_transaction_state`.
    InvalidTransactionState = "25000";
    /// `active_sql_transaction`.
    ActiveSqlTransaction = "25001";
    /// `read_only_sql_transaction`.
    ReadOnlySqlTransaction = "25006";
    /// `no_active_sql_transaction`.
    NoActiveSqlTransaction = "25P01";
    /// `in_failed_sql_transaction`.
    InFailedSqlTransaction = "25P02";
    /// `invalid_sql_statement_name`.
    InvalidSqlStatementName = "26000";
    /// `invalid_authorization_specification`.
    InvalidAuthorization = "28000";
    /// `invalid_password`.
    InvalidPassword = "28P01";
    /// `dependent_objects_still_exist`.
    DependentObjectsStillExist = "2BP01";
    /// `invalid_cursor_name`.
    InvalidCursorName = "34000";
    /// `with_check_option_violation`.
    WithCheckOptionViolation = "44000";
    /// `invalid_grant_operation`.
    InvalidGrantOperation = "0LP01";
    /// `invalid_savepoint_specification`.
    InvalidSavepointSpecification = "3B001";
    /// `invalid_catalog_name`.
    InvalidCatalogName = "3D000";
    /// `invalid_schema_name`.
    InvalidSchemaName = "3F000";
    /// `serialization_failure`.
    SerializationFailure = "40001";
    /// `deadlock_detected`.
    DeadlockDetected = "40P01";
    /// `syntax_error`.
    SyntaxError = "42601";
    /// `insufficient_privilege`.
    InsufficientPrivilege = "42501";
    /// `grouping_error`.
    GroupingError = "42803";
    /// `windowing_error`.
    WindowingError = "42P20";
    /// `invalid_recursion`.
    InvalidRecursion = "42P19";
    /// `datatype_mismatch`.
    DatatypeMismatch = "42804";
    /// `cannot_coerce`.
    CannotCoerce = "42846";
    /// `undefined_function`.
    UndefinedFunction = "42883";
    /// `undefined_column`.
    UndefinedColumn = "42703";
    /// `undefined_table`.
    UndefinedTable = "42P01";
    /// `undefined_parameter`.
    UndefinedParameter = "42P02";
    /// `undefined_object`.
    UndefinedObject = "42704";
    /// `duplicate_column`.
    DuplicateColumn = "42701";
    /// `duplicate_table`.
    DuplicateTable = "42P07";
    /// `duplicate_schema`.
    DuplicateSchema = "42P06";
    /// `duplicate_object`.
    DuplicateObject = "42710";
    /// `duplicate_alias`.
    DuplicateAlias = "42712";
    /// `duplicate_prepared_statement`.
    DuplicatePreparedStatement = "42P05";
    /// `duplicate_cursor`.
    DuplicateCursor = "42P03";
    /// `ambiguous_column`.
    AmbiguousColumn = "42702";
    /// `ambiguous_function`.
    AmbiguousFunction = "42725";
    /// `indeterminate_datatype`.
    IndeterminateDatatype = "42P18";
    /// `wrong_object_type`.
    WrongObjectType = "42809";
    /// `invalid_column_reference`.
    InvalidColumnReference = "42P10";
    /// `invalid_column_definition`.
    InvalidColumnDefinition = "42611";
    /// `invalid_table_definition`.
    InvalidTableDefinition = "42P16";
    /// `invalid_object_definition`.
    InvalidObjectDefinition = "42P17";
    /// `invalid_foreign_key`.
    InvalidForeignKey = "42830";
    /// `invalid_name`.
    InvalidName = "42602";
    /// `reserved_name`.
    ReservedName = "42939";
    /// `external_routine_invocation_exception`.
    ExternalRoutineInvocationException = "39000";
    /// `disk_full`.
    DiskFull = "53100";
    /// `out_of_memory`.
    OutOfMemory = "53200";
    /// `too_many_connections`.
    TooManyConnections = "53300";
    /// `program_limit_exceeded`.
    ProgramLimitExceeded = "54000";
    /// `statement_too_complex`.
    StatementTooComplex = "54001";
    /// `too_many_columns`.
    TooManyColumns = "54011";
    /// `object_not_in_prerequisite_state`.
    ObjectNotInPrerequisiteState = "55000";
    /// `object_in_use`.
    ObjectInUse = "55006";
    /// `lock_not_available`.
    LockNotAvailable = "55P03";
    /// `query_canceled`.
    QueryCanceled = "57014";
    /// `admin_shutdown`.
    AdminShutdown = "57P01";
    /// `cannot_connect_now`.
    CannotConnectNow = "57P03";
    /// `io_error`.
    IoError = "58030";
    /// `sequence_generator_limit_exceeded`.
    SequenceGeneratorLimitExceeded = "2200H";
    /// `raise_exception`: a procedure gave up, with no state of its own.
    RaiseException = "P0001";
    /// `internal_error`.
    InternalError = "XX000";
    /// `data_corrupted`.
    DataCorrupted = "XX001";
}

/// Why a statement failed, or what a notice says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The condition. What a procedure raised may have a code of its own: [`SqlError::code`].
    pub state: SqlState,
    /// What happened, with the names of the objects.
    pub message: String,
    /// What is rarely there.
    more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct More {
    code: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    position: Option<usize>,
    schema: Option<String>,
    table: Option<String>,
    column: Option<String>,
    constraint: Option<String>,
}

/// A field of an error that is text, and its setter.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident, $set:ident;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(&self) -> Option<&str> {
                self.more.as_ref()?.$name.as_deref()
            }

            #[doc = concat!("Sets [`SqlError::", stringify!($name), "`].")]
            #[must_use]
            pub fn $set(mut self, text: impl Into<String>) -> SqlError {
                self.more.get_or_insert_default().$name = Some(text.into());
                self
            }
        )*
    };
}

const CHANGED_SHAPE: &str = "cached plan must not change result type";

impl SqlError {
    /// Makes an error of a condition and a message.
    #[cold]
    pub fn new(state: SqlState, message: impl Into<String>) -> SqlError {
        SqlError { state, message: message.into(), more: None }
    }

    /// The error of a list that names a column twice.
    pub(crate) fn named_twice(column: &str) -> SqlError {
        SqlError::new(SqlState::DuplicateColumn, format!("column \"{column}\" specified more than once"))
    }

    /// Makes the error of a feature that is not there.
    #[cold]
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(SqlState::FeatureNotSupported, format!("{what} is not supported"))
    }

    /// Returns the code of five characters.
    pub fn code(&self) -> &str {
        self.more.as_ref().and_then(|more| more.code.as_deref()).unwrap_or(self.state.code())
    }

    /// Gives the error a code that a procedure has chosen.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> SqlError {
        self.more.get_or_insert_default().code = Some(code.into());
        self
    }

    /// Returns which character of the statement it is about, from 1 on.
    pub fn position(&self) -> Option<usize> {
        self.more.as_ref()?.position
    }

    /// Sets [`SqlError::position`], where it is not known already.
    #[must_use]
    pub fn at(mut self, position: usize) -> SqlError {
        let more = self.more.get_or_insert_default();
        more.position = more.position.or(Some(position));
        self
    }

    /// Forgets [`SqlError::position`].
    pub(crate) fn without_place(mut self) -> SqlError {
        if let Some(more) = &mut self.more {
            more.position = None;
        }
        self
    }

    /// Sets [`SqlError::position`] to where a part of the statement begins, where that is known and the position is not.
    #[must_use]
    pub(crate) fn at_node(self, node: &impl sqlparser::ast::Spanned) -> SqlError {
        match crate::parse::place(node) {
            Some(position) => self.at(position),
            None => self,
        }
    }

    /// As [`SqlError::at_node`], for a name.
    #[must_use]
    pub(crate) fn at_ident(self, ident: &sqlparser::ast::Ident) -> SqlError {
        match crate::parse::column(ident.span) {
            Some(position) => self.at(position),
            None => self,
        }
    }

    fields! {
        /// Returns what else is known.
        detail, with_detail;
        /// Returns what to do about it.
        hint, with_hint;
        /// Returns what was being done.
        context, with_context;
        /// Returns the schema of the object.
        schema, with_schema;
        /// Returns the table that it is about.
        table, with_table;
        /// Returns the column that it is about.
        column, with_column;
        /// Returns the constraint that was violated.
        constraint, with_constraint;
    }

    /// The error of a statement that takes or returns something else by now than its client was told.
    #[cold]
    pub(crate) fn changed_shape() -> SqlError {
        SqlError::new(SqlState::FeatureNotSupported, CHANGED_SHAPE).with_hint("Prepare the statement again.")
    }

    /// Whether a definition has changed between the time when the statement was prepared and when it was to run.
    pub fn is_of_changed_shape(&self) -> bool {
        self.state == SqlState::FeatureNotSupported && self.message == CHANGED_SHAPE
    }

    /// Whether the transaction may succeed when it is run again.
    pub fn is_conflict(&self) -> bool {
        self.state == SqlState::SerializationFailure
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SqlError {}

impl From<Error> for SqlError {
    #[cold]
    fn from(error: Error) -> SqlError {
        if let Error::Transaction(TransactionError::DuplicateKey { table, constraint, key, .. }) = &error {
            return duplicate(table, constraint, key);
        }
        if let Error::Procedure(ProcedureError::Aborted { procedure, place, sqlstate, message }) = &error {
            return aborted(procedure, place, sqlstate, message);
        }
        let state = SqlState::of_code(error.sqlstate());
        let made = SqlError::new(state.unwrap_or(SqlState::InternalError), error.to_string());
        match state {
            Some(SqlState::DeadlockDetected) => {
                SqlError::new(SqlState::DeadlockDetected, "deadlock detected").with_detail(made.message)
            }
            Some(SqlState::SerializationFailure) => made.with_hint("The transaction might succeed if retried."),
            Some(_) => made,
            None => made.with_code(error.sqlstate()),
        }
    }
}

impl From<TransactionError> for SqlError {
    fn from(error: TransactionError) -> SqlError {
        Error::from(error).into()
    }
}

/// What a procedure gave up with. A code of its own that means a conflict elsewhere means none here: the call is not run again.
fn aborted(procedure: &str, place: &str, code: &str, message: &str) -> SqlError {
    let state = SqlState::of_code(code).filter(|state| *state != SqlState::SerializationFailure);
    let error = SqlError::new(state.unwrap_or(SqlState::RaiseException), message);
    let error = if error.state.code() == code { error } else { error.with_code(code) };
    error.with_context(format!("procedure {procedure}, {place}"))
}

/// A second row with a key, in the words of PostgreSQL.
fn duplicate(table: &str, constraint: &str, key: &str) -> SqlError {
    let quoted = constraint.split('`').nth(1);
    let name = quoted.map_or_else(|| made_name(table, None, "pkey"), str::to_owned);
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    SqlError::new(SqlState::UniqueViolation, message)
        .with_detail(format!("Key {key} already exists."))
        .with_table(table)
        .with_constraint(name)
}
