//! Types: the names that SQL has for them, and the common other ones.
//!
//! Invariant: a type is printed by its name in SQL.

use super::lexer::Kind;
use super::{Parsed, Parser};
use crate::procedure::program::DataType;
use crate::table::Type;

const EXPECTED: &str = "a type";

impl Parser {
    pub(super) fn data_type(&mut self) -> Parsed<DataType> {
        let ty = self.element_type()?;
        let is_array = self.is_sign("[") && self.is_sign_ahead(1, "]");
        if is_array {
            self.advance();
            self.advance();
        }
        Ok(DataType { ty, is_array })
    }

    fn element_type(&mut self) -> Parsed<Type> {
        let Kind::Word(word) = self.kind() else { return Err(self.unexpected(EXPECTED)) };
        let ty = match word.as_str() {
            "boolean" | "bool" => Type::Bool,
            "smallint" | "int2" => Type::Int16,
            "integer" | "int" | "int4" => Type::Int32,
            "bigint" | "int8" => Type::Int64,
            "float8" => Type::Float64,
            "double" if self.is_word_ahead(1, "precision") => {
                self.advance();
                Type::Float64
            }
            "text" => Type::Text,
            "bytea" => Type::Bytes,
            "timestamp" => Type::Timestamp,
            "numeric" | "decimal" | "dec" => return self.numeric(),
            _ => return Err(self.unexpected(EXPECTED)),
        };
        self.advance();
        Ok(ty)
    }

    fn numeric(&mut self) -> Parsed<Type> {
        self.advance();
        self.sign_or("(", "`(`: a numeric has a precision and a scale, as in `numeric(12,2)`")?;
        let precision = self.small_number("a precision")?;
        if !(1..=Type::PRECISION_MAX).contains(&precision) {
            self.at -= 1;
            return Err(self.failed(format!("a precision is 1 to {}, found {precision}", Type::PRECISION_MAX)));
        }
        let scale = if self.try_sign(",") { self.small_number("a scale")? } else { 0 };
        if scale > precision {
            self.at -= 1;
            return Err(self.failed(format!("a scale is at most the precision {precision}, found {scale}")));
        }
        self.sign(")")?;
        Ok(Type::Numeric { precision, scale })
    }

    fn small_number(&mut self, what: &str) -> Parsed<u8> {
        let number = match self.kind() {
            Kind::Number(digits) => digits.parse().ok(),
            _ => None,
        };
        let Some(number) = number else { return Err(self.unexpected(what)) };
        self.advance();
        Ok(number)
    }
}
