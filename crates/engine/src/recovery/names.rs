//! What the ids in a log mean, for people who look at it without opening the database: read from the catalog rows of the newest
//! checkpoint and of the log itself.
//!
//! Invariants:
//! - Nothing is written, and nothing depends on it but print: what cannot be read is left out, and an id without a name stays a
//!   number.
//! - A procedure's version and a table's columns never change, so that whichever row names them is right.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use osier_memory::Epochs;

use super::walk;
use crate::catalog::procedure::{ProcedureDefinition, ProcedureKind, VersionKey};
use crate::catalog::{PROCEDURE_VERSIONS, SystemTables, TABLES, TableRow};
use crate::checkpoint::files;
use crate::checkpoint::loader::PartReader;
use crate::config::Config;
use crate::directory::manifest::Manifest;
use crate::ids::{TableId, WallTime};
use crate::log::format::payload::command::{Command, Listed};
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::procedure::program::Field;
use crate::procedure::stored;
use crate::table::store::Store;
use crate::table::{Argument, KeyCodec, RowCodec, Schema, SchemaError};

/// Names of procedures, their parameters, and tables.
pub(crate) struct Names {
    system: SystemTables,
    procedures: HashMap<VersionKey, NamedProcedure>,
    tables: HashMap<TableId, NamedTable>,
}

struct NamedProcedure {
    name: String,
    /// Empty of a function: only the program that has it knows them.
    parameters: Vec<Field>,
}

/// A table that rows of a log are of.
pub(crate) struct NamedTable {
    pub(crate) name: String,
    pub(crate) keys: KeyCodec,
    /// Those of all schemas that it has had, the latest first.
    rows: Vec<RowCodec>,
}

impl NamedTable {
    fn of(name: &str, schema: Arc<Schema>) -> NamedTable {
        NamedTable { name: name.to_owned(), keys: KeyCodec::primary(schema.clone()), rows: vec![RowCodec::new(schema)] }
    }

    /// Returns a row for people.
    pub(crate) fn row(&self, bytes: &[u8]) -> String {
        let mut errors = Vec::new();
        for rows in &self.rows {
            match rows.check(bytes) {
                Ok(()) => return rows.describe(bytes),
                Err(error) => errors.push(error),
            }
        }
        format!("{} bytes that are no row: {}", bytes.len(), errors[0])
    }

    /// Takes another schema of the table.
    fn learn(&mut self, schema: Arc<Schema>) {
        if self.rows.iter().all(|known| **known.schema() != *schema) {
            let later = self.rows.partition_point(|known| known.schema().places() > schema.places());
            self.rows.insert(later, RowCodec::new(schema));
        }
    }
}

impl Names {
    /// Reads what there is in the files of `manifest`.
    pub(crate) fn of(config: &Config, manifest: &Manifest) -> Result<Names, SchemaError> {
        let mut names = Names::new()?;
        names.read_checkpoint(config, manifest);
        walk::for_each_record(config, manifest, &mut |record| record.for_each_write(|write| names.note_write(&write)));
        Ok(names)
    }

    /// Returns none so far, but those of the catalog.
    pub(crate) fn new() -> Result<Names, SchemaError> {
        let system = SystemTables::new(&Store::new(Epochs::new(1)))?;
        let (procedures, mut tables) = (HashMap::new(), HashMap::new());
        for table in system.all() {
            tables.insert(table.id, NamedTable::of(table.name(), table.schema().clone()));
        }
        Ok(Names { system, procedures, tables })
    }

    /// Takes what the newest checkpoint holds of the catalog, which comes first in each part.
    pub(crate) fn read_checkpoint(&mut self, config: &Config, manifest: &Manifest) {
        let (disk, home) = (&*config.environment.disk, &config.dirs[0]);
        let Some(checkpoint) = manifest.checkpoints.last() else { return };
        for (path, part, length) in files::parts_of(home, manifest, checkpoint) {
            let Ok(mut reader) = PartReader::open(disk, path, part, length) else { continue };
            let mut is_catalog = true;
            while is_catalog {
                let read = reader.next_block(|table, row| {
                    is_catalog = table < TableId::FIRST_USER;
                    self.note(table, row.row);
                });
                is_catalog &= read.unwrap_or(false);
            }
        }
    }

    /// Takes what a write of a log says.
    pub(crate) fn note_write(&mut self, write: &LoggedWrite<'_>) {
        if let Change::Put(row) = write.change {
            self.note(write.table, row);
        }
    }

    fn note(&mut self, table: TableId, row: &[u8]) {
        match table {
            TABLES => {
                let rows = &self.system.tables.rows;
                let Ok(found) = TableRow::of(&self.system.tables, row) else { return };
                if let Ok(schema) = Schema::decode(&found.definition) {
                    let name = rows.row(row).text(crate::table::ColumnId(0)).to_owned();
                    let schema = Arc::new(schema);
                    let table = self.tables.entry(found.id);
                    table.or_insert_with(|| NamedTable::of(&name, schema.clone())).learn(schema);
                }
            }
            PROCEDURE_VERSIONS => {
                let rows = &self.system.procedure_versions.rows;
                if rows.check(row).is_err() {
                    return;
                }
                let row = rows.row(row);
                let Ok(ProcedureDefinition { name, kind, definition }) = ProcedureDefinition::of(&row) else { return };
                let parameters = match kind {
                    ProcedureKind::Declared => stored::decode(&name, &definition).map(|program| program.parameters),
                    ProcedureKind::Opaque => Ok(Vec::new()),
                };
                let parameters = parameters.unwrap_or_default();
                self.procedures.insert(VersionKey::of_version(&row), NamedProcedure { name, parameters });
            }
            _ => {}
        }
    }

    /// Returns the table with this id.
    pub(crate) fn table(&self, id: TableId) -> Option<&NamedTable> {
        self.tables.get(&id)
    }

    /// Returns a command for people: the call, and what it drew.
    pub(crate) fn call(&self, command: &Command<'_>) -> String {
        let Command { procedure, version, time, seed, sequence_values, hash, arguments } = command;
        let named = self.procedures.get(&VersionKey { id: *procedure, version: *version });
        let mut text = format!("procedure {procedure}");
        let mut put = |part: &dyn std::fmt::Display| {
            let _ = write!(text, "{part}");
        };
        if let Some(named) = named {
            put(&format_args!(" `{}`", named.name));
        }
        put(&format_args!(" version {version} ("));
        for (at, argument) in arguments.iter().enumerate() {
            put(&format_args!("{}", if at > 0 { ", " } else { "" }));
            match named.and_then(|named| named.parameters.get(at)) {
                Some(parameter) => put(&format_args!("{} = {}", parameter.name, shown(parameter, argument))),
                None => put(argument),
            }
        }
        put(&")");
        if let Some(time) = time {
            match u64::try_from(*time) {
                Ok(known) => put(&format_args!(", time {} ({time})", WallTime(known))),
                Err(_) => put(&format_args!(", time {time}")),
            }
        }
        if let Some(seed) = seed {
            put(&format_args!(", seed {seed:016x}"));
        }
        if !sequence_values.is_empty() {
            put(&format_args!(", drew {}", Listed(sequence_values)));
        }
        if let Some(hash) = hash {
            put(&format_args!(", {hash}"));
        }
        text
    }
}

/// An argument as a value of the type of its parameter.
fn shown(parameter: &Field, argument: &Argument<'_>) -> String {
    let ty = parameter.ty.ty;
    match argument {
        Argument::Scalar(value) => ty.shown(*value).to_string(),
        Argument::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(|element| ty.shown(*element).to_string()).collect();
            format!("{{{}}}", elements.join(", "))
        }
    }
}
