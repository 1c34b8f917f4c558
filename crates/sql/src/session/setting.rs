//! `SET`, `RESET` and `SHOW`.

use std::sync::Arc;

use osier::Transaction;
use sqlparser::ast;

use super::{Core, Done, Output};
use crate::datum::Datum;
use crate::dump::{self, Definition};
use crate::error::{Result, SqlError};

/// Microseconds of an hour.
const US_PER_HOUR: f64 = 3_600_000_000.0;

/// The name that `SHOW` asks for, as it is listed.
pub(super) fn shown_name(variable: &[ast::Ident]) -> String {
    let words: Vec<String> = variable.iter().map(|ident| ident.value.clone()).collect();
    let joined = words.join(" ").to_lowercase();
    let name = match joined.as_str() {
        "transaction isolation level" => "transaction_isolation".to_owned(),
        "time zone" => "timezone".to_owned(),
        "session authorization" => "session_authorization".to_owned(),
        _ => words.join("."),
    };
    crate::settings::listed_name(&name).map_or(name, str::to_owned)
}

/// A value of `SET` as text.
pub(super) fn text_of(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) | ast::Value::EscapedStringLiteral(text) => text.clone(),
            ast::Value::DollarQuotedString(quoted) => quoted.value.clone(),
            other => other.to_string(),
        },
        ast::Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}

/// A schema in `search_path`, with quotes where they are needed.
fn schema_of(expr: &ast::Expr) -> String {
    let name = match expr {
        ast::Expr::Identifier(ident) => crate::parse::name(ident),
        other => text_of(other),
    };
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain && !name.is_empty() { name } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

impl Core {
    pub(super) fn set_statement(&mut self, set: &ast::Set) -> Result<Done> {
        match set {
            ast::Set::SingleAssignment { scope, variable, values, .. } => {
                let name = variable.to_string().replace('"', "");
                let shown = if name.eq_ignore_ascii_case("search_path") { schema_of } else { text_of };
                let text = values.iter().map(shown).collect::<Vec<_>>().join(", ");
                let is_default = match &values[..] {
                    [ast::Expr::Identifier(ident)] => ident.value.eq_ignore_ascii_case("default"),
                    _ => false,
                };
                let is_local = *scope == Some(ast::ContextModifier::Local);
                self.change(&name, (!is_default).then_some(text.as_str()), is_local)?;
            }
            ast::Set::SetTimeZone { local, value } => {
                let text = match value {
                    ast::Expr::Interval(interval) => {
                        let distance = crate::value::interval::Interval::parse(&text_of(&interval.value))?;
                        (distance.us as f64 / US_PER_HOUR).to_string()
                    }
                    value => text_of(value),
                };
                let is_default = matches!(text.to_lowercase().as_str(), "default" | "local");
                self.change("TimeZone", (!is_default).then_some(text.as_str()), *local)?;
            }
            ast::Set::SetNames { charset_name, .. } => {
                self.change("client_encoding", Some(&charset_name.value), false)?;
            }
            ast::Set::SetNamesDefault {} => self.change("client_encoding", None, false)?,
            // What runs is serializable, whatever is asked for.
            ast::Set::SetTransaction { modes, snapshot: None, session: true } => {
                if let Some(is_read_only) = super::transaction::read_only(modes) {
                    let text = if is_read_only { "on" } else { "off" };
                    self.change("default_transaction_read_only", Some(text), false)?;
                }
            }
            other => return Err(SqlError::unsupported(format!("{other}"))),
        }
        Ok(Done::tagged("SET"))
    }

    pub(super) fn reset(&mut self, reset: &ast::ResetStatement) -> Result<Done> {
        match &reset.reset {
            ast::Reset::ALL => {
                for (name, _) in self.settings.clone().all() {
                    if name == "role" || name == "session_authorization" {
                        continue;
                    }
                    // What cannot be set is as it was.
                    let _ = self.change(name, None, false);
                }
            }
            ast::Reset::ConfigurationParameter(name) => self.change(&name.to_string(), None, false)?,
        }
        Ok(Done::tagged("RESET"))
    }

    pub(super) fn change(&mut self, name: &str, value: Option<&str>, is_local: bool) -> Result<()> {
        Arc::make_mut(&mut self.settings).set(name, value)?;
        if !is_local {
            Arc::make_mut(&mut self.lasting).set(name, value)?;
        }
        Ok(())
    }

    pub(super) fn show(
        &self,
        transaction: &Transaction<'_>,
        variable: &[ast::Ident],
        output: &mut dyn Output,
    ) -> Result<Done> {
        let name = shown_name(variable);
        if name == dump::SHOWN {
            for definition in dump::definitions(&self.sql, transaction)? {
                let Definition { section, name, text } = definition;
                output.row(&[Datum::text(section), Datum::text(name), Datum::text(text)])?;
            }
        } else if name.eq_ignore_ascii_case("all") {
            for (name, value) in self.settings.all() {
                output.row(&[Datum::text(name), Datum::text(value), Datum::text("")])?;
            }
        } else {
            output.row(&[Datum::text(self.settings.show(&name)?)])?;
        }
        Ok(Done::tagged("SHOW"))
    }
}
