//! `MERGE`: the source is joined with the table that is written, and each of its rows finds the `WHEN` that is for it.
//!
//! Invariants:
//! - The columns of the table come first. Where the join has no row of it they are NULL, those of its key among them.
//! - A source without a partner is kept where something can be added for it.
//! - What is said of rows without a partner cannot name the table.

use sqlparser::ast::{self, MergeAction as Action, MergeClauseKind, MergeInsertKind, TableFactor, TableWithJoins};

use super::Binder;
use super::expr::missing_table;
use super::from::From;
use super::scope::{Level, ScopeColumn};
use super::view::{Target, Verb};
use super::write::{AssignedRows, BoundWrite, Overriding, named_columns, target_level};
use crate::catalog::rights::Rights;
use crate::error::{Result, SqlError, SqlState};
use crate::parse;
use crate::parse::merge::{is_nothing, overriding};
use crate::plan::join::Tree;
use crate::plan::{Change, JoinKind, MergeAction, MergeClause, Rules, Write};

/// What the clauses of a statement can name.
struct Names<'n> {
    target: &'n Target,
    /// The table and the source.
    both: Level<'n>,
    /// The source alone.
    source: Level<'n>,
    /// How many columns the rows of the join have.
    width: usize,
}

impl Binder<'_> {
    pub(super) fn merge(&self, merge: &ast::Merge) -> Result<BoundWrite> {
        refuse_unreachable(&merge.clauses)?;
        let (target, mut from) = self.merged_tables(merge)?;
        let (relation, own) = (target.relation.clone(), target.relation.columns.len());
        let both = target_level(&target, &from, &self.registers);
        both.refuse_aggregates("JOIN conditions");
        let mut on = Vec::new();
        self.condition(&merge.on, "JOIN/ON", &both)?.split(&mut on);
        let mut source = Level::new(None, &self.registers);
        source.columns = both.columns[own..].to_vec();
        source.concealed = both.columns[..own].to_vec();

        let names = Names { target: &target, both, source, width: from.columns.len() };
        let bind = |clause| self.merge_clause(clause, &names);
        let clauses = merge.clauses.iter().map(bind).collect::<Result<Vec<MergeClause>>>()?;
        let does = |is_it: fn(&MergeAction) -> bool| clauses.iter().any(|clause| is_it(&clause.action));
        let inserts = does(|action| matches!(action, MergeAction::Insert(_)));
        let updates = does(|action| matches!(action, MergeAction::Update { .. }));
        let deletes = does(|action| matches!(action, MergeAction::Delete));

        let right = from.tree.take();
        let (left, right) = (Tree::Leaf(0), Box::new(right.expect("the source is there")));
        from.tree = Some(match inserts {
            true => Tree::Join { kind: JoinKind::Right, left: Box::new(left), right, on },
            false => Tree::inner(left, *right, on),
        });
        let rules = match (inserts || updates, updates || deletes) {
            (true, true) => self.rules(&relation)?,
            (true, false) => self.insert_rules(&relation)?,
            (false, _) => Rules { keys: self.keys(&relation, false)?, ..Rules::default() },
        };
        let change = Change::Merge { input: self.plan_written(from)?, clauses };
        Ok(BoundWrite { write: Write { relation, change, returning: None, rules }, columns: None })
    }

    /// The table that is written, and the tables of the source, which are all in the tree.
    fn merged_tables(&self, merge: &ast::Merge) -> Result<(Target, From)> {
        let alone = |relation: &TableFactor| TableWithJoins { relation: relation.clone(), joins: Vec::new() };
        let (target, mut from) = self.target(&alone(&merge.table), &[], Verb::Merge)?;
        refuse_same_name(merge)?;
        // The source cannot name the table, not even behind `LATERAL`.
        let shown = from.columns.clone();
        from.columns.iter_mut().for_each(conceal);
        from.tree = None;
        self.add_tables(&mut from, &alone(&merge.source), false, None)?;
        from.columns.splice(..shown.len(), shown);
        Ok((target, from))
    }

    fn merge_clause(&self, clause: &ast::MergeClause, names: &Names<'_>) -> Result<MergeClause> {
        let is_matched = clause.clause_kind == MergeClauseKind::Matched;
        let level = if is_matched { &names.both } else { &names.source };
        level.refuse_aggregates("MERGE WHEN conditions");
        let condition = clause.predicate.as_ref().map(|condition| self.condition(condition, "WHEN", level));
        let condition = condition.transpose()?;
        let target = names.target;
        let action = match &clause.action {
            action if is_nothing(action) => {
                // Somebody who may do nothing at all with the table may not do this either.
                target.also(Rights::SELECT);
                MergeAction::Nothing
            }
            Action::Insert(insert) => {
                target.also(Rights::INSERT);
                MergeAction::Insert(self.merge_insert(target, insert, level)?)
            }
            Action::Update(update) => {
                target.also(Rights::UPDATE);
                level.refuse_aggregates("UPDATE");
                let mut rows = AssignedRows::Behind { width: names.width, rows: Vec::new() };
                let assignments = self.assignments(target, &update.assignments, level, &mut rows)?;
                MergeAction::Update { rows: rows.into_rows(), assignments }
            }
            Action::Delete { .. } => {
                target.also(Rights::DELETE);
                MergeAction::Delete
            }
        };
        Ok(MergeClause { is_matched, condition, action })
    }

    /// The values of a row that is added.
    fn merge_insert(
        &self,
        target: &Target,
        insert: &ast::MergeInsertExpr,
        level: &Level<'_>,
    ) -> Result<Vec<crate::expr::Expr>> {
        let values = match &insert.kind {
            MergeInsertKind::Values(values) => values.rows.first(),
            MergeInsertKind::Row => None,
        };
        let Some(values) = values else { return self.defaults(&target.relation, &[]) };
        let values = written_out(values, level)?;
        let named = named_columns(target, &insert.columns)?;
        let all = if named.is_empty() { target.all_columns(values.len(), Verb::Insert)? } else { Vec::new() };
        self.insert_values(target, (&named, &all), &values, Overriding::named(overriding(insert)), level)
    }
}

/// Values in which each `s.*` is the columns that it means.
fn written_out(values: &[ast::Expr], level: &Level<'_>) -> Result<Vec<ast::Expr>> {
    let mut all = Vec::with_capacity(values.len());
    for value in values {
        let ast::Expr::QualifiedWildcard(table, _) = value else {
            all.push(value.clone());
            continue;
        };
        let name = parse::parts(table)?.pop().unwrap_or_default();
        if !level.has_table(&name) {
            return Err(missing_table(&name, level).at_node(table));
        }
        let column = |column: &ScopeColumn| {
            let parts = [&name, &column.name].map(|part| ast::Ident::with_quote('"', part));
            ast::Expr::CompoundIdentifier(parts.into())
        };
        all.extend(level.of_table(&name).map(column));
    }
    Ok(all)
}

/// Takes the name of a column away.
fn conceal(column: &mut ScopeColumn) {
    (column.is_hidden, column.is_merged, column.table) = (true, true, None);
    column.name.clear();
}

/// Refuses a `WHEN` behind one that is for all rows.
fn refuse_unreachable(clauses: &[ast::MergeClause]) -> Result<()> {
    for (at, clause) in clauses.iter().enumerate() {
        let is_of_kind = |before: &&ast::MergeClause| before.clause_kind == clause.clause_kind;
        if clauses[..at].iter().filter(is_of_kind).any(|before| before.predicate.is_none()) {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::new(SqlState::SyntaxError, message));
        }
    }
    Ok(())
}

/// Refuses a source that is called as the table is.
fn refuse_same_name(merge: &ast::Merge) -> Result<()> {
    let name = name_of(&merge.table)?;
    if name.is_none() || name != name_of(&merge.source)? {
        return Ok(());
    }
    let message = format!("name \"{}\" specified more than once", name.unwrap_or_default());
    Err(SqlError::new(SqlState::DuplicateAlias, message)
        .with_detail("The name is used both as MERGE target table and data source."))
}

/// What something in `FROM` is called.
fn name_of(factor: &TableFactor) -> Result<Option<String>> {
    let (name, alias) = match factor {
        TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => (Some(name), alias),
        TableFactor::Derived { alias, .. } | TableFactor::UNNEST { alias, .. } => (None, alias),
        _ => return Ok(None),
    };
    match (alias, name) {
        (Some(alias), _) => Ok(Some(parse::name(&alias.name))),
        (None, Some(name)) => Ok(parse::parts(name)?.pop()),
        (None, None) => Ok(None),
    }
}
