//! Functions and operators: what there is, and which one a call means.
//!
//! Each family of functions is a file with a table ([`Function`]) and the code behind it. The binder asks [`resolve()`] and
//! [`resolve_operator`] once for a call; the executor then calls [`Function::evaluate`] for each row.
//!
//! Invariants:
//! - Arguments are of the types that [`Resolved::arguments`] lists when a function runs: the binder has cast them.
//! - A strict function never sees NULL: the executor returns NULL instead of calling it ([`Resolved::call`] does so).
//! - To call a function allocates nothing but its result, and looks up no name.
//!
//! Absent: `greatest`, `least`, `coalesce` and `nullif`, which the binder knows; casts by the name of a type; functions that a
//! user defined; named arguments and defaults.

mod aggregate;
mod argument;
mod array;
mod bound;
mod catalog;
mod comparison;
mod datetime;
mod digest;
mod element;
mod enumeration;
mod extension;
mod extract;
mod format;
mod hash;
mod interval_template;
mod json;
mod json_build;
mod keyword;
mod math;
mod network;
mod number_template;
mod operator;
mod ordered;
mod pattern;
mod regression;
mod resolve;
mod set;
mod size;
pub(crate) mod string;
mod system;
mod template;
mod window;

pub use aggregate::{Accumulator, ResolvedAggregate, aggregates, resolve_aggregate};
pub(crate) use datetime::shifted;
pub(crate) use extension::{EXTENSIONS, Extension, of_function as extension_of};
pub use ordered::{Direct, resolve_ordered_set};
pub use resolve::{all, exists, operators, resolve, resolve_operator};
pub use set::{ResolvedSet, Rows, resolve_set, sets};
pub(crate) use system::is_advisory;
pub use window::{ResolvedWindow, Window, resolve_window};

use crate::datum::Datum;
use crate::error::Result;
use crate::settings::Settings;
use crate::types::Type;

/// What the function is called that returns the row of a sequence: no call has this name.
pub(crate) const SEQUENCE_ROW: &str = "sequence row";

/// The name, the parameters and the result of a function.
pub type Signature = (&'static str, &'static [Parameter], Returns);

/// Refuses elements that are too large together for one value.
///
/// # Errors
/// 54000.
pub(crate) fn check_size(elements: &[Datum]) -> Result<()> {
    bound::fits(crate::run::row_bytes(elements))
}

/// Whether an aggregate function has this name.
pub fn is_aggregate(name: &str) -> bool {
    aggregate::exists(name)
}

/// Whether a window function has this name.
pub fn is_window(name: &str) -> bool {
    window::exists(name)
}

/// Whether an ordered-set aggregate has this name, which takes `WITHIN GROUP`.
pub fn is_ordered_set(name: &str) -> bool {
    ordered::exists(name)
}

/// Whether a function has this name that statements cannot call and no list of functions has: its name has a blank.
pub fn is_internal(name: &str) -> bool {
    name.contains(' ')
}

/// Whether a function that returns a set has this name, which statements can call.
pub fn is_set(name: &str) -> bool {
    !is_internal(name) && set::exists(name)
}

/// What functions ask of the statement that they run in.
pub trait Environment {
    /// Returns what the session has set.
    fn settings(&self) -> &Settings;
    /// Returns when the transaction began, in microseconds since 1970, UTC.
    fn transaction_start_us(&self) -> i64;
    /// Returns when the statement began, in microseconds since 1970, UTC.
    fn statement_start_us(&self) -> i64;
    /// Returns the time now, in microseconds since 1970, UTC.
    fn clock_us(&self) -> i64;
    /// Returns the user whose rights count.
    fn user(&self) -> &str;
    /// Returns the user who connected.
    fn session_user(&self) -> &str;
    /// Returns the name of the database.
    fn database(&self) -> &str;
    /// Returns the first schema of the search path that exists.
    fn schema(&self) -> Option<&str>;
    /// Returns a random number from 0 up to 1, without 1.
    fn random(&self) -> f64;
    /// Has [`Environment::random`] begin anew, with a number from -1 to 1.
    fn set_seed(&self, seed: f64);
    /// Returns sixteen random bytes that nobody can guess; which bits say the version is for the caller to set.
    ///
    /// # Errors
    /// 58030 where the system has no random bytes.
    fn random_uuid(&self) -> Result<[u8; 16]>;
    /// Lets others run, and ends the statement where it was cancelled or has run too long.
    ///
    /// # Errors
    /// 57014.
    fn look(&self) -> Result<()> {
        Ok(())
    }
    /// Returns the number by which clients know the session.
    fn backend_pid(&self) -> i32;
    /// Answers a function that only the catalog or the session can answer, by its name.
    ///
    /// # Errors
    /// What the function fails with.
    fn ask(&self, function: &'static str, arguments: &[Datum]) -> Result<Datum>;
    /// Returns the rows of a relation of the catalog. Where `key` has the position of a column and a value, rows with other
    /// values there may be left out.
    ///
    /// # Errors
    /// Where the catalog cannot be read, or there is none.
    fn catalog_rows(&self, relation: &'static str, key: Option<(usize, &Datum)>) -> Result<Vec<Vec<Datum>>> {
        let _ = key;
        Err(crate::SqlError::unsupported(format!("the relation {relation} here")))
    }
}

/// What a function takes in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A value of this type.
    Exact(Type),
    /// A value of any type, each place for itself.
    Any,
    /// A value of any type, the same in all polymorphic places.
    AnyElement,
    /// An array whose elements are of the type of [`Parameter::AnyElement`].
    AnyArray,
    /// As [`Parameter::AnyElement`], and no array.
    AnyNonArray,
    /// As [`Parameter::AnyElement`], of an enumeration.
    AnyEnum,
}

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// A value of this type.
    Exact(Type),
    /// A value of the type of [`Parameter::AnyElement`].
    AnyElement,
    /// An array of such values.
    AnyArray,
}

/// When a function may return something else for the same arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// Never.
    Immutable,
    /// In another statement.
    Stable,
    /// In the next call.
    Volatile,
}

/// Where a function is called: what it may need beside the values of its arguments.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The statement.
    pub environment: &'a dyn Environment,
    /// The types of the arguments.
    pub types: &'a [Type],
    /// The type of the result.
    pub returns: Type,
}

/// The code of a function.
pub type Evaluate = fn(&Call<'_>, &[Datum]) -> Result<Datum>;

/// A function or an operator.
#[derive(Debug)]
pub struct Function {
    /// The name, or the symbol of an operator.
    pub name: &'static str,
    /// What it takes.
    pub parameters: &'static [Parameter],
    /// Whether the last parameter may be repeated.
    pub is_variadic: bool,
    /// What it returns.
    pub returns: Returns,
    /// Whether it returns NULL wherever an argument is NULL, without being called.
    pub is_strict: bool,
    /// When it may return something else.
    pub volatility: Volatility,
    /// The code.
    pub evaluate: Evaluate,
}

impl Function {
    const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        returns: Returns,
        evaluate: Evaluate,
    ) -> Function {
        let volatility = Volatility::Immutable;
        Function { name, parameters, is_variadic: false, returns, is_strict: true, volatility, evaluate }
    }

    /// Lets it see NULL.
    const fn lax(mut self) -> Function {
        self.is_strict = false;
        self
    }

    const fn stable(mut self) -> Function {
        self.volatility = Volatility::Stable;
        self
    }

    const fn volatile(mut self) -> Function {
        self.volatility = Volatility::Volatile;
        self
    }

    const fn variadic(mut self) -> Function {
        self.is_variadic = true;
        self
    }
}

/// A function that a call means.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The function.
    pub function: &'static Function,
    /// What each argument must be cast to.
    pub arguments: Vec<Type>,
    /// The type of the result.
    pub returns: Type,
}

impl Resolved {
    /// Calls the function with arguments of its types, and returns NULL for NULL where it is strict.
    ///
    /// # Errors
    /// What the function fails with.
    pub fn call(&self, environment: &dyn Environment, arguments: &[Datum]) -> Result<Datum> {
        debug_assert_eq!(arguments.len(), self.arguments.len(), "{}", self.function.name);
        if self.function.is_strict && arguments.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let call = Call { environment, types: &self.arguments, returns: self.returns };
        (self.function.evaluate)(&call, arguments)
    }
}

/// A type as a table of functions writes it.
macro_rules! parameter {
    (Any) => {
        crate::function::Parameter::Any
    };
    (AnyElement) => {
        crate::function::Parameter::AnyElement
    };
    (AnyArray) => {
        crate::function::Parameter::AnyArray
    };
    (AnyNonArray) => {
        crate::function::Parameter::AnyNonArray
    };
    (AnyEnum) => {
        crate::function::Parameter::AnyEnum
    };
    (TextArray) => {
        crate::function::Parameter::Exact(crate::types::Type::Array(&crate::types::Type::Text))
    };
    (Int4Array) => {
        crate::function::Parameter::Exact(crate::types::Type::Array(&crate::types::Type::Int4))
    };
    ($ty:ident) => {
        crate::function::Parameter::Exact(crate::types::Type::$ty)
    };
}

/// A type of a result as a table of functions writes it.
macro_rules! returns {
    (AnyElement) => {
        crate::function::Returns::AnyElement
    };
    (AnyArray) => {
        crate::function::Returns::AnyArray
    };
    (TextArray) => {
        crate::function::Returns::Exact(crate::types::Type::Array(&crate::types::Type::Text))
    };
    (Int4Array) => {
        crate::function::Returns::Exact(crate::types::Type::Array(&crate::types::Type::Int4))
    };
    (NameArray) => {
        crate::function::Returns::Exact(crate::types::Type::Array(&crate::types::Type::Name))
    };
    ($ty:ident) => {
        crate::function::Returns::Exact(crate::types::Type::$ty)
    };
}

/// A table of functions: name, parameters, result, what sets it apart from a strict and immutable function, and code.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident: $($name:literal ($($p:ident),*) -> $r:ident $([$($flag:ident)+])? = $code:expr;)*) => {
        $(#[$doc])*
        pub(super) static $table: &[crate::function::Function] = &[$(
            crate::function::Function::new(
                $name,
                &[$(crate::function::parameter!($p)),*],
                crate::function::returns!($r),
                $code,
            )$($(.$flag())+)?,
        )*];
    };
}

use {functions, parameter, returns};

#[cfg(test)]
mod tests;
