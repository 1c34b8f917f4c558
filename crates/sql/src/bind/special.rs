//! Expressions with a syntax of their own, and calls of functions.

use sqlparser::ast::{
    self, AccessExpr, CeilFloorKind, FunctionArg, FunctionArgExpr, FunctionArguments, TrimWhereField,
};

use super::Binder;
use super::expr::shared;
use super::forms::collated;
use super::scope::{Level, Typed};
use super::select::{refuse_sets, set};
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::expr::{Asks, Case, Comparison, Expr, SetCall};
use crate::function;
use crate::parse;
use crate::types::{Modifier, Type};
use crate::value::{self, Conversion};

/// Whether a name without parentheses calls a function.
pub(crate) fn is_bare_function(name: &str) -> bool {
    matches!(
        name,
        "current_date"
            | "current_time"
            | "current_timestamp"
            | "localtime"
            | "localtimestamp"
            | "current_user"
            | "current_role"
            | "session_user"
            | "user"
            | "current_catalog"
            | "current_schema"
    )
}

impl Binder<'_> {
    /// Binds what is neither a name nor a literal nor an operator between two expressions.
    pub(crate) fn special(&self, expr: &ast::Expr, level: &Level<'_>) -> Result<Typed> {
        let bind = |expr: &ast::Expr| self.expr(expr, level);
        match expr {
            ast::Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(if *negated { "!~~" } else { "~~" }, (expr, pattern), escape_char.as_ref(), level)
            }
            ast::Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(if *negated { "!~~*" } else { "~~*" }, (expr, pattern), escape_char.as_ref(), level)
            }
            ast::Expr::SimilarTo { negated, expr, pattern, escape_char } => {
                let mut arguments = vec![bind(pattern)?];
                arguments.extend(escape_char.as_ref().map(|escape| self.literal(escape)).transpose()?);
                let pattern = self.apply("similar_to_escape", arguments)?;
                self.operate(if *negated { "!~" } else { "~" }, bind(expr)?, pattern)
            }
            ast::Expr::AtTimeZone { timestamp, time_zone } => {
                self.apply("timezone", vec![bind(time_zone)?, bind(timestamp)?])
            }
            ast::Expr::Extract { field, expr, .. } => {
                let field = match field {
                    ast::DateTimeField::Custom(ident) => ident.value.to_lowercase(),
                    field => field.to_string().to_lowercase(),
                };
                let field = Typed::new(Expr::Constant(Datum::text(field)), Type::Text);
                self.apply("extract", vec![field, bind(expr)?])
            }
            ast::Expr::Ceil { expr, field } => self.rounded("ceil", expr, field, level),
            ast::Expr::Floor { expr, field } => self.rounded("floor", expr, field, level),
            ast::Expr::Position { expr, r#in } => self.apply("strpos", vec![bind(r#in)?, bind(expr)?]),
            ast::Expr::Substring { expr, substring_from, substring_for, shorthand, .. } => {
                let one = || Ok(Typed::new(Expr::Constant(Datum::Int(1)), Type::Int4));
                let mut arguments = vec![bind(expr)?];
                arguments.push(substring_from.as_ref().map_or_else(one, |from| bind(from))?);
                arguments.extend(substring_for.as_ref().map(|count| bind(count)).transpose()?);
                self.apply(if *shorthand { "substr" } else { "substring" }, arguments)
            }
            ast::Expr::Trim { expr, trim_where, trim_what, trim_characters } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "btrim",
                };
                let mut arguments = vec![bind(expr)?];
                arguments.extend(trim_what.as_ref().map(|what| bind(what)).transpose()?);
                for characters in trim_characters.iter().flatten() {
                    arguments.push(bind(characters)?);
                }
                self.apply(name, arguments)
            }
            ast::Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut arguments = vec![bind(expr)?, bind(overlay_what)?, bind(overlay_from)?];
                arguments.extend(overlay_for.as_ref().map(|count| bind(count)).transpose()?);
                self.apply("overlay", arguments)
            }
            ast::Expr::TypedString(typed) => {
                let to = self.data_type(&typed.data_type)?;
                let text = self.literal(&typed.value)?;
                Ok(Typed::new(self.convert(text, to, Conversion::Explicit)?, to))
            }
            ast::Expr::Interval(interval) => self.interval(interval, level),
            ast::Expr::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain, level),
            ast::Expr::Collate { expr, collation } => collated(bind(expr)?, collation),
            ast::Expr::InUnnest { .. } | ast::Expr::RLike { .. } => Err(SqlError::unsupported(format!("{expr}"))),
            other => Err(SqlError::unsupported(format!("the expression {other}"))),
        }
    }

    fn like(
        &self,
        operator: &str,
        (text, pattern): (&ast::Expr, &ast::Expr),
        escape: Option<&ast::ValueWithSpan>,
        level: &Level<'_>,
    ) -> Result<Typed> {
        let (text, mut pattern) = (self.expr(text, level)?, self.expr(pattern, level)?);
        if let Some(escape) = escape {
            pattern = self.apply("like_escape", vec![pattern, self.literal(escape)?])?;
        }
        self.operate(operator, text, pattern)
    }

    fn rounded(&self, name: &str, expr: &ast::Expr, field: &CeilFloorKind, level: &Level<'_>) -> Result<Typed> {
        match field {
            CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => {
                self.apply(name, vec![self.expr(expr, level)?])
            }
            _ => Err(SqlError::unsupported(format!("{name} with a field"))),
        }
    }

    fn interval(&self, interval: &ast::Interval, level: &Level<'_>) -> Result<Typed> {
        let value = self.expr(&interval.value, level)?;
        let Some(first) = &interval.leading_field else {
            return Ok(Typed::new(self.convert(value, Type::Interval, Conversion::Explicit)?, Type::Interval));
        };
        let last = interval.last_field.as_ref().map(ToString::to_string);
        let digits = interval.fractional_seconds_precision.or(interval.leading_precision);
        let digits = digits.map(|digits| format!("({digits})")).unwrap_or_default();
        let last = last.map(|last| format!(" to {last}")).unwrap_or_default();
        let to = parse::declared(&format!("interval {first}{last}{digits}"))
            .map_err(|_| SqlError::new(SqlState::SyntaxError, format!("syntax error: {interval}")))?;
        Ok(Typed::new(self.convert(value, to, Conversion::Explicit)?, to))
    }

    /// Subscripts, slices and fields.
    fn access(&self, root: &ast::Expr, chain: &[AccessExpr], level: &Level<'_>) -> Result<Typed> {
        // `t.a[1]` is a column first, and so is `(t).a`.
        let (mut value, chain) = match (root, chain) {
            (ast::Expr::Nested(row), [AccessExpr::Dot(ast::Expr::Identifier(column)), rest @ ..])
                if let Some(table) = self.table_of_row(row, level)? =>
            {
                (self.expr(&ast::Expr::CompoundIdentifier(vec![table, column.clone()]), level)?, rest)
            }
            (ast::Expr::Identifier(table), [AccessExpr::Dot(ast::Expr::Identifier(column)), rest @ ..])
                if level.resolve(None, &parse::name(table))?.is_none() =>
            {
                (self.expr(&ast::Expr::CompoundIdentifier(vec![table.clone(), column.clone()]), level)?, rest)
            }
            _ => (self.expr(root, level)?, chain),
        };
        for access in chain {
            value = match access {
                AccessExpr::Subscript(subscript) => self.subscript(value, subscript, level)?,
                AccessExpr::Dot(ast::Expr::Identifier(field)) if value.declared.ty.element().is_none() => {
                    self.field(value, &parse::name(field))?
                }
                AccessExpr::Dot(_) => return Err(SqlError::unsupported("a field of a composite value")),
            };
        }
        Ok(value)
    }

    /// The table whose rows an expression names as a whole.
    fn table_of_row(&self, row: &ast::Expr, level: &Level<'_>) -> Result<Option<ast::Ident>> {
        let table = match row {
            ast::Expr::Identifier(table) => table.clone(),
            ast::Expr::QualifiedWildcard(name, _) => match &name.0[..] {
                [ast::ObjectNamePart::Identifier(table)] => table.clone(),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let name = parse::name(&table);
        let is_column = matches!(row, ast::Expr::Identifier(_)) && level.resolve(None, &name)?.is_some();
        Ok((!is_column && level.has_table(&name)).then_some(table))
    }

    /// A field of a row of which the names of fields are known: those of `ROW(...)` are `f1`, `f2`, and so on.
    fn field(&self, row: Typed, name: &str) -> Result<Typed> {
        let unknown = || {
            let message = format!("could not identify column \"{name}\" in record data type");
            SqlError::new(SqlState::UndefinedColumn, message)
        };
        if !row.fields().is_empty() {
            let found = row.fields().iter().find(|(known, _)| known == name);
            return found.map(|(_, field)| field.clone()).ok_or_else(unknown);
        }
        let Modifier::Fields(fields) = row.declared.modifier else {
            let message =
                format!("column notation .{name} applied to type {}, which is not a composite type", row.declared);
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        };
        if let Expr::Set(call) = row.expr {
            let SetCall { function, arguments } = *call;
            return Ok(set(function.field(name)?, arguments));
        }
        let at = fields.iter().position(|(field, _)| *field == name).ok_or_else(unknown)?;
        let number = Expr::Constant(Datum::Int(at as i64 + 1));
        Ok(Typed::new(Expr::Subscript(Box::new((row.expr, number))), fields[at].1))
    }

    /// Binds a call: of an aggregate, of a form that is written as a function, or of a function.
    pub(crate) fn call(&self, call: &ast::Function, level: &Level<'_>) -> Result<Typed> {
        let mut parts = parse::parts(&call.name)?;
        let name = parts.pop().unwrap_or_default();
        if function::is_internal(&name) || parts.last().is_some_and(|schema| !self.is_function_of(schema, &name)) {
            return Err(self.undefined_function(call));
        }
        let none = ast::FunctionArgumentList { duplicate_treatment: None, args: Vec::new(), clauses: Vec::new() };
        let list = match &call.args {
            FunctionArguments::List(list) => list,
            FunctionArguments::None => &none,
            FunctionArguments::Subquery(query) => return self.call_of_query(&name, query, level),
        };
        if let Some(over) = &call.over {
            return self.window_call(&name, call, over, list, level);
        }
        if let Some(bound) = self.time_with_precision(&name, list)? {
            return Ok(bound);
        }
        if let Some(bound) = self.form(&name, list, level)? {
            return Ok(bound);
        }
        if let Some(bound) = self.aggregate(&name, call, list, level)? {
            return Ok(bound);
        }
        if function::is_window(&name) {
            let message = format!("window function {name} requires an OVER clause");
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        }
        if list.duplicate_treatment.is_some() || !list.clauses.is_empty() || call.filter.is_some() {
            let message = format!("{name} is not an aggregate function: it takes no DISTINCT, ORDER BY or FILTER");
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        }
        if let Some(set) = self.inner_set(call, level)? {
            return Ok(set);
        }
        let arguments = match self.named_arguments(&name, list, level)? {
            Some(arguments) => arguments,
            None => self.arguments(list, level)?,
        };
        // A call with the name of a type and one argument is a cast, unless a function has that name.
        if let ([argument], Some(to)) = (&arguments[..], crate::types::Type::of_name(&name))
            && !function::exists(&name)
            && (argument.declared.ty == Type::Unknown || value::conversion(argument.declared.ty, to).is_some())
        {
            return Ok(Typed::new(self.convert(argument.clone(), to, Conversion::Explicit)?, to));
        }
        self.apply(&name, arguments).map_err(|error| match error.state {
            SqlState::UndefinedFunction | SqlState::AmbiguousFunction => error.at_node(&call.name),
            SqlState::FeatureNotSupported => error.at_node(&call.name),
            _ => error,
        })
    }

    /// Whether a function may be called with the name of a schema. Where the catalog keeps the call of one of an extension, that
    /// was there.
    fn is_function_of(&self, schema: &str, name: &str) -> bool {
        match schema {
            "pg_catalog" => return true,
            "information_schema" => return name == "_pg_expandarray",
            _ => {}
        }
        let extension = function::extension_of(name);
        extension.is_some_and(|extension| {
            if self.is_kept() {
                return true;
            }
            let objects = self.names.objects();
            objects.is_ok_and(|objects| objects.extensions.get(extension.name).is_some_and(|own| own.schema == schema))
        })
    }

    fn undefined_function(&self, call: &ast::Function) -> SqlError {
        SqlError::new(SqlState::UndefinedFunction, format!("function {}() does not exist", call.name))
            .at_node(&call.name)
    }

    fn call_of_query(&self, name: &str, query: &ast::Query, level: &Level<'_>) -> Result<Typed> {
        if name != "array" {
            return Err(SqlError::new(SqlState::SyntaxError, format!("{name} takes no query")));
        }
        let (expr, columns) = self.subquery(query, Asks::Array, level)?;
        let element = columns.first().map_or(Type::Unknown, |column| column.declared.ty);
        let ty = element.array().ok_or_else(|| SqlError::unsupported(format!("an array of {element}")))?;
        Ok(Typed::new(expr, ty))
    }

    pub(crate) fn arguments(&self, list: &ast::FunctionArgumentList, level: &Level<'_>) -> Result<Vec<Typed>> {
        let bind = |argument: &FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.expr(expr, level),
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => self.whole_row(table, level),
            FunctionArg::Unnamed(_) => Err(SqlError::new(SqlState::SyntaxError, "* is an argument of count alone")),
            _ => Err(SqlError::unsupported("an argument with a name")),
        };
        list.args.iter().map(bind).collect()
    }

    /// The values of `ROW(...)`.
    fn row_arguments(&self, list: &ast::FunctionArgumentList, level: &Level<'_>) -> Result<Vec<Typed>> {
        let mut values = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            let part = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => expr.clone(),
                FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => {
                    ast::Expr::QualifiedWildcard(table.clone(), ast::helpers::attached_token::AttachedToken::empty())
                }
                _ => return Err(SqlError::new(SqlState::SyntaxError, "ROW takes values without names")),
            };
            values.extend(self.row_parts(std::iter::once(&part), level)?);
        }
        Ok(values)
    }

    /// What is written as a function, and evaluates only some of its arguments or takes any number.
    fn form(&self, name: &str, list: &ast::FunctionArgumentList, level: &Level<'_>) -> Result<Option<Typed>> {
        if !matches!(name, "coalesce" | "nullif" | "greatest" | "least" | "row" | "pg_typeof") {
            return Ok(None);
        }
        if name == "row" {
            return Ok(Some(Typed::row(self.row_arguments(list, level)?)));
        }
        let mut arguments = self.arguments(list, level)?;
        let count = arguments.len();
        Ok(Some(match (name, count) {
            ("coalesce", 1..) => {
                let (exprs, declared) = self.unify("COALESCE", arguments)?;
                refuse_sets(&exprs, "set-returning functions are not allowed in COALESCE")?;
                Typed::new(Expr::Coalesce(exprs), declared)
            }
            ("greatest" | "least", 1..) => {
                let (exprs, declared) = self.unify(&name.to_uppercase(), arguments)?;
                Typed::new(Expr::Extreme(exprs, name == "greatest"), declared)
            }
            ("nullif", 2) => {
                let (right, left) = (arguments.pop(), arguments.pop());
                let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
                let declared = self.compared_as(&left, &right)?;
                let (operand, left) = shared(left)?;
                let (a, b) = self.comparable("=", left.clone(), right)?;
                let is_equal = Expr::Compare(Box::new((Comparison::Equal, a, b)));
                let otherwise = self.convert(left, declared, Conversion::Implicit)?;
                let case = Case { operand, branches: vec![(is_equal, Expr::NULL)], otherwise };
                Typed::new(Expr::Case(Box::new(case)), declared)
            }
            ("pg_typeof", 1) => {
                let number = arguments[0].declared.ty.oid();
                Typed::new(Expr::Constant(Datum::Int(number.into())), Type::RegType)
            }
            _ => {
                let message = format!("function {name} does not take {count} arguments");
                return Err(SqlError::new(SqlState::UndefinedFunction, message));
            }
        }))
    }

    /// An expression that rows can be sorted by.
    pub(crate) fn sortable(&self, expr: Typed) -> Result<Expr> {
        let ty = expr.declared.ty;
        if ty == Type::Unknown {
            return self.convert(expr, Type::Text, Conversion::Implicit);
        }
        if ty == Type::Json || value::conversion(ty, ty).is_none() {
            let message = format!("could not identify an ordering operator for type {ty}");
            return Err(SqlError::new(SqlState::UndefinedFunction, message));
        }
        Ok(expr.expr)
    }
}
