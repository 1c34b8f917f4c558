//! Types by the names that statements have for them.

use sqlparser::ast::{DataType, Ident, ObjectName};

use super::Binder;
use crate::catalog::name::Name;
use crate::catalog::rights::Rights;
use crate::enumeration::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::types::{Declared, Type};

impl Binder<'_> {
    /// The type that a statement declares.
    pub(crate) fn data_type(&self, ty: &DataType) -> Result<Declared> {
        let error = match parse::data_type(ty) {
            Ok(declared) => return Ok(declared),
            Err(error) => error,
        };
        let Some((name, is_array)) = parse::types::custom(ty) else { return Err(error) };
        if error.state != SqlState::UndefinedObject {
            return Err(error.at_node(&name));
        }
        let Some((found, is_named_array)) = self.find_type_or_array(&name)? else {
            let parts = parse::parts(&name)?;
            let shown = parts.join(".");
            if let [schema, _] = &parts[..]
                && !matches!(schema.as_str(), "pg_catalog" | "information_schema")
                && !self.names.objects()?.has_schema(schema)
            {
                let message = format!("schema \"{schema}\" does not exist");
                return Err(SqlError::new(SqlState::InvalidSchemaName, message).at_node(&name));
            }
            return Err(
                SqlError::new(SqlState::UndefinedObject, format!("type \"{shown}\" does not exist")).at_node(&name)
            );
        };
        Ok(if is_array || is_named_array { found.array() } else { Type::Enum(found) }.into())
    }

    /// The type of users that a name means, or with `true` its arrays, whose name begins with `_`.
    pub(crate) fn find_type_or_array(&self, name: &ObjectName) -> Result<Option<(EnumType, bool)>> {
        if let Some(found) = self.find_type(name)? {
            return Ok(Some((found, false)));
        }
        let mut parts = parse::parts(name)?;
        let Some(element) = parts.pop().as_deref().and_then(parse::types::element).map(str::to_owned) else {
            return Ok(None);
        };
        parts.push(element);
        let idents: Vec<Ident> = parts.iter().map(|part| Ident::with_quote('"', part)).collect();
        Ok(self.find_type(&idents.into())?.map(|found| (found, true)))
    }

    /// The type of users that a name means.
    pub(crate) fn find_type(&self, name: &ObjectName) -> Result<Option<EnumType>> {
        let mut parts = parse::parts(name)?;
        match parts.len() {
            1 => {
                for schema in self.settings.schemas() {
                    let found = self.names.user_type(&Name::new(schema, &parts[0]))?;
                    if found.is_some() && self.may_use(schema)? {
                        return Ok(found);
                    }
                }
                Ok(None)
            }
            2 => {
                let found = self.names.user_type(&Name::new(parts.remove(0), parts.remove(0)))?;
                // Who made what is kept was allowed to.
                if let Some(found) = found.filter(|_| !self.settings.is_superuser() && !self.is_kept()) {
                    self.names.objects()?.need_schema(self.settings.user(), found.schema(), Rights::USAGE)?;
                }
                Ok(found)
            }
            _ => Ok(None),
        }
    }
}
