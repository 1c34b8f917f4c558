//! Random programs that make sense with the tables of a simulation.
//!
//! Invariants:
//! - Types are right; names may mean nothing at the moment (a table that comes and goes), which is told when the program is
//!   declared or called.
//! - Every loop ends: it goes through what is there, or counts. What a loop goes through, its body does not change, but for rows.
//! - Keys are those of the simulation, made of arguments and of what was read. All else may fail by the data: overflow,
//!   division by zero, NULL, duplicates.
//! - Columns are named in the order of the table: which of two mistakes is told is then the same for everybody.

use fastrand::Rng;
use osier::procedure::builder::{
    array, bytes, case_when, coalesce, column, exists, function, int, next_value, not, now, null, random, text, uuid,
    var,
};
use osier::procedure::expression::{Expression, Function};
use osier::procedure::program::{
    Block, Bound, Catch, DataType, Field, Program, Range, Results, Statement, StatementKind,
};
use osier::table::Type;

use super::super::operation::{EXTRAS, TransactionId};
use super::super::tables::{CONSTANT, NAMES};
use super::function::FUNCTION;
use super::{Invocation, SEQUENCE, SLOTS, name, writes};

/// What programs are made for.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// So many keys there are.
    pub keys: u16,
    /// The greatest code and one more.
    pub codes: i32,
    /// The chance that a statement is about a table that comes and goes.
    pub extra_share: f64,
    /// The chance that it is about the table with indexes, otherwise.
    pub indexed_share: f64,
    /// Whether values of the sequence are drawn.
    pub draws_values: bool,
    /// Every other number is one.
    pub draws_mostly: bool,
    /// How many statements a procedure has at most, about.
    pub statements_max: usize,
    /// Whether the program's function is called, too.
    pub has_function: bool,
    /// Whether procedures write no row of `indexed`, which others do.
    pub indexed_is_read: bool,
}

/// What is known where a statement stands.
#[derive(Clone, Default)]
struct Known {
    ints: Vec<String>,
    /// Of these, those that may be set.
    settable: Vec<String>,
    texts: Vec<String>,
    arrays: Vec<String>,
    rows: Vec<(String, Table)>,
    errors: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Table {
    Plain,
    Indexed,
    Extra(u8),
}

impl Table {
    fn name(self) -> String {
        match self {
            Table::Plain => "plain".to_owned(),
            Table::Indexed => "indexed".to_owned(),
            Table::Extra(slot) => format!("extra{slot}"),
        }
    }
}

/// A program that is being made.
struct Draft<'r> {
    of: Generator,
    rng: &'r mut Rng,
    slot: u8,
    /// Statements that may still be added.
    left: usize,
    /// Names given so far.
    names: usize,
    in_loop: bool,
}

impl Generator {
    /// A call of some procedure.
    pub fn invocation(&self, rng: &mut Rng, me: TransactionId) -> Invocation {
        let number = |rng: &mut Rng| if rng.u8(0..30) == 0 { i64::MAX } else { rng.i64(-4..12) };
        let element = |rng: &mut Rng| (rng.u8(0..8) > 0).then(|| number(rng));
        // From numbers of its own, as a plan's.
        let is_function = self.has_function && Rng::with_seed(rng.clone().u64(..)).u8(0..6) == 0;
        let declared = rng.u8(0..SLOTS);
        Invocation {
            slot: if is_function { FUNCTION } else { declared },
            me,
            key: rng.i64(0..i64::from(self.keys)),
            number: number(rng),
            list: (0..rng.usize(0..4)).map(|_| element(rng)).collect(),
            text: NAMES[rng.usize(0..NAMES.len())].to_owned(),
        }
    }

    /// A procedure of a slot.
    pub fn program(&self, rng: &mut Rng, slot: u8) -> Program {
        let int = DataType::from(Type::Int64);
        let field = |name: &str, ty| Field { name: name.to_owned(), ty };
        let parameters = vec![
            field("me", int),
            field("k", int),
            field("n", int),
            field("xs", DataType::array(Type::Int64)),
            field("s", Type::Text.into()),
        ];
        let pair = || vec![field("a", int), field("b", Type::Text.into())];
        let results = match slot {
            0 | 2 => Results::Values([pair(), vec![field("c", DataType::array(Type::Int64))]].concat()),
            3 => Results::Nothing,
            _ => Results::Set(pair()),
        };
        let left = rng.usize(1..=self.statements_max);
        let mut draft = Draft { of: *self, rng, slot, left, names: 0, in_loop: false };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut known =
            Known { ints: names(&["k", "n"]), texts: names(&["s"]), arrays: names(&["xs"]), ..Known::default() };
        let mut body = Block::new();
        if writes(slot) {
            let values = vec![("id".to_owned(), var("me"))];
            body.push(StatementKind::Upsert { table: "markers".to_owned(), values }.into());
        }
        if self.indexed_is_read {
            // Keys of others are found there.
            let key = Draft::of_rank(Table::Indexed, var("k"));
            known.rows.push(("route".to_owned(), Table::Indexed));
            let row = "route".to_owned();
            body.push(StatementKind::Get { table: Table::Indexed.name(), key, row, otherwise: None }.into());
        }
        while draft.left > 0 {
            draft.statement(&mut body, &mut known, 0);
        }
        draft.result(&mut body, &known);
        Program { name: name(slot), parameters, results, body }
    }
}

fn statement(kind: StatementKind) -> Statement {
    kind.into()
}

impl Draft<'_> {
    fn one_in(&mut self, of: u8) -> bool {
        self.rng.u8(0..of) == 0
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn one_of<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        (!list.is_empty()).then(|| &list[self.rng.usize(0..list.len())])
    }

    fn table(&mut self) -> Table {
        if self.rng.f64() < self.of.extra_share {
            return Table::Extra(self.rng.u8(0..EXTRAS));
        }
        if self.rng.f64() < self.of.indexed_share { Table::Indexed } else { Table::Plain }
    }

    /// The last statement of a program.
    fn result(&mut self, body: &mut Block, known: &Known) {
        if self.slot == 3 {
            return;
        }
        let values = self.results(known);
        body.push(match self.slot {
            0 | 2 => statement(StatementKind::Return { values }),
            _ => statement(StatementKind::Emit { values }),
        });
    }

    fn results(&mut self, known: &Known) -> Vec<Expression> {
        let mut values = vec![self.int(known, 2), self.text(known, 2)];
        if matches!(self.slot, 0 | 2) {
            values.push(self.array(known));
        }
        values
    }

    /// A block of its own names.
    fn block(&mut self, known: &Known, depth: usize) -> Block {
        let (mut block, mut known) = (Block::new(), known.clone());
        for _ in 0..self.rng.usize(1..3) {
            self.statement(&mut block, &mut known, depth + 1);
        }
        block
    }

    fn looped(&mut self, known: &Known, depth: usize) -> Block {
        let outside = std::mem::replace(&mut self.in_loop, true);
        let block = self.block(known, depth);
        self.in_loop = outside;
        block
    }

    fn otherwise(&mut self, known: &Known, depth: usize) -> Option<Block> {
        (depth < 3 && self.one_in(3)).then(|| {
            let mut block = self.block(known, depth);
            self.leave_round(&mut block);
            block
        })
    }

    /// Ends a block of a loop, now and then, with its round.
    fn leave_round(&self, block: &mut Block) {
        // From numbers of its own, as a plan's.
        let drawn = Rng::with_seed(self.rng.clone().u64(..)).u8(0..12);
        if self.in_loop && drawn < 4 {
            block.push(statement(if drawn == 0 { StatementKind::Break } else { StatementKind::Continue }));
        }
    }

    fn statement(&mut self, block: &mut Block, known: &mut Known, depth: usize) {
        self.left = self.left.saturating_sub(1);
        let drawn = self.rng.u8(0..28);
        if depth < 3 && drawn < 7 {
            return self.compound(block, known, depth, drawn);
        }
        match drawn {
            7..10 => self.let_(block, known),
            10 => {
                if let Some(name) = self.one_of(&known.settable).cloned() {
                    let value = self.int(known, 2);
                    block.push(statement(StatementKind::Set { variable: name, value }));
                }
            }
            11..13 => self.get(block, known, depth),
            13 => self.first(block, known, depth),
            14 if self.one_in(3) => {
                let condition = self.condition(known, 2);
                let sqlstate = if self.one_in(4) { "23505" } else { "P0001" };
                let message = text("given up at ").concatenate(self.int(known, 1));
                let abort = StatementKind::Abort { sqlstate: sqlstate.to_owned(), message };
                let branches = vec![(condition, vec![statement(abort)])];
                block.push(statement(StatementKind::If { branches, otherwise: Block::new() }));
            }
            15 if self.in_loop => {
                let condition = self.condition(known, 2);
                let leave = if self.rng.bool() { StatementKind::Break } else { StatementKind::Continue };
                let branches = vec![(condition, vec![statement(leave)])];
                block.push(statement(StatementKind::If { branches, otherwise: Block::new() }));
            }
            16 if depth > 0 && self.one_in(2) => {
                let values = if matches!(self.slot, 0 | 2) { self.results(known) } else { Vec::new() };
                let condition = self.condition(known, 1);
                let branches = vec![(condition, vec![statement(StatementKind::Return { values })])];
                block.push(statement(StatementKind::If { branches, otherwise: Block::new() }));
            }
            16 if matches!(self.slot, 1 | 4) => {
                let values = self.results(known);
                block.push(statement(StatementKind::Emit { values }));
            }
            17 => self.call(block, known, depth),
            _ if writes(self.slot) => self.write(block, known, depth),
            _ => self.get(block, known, depth),
        }
    }

    fn let_(&mut self, block: &mut Block, known: &mut Known) {
        let kind = self.rng.u8(0..8);
        let variable = self.name("v");
        let (ty, value) = match kind {
            0 => (Type::Text.into(), self.text(known, 2)),
            1 => {
                let value = self.array(known);
                (DataType::array(Type::Int64), value)
            }
            2 => (Type::Int16.into(), self.int(known, 2)),
            _ => (Type::Int64.into(), self.int(known, 3)),
        };
        match kind {
            0 => known.texts.push(variable.clone()),
            1 => known.arrays.push(variable.clone()),
            _ => {
                known.ints.push(variable.clone());
                known.settable.push(variable.clone());
            }
        }
        block.push(statement(StatementKind::Let { variable: variable.clone(), ty: Some(ty), value: Some(value) }));
        if kind == 1 && self.rng.bool() {
            let value = self.int(known, 1);
            block.push(statement(StatementKind::Append { variable, value }));
        }
    }

    fn compound(&mut self, block: &mut Block, known: &Known, depth: usize, drawn: u8) {
        match drawn {
            0 => {
                let mut branches = vec![(self.condition(known, 2), self.block(known, depth))];
                if self.one_in(3) {
                    branches.push((self.condition(known, 2), self.block(known, depth)));
                }
                let otherwise = if self.rng.bool() { self.block(known, depth) } else { Block::new() };
                block.push(statement(StatementKind::If { branches, otherwise }));
            }
            1 => {
                let (variable, last) = (self.name("i"), self.rng.i64(0..4));
                let from = if self.rng.bool() { int(1) } else { self.small(known, 3) };
                let mut inner = known.clone();
                inner.ints.push(variable.clone());
                let body = self.looped(&inner, depth);
                block.push(statement(StatementKind::For { variable, from, to: int(last), body }));
            }
            2 => {
                let arrays = vec![self.array(known)];
                let variables = vec![self.name("x")];
                let mut inner = known.clone();
                inner.ints.extend(variables.clone());
                // Nothing in it is appended to.
                inner.arrays.clear();
                let body = self.looped(&inner, depth);
                block.push(statement(StatementKind::ForEach { variables, arrays, body }));
            }
            // Three of them, one in the other, would take for ever.
            3 if depth < 2 => {
                let (range, table) = self.range(known, true);
                let row = self.name("r");
                let mut inner = known.clone();
                inner.rows.push((row.clone(), table));
                let body = self.looped(&inner, depth);
                block.push(statement(StatementKind::ForRows { row, range, body }));
            }
            4 => {
                let counter = self.name("w");
                let zero =
                    StatementKind::Let { variable: counter.clone(), ty: Some(Type::Int64.into()), value: Some(int(0)) };
                let condition = var(&counter).lt(int(self.rng.i64(1..4))).and(self.condition(known, 2));
                let count = StatementKind::Set { variable: counter.clone(), value: var(&counter) + int(1) };
                let mut inner = known.clone();
                inner.ints.push(counter);
                let mut body = vec![statement(count)];
                body.extend(self.looped(&inner, depth));
                block.extend([statement(zero), statement(StatementKind::While { condition, body })]);
            }
            _ => self.try_(block, known, depth),
        }
    }

    fn try_(&mut self, block: &mut Block, known: &Known, depth: usize) {
        let mut body = self.block(known, depth);
        if matches!(self.slot, 1 | 4) && self.one_in(3) {
            // Its second value may fail after the first.
            let values = vec![self.int(known, 1), text("is ").concatenate(self.int(known, 2))];
            body.push(statement(StatementKind::Emit { values }));
        }
        let sqlstate = match self.rng.u8(0..4) {
            0 => Some("23505"),
            1 => Some("22"),
            2 => Some("P0"),
            _ => None,
        };
        let error = self.rng.bool().then(|| self.name("e"));
        let mut inner = known.clone();
        inner.errors.extend(error.clone());
        let mut caught = self.block(&inner, depth);
        self.leave_round(&mut caught);
        let mut catches = vec![Catch { sqlstate: sqlstate.map(str::to_owned), error, body: caught }];
        if sqlstate.is_some() && self.one_in(3) {
            let body = self.block(known, depth);
            catches.push(Catch { sqlstate: None, error: None, body });
        }
        block.push(statement(StatementKind::Try { body, catches }));
    }

    fn call(&mut self, block: &mut Block, known: &mut Known, depth: usize) {
        let slots = (self.slot + 1..SLOTS).filter(|slot| writes(self.slot) || !writes(*slot)).collect::<Vec<_>>();
        let Some(&slot) = self.one_of(&slots) else { return self.get(block, known, depth) };
        let arguments = vec![
            var("me"),
            self.small(known, i64::from(self.of.keys)),
            self.int(known, 1),
            self.array(known),
            self.text(known, 1),
        ];
        let procedure = name(slot);
        let (mut into, mut body) = (Vec::new(), None);
        match slot {
            2 => {
                into = vec![self.name("v"), self.name("v"), self.name("v")];
                known.ints.push(into[0].clone());
                known.texts.push(into[1].clone());
                known.arrays.push(into[2].clone());
            }
            1 | 4 if depth < 3 => {
                into = vec![self.name("x"), self.name("y")];
                let mut inner = known.clone();
                inner.ints.push(into[0].clone());
                inner.texts.push(into[1].clone());
                body = Some(self.looped(&inner, depth));
            }
            _ => {}
        }
        block.push(statement(StatementKind::Call { procedure, arguments, into, body }));
    }

    fn get(&mut self, block: &mut Block, known: &mut Known, depth: usize) {
        let table = self.table();
        let key = self.key(known, table);
        let row = self.name("r");
        known.rows.push((row.clone(), table));
        let otherwise = self.otherwise(known, depth);
        block.push(statement(StatementKind::Get { table: table.name(), key, row, otherwise }));
    }

    fn first(&mut self, block: &mut Block, known: &mut Known, depth: usize) {
        let (range, table) = self.range(known, false);
        let row = self.name("r");
        known.rows.push((row.clone(), table));
        let otherwise = self.otherwise(known, depth);
        block.push(statement(StatementKind::First { range, row, otherwise }));
    }

    fn write(&mut self, block: &mut Block, known: &mut Known, depth: usize) {
        let (table, kind) = match (self.table(), self.rng.u8(0..10)) {
            (Table::Indexed, kind) if self.of.indexed_is_read => (Table::Plain, kind.min(8)),
            (table, kind) if self.of.indexed_is_read => (table, kind.min(8)),
            drawn => drawn,
        };
        let written = match kind {
            0 | 1 => StatementKind::Insert { table: table.name(), values: self.row(known, table) },
            2 | 3 => StatementKind::Upsert { table: table.name(), values: self.row(known, table) },
            4 => {
                let values = self.row(known, table);
                let otherwise = self.otherwise(known, depth);
                StatementKind::Replace { table: table.name(), values, otherwise }
            }
            5..8 => {
                let key = self.key(known, table);
                let row = self.rng.bool().then(|| self.name("r"));
                known.rows.extend(row.clone().map(|row| (row, table)));
                let changes = self.changes(known);
                let otherwise = self.otherwise(known, depth);
                StatementKind::Update { table: table.name(), key, row, changes, otherwise }
            }
            8 => {
                let key = self.key(known, table);
                let row = self.rng.bool().then(|| self.name("r"));
                known.rows.extend(row.clone().map(|row| (row, table)));
                let otherwise = self.otherwise(known, depth);
                StatementKind::Delete { table: table.name(), key, row, otherwise }
            }
            _ => {
                let (range, _) = self.range(known, true);
                let count = self.rng.bool().then(|| self.name("v"));
                known.ints.extend(count.clone());
                StatementKind::DeleteAll { range, count }
            }
        };
        block.push(statement(written));
    }

    /// A number from 0 up to `below`, made of anything.
    fn small(&mut self, known: &Known, below: i64) -> Expression {
        let value = self.int(known, 2);
        coalesce([function(Function::Abs, [value % int(below)]), int(self.rng.i64(0..below))])
    }

    /// The columns of a key of rank `rank`, which is evaluated twice.
    fn of_rank(table: Table, rank: Expression) -> Vec<Expression> {
        let ranks = NAMES.len() as i64;
        match table {
            Table::Indexed => {
                vec![rank.clone() / int(ranks), array(NAMES.map(text)).element(rank % int(ranks) + int(1))]
            }
            _ => vec![rank],
        }
    }

    fn key(&mut self, known: &Known, table: Table) -> Vec<Expression> {
        let below = i64::from(self.of.keys);
        if self.of.indexed_is_read && table != Table::Indexed && self.rng.bool() {
            let found = function(Function::Abs, [column("route", "counter") % int(below)]);
            return Draft::of_rank(table, coalesce([found, int(0)]));
        }
        if self.rng.bool() {
            return Draft::of_rank(table, var("k"));
        }
        let same: Vec<_> = known.rows.iter().filter(|(_, of)| *of == table).cloned().collect();
        match self.one_of(&same) {
            // The key of a row that was read, where one was.
            Some((row, _)) if self.rng.bool() => match table {
                Table::Indexed => vec![
                    coalesce([column(row, "branch"), int(0)]),
                    coalesce([
                        column(row, "name"),
                        text(NAMES[self.rng.usize(0..NAMES.len().min(self.of.keys.into()))]),
                    ]),
                ],
                _ => vec![coalesce([column(row, "id"), int(0)])],
            },
            _ if table == Table::Indexed => {
                // What draws must not stand in it twice.
                let rank = match self.one_of(&known.ints).cloned() {
                    Some(name) => coalesce([function(Function::Abs, [var(name) % int(below)]), int(0)]),
                    None => int(self.rng.i64(0..below)),
                };
                Draft::of_rank(table, rank)
            }
            _ => vec![self.small(known, below)],
        }
    }

    fn team(&mut self, known: &Known) -> Expression {
        let value = self.int(known, 1);
        // Now and then it is out of range.
        if !self.in_loop && self.one_in(20) { value } else { coalesce([value % int(3), int(0)]) }
    }

    fn code(&mut self, known: &Known) -> Expression {
        let below = i64::from(self.of.codes);
        let value = self.small(known, below) - int(3);
        match self.rng.u8(0..3) {
            0 => case_when(self.condition(known, 1), value).end(),
            1 => function(Function::NullIf, [value, int(self.rng.i64(-3..2))]),
            _ => value,
        }
    }

    fn counter(&mut self, known: &Known) -> Expression {
        // Now and then it is NULL, which it may not be.
        let value = self.int(known, 3);
        if self.one_in(12) { value } else { coalesce([value, int(self.rng.i64(0..5))]) }
    }

    fn payload(&mut self, known: &Known) -> Expression {
        let holders: Vec<_> = known.rows.iter().map(|(row, _)| row.clone()).collect();
        match (self.rng.u8(0..4), self.one_of(&holders).cloned()) {
            (0, _) => uuid(),
            (1 | 2, Some(row)) => {
                let longer = column(row, "payload").concatenate(bytes(vec![self.rng.u8(..); self.rng.usize(0..4)]));
                function(Function::Substring, [longer, int(self.rng.i64(1..3)), int(40)])
            }
            (1, None) => case_when(self.condition(known, 1), bytes([1])).end(),
            _ => bytes(vec![self.rng.u8(..); self.rng.usize(0..12)]),
        }
    }

    fn row(&mut self, known: &Known, table: Table) -> Vec<(String, Expression)> {
        let key = self.key(known, table);
        let names: &[&str] = if table == Table::Indexed { &["branch", "name"] } else { &["id"] };
        let mut row: Vec<_> = names.iter().map(|name| (*name).to_owned()).zip(key).collect();
        row.extend([
            ("writer".to_owned(), var("me")),
            ("counter".to_owned(), self.counter(known)),
            ("code".to_owned(), self.code(known)),
            ("team".to_owned(), self.team(known)),
        ]);
        if self.rng.bool() {
            row.push(("payload".to_owned(), self.payload(known)));
        }
        row.push(("constant".to_owned(), text(CONSTANT)));
        row
    }

    fn changes(&mut self, known: &Known) -> Vec<(String, Expression)> {
        let mut changes = vec![("writer".to_owned(), var("me"))];
        if self.rng.bool() {
            changes.push(("counter".to_owned(), self.counter(known)));
        }
        if self.one_in(3) {
            changes.push(("code".to_owned(), self.code(known)));
        }
        if self.one_in(3) {
            changes.push(("team".to_owned(), self.team(known)));
        }
        if self.one_in(3) {
            changes.push(("payload".to_owned(), self.payload(known)));
        }
        changes
    }

    /// Rows by primary key or by an index.
    fn range(&mut self, known: &Known, may_be_limited: bool) -> (Range, Table) {
        let table = self.table();
        let mut range = Range::all(table.name());
        range.is_descending = self.rng.bool();
        if may_be_limited && self.one_in(3) {
            // A negative limit is an error.
            range.limit = Some(if self.one_in(8) { self.int(known, 1) } else { int(self.rng.i64(0..4)) });
        }
        let kind = if table == Table::Plain { 0 } else { self.rng.u8(0..3) };
        let bound = |draft: &mut Draft<'_>, values: Vec<Expression>| {
            (!draft.one_in(3)).then(|| Bound { values, is_included: !draft.one_in(4) })
        };
        match kind {
            1 => {
                range.index = Some("by_code".to_owned());
                let low = vec![self.code_bound(known)];
                range.low = bound(self, low);
                let high = vec![self.code_bound(known)];
                range.high = bound(self, high);
            }
            2 => {
                range.index = Some("by_team".to_owned());
                let team = |draft: &mut Draft<'_>| vec![draft.small(known, 5) - int(2)];
                if self.rng.bool() {
                    range.prefix = team(self);
                    // The key follows: the first column of it.
                    let below = if table == Table::Indexed { 3 } else { i64::from(self.of.keys) };
                    let low = vec![self.small(known, below)];
                    range.low = bound(self, low);
                } else {
                    let low = team(self);
                    range.low = bound(self, low);
                    let high = team(self);
                    range.high = bound(self, high);
                }
            }
            _ if table == Table::Indexed && self.rng.bool() => {
                range.prefix = vec![self.small(known, 3)];
                let low = vec![text(NAMES[self.rng.usize(0..NAMES.len())])];
                range.low = bound(self, low);
            }
            _ => {
                let below = i64::from(self.of.keys);
                let low = vec![self.small(known, below)];
                range.low = bound(self, low);
                let high = vec![self.small(known, below)];
                range.high = bound(self, high);
            }
        }
        (range, table)
    }

    fn code_bound(&mut self, known: &Known) -> Expression {
        let below = i64::from(self.of.codes);
        self.small(known, below) - int(3)
    }

    fn array(&mut self, known: &Known) -> Expression {
        match self.one_of(&known.arrays).cloned() {
            Some(name) if !self.one_in(4) => match self.rng.u8(0..4) {
                0 if self.one_in(2) => function(Function::Distinct, [var(name)]),
                0 => function(Function::Sorted, [var(name)]),
                1 => var(name).concatenate(array([self.int(known, 1)])),
                _ => var(name),
            },
            _ => array([self.int(known, 1), self.int(known, 1)]),
        }
    }

    /// An expression of an integer.
    fn int(&mut self, known: &Known, depth: usize) -> Expression {
        if self.of.draws_mostly && depth > 0 && self.rng.bool() {
            return next_value(SEQUENCE);
        }
        if depth == 0 || self.one_in(3) {
            return self.int_leaf(known);
        }
        let depth = depth - 1;
        match self.rng.u8(0..15) {
            0..3 => self.int(known, depth) + self.int(known, depth),
            3 => self.int(known, depth) - self.int(known, depth),
            4 => self.int(known, depth) * int(self.rng.i64(-2..4)),
            5 => self.int(known, depth) / coalesce([self.int_leaf(known), int(1)]),
            6 => self.int(known, depth) % int(self.rng.i64(2..9)),
            7 => case_when(self.condition(known, depth), self.int(known, depth)).otherwise(self.int(known, depth)),
            8 => function(Function::Greatest, [self.int(known, depth), self.int(known, depth)]),
            9 => function(Function::Least, [self.int(known, depth), self.int(known, depth)]),
            10 => function(Function::Length, [self.text(known, depth)]),
            11 => match self.one_of(&known.arrays).cloned() {
                Some(name) if self.rng.bool() => var(name).element(self.int(known, depth)),
                Some(name) => function(Function::Cardinality, [var(name)]),
                None => self.int_leaf(known),
            },
            12 => self.drawn(),
            13 => -self.int(known, depth),
            _ => coalesce([self.int(known, depth), self.int_leaf(known)]),
        }
    }

    fn drawn(&mut self) -> Expression {
        match self.rng.u8(0..4) {
            0 if self.of.draws_values => next_value(SEQUENCE),
            0 | 1 => now().cast(Type::Int64) % int(1000),
            _ => (random() * osier::procedure::builder::float(9.0)).cast(Type::Int64),
        }
    }

    fn int_leaf(&mut self, known: &Known) -> Expression {
        match self.rng.u8(0..6) {
            0 => int(self.rng.i64(-3..9)),
            1..4 => match self.one_of(&known.rows).cloned() {
                Some((row, table)) => {
                    let columns =
                        ["counter", "counter", "code", "team", if table == Table::Indexed { "branch" } else { "id" }];
                    column(row, columns[self.rng.usize(0..columns.len())])
                }
                None => var("k"),
            },
            _ => match self.one_of(&known.ints).cloned() {
                Some(name) => var(name),
                None => int(self.rng.i64(0..3)),
            },
        }
    }

    fn text(&mut self, known: &Known, depth: usize) -> Expression {
        if depth == 0 || self.one_in(3) {
            if let Some(error) = self.one_of(&known.errors).cloned() {
                return column(error, "sqlstate");
            }
            return match self.one_of(&known.texts).cloned() {
                Some(name) if self.rng.bool() => var(name),
                _ => text(NAMES[self.rng.usize(0..NAMES.len())]),
            };
        }
        let depth = depth - 1;
        match self.rng.u8(0..5) {
            0 => self.text(known, depth).concatenate(self.int(known, depth)),
            1 => function(Function::Upper, [self.text(known, depth)]),
            2 => function(
                Function::Substring,
                [self.text(known, depth), int(self.rng.i64(1..4)), int(self.rng.i64(0..30))],
            ),
            3 => case_when(self.condition(known, depth), self.text(known, depth)).end(),
            _ => self.text(known, depth),
        }
    }

    /// An expression of a truth value.
    fn condition(&mut self, known: &Known, depth: usize) -> Expression {
        if depth > 0 && self.one_in(3) {
            let (a, b) = (self.condition(known, depth - 1), self.condition(known, depth - 1));
            return match self.rng.u8(0..3) {
                0 => a.and(b),
                1 => a.or(b),
                _ => not(a),
            };
        }
        let depth = depth.saturating_sub(1);
        match self.rng.u8(0..10) {
            0 | 1 => self.int(known, depth).lt(self.int(known, depth)),
            2 => self.int(known, depth).ge(self.int(known, depth)),
            3 => self.int(known, depth).eq(self.int(known, depth)),
            4 => self.int(known, depth).is_null(),
            5 => self.text(known, depth).eq(self.text(known, depth)),
            6 => match self.one_of(&known.arrays).cloned() {
                Some(name) => function(Function::Contains, [var(name), self.int(known, depth)]),
                None => self.int(known, depth).is_not_null(),
            },
            7 => coalesce([self.int(known, depth), null()]).is_null(),
            _ => match self.one_of(&known.rows).cloned() {
                Some((row, _)) => exists(row),
                None => var("n").gt(int(self.rng.i64(-2..6))),
            },
        }
    }
}
