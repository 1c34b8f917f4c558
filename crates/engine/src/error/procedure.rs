//! What can go wrong with a procedure: its text, its meaning, a call of it.

/// Why a procedure was not created or a call did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcedureError {
    /// A text is not a procedure.
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        /// The line, from 1.
        line: u32,
        /// The character in the line, from 1.
        column: u32,
        /// What was found and what could stand there.
        what: String,
    },
    /// A procedure makes no sense with the tables, sequences and procedures that there are.
    #[error("procedure `{procedure}`, {place}: {what}")]
    Invalid {
        /// The procedure.
        procedure: String,
        /// Which statement, or part of the head.
        place: String,
        /// What is wrong, and the cure.
        what: String,
    },
    /// There is no such procedure.
    #[error("procedure `{procedure}` does not exist; check the name, or create it")]
    Unknown {
        /// As given.
        procedure: String,
    },
    /// The procedure was replaced since the caller has looked at it. Nothing was executed.
    #[error("procedure `{procedure}` has changed since the call was prepared; prepare it again")]
    Changed {
        /// The procedure.
        procedure: String,
    },
    /// The catalog does not hold this version of a procedure.
    #[error(
        "version {version} of procedure `{procedure}` is not kept; `osier procedure list` and `Transaction::procedures` show \
         which are"
    )]
    UnknownVersion {
        /// The procedure.
        procedure: String,
        /// The version.
        version: u32,
    },
    /// There is a procedure of this name.
    #[error("procedure `{procedure}` exists already; replace it, or choose another name")]
    Exists {
        /// The procedure.
        procedure: String,
    },
    /// A function of the program has this name.
    #[error(
        "procedure `{procedure}` is a function of the program that opened the database; drop it first, or choose another name"
    )]
    FunctionExists {
        /// The procedure.
        procedure: String,
    },
    /// A function is registered whose name is that of a declared procedure.
    #[error(
        "procedure `{procedure}` is declared in the database; register the function under another name, or drop the procedure, \
         which a program can that does not register the function"
    )]
    DeclaredExists {
        /// The procedure.
        procedure: String,
    },
    /// A procedure that is a function of the program cannot be called from a declared one, and has no program to show.
    #[error("procedure `{procedure}` is a function of the program that opened the database; call it by itself")]
    Opaque {
        /// The procedure.
        procedure: String,
    },
    /// The program that opened the database has not registered a function that the database knows.
    #[error(
        "version {version} of procedure `{procedure}` is a function that this program has not registered; open the database with \
         it, or drop the procedure"
    )]
    NotRegistered {
        /// The procedure.
        procedure: String,
        /// Its version.
        version: u32,
    },
    /// The arguments do not fit the parameters. Nothing was executed.
    #[error("procedure `{procedure}`: {what}; it takes ({signature})")]
    Arguments {
        /// The procedure.
        procedure: String,
        /// Which argument, and why not.
        what: String,
        /// The parameters.
        signature: String,
    },
    /// The procedure gave up: by `abort`, or because a statement failed and nothing caught it.
    #[error("{message} (SQLSTATE {sqlstate}, procedure `{procedure}`, {place})")]
    Aborted {
        /// The procedure.
        procedure: String,
        /// Which statement.
        place: String,
        /// Five digits or capital letters.
        sqlstate: String,
        /// What the procedure said, or what failed.
        message: String,
    },
    /// A function that is a procedure did within its transaction what a replay could not repeat.
    #[error("a function that is a procedure cannot use {what}: a replay of the log would not do the same; {cure}")]
    WithinFunction {
        /// What it used.
        what: &'static str,
        /// What to use instead.
        cure: &'static str,
    },
    /// A call executed more statements than it may.
    #[error(
        "procedure `{procedure}`, {place}: the call has executed {steps} steps, the limit procedure_steps_max; look for a loop \
         without an end, or raise the limit (SQLSTATE 54001)"
    )]
    Steps {
        /// The procedure.
        procedure: String,
        /// Where it was.
        place: String,
        /// The limit.
        steps: u64,
    },
    /// The values of a call take more memory than they may.
    #[error(
        "procedure `{procedure}`, {place}: the values of the call take {bytes} bytes, the limit procedure_bytes_max is {limit}; \
         work in smaller pieces, or raise the limit (SQLSTATE 53200)"
    )]
    Memory {
        /// The procedure.
        procedure: String,
        /// Where it was.
        place: String,
        /// What they take.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

impl ProcedureError {
    /// The SQLSTATE that a server reports.
    pub fn sqlstate(&self) -> &str {
        match self {
            ProcedureError::Syntax { .. } => "42601",
            ProcedureError::Invalid { .. } => "42P13",
            ProcedureError::Unknown { .. } => "42883",
            ProcedureError::UnknownVersion { .. } => "42883",
            ProcedureError::Changed { .. } => "55000",
            ProcedureError::Exists { .. }
            | ProcedureError::FunctionExists { .. }
            | ProcedureError::DeclaredExists { .. } => "42723",
            ProcedureError::Opaque { .. } => "0A000",
            ProcedureError::NotRegistered { .. } => "58P01",
            ProcedureError::Arguments { .. } => "42883",
            ProcedureError::Aborted { sqlstate, .. } => sqlstate,
            ProcedureError::WithinFunction { .. } => "0A000",
            ProcedureError::Steps { .. } => "54001",
            ProcedureError::Memory { .. } => "53200",
        }
    }
}
