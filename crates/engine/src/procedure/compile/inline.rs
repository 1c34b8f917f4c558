//! Calls of other procedures: the body of the one that is called becomes a part of the caller's code.
//!
//! Its parameters and variables have slots of their own, `return` becomes a jump, and `emit` adds to arrays that the caller then
//! goes through.

use super::scope::Variable;
use super::statements::UNKNOWN;
use super::{CALLS_MAX, Caller, Compiled, Compiler, Outputs, wrong};
use crate::procedure::code::{Array, ArraySlot, ConstantValue, Each, Instruction, Output, Rounds, Scalar, ScanSlot};
use crate::procedure::expression::Expression;
use crate::procedure::program::{Field, Program, Results, Statement};

impl Compiler<'_> {
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[Expression],
        into: &[String],
        body: Option<&[Statement]>,
    ) -> Compiled<()> {
        let program = self.callee(name)?;
        let fields = program.results.fields();
        if arguments.len() != program.parameters.len() {
            let (given, taken) = (arguments.len(), program.parameters.len());
            return wrong(format!("procedure `{name}` takes {taken} arguments, {given} are given"));
        }
        match (&program.results, body) {
            (Results::Set(_), None) if !into.is_empty() => {
                return wrong(format!(
                    "procedure `{name}` returns a set; go through it: `for ... in call {name}(...)`"
                ));
            }
            (Results::Nothing | Results::Values(_), Some(_)) => {
                return wrong(format!("procedure `{name}` returns no set; write `call {name}(...) into ...`"));
            }
            _ => {}
        }
        if !(into.is_empty() && body.is_none()) && into.len() != fields.len() {
            return wrong(format!("procedure `{name}` has {} results, {} names are given", fields.len(), into.len()));
        }

        let arguments = arguments.iter().zip(&program.parameters);
        let arguments = arguments.map(|(value, field)| self.assigned(value, field.ty)).collect::<Compiled<Vec<_>>>()?;
        let results = self.result_variables(&program)?;
        self.inlined(&program, arguments, results.clone())?;
        match body {
            None => into.iter().zip(results).try_for_each(|(name, result)| self.scope.declare(name, result)),
            Some(body) => self.for_results(fields, into, results, body),
        }
    }

    /// Returns the procedure that is called, which is none of those that call.
    fn callee(&mut self, name: &str) -> Compiled<std::sync::Arc<Program>> {
        let callers: Vec<_> = self.procedures.iter().map(|procedure| procedure.name.as_str()).collect();
        if callers.contains(&name) {
            return wrong(format!(
                "procedure `{name}` would call itself ({} -> {name}); use a loop",
                callers.join(" -> ")
            ));
        }
        if callers.len() > CALLS_MAX {
            return wrong(format!("procedures call each other more than {CALLS_MAX} deep ({})", callers.join(" -> ")));
        }
        Ok(self.definitions.procedure(name)?)
    }

    /// Returns where the results go: a variable each, or for a set an array each.
    fn result_variables(&mut self, program: &Program) -> Compiled<Vec<Variable>> {
        let is_set = matches!(program.results, Results::Set(_));
        let variable = |field: &Field| {
            let ty = field.ty.ty;
            if is_set && field.ty.is_array {
                return wrong(format!("result `{}` is an array in a set, which only clients can read", field.name));
            }
            Ok(match is_set || field.ty.is_array {
                true => Variable::Array { slot: self.array_slot()?, ty, is_settable: true },
                false => Variable::Scalar { slot: self.slot()?, ty, is_settable: true },
            })
        };
        program.results.fields().iter().map(variable).collect()
    }

    fn inlined(&mut self, program: &Program, arguments: Outputs, results: Vec<Variable>) -> Compiled<()> {
        let is_set = matches!(program.results, Results::Set(_));
        for result in &results {
            let none = match result {
                Variable::Array { .. } if is_set => Output::Array(Array::Elements(Box::default())),
                Variable::Array { .. } => Output::Array(Array::Null),
                _ => Output::Scalar(Scalar::Constant(ConstantValue::Null)),
            };
            self.store(*result, none)?;
        }
        let loops = std::mem::take(&mut self.loops);
        self.begin_procedure(program, Some(Caller { values: results, ends: Vec::new() }));
        for (field, argument) in program.parameters.iter().zip(arguments) {
            self.pass(field, argument)?;
        }
        self.conditional(&program.body)?;
        self.scope.end_procedure();
        let callee = self.procedures.pop().expect("the procedure is being compiled");
        let Caller { ends, .. } = callee.caller.expect("a procedure that is called has a caller");
        ends.into_iter().for_each(|end| self.patch_here(end));
        self.loops = loops;
        Ok(())
    }

    /// Gives a parameter its argument. Neither the procedure nor, while that runs, its caller writes a variable that is one:
    /// such a variable is the parameter itself.
    fn pass(&mut self, field: &Field, argument: Output) -> Compiled<()> {
        let ty = field.ty.ty;
        let variable = match argument {
            Output::Scalar(Scalar::Slot(slot)) => Variable::Scalar { slot, ty, is_settable: false },
            Output::Array(Array::Slot(slot)) => Variable::Array { slot, ty, is_settable: false },
            argument => {
                let parameter = self.declare(field, false)?;
                return self.store(parameter, argument);
            }
        };
        self.scope.declare(&field.name, variable)
    }

    /// Ends the procedure that is being compiled, and goes on in the one that called it.
    pub(super) fn return_to_caller(&mut self, outputs: Outputs) -> Compiled<()> {
        let (tries, scans) = (self.procedure().tries, self.procedure().scans);
        self.return_all(outputs)?;
        if self.tries > tries {
            self.emit(Instruction::LeaveTry { count: self.tries - tries })?;
        }
        if self.scans > scans {
            self.emit(Instruction::CloseRows { scan: ScanSlot(scans) })?;
        }
        let end = self.emit(Instruction::Jump { to: UNKNOWN })?;
        self.caller().ends.push(end);
        Ok(())
    }

    /// Gives the variables of the caller what is returned: all of it or, where evaluating it fails and that is caught, nothing.
    fn return_all(&mut self, outputs: Outputs) -> Compiled<()> {
        if outputs.is_empty() {
            return Ok(());
        }
        let to = self.caller().values.clone();
        // The procedure does not see these variables, so that values which cannot fail are as good afterwards.
        let (safe, others): (Vec<_>, Vec<_>) = to.into_iter().zip(outputs).partition(|(_, value)| cannot_fail(value));
        let (mut moves, last) = (Vec::new(), others.len().saturating_sub(1));
        for (at, (variable, value)) in others.into_iter().enumerate() {
            if at == last {
                self.store(variable, value)?;
                continue;
            }
            let (between, moved) = match variable {
                Variable::Array { ty, .. } => {
                    let slot = self.array_slot()?;
                    (Variable::Array { slot, ty, is_settable: false }, Output::Array(Array::Slot(slot)))
                }
                Variable::Scalar { ty, .. } => {
                    let slot = self.slot()?;
                    (Variable::Scalar { slot, ty, is_settable: false }, Output::Scalar(Scalar::Slot(slot)))
                }
                Variable::Row { .. } | Variable::Error { .. } => unreachable!("a result is a value or an array"),
            };
            self.store(between, value)?;
            moves.push((variable, moved));
        }
        moves.into_iter().chain(safe).try_for_each(|(variable, value)| self.store(variable, value))
    }

    /// Adds a row to the set of the procedure that is being compiled.
    pub(super) fn collect(&mut self, outputs: Outputs) -> Compiled<()> {
        let (mut values, mut to) = (Vec::new(), Vec::new());
        for (output, variable) in outputs.into_iter().zip(self.caller().values.clone()) {
            let (Output::Scalar(value), Variable::Array { slot, .. }) = (output, variable) else {
                unreachable!("a set has values, and an array for each field")
            };
            values.push(value);
            to.push(slot);
        }
        self.emit(Instruction::Collect { values: values.into(), to: to.into() }).map(|_| ())
    }

    fn caller(&mut self) -> &mut Caller {
        self.procedure().caller.as_mut().expect("a procedure that is called has a caller")
    }

    /// Goes through the rows that a procedure has returned.
    fn for_results(
        &mut self,
        fields: &[Field],
        names: &[String],
        results: Vec<Variable>,
        body: &[Statement],
    ) -> Compiled<()> {
        let begin = self.scope.begin_block();
        let arrays: Box<[ArraySlot]> = results
            .iter()
            .map(|result| match result {
                Variable::Array { slot, .. } => *slot,
                _ => unreachable!("a set has an array for each field"),
            })
            .collect();
        let mut variables = Vec::new();
        for (field, name) in fields.iter().zip(names) {
            let field = Field { name: name.clone(), ty: field.ty };
            match self.declare(&field, false)? {
                Variable::Scalar { slot, .. } => variables.push(slot),
                _ => unreachable!("a set has values"),
            }
        }
        let index = self.slot()?;
        self.emit(Instruction::Evaluate { to: index, value: Scalar::Constant(ConstantValue::Int(0)) })?;
        let each = Each { variables: variables.into(), arrays };
        self.begin_loop_keys(Some(Rounds::Arrays(each.clone())))?;
        let next = self.here();
        let take = self.emit(Instruction::NextEach { index, each, end: UNKNOWN })?;
        self.looped(next, body)?;
        self.patch_here(take);
        self.scope.end_block(begin);
        Ok(())
    }
}

/// Whether a value is at hand.
fn cannot_fail(value: &Output) -> bool {
    matches!(
        value,
        Output::Scalar(Scalar::Slot(_) | Scalar::Constant(_) | Scalar::Column(..))
            | Output::Array(Array::Slot(_) | Array::Null)
    )
}
