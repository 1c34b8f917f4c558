//! Whether all names in a program mean something: tables, indexes, the sequence, procedures.

use osier::procedure::program::{Block, Program, Range, StatementKind};

use super::super::model::Model;
use super::super::operation::{IndexName, TableName};
use super::{SEQUENCE, slot};

/// Whether a program makes sense with the definitions that there are.
pub(in super::super) fn resolves(model: &Model, program: &Program) -> bool {
    let draws = program.to_string().contains(&format!("nextval('{SEQUENCE}')"));
    (!draws || model.sequence.is_some()) && of_block(model, &program.body)
}

/// The table of a name.
pub(super) fn table(name: &str) -> Option<TableName> {
    match name {
        "plain" => Some(TableName::Plain),
        "indexed" => Some(TableName::Indexed),
        _ => name.strip_prefix("extra").and_then(|slot| slot.parse().ok()).map(TableName::Extra),
    }
}

/// The index of a name.
pub(super) fn index(name: &str) -> IndexName {
    match name {
        "by_code" => IndexName::Codes,
        "by_team" => IndexName::Teams,
        other => unreachable!("there is no index {other}"),
    }
}

fn of_block(model: &Model, block: &Block) -> bool {
    block.iter().all(|statement| {
        let is_known = match &statement.kind {
            StatementKind::Get { table, .. }
            | StatementKind::Insert { table, .. }
            | StatementKind::Upsert { table, .. }
            | StatementKind::Replace { table, .. }
            | StatementKind::Update { table, .. }
            | StatementKind::Delete { table, .. } => is_table(model, table),
            StatementKind::First { range, .. }
            | StatementKind::DeleteAll { range, .. }
            | StatementKind::ForRows { range, .. } => is_range(model, range),
            StatementKind::Call { procedure, .. } => {
                let callee = slot(procedure).and_then(|slot| model.procedures.get(&slot));
                callee.is_some_and(|callee| resolves(model, &callee.0))
            }
            _ => true,
        };
        is_known && statement.blocks().into_iter().all(|block| of_block(model, block))
    })
}

fn is_table(model: &Model, name: &str) -> bool {
    table(name).is_none_or(|table| model.table(table).is_some())
}

fn is_range(model: &Model, range: &Range) -> bool {
    let found = table(&range.table).and_then(|name| model.table(name));
    found.is_some_and(|table| range.index.as_ref().is_none_or(|name| table.indexes.contains(&index(name))))
}
