//! `LIKE` in `CREATE TABLE`: columns of another table, and what belongs to them.

use super::Definer;
use super::blueprint::{Blueprint, ColumnPlan, IndexPlan};
use crate::bind::select::index_label;
use crate::catalog::notes::Computed;
use crate::catalog::rights::Rights;
use crate::error::Result;
use crate::parse;
use crate::parse::rewrite::Like;

impl Definer<'_, '_> {
    /// Adds the columns of another table.
    pub(super) fn like(&self, blueprint: &mut Blueprint, like: &Like) -> Result<()> {
        let idents = like.table.iter().map(|part| sqlparser::ast::Ident::with_quote('"', part));
        let relation = self.relation(&idents.collect::<Vec<_>>().into())?;
        self.need_right(&relation, Rights::SELECT)?;
        let mut source = Blueprint::of(&relation);
        source.unqualify_checks();
        for column in source.visible() {
            let comment = column.comment.clone().filter(|_| like.comments);
            let is_kept = if column.is_generated { like.generated } else { like.defaults };
            blueprint.add(ColumnPlan {
                default: column.default.clone().filter(|_| is_kept),
                is_generated: column.is_generated && is_kept,
                identity: None,
                sequence: None,
                comment,
                ..column.clone()
            })?;
            if let (Some(identity), Some(sequence), true) = (column.identity, &column.sequence, like.identity) {
                let numbers = self.numbers(sequence)?;
                let sequence = self.own_numbered(blueprint, &column.name, &numbers)?;
                let new = blueprint.column_mut(&column.name)?;
                (new.identity, new.sequence) = (Some(identity), Some(sequence));
            }
        }
        if like.constraints {
            for check in &source.checks {
                let part = format!("constraint {}", check.name);
                let comment = source.comments.get(&part).filter(|_| like.comments);
                blueprint.comments.extend(comment.map(|comment| (part, comment.clone())));
                blueprint.checks.push(check.clone());
            }
        }
        if like.indexes {
            self.copy_indexes(&source, blueprint, like.comments)?;
        }
        Ok(())
    }

    /// Copies keys and indexes under names of the new table.
    fn copy_indexes(&self, source: &Blueprint, blueprint: &mut Blueprint, with_comments: bool) -> Result<()> {
        let mut names = Vec::new();
        if let Some((old, columns)) = &source.key {
            let name = self.index_name(blueprint, None, None, "pkey")?;
            names.push((old.clone(), name.clone()));
            blueprint.set_key(name, columns.clone())?;
        }
        for index in &source.indexes {
            let mut columns = Vec::with_capacity(index.columns.len());
            let mut labels = Vec::with_capacity(index.columns.len());
            for name in &index.columns {
                let computed = source.columns.iter().find(|column| column.computed.is_some() && column.name == *name);
                let Some(ColumnPlan { computed: Some(computed), default: Some(text), declared, within, .. }) = computed
                else {
                    labels.push(name.clone());
                    columns.push(name.clone());
                    continue;
                };
                if *computed == Computed::Expression {
                    labels.push(index_label(&parse::expression(text)?));
                }
                // The condition of the index is the first of its columns.
                let within = within.as_ref().and_then(|_| columns.first().cloned());
                columns.push(blueprint.compute(*computed, text, *declared, within.as_deref())?);
            }
            let label = if index.is_constraint { "key" } else { "idx" };
            let name = self.index_name(blueprint, None, Some(&labels), label)?;
            names.push((index.name.clone(), name.clone()));
            blueprint.indexes.push(IndexPlan { name, columns, ..index.clone() });
        }
        for (old, new) in names.into_iter().filter(|_| with_comments) {
            for kind in ["index", "constraint"] {
                let comment = source.comments.get(&format!("{kind} {old}"));
                blueprint.comments.extend(comment.map(|comment| (format!("{kind} {new}"), comment.clone())));
            }
        }
        Ok(())
    }
}
