//! Which rows a procedure reads to change them then, so that they are locked for that at once, where rows are locked: of two
//! calls that share a lock and then both want it alone, one has to run again.
//!
//! A guess, which changes no result: a row is read to be changed if the procedure changes rows of that table; a row of a loop, if
//! the loop's body does.

use crate::procedure::code::{Instruction, RowRange, ScanSlot, TableSlot};

/// Marks the reads of a procedure that is compiled.
pub(super) fn mark(instructions: &mut [Instruction]) {
    for at in 0..instructions.len() {
        let may_change = match &instructions[at] {
            Instruction::Get { table, .. } | Instruction::First { range: RowRange { table, .. }, .. } => {
                changes(instructions, *table)
            }
            Instruction::OpenRows { scan, range } => changes(body(&instructions[at..], *scan), range.table),
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

/// What stands between the beginning and the end of a scan.
fn body(instructions: &[Instruction], of: ScanSlot) -> &[Instruction] {
    let is_end = |instruction: &Instruction| matches!(instruction, Instruction::CloseRows { scan } if *scan == of);
    let end = instructions.iter().position(is_end).expect("a scan that is opened is closed");
    &instructions[..end]
}

/// Whether rows of a table are changed or removed by their keys.
fn changes(instructions: &[Instruction], changed: TableSlot) -> bool {
    instructions.iter().any(|instruction| match instruction {
        Instruction::Update { table, .. } | Instruction::Delete { table, .. } => *table == changed,
        _ => false,
    })
}
