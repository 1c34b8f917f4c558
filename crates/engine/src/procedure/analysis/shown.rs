//! The text of a slice: the statements of its procedure that belong to it.
//!
//! A statement that belongs to several slices, as a condition does, is shown in each of them. What a replay leaves out is not
//! shown: results, and what gives a transaction up.

use std::collections::BTreeSet;

use crate::procedure::program::{Block, Catch, Program, Statement, StatementKind};

/// Returns the text of the statements with these numbers, counted from 1 in the order of the text.
pub(super) fn text(program: &Program, kept: &BTreeSet<u32>) -> String {
    let mut filter = Filter { kept, number: 0 };
    let statements = filter.block(&program.body, false);
    statements.iter().map(|statement| format!("{statement}\n")).collect()
}

struct Filter<'k> {
    kept: &'k BTreeSet<u32>,
    /// Of the statement before.
    number: u32,
}

impl Filter<'_> {
    /// Returns what is kept of a block; `decides` where what leaves it is: a branch that is kept stands around it.
    fn block(&mut self, block: &Block, decides: bool) -> Block {
        block.iter().filter_map(|statement| self.statement(statement, decides)).collect()
    }

    fn statement(&mut self, statement: &Statement, decides: bool) -> Option<Statement> {
        self.number += 1;
        let is_kept = self.kept.contains(&self.number);
        let mut kind = statement.kind.clone();
        let has_kept = match &mut kind {
            StatementKind::Get { otherwise, .. }
            | StatementKind::First { otherwise, .. }
            | StatementKind::Replace { otherwise, .. }
            | StatementKind::Update { otherwise, .. }
            | StatementKind::Delete { otherwise, .. } => {
                let block = otherwise.take().map(|block| self.block(&block, is_kept));
                *otherwise = block.filter(|block| !block.is_empty());
                otherwise.is_some()
            }
            StatementKind::If { branches, otherwise } => {
                for (_, block) in branches.iter_mut() {
                    *block = self.block(block, is_kept);
                }
                *otherwise = self.block(otherwise, is_kept);
                branches.iter().any(|(_, block)| !block.is_empty()) || !otherwise.is_empty()
            }
            StatementKind::While { body, .. }
            | StatementKind::For { body, .. }
            | StatementKind::ForEach { body, .. }
            | StatementKind::ForRows { body, .. }
            | StatementKind::Call { body: Some(body), .. } => {
                *body = self.block(body, decides);
                !body.is_empty()
            }
            StatementKind::Try { body, catches } => {
                *body = self.block(body, decides);
                for Catch { body, .. } in catches.iter_mut() {
                    *body = self.block(body, true);
                }
                !body.is_empty()
            }
            StatementKind::Return { values } => {
                values.clear();
                decides
            }
            StatementKind::Break | StatementKind::Continue => decides,
            _ => false,
        };
        (is_kept || has_kept).then_some(Statement { kind, line: statement.line })
    }
}
