//! The rows of procedures, as part of transactions: which version is the current one of a name, and what its definition is.
//!
//! A session that has compiled a definition keeps the [`Procedure`] that it was given with: [`Transaction::use_definition`] tells
//! whether that is still the current version, at the cost of one look at the catalog's version.
//!
//! Invariants:
//! - A procedure keeps its id until it is dropped, and no other one ever gets it.
//! - Versions are kept as long as the log may name them ([`superseded`](super::superseded)).

use osier_memory::sync::Backoff;

use super::definition::{Definition, refuse_reserved};
use super::{Transaction, TransactionState};
use crate::catalog::DefinitionHandle;
use crate::catalog::handles::Handle;
use crate::catalog::procedure::{Procedure, ProcedureDefinition, ProcedureKind, VersionKey};
use crate::catalog::sequence::Sequence;
use crate::concurrency::Intent;
use crate::concurrency::write_set::TreeRef;
use crate::error::{Error, TransactionError};
use crate::ids::ProcedureId;
use crate::table::{SchemaError, Table, Value};

impl Transaction<'_> {
    /// An id for a procedure that is created. It is lost where the transaction does not commit.
    pub(crate) fn next_procedure_id(&self) -> ProcedureId {
        self.shared.catalog.next_procedure_id()
    }

    /// Makes `of` the current version of `name`, and keeps its definition. Creating a procedure takes an id of
    /// [`Transaction::next_procedure_id`]; replacing it keeps the id.
    ///
    /// # Errors
    /// [`TransactionError::ReservedName`]; a conflict where `name` is another procedure's.
    pub(crate) fn write_procedure(
        &self,
        name: &str,
        of: VersionKey,
        kind: ProcedureKind,
        definition: &[u8],
    ) -> Result<Procedure, Error> {
        refuse_reserved(name)?;
        let system = &self.shared.catalog.system;
        self.write_catalog(&system.procedures, |state, tree_ref| {
            let before = self.current_procedure(state, name)?;
            if before.as_ref().is_some_and(|before| before.version().id != of.id) {
                // The caller has seen another one.
                return Err(state.lose(TransactionError::ROW_CONFLICT).into());
            }
            self.put_system_row(state, &system.procedures, tree_ref, &of.current_values(name))
        })?;
        self.write_catalog(&system.procedure_versions, |state, tree_ref| {
            self.put_system_row(state, &system.procedure_versions, tree_ref, &of.values(name, kind, definition))
        })?;
        let procedure = Procedure::new(name, of, None);
        self.define(Definition::Procedure(procedure.clone()));
        Ok(procedure)
    }

    /// Removes the procedure of this name; `false` where there is none. Its versions stay.
    pub(crate) fn erase_procedure(&self, name: &str) -> Result<bool, Error> {
        let system = &self.shared.catalog.system.procedures;
        let dropped = self.write_catalog(system, |state, tree_ref| {
            let Some(procedure) = self.current_procedure(state, name)? else { return Ok(None) };
            let key = system.keys.of_key(&[Value::Text(name)])?;
            self.delete_encoded(state, system, tree_ref, &key)?;
            Ok(Some(procedure))
        })?;
        let existed = dropped.is_some();
        dropped.into_iter().for_each(|procedure| self.define(Definition::DropProcedure(procedure)));
        Ok(existed)
    }

    /// The current version of a procedure, as this transaction sees it; it relies on that from now on.
    ///
    /// # Errors
    /// [`SchemaError::CorruptRow`] where the catalog does not hold the definition of the current version.
    pub(crate) fn procedure_definition(&self, name: &str) -> Result<Option<(Procedure, ProcedureDefinition)>, Error> {
        self.refuse_at_snapshot("look a procedure up")?;
        let system = &self.shared.catalog.system;
        let found = {
            let state = &mut **self.state();
            self.touch(state, &system.procedures)?;
            self.current_procedure(state, name)?
        };
        let Some(procedure) = found else { return Ok(None) };
        let of = procedure.version();
        let Some(definition) = self.procedure_version(of)? else {
            let reason = format!("version {} of procedure {} `{name}` is missing", of.version, of.id);
            return Err(SchemaError::CorruptRow { table: system.procedure_versions.name().to_owned(), reason }.into());
        };
        Ok(Some((procedure, definition)))
    }

    /// The definition of any version that there ever was.
    pub(crate) fn procedure_version(&self, of: VersionKey) -> Result<Option<ProcedureDefinition>, Error> {
        let row = self.get(&self.shared.catalog.system.procedure_versions, &of.key())?;
        Ok(row.map(|row| ProcedureDefinition::of(&row)).transpose()?)
    }

    /// Relies on `procedure` being the current version of its name; `false`: it is not, look it up again.
    pub(crate) fn use_definition(&self, procedure: &Procedure) -> Result<bool, Error> {
        self.touch_definition(&mut self.state(), &DefinitionHandle::Procedure(procedure.clone()))
    }

    /// Relies on `sequence` being what its name means; `false`: it is not.
    pub(crate) fn use_sequence(&self, sequence: &Sequence) -> Result<bool, Error> {
        self.touch_definition(&mut self.state(), &DefinitionHandle::Sequence(sequence.clone()))
    }

    /// Relies on `table` being what its name means; `false`: it is not.
    pub(crate) fn use_table(&self, table: &Table) -> Result<bool, Error> {
        match self.touch(&mut self.state(), table) {
            Ok(_) => Ok(true),
            Err(Error::Transaction(TransactionError::TableChanged { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The handle of the current version, noted as read. Who writes a newer one has waited until the one before was published, so
    /// that they are published in their order.
    fn current_procedure(&self, state: &mut TransactionState, name: &str) -> Result<Option<Procedure>, Error> {
        if let Some(own) = state.own_procedure(name) {
            return Ok(own.cloned());
        }
        let catalog = &self.shared.catalog;
        let mut backoff = Backoff::new();
        loop {
            let Some(stamp) = self.definition_stamp(state, &catalog.system.procedures, (name, Intent::Definition))?
            else {
                return Ok(None);
            };
            match catalog.open_procedures.find(name, |procedure| procedure.stamp() == Some(stamp)) {
                Some(procedure) => return Ok(Some(procedure)),
                None => self.shared.wait_for_handle(&mut backoff)?,
            }
        }
    }

    /// Whether `procedure` is the current version of its name to this transaction.
    pub(super) fn is_current_procedure(
        &self,
        state: &mut TransactionState,
        procedure: &Procedure,
    ) -> Result<bool, Error> {
        if let Some(own) = state.own_procedure(procedure.name()) {
            return Ok(own.is_some_and(|own| own.is_same(procedure)));
        }
        let name = (procedure.name(), Intent::Definition);
        let stamp = self.definition_stamp(state, &self.shared.catalog.system.procedures, name)?;
        Ok(stamp.is_some() && stamp == procedure.stamp())
    }

    /// Adds a row to a system table, or replaces it.
    fn put_system_row(
        &self,
        state: &mut TransactionState,
        system: &Table,
        tree_ref: TreeRef,
        row: &[Value<'_>],
    ) -> Result<(), Error> {
        let key = system.keys.of_values(row)?;
        let version = self.encode(system, row)?;
        let exists =
            matches!(self.look_up(state, &system.primary, key.as_bytes(), Intent::Definition)?, Some((_, Some(_))));
        if exists {
            return self.replace_encoded(state, system, tree_ref, &key, version).map(|_| ());
        }
        self.insert_encoded(state, system, tree_ref, &key, version)
    }
}

impl TransactionState {
    /// What this transaction has made of the procedure of a name: `None` where nothing, else the version or that there is none.
    fn own_procedure(&self, name: &str) -> Option<Option<&Procedure>> {
        self.definitions.iter().rev().find_map(|own| match own {
            Definition::Procedure(procedure) if procedure.name() == name => Some(Some(procedure)),
            Definition::DropProcedure(procedure) if procedure.name() == name => Some(None),
            _ => None,
        })
    }
}
