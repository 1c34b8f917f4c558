//! Statements that compute, choose and repeat.

use super::scope::Variable;
use super::{Compiled, Compiler, Loop, Outputs, wrong};
use crate::procedure::code::{
    Array, CatchCode, ConstantValue, Each, Handler, Instruction, Kind, Output, Rounds, Scalar, ScanSlot, Slot, Target,
};
use crate::procedure::expression::Expression;
use crate::procedure::program::{Catch, DataType, Field, Range, Results, Statement, StatementKind};
use crate::table::Type;

/// A target that is not known yet.
pub(super) const UNKNOWN: Target = Target(u32::MAX);

impl Compiler<'_> {
    /// Compiles statements whose variables are known in them alone.
    pub(super) fn block(&mut self, block: &[Statement]) -> Compiled<()> {
        let begin = self.scope.begin_block();
        block.iter().try_for_each(|statement| self.statement(statement))?;
        self.scope.end_block(begin);
        Ok(())
    }

    /// Compiles statements that may not be executed.
    pub(super) fn conditional(&mut self, block: &[Statement]) -> Compiled<()> {
        self.conditions += 1;
        let compiled = self.block(block);
        self.conditions -= 1;
        compiled
    }

    fn statement(&mut self, statement: &Statement) -> Compiled<()> {
        self.procedure().number += 1;
        let place = statement.place(self.procedure().number);
        self.places.push(match &*self.procedures {
            [_] => place,
            called => format!("{} of `{}`", place, called[called.len() - 1].name),
        });
        self.numbers.push(self.procedures[0].number as u32);
        // Where it fails, the place is that of the error.
        let outer = std::mem::replace(&mut self.place, self.places.len() - 1);
        self.kind(&statement.kind)?;
        self.place = outer;
        Ok(())
    }

    fn kind(&mut self, kind: &StatementKind) -> Compiled<()> {
        match kind {
            StatementKind::Let { variable, ty, value } => self.let_(variable, *ty, value.as_ref()),
            StatementKind::Set { variable, value } => self.set(variable, value),
            StatementKind::Append { variable, value } => self.append(variable, value),
            StatementKind::If { branches, otherwise } => self.if_(branches, otherwise),
            StatementKind::While { condition, body } => self.while_(condition, body),
            StatementKind::For { variable, from, to, body } => self.for_(variable, from, to, body),
            StatementKind::ForEach { variables, arrays, body } => self.for_each(variables, arrays, body),
            StatementKind::ForRows { row, range, body } => self.for_rows(row, range, body),
            StatementKind::Break => self.leave_loop(true),
            StatementKind::Continue => self.leave_loop(false),
            StatementKind::Return { values } => self.return_(values),
            StatementKind::Emit { values } => self.emit_row(values),
            StatementKind::Abort { sqlstate, message } => self.abort(sqlstate, message),
            StatementKind::Try { body, catches } => self.try_(body, catches),
            StatementKind::Call { procedure, arguments, into, body } => {
                self.call(procedure, arguments, into, body.as_deref())
            }
            access => self.access(access),
        }
    }

    fn let_(&mut self, variable: &str, ty: Option<DataType>, value: Option<&Expression>) -> Compiled<()> {
        let ty = match (ty, value) {
            (Some(ty), _) => ty,
            (None, Some(value)) => self.type_of(value)?,
            (None, None) => return wrong(format!("give `{variable}` a type or a value")),
        };
        let value = value.map(|value| self.assigned(value, ty)).transpose()?;
        let declared = self.declare(&Field { name: variable.to_owned(), ty }, true)?;
        let null = || match ty.is_array {
            true => Output::Array(Array::Null),
            false => Output::Scalar(Scalar::Constant(ConstantValue::Null)),
        };
        self.store(declared, value.unwrap_or_else(null))
    }

    /// Gives a variable a value of its type.
    pub(super) fn store(&mut self, to: Variable, value: Output) -> Compiled<()> {
        let instruction = match (to, value) {
            (Variable::Scalar { slot, .. }, Output::Scalar(value)) => Instruction::Evaluate { to: slot, value },
            (Variable::Array { slot, .. }, Output::Array(value)) => Instruction::EvaluateArray { to: slot, value },
            _ => unreachable!("the value is of the variable's type"),
        };
        self.emit(instruction).map(|_| ())
    }

    fn set(&mut self, name: &str, value: &Expression) -> Compiled<()> {
        let variable = self.scope.find(name)?;
        let ty = match variable {
            Variable::Scalar { ty, is_settable: true, .. } => ty.into(),
            Variable::Array { ty, is_settable: true, .. } => DataType::array(ty),
            Variable::Scalar { .. } | Variable::Array { .. } => {
                return wrong(format!(
                    "`{name}` is a parameter or the variable of a loop, which cannot be set; use `let`"
                ));
            }
            other => return wrong(format!("`{name}` is {}, which cannot be set", other.what())),
        };
        let value = self.assigned(value, ty)?;
        self.store(variable, value)
    }

    fn append(&mut self, name: &str, value: &Expression) -> Compiled<()> {
        let Variable::Array { slot, ty, is_settable: true } = self.scope.find(name)? else {
            return wrong(format!("`{name}` is no variable of an array type"));
        };
        let Output::Scalar(value) = self.assigned(value, ty.into())? else { unreachable!("a value was asked for") };
        self.emit(Instruction::Append { to: slot, value }).map(|_| ())
    }

    fn if_(&mut self, branches: &[(Expression, Vec<Statement>)], otherwise: &[Statement]) -> Compiled<()> {
        let mut ends = Vec::new();
        for (condition, block) in branches {
            let condition = self.condition(condition)?;
            let unless = self.emit(Instruction::Unless { condition, to: UNKNOWN })?;
            self.conditional(block)?;
            ends.push(self.emit(Instruction::Jump { to: UNKNOWN })?);
            self.patch_here(unless);
        }
        self.conditional(otherwise)?;
        ends.into_iter().for_each(|end| self.patch_here(end));
        Ok(())
    }

    fn while_(&mut self, condition: &Expression, body: &[Statement]) -> Compiled<()> {
        let begin = self.here();
        let condition = self.condition(condition)?;
        let unless = self.emit(Instruction::Unless { condition, to: UNKNOWN })?;
        self.begin_loop_keys(None)?;
        self.looped(begin, body)?;
        self.patch_here(unless);
        Ok(())
    }

    /// Compiles the body of a loop, the jump back to `next`, and what `break` needs.
    pub(super) fn looped(&mut self, next: Target, body: &[Statement]) -> Compiled<()> {
        self.loops.push(Loop { next, breaks: Vec::new(), tries: self.tries });
        self.conditional(body)?;
        self.end_loop_keys(&self.parameters.clone());
        self.emit(Instruction::Jump { to: next })?;
        let ended = self.loops.pop().expect("the loop is being compiled");
        ended.breaks.into_iter().for_each(|at| self.patch_here(at));
        Ok(())
    }

    fn leave_loop(&mut self, is_break: bool) -> Compiled<()> {
        let Some(Loop { next, tries, .. }) = self.loops.last() else {
            return wrong("there is no loop around it");
        };
        let (next, count) = (*next, self.tries - tries);
        if count > 0 {
            self.emit(Instruction::LeaveTry { count })?;
        }
        let jump = self.emit(Instruction::Jump { to: next })?;
        if is_break {
            self.loops.last_mut().expect("there is a loop").breaks.push(jump);
        }
        Ok(())
    }

    fn for_(&mut self, variable: &str, from: &Expression, to: &Expression, body: &[Statement]) -> Compiled<()> {
        let begin = self.scope.begin_block();
        let int = DataType::from(Type::Int64);
        let (from, to) = (self.assigned(from, int)?, self.assigned(to, int)?);
        let number = self.declare(&Field { name: variable.to_owned(), ty: int }, false)?;
        let Variable::Scalar { slot, .. } = number else { unreachable!("a number is a value") };
        let last = self.slot()?;
        self.store(number, from)?;
        self.store(Variable::Scalar { slot: last, ty: Type::Int64, is_settable: false }, to)?;
        let begin_for = self.emit(Instruction::BeginFor { variable: slot, last, end: UNKNOWN })?;
        self.begin_loop_keys(Some(Rounds::Numbers { variable: slot, last }))?;
        // `continue` goes to the instruction that counts, which stands before the body.
        let skip = self.emit(Instruction::Jump { to: UNKNOWN })?;
        let next = self.here();
        let body_begins = Target(next.0 + 2);
        self.emit(Instruction::NextFor { variable: slot, last, body: body_begins })?;
        let over = self.emit(Instruction::Jump { to: UNKNOWN })?;
        self.patch_here(skip);
        assert_eq!(self.here(), body_begins, "the body follows");
        self.looped(next, body)?;
        self.patch_here(begin_for);
        self.patch_here(over);
        self.scope.end_block(begin);
        Ok(())
    }

    fn for_each(&mut self, variables: &[String], arrays: &[Expression], body: &[Statement]) -> Compiled<()> {
        let begin = self.scope.begin_block();
        let (mut slots, mut values) = (Vec::new(), Vec::new());
        for (name, array) in variables.iter().zip(arrays) {
            let ty = self.type_of(array)?;
            if !ty.is_array {
                return wrong(format!("what `{name}` goes through is a value of type {ty}, not an array"));
            }
            // One that the body can change is gone through as it is now.
            let is_fixed = match array {
                Expression::Variable(name) => !self.scope.find(name)?.is_settable(),
                _ => false,
            };
            let Output::Array(array) = self.assigned(array, ty)? else { unreachable!("it is an array") };
            slots.push(match array {
                Array::Slot(slot) if is_fixed => slot,
                value => {
                    let to = self.array_slot()?;
                    self.emit(Instruction::EvaluateArray { to, value })?;
                    to
                }
            });
            values.push((name, ty.ty));
        }
        let mut elements = Vec::new();
        for (name, ty) in values {
            let element = self.declare(&Field { name: name.clone(), ty: ty.into() }, false)?;
            let Variable::Scalar { slot, .. } = element else { unreachable!("an element is a value") };
            elements.push(slot);
        }
        let index = self.slot()?;
        self.emit(Instruction::Evaluate { to: index, value: Scalar::Constant(ConstantValue::Int(0)) })?;
        let each = Each { variables: elements.into(), arrays: slots.into() };
        self.begin_loop_keys(Some(Rounds::Arrays(each.clone())))?;
        let next = self.here();
        let take = self.emit(Instruction::NextEach { index, each, end: UNKNOWN })?;
        self.looped(next, body)?;
        self.patch_here(take);
        self.scope.end_block(begin);
        Ok(())
    }

    fn for_rows(&mut self, row: &str, range: &Range, body: &[Statement]) -> Compiled<()> {
        let begin = self.scope.begin_block();
        let range = self.range(range)?;
        let (table, slot) = (range.table, self.row_slot()?);
        let scan = self.open_scan()?;
        self.emit(Instruction::OpenRows { scan, range })?;
        self.scope.declare(row, Variable::Row { slot, table })?;
        let next = self.here();
        let take = self.emit(Instruction::NextRow { scan, row: slot, end: UNKNOWN })?;
        self.begin_loop_keys(None)?;
        self.looped(next, body)?;
        self.patch_here(take);
        self.emit(Instruction::CloseRows { scan })?;
        self.scans -= 1;
        self.scope.end_block(begin);
        Ok(())
    }

    /// Checks the values of a `return` or `emit` against the results of the procedure.
    fn outputs(&mut self, values: &[Expression]) -> Compiled<Outputs> {
        let results = self.procedure().results.clone();
        let fields = results.fields();
        if values.len() != fields.len() {
            return wrong(format!("{} values are given for {} results", values.len(), fields.len()));
        }
        values.iter().zip(fields).map(|(value, field)| self.assigned(value, field.ty)).collect()
    }

    fn return_(&mut self, values: &[Expression]) -> Compiled<()> {
        let outputs = match (&self.procedure().results, values) {
            (Results::Nothing | Results::Set(_), []) => Vec::new(),
            _ => self.outputs(values)?,
        };
        if self.procedures.len() == 1 {
            return self.emit(Instruction::Return { values: outputs.into() }).map(|_| ());
        }
        self.return_to_caller(outputs)
    }

    fn emit_row(&mut self, values: &[Expression]) -> Compiled<()> {
        let outputs = self.outputs(values)?;
        match self.procedures.len() {
            1 => self.emit(Instruction::Emit { values: outputs.into() }).map(|_| ()),
            _ => self.collect(outputs),
        }
    }

    fn abort(&mut self, sqlstate: &str, message: &Expression) -> Compiled<()> {
        let Ok(sqlstate) = <[u8; 5]>::try_from(sqlstate.as_bytes()) else {
            return wrong(format!("'{sqlstate}' is no SQLSTATE: it has five digits or capital letters"));
        };
        let (message, kind) = self.scalar(message)?;
        let message = self.shown(message, kind);
        self.emit(Instruction::Abort { sqlstate, message }).map(|_| ())
    }

    fn try_(&mut self, body: &[Statement], catches: &[Catch]) -> Compiled<()> {
        let handler = u16::try_from(self.handlers.len()).map_err(|_| "it has too many `try` statements".to_owned())?;
        self.handlers.push(Handler { catches: Box::default(), scans: ScanSlot(self.scans) });
        self.emit(Instruction::BeginTry { handler })?;
        self.tries += 1;
        self.block(body)?;
        self.tries -= 1;
        self.emit(Instruction::EndTry)?;
        let mut ends = vec![self.emit(Instruction::Jump { to: UNKNOWN })?];
        let mut codes = Vec::new();
        for Catch { sqlstate, error, body } in catches {
            let begin = self.scope.begin_block();
            let error = error.as_ref().map(|name| self.declare_error(name)).transpose()?;
            let sqlstate = sqlstate.clone().unwrap_or_default().into_boxed_str();
            codes.push(CatchCode { sqlstate, error, body: self.here() });
            self.conditional(body)?;
            ends.push(self.emit(Instruction::Jump { to: UNKNOWN })?);
            self.scope.end_block(begin);
        }
        self.handlers[usize::from(handler)].catches = codes.into();
        ends.into_iter().for_each(|end| self.patch_here(end));
        Ok(())
    }

    fn declare_error(&mut self, name: &str) -> Compiled<(Slot, Slot)> {
        let (sqlstate, message) = (self.slot()?, self.slot()?);
        self.scope.declare(name, Variable::Error { sqlstate, message })?;
        Ok((sqlstate, message))
    }

    /// Returns the type that a variable gets from its first value.
    pub(super) fn type_of(&mut self, value: &Expression) -> Compiled<DataType> {
        let (kind, is_array) = self.kind_of(value)?;
        let ty = match kind {
            Kind::Null => {
                return wrong("the value is NULL or an empty array, which has no type; give the variable one");
            }
            Kind::Bool => Type::Bool,
            Kind::Int => Type::Int64,
            Kind::Float => Type::Float64,
            Kind::Numeric(scale) => Type::Numeric { precision: Type::PRECISION_MAX, scale },
            Kind::Text => Type::Text,
            Kind::Bytes => Type::Bytes,
            Kind::Timestamp => Type::Timestamp,
        };
        Ok(DataType { ty, is_array })
    }
}
