//! Which rows a procedure reads to change them then, so that they are locked for that at once, where rows are locked: of two
//! calls that share a lock and then both want it alone, one has to run again.
//!
//! A guess, which changes no result: a row is read to be changed if the procedure writes rows of that table by their keys; a row
//! of a loop, if the loop's body does.

use crate::procedure::code::{Instruction, RowRange, ScanSlot, TableSlot};

/// Marks the reads of a procedure that is compiled.
pub(super) fn mark(instructions: &mut [Instruction]) {
    for at in 0..instructions.len() {
        let may_change = match &instructions[at] {
            Instruction::Get { table, .. } | Instruction::First { range: RowRange { table, .. }, .. } => {
                writes(instructions, *table)
            }
            Instruction::OpenRows { scan, range } => writes(body(instructions, at, *scan), range.table),
            _ => continue,
        };
        match &mut instructions[at] {
            Instruction::Get { for_update, .. }
            | Instruction::First { range: RowRange { for_update, .. }, .. }
            | Instruction::OpenRows { range: RowRange { for_update, .. }, .. } => *for_update = may_change,
            _ => unreachable!("it reads"),
        }
    }
}

/// The body of the loop whose scan is opened by instruction `at`.
fn body(instructions: &[Instruction], at: usize, of: ScanSlot) -> &[Instruction] {
    let end = instructions[at..].iter().find_map(|instruction| match instruction {
        Instruction::NextRow { scan, end, .. } if *scan == of => Some(end.0 as usize),
        _ => None,
    });
    &instructions[at..end.expect("a scan that is opened is gone through")]
}

/// Whether rows of a table are written by their keys; an insertion finds none.
fn writes(instructions: &[Instruction], written: TableSlot) -> bool {
    instructions.iter().any(|instruction| match instruction {
        Instruction::Update { table, .. }
        | Instruction::Delete { table, .. }
        | Instruction::Replace { table, .. }
        | Instruction::Upsert { table, .. } => *table == written,
        _ => false,
    })
}
