//! Lists of rights as PostgreSQL shows them: `role=arwd*/grantor`, where a star says that the right may be granted.

use super::{Catalog, array, text};
use crate::catalog::rights::{Grant, Object, Rights};
use crate::datum::Datum;
use crate::datum::Datum::Null;
use crate::error::{Result, SqlError, SqlState};

/// The letters of rights, in the order in which they are shown.
const LETTERS: [(Rights, char); 10] = [
    (Rights::INSERT, 'a'),
    (Rights::SELECT, 'r'),
    (Rights::UPDATE, 'w'),
    (Rights::DELETE, 'd'),
    (Rights::TRUNCATE, 'D'),
    (Rights::REFERENCES, 'x'),
    (Rights::TRIGGER, 't'),
    (Rights::EXECUTE, 'X'),
    (Rights::USAGE, 'U'),
    (Rights::CREATE, 'C'),
];

/// A role in a list.
fn role(name: &str) -> String {
    match name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn item(grant: &Grant) -> Datum {
    // That the owner may grant what it has goes without saying.
    let options = if grant.to.as_deref() == Some(&grant.by) { Rights::NONE } else { grant.options };
    let mut shown = format!("{}=", grant.to.as_deref().map(role).unwrap_or_default());
    for (right, letter) in LETTERS {
        if grant.rights.has(right) {
            shown.push(letter);
            if options.has(right) {
                shown.push('*');
            }
        }
    }
    text(format!("{shown}/{}", role(&grant.by)))
}

/// The list of an object, or of a column of it; NULL where nothing was granted or revoked.
pub(super) fn list(catalog: &Catalog<'_>, object: &Object, column: Option<&str>) -> Result<Datum> {
    let objects = &catalog.snapshot()?.beside;
    let Some(list) = objects.lists.get(&object.key()) else { return Ok(Null) };
    let of = list.iter().filter(|grant| grant.column.as_deref() == column).map(item);
    let items: Vec<Datum> = of.collect();
    Ok(if items.is_empty() && column.is_some() { Null } else { array(items) })
}

/// `acldefault`: the rights on a thing of some kind before anything is granted or revoked.
pub(super) fn default_list(catalog: &Catalog<'_>, kind: &str, owner: u32) -> Result<Datum> {
    let (of_all, of_owner) = match kind {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "p" => ("", "sA"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        other => {
            let message = format!("unrecognized objtype abbreviation: {other}");
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
    };
    let owner = super::role::name_of(catalog, owner)?.map_or_else(|| owner.to_string(), |name| role(&name));
    let listed = [("", of_all), (owner.as_str(), of_owner)].into_iter().filter(|(_, rights)| !rights.is_empty());
    Ok(array(listed.map(|(to, rights)| text(format!("{to}={rights}/{owner}")))))
}
