//! The types of procedures: those of columns, and arrays of them.

use crate::table::Type;

/// The type of a parameter, a variable or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataType {
    /// The type of the value, or of the elements.
    pub ty: Type,
    /// Whether it is an array; printed as `integer[]`.
    pub is_array: bool,
}

impl DataType {
    /// Returns the type of arrays of `ty`.
    pub const fn array(ty: Type) -> DataType {
        DataType { ty, is_array: true }
    }
}

impl From<Type> for DataType {
    fn from(ty: Type) -> DataType {
        DataType { ty, is_array: false }
    }
}

impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.ty, if self.is_array { "[]" } else { "" })
    }
}
