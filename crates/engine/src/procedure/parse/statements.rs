//! The head of a procedure, and statements.
//!
//! Invariants:
//! - A statement knows the line on which it begins.
//! - Blocks are no deeper than [`BLOCK_DEPTH_MAX`].

use super::lexer::Kind;
use super::{Parsed, Parser};
use crate::procedure::expression::Expression;
use crate::procedure::form::BLOCK_DEPTH_MAX;
use crate::procedure::program::{Block, Bound, Catch, Field, Program, Range, Results, Statement, StatementKind};

impl Parser {
    pub(super) fn program(&mut self) -> Parsed<Program> {
        self.word("procedure")?;
        let name = self.name("the name of the procedure")?;
        let parameters =
            if self.is_sign("(") { self.fields("a parameter")? } else { return Err(self.unexpected("`(`")) };
        let results = self.results()?;
        let body = self.block("`returns` or `{`")?;
        Ok(Program { name, parameters, results, body })
    }

    fn results(&mut self) -> Parsed<Results> {
        if !self.try_word("returns") {
            return Ok(Results::Nothing);
        }
        let is_set = self.try_word("set");
        if !self.is_sign("(") {
            let expected = if is_set { "`(`" } else { "`set` or `(`, as in `returns (total bigint)`" };
            return Err(self.unexpected(expected));
        }
        let fields = self.fields("a result")?;
        Ok(if is_set { Results::Set(fields) } else { Results::Values(fields) })
    }

    /// Names with types in parentheses.
    fn fields(&mut self, what: &str) -> Parsed<Vec<Field>> {
        self.sign("(")?;
        if self.try_sign(")") {
            return Ok(Vec::new());
        }
        let field = |parser: &mut Parser| {
            let name = parser.name(what)?;
            Ok(Field { name, ty: parser.data_type()? })
        };
        let fields = self.list(field)?;
        self.sign_or(")", "`,` or `)`")?;
        Ok(fields)
    }

    /// A block in braces; `expected` says what could stand in place of the first.
    fn block(&mut self, expected: &str) -> Parsed<Block> {
        if self.is_sign("{") && self.blocks == BLOCK_DEPTH_MAX {
            return Err(self.failed(format!(
                "blocks are nested more than {BLOCK_DEPTH_MAX} levels deep; move the inner ones into another procedure"
            )));
        }
        self.sign_or("{", expected)?;
        self.blocks += 1;
        let mut block = Block::new();
        while !self.try_sign("}") {
            let statement = self.nested(Parser::statement)?;
            block.push(statement);
        }
        self.blocks -= 1;
        Ok(block)
    }

    /// `else` and a block.
    fn otherwise(&mut self) -> Parsed<Block> {
        self.word("else")?;
        self.block("`{`")
    }

    /// The end of a statement: `;`, or `else` with a block.
    fn otherwise_or_end(&mut self, expected: &str) -> Parsed<Option<Block>> {
        if self.is_word("else") {
            return self.otherwise().map(Some);
        }
        self.sign_or(";", expected)?;
        Ok(None)
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let line = self.token().line;
        // A name, as a column after it would be.
        let is_assigned = [":=", "=", ".", "["].iter().any(|sign| self.is_sign_ahead(1, sign));
        let kind = match self.kind() {
            Kind::Word(word) if !is_assigned => word.clone(),
            _ => return Err(self.unexpected("a statement or `}`")),
        };
        let parse = match kind.as_str() {
            "let" => Parser::declaration,
            "set" => Parser::assignment,
            "append" => Parser::append,
            "get" => Parser::get,
            "first" => Parser::first,
            "insert" | "upsert" | "replace" => Parser::new_row,
            "update" => Parser::update,
            "delete" => Parser::delete,
            "if" => Parser::choice,
            "while" => Parser::while_loop,
            "for" => Parser::for_loop,
            "foreach" => Parser::foreach_loop,
            "break" | "continue" => Parser::jump,
            "return" | "emit" => Parser::result,
            "abort" => Parser::abort,
            "try" => Parser::attempt,
            "call" => Parser::call_statement,
            _ => return Err(self.unexpected("a statement or `}`")),
        };
        Ok(Statement { kind: parse(self)?, line })
    }

    /// The end of a statement after an expression.
    fn end(&mut self) -> Parsed<()> {
        self.sign_or(";", "an operator or `;`")
    }

    fn declaration(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let variable = self.name("the name of a variable")?;
        let has_type = !self.is_sign("=") && !self.is_sign(";");
        if has_type && !matches!(self.kind(), Kind::Word(_)) {
            return Err(self.unexpected("a type, `=` or `;`"));
        }
        let ty = if has_type { Some(self.data_type()?) } else { None };
        let value = if self.try_sign("=") { Some(self.expression()?) } else { None };
        self.sign_or(";", if value.is_some() { "an operator or `;`" } else { "`=` or `;`" })?;
        Ok(StatementKind::Let { variable, ty, value })
    }

    fn assignment(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let variable = self.name("the name of a variable")?;
        self.sign("=")?;
        let value = self.expression()?;
        self.end()?;
        Ok(StatementKind::Set { variable, value })
    }

    fn append(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let value = self.expression()?;
        if !self.try_word("to") {
            return Err(self.unexpected("an operator or `to`, as in `append value to name;`"));
        }
        let variable = self.name("the name of a variable")?;
        self.sign(";")?;
        Ok(StatementKind::Append { variable, value })
    }

    /// A key in parentheses; it has at least one value.
    fn key(&mut self, hint: &str) -> Parsed<Vec<Expression>> {
        self.sign_or("(", hint)?;
        if self.is_sign(")") {
            return Err(self.unexpected("an expression"));
        }
        self.expressions_to(")")
    }

    fn get(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let table = self.name("a table")?;
        let key = self.key("`(` and the primary key, as in `get table (key) as row;`")?;
        if !self.try_word("as") {
            return Err(self.unexpected("`as` and a name for the row"));
        }
        let row = self.name("a name for the row")?;
        let otherwise = self.otherwise_or_end("`;` or `else`")?;
        Ok(StatementKind::Get { table, key, row, otherwise })
    }

    fn first(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let range = self.range("`as` and a name for the row")?;
        if !self.try_word("as") {
            return Err(self.unexpected(&self.in_range(&range, "`as` and a name for the row")));
        }
        let row = self.name("a name for the row")?;
        let otherwise = self.otherwise_or_end("`;` or `else`")?;
        Ok(StatementKind::First { range, row, otherwise })
    }

    /// `insert`, `upsert` and `replace`.
    fn new_row(&mut self) -> Parsed<StatementKind> {
        let Kind::Word(word) = self.take() else { unreachable!("the caller has seen a word") };
        self.word("into")?;
        let table = self.name("a table")?;
        self.sign_or("(", "`(` and columns, as in `insert into table (column) values (value);`")?;
        let columns = self.list(|parser| parser.name("a column"))?;
        self.sign_or(")", "`,` or `)`")?;
        self.word("values")?;
        let begin = self.at;
        let values = self.key("`(`")?;
        if columns.len() != values.len() {
            let what = format!("{} columns are named, and the values are {}", columns.len(), values.len());
            return Err(Parser::failed_at(&self.tokens[begin], what));
        }
        let values = columns.into_iter().zip(values).collect();
        if word == "replace" {
            let otherwise = self.otherwise_or_end("`;` or `else`")?;
            return Ok(StatementKind::Replace { table, values, otherwise });
        }
        self.sign(";")?;
        Ok(if word == "insert" {
            StatementKind::Insert { table, values }
        } else {
            StatementKind::Upsert { table, values }
        })
    }

    fn row_name(&mut self) -> Parsed<Option<String>> {
        if self.try_word("as") { self.name("a name for the row").map(Some) } else { Ok(None) }
    }

    fn update(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let table = self.name("a table")?;
        let key = self.key("`(` and the primary key, as in `update table (key) set column = value;`")?;
        let row = self.row_name()?;
        if !self.try_word("set") {
            return Err(self.unexpected(if row.is_some() { "`set`" } else { "`as` or `set`" }));
        }
        let change = |parser: &mut Parser| {
            let column = parser.name("a column")?;
            parser.sign("=")?;
            Ok((column, parser.expression()?))
        };
        let changes = self.list(change)?;
        let otherwise = self.otherwise_or_end("an operator, `,`, `;` or `else`")?;
        Ok(StatementKind::Update { table, key, row, changes, otherwise })
    }

    fn delete(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.try_word("all") {
            let range = self.range("`count` or `;`")?;
            let count = if self.try_word("count") { Some(self.name("a name for the number of rows")?) } else { None };
            if !self.try_sign(";") {
                let rest = if count.is_some() { "`;`".to_owned() } else { self.in_range(&range, "`count` or `;`") };
                return Err(self.unexpected(&rest));
            }
            return Ok(StatementKind::DeleteAll { range, count });
        }
        if !self.try_word("from") {
            return Err(self.unexpected("`from` or `all`"));
        }
        let table = self.name("a table")?;
        let key = self.key("`(` and the primary key, as in `delete from table (key);`")?;
        let row = self.row_name()?;
        let otherwise = self.otherwise_or_end(if row.is_some() { "`;` or `else`" } else { "`as`, `;` or `else`" })?;
        Ok(StatementKind::Delete { table, key, row, otherwise })
    }

    /// Rows of a table; `then` is what may follow.
    fn range(&mut self, then: &str) -> Parsed<Range> {
        let mut range = Range::all(self.name("a table")?);
        if self.try_word("using") {
            range.index = Some(self.name("an index")?);
        }
        if self.is_sign("(") {
            range.prefix = self.key("`(`")?;
        }
        loop {
            let is_low = self.is_word("from") || self.is_word("after");
            let is_high = self.is_word("to") || self.is_word("before");
            if !is_low && !is_high {
                break;
            }
            let is_included = self.is_word("from") || self.is_word("to");
            let end = if is_low { &mut range.low } else { &mut range.high };
            if end.is_some() {
                let end = if is_low { "where it begins" } else { "where it ends" };
                return Err(self.failed(format!("the range says twice {end}; leave one out")));
            }
            self.advance();
            let values = self.key("`(` and values, as in `from (value)`")?;
            *end = Some(Bound { values, is_included });
        }
        range.is_descending = self.try_word("descending") || self.try_word("desc");
        if self.try_word("limit") {
            range.limit = Some(self.expression()?);
        }
        if self.is_sign("(") || self.is_word("using") {
            return Err(self.unexpected(&self.in_range(&range, then)));
        }
        Ok(range)
    }

    /// What could stand after as much of a range as there is, with what may follow the whole.
    fn in_range(&self, range: &Range, then: &str) -> String {
        if range.limit.is_some() {
            return format!("an operator or {then}");
        }
        if range.is_descending {
            return format!("`limit` or {then}");
        }
        format!("a part of the range (`using`, `(`, `from`, `after`, `to`, `before`, `descending`, `limit`) or {then}")
    }

    fn choice(&mut self) -> Parsed<StatementKind> {
        let mut branches = Vec::new();
        loop {
            self.word("if")?;
            let condition = self.expression()?;
            branches.push((condition, self.block("an operator or `{`")?));
            if !self.is_word("else") {
                return Ok(StatementKind::If { branches, otherwise: Block::new() });
            }
            if !self.is_word_ahead(1, "if") {
                return Ok(StatementKind::If { branches, otherwise: self.otherwise()? });
            }
            self.advance();
        }
    }

    fn while_loop(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.expression()?;
        Ok(StatementKind::While { condition, body: self.block("an operator or `{`")? })
    }

    fn for_loop(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let mut names = self.list(|parser| parser.name("a name for the row or the number"))?;
        if names.len() == 1 && self.try_sign("=") {
            let from = self.expression()?;
            if !self.try_word("to") {
                return Err(self.unexpected("an operator or `to`, as in `for name = first to last { ... }`"));
            }
            let to = self.expression()?;
            let (variable, body) = (names.remove(0), self.block("an operator or `{`")?);
            return Ok(StatementKind::For { variable, from, to, body });
        }
        if !self.try_word("in") {
            return Err(self.unexpected(if names.len() == 1 { "`in`, `=` or `,`" } else { "`in` or `,`" }));
        }
        if self.try_word("call") {
            let (procedure, arguments) = self.call_of()?;
            let body = Some(self.block("`{`")?);
            return Ok(StatementKind::Call { procedure, arguments, into: names, body });
        }
        if names.len() > 1 {
            return Err(self.unexpected("`call`: a row of a table has one name"));
        }
        let range = self.range("`{`")?;
        let body = self.block(&self.in_range(&range, "`{`"))?;
        Ok(StatementKind::ForRows { row: names.remove(0), range, body })
    }

    fn foreach_loop(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let variables = self.list(|parser| parser.name("the name of a variable"))?;
        if !self.try_word("in") {
            return Err(self.unexpected("`,` or `in`"));
        }
        let arrays = self.list(Parser::expression)?;
        Ok(StatementKind::ForEach { variables, arrays, body: self.block("an operator, `,` or `{`")? })
    }

    fn jump(&mut self) -> Parsed<StatementKind> {
        let is_break = self.is_word("break");
        self.advance();
        self.sign(";")?;
        Ok(if is_break { StatementKind::Break } else { StatementKind::Continue })
    }

    /// `return` and `emit`.
    fn result(&mut self) -> Parsed<StatementKind> {
        let is_return = self.is_word("return");
        self.advance();
        let values = if self.is_sign(";") { Vec::new() } else { self.list(Parser::expression)? };
        self.sign_or(";", "an operator, `,` or `;`")?;
        Ok(if is_return { StatementKind::Return { values } } else { StatementKind::Emit { values } })
    }

    fn abort(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let sqlstate = self.text("an SQLSTATE in quotes, as in `abort 'P0001' 'message';`")?;
        let message = self.expression()?;
        self.end()?;
        Ok(StatementKind::Abort { sqlstate, message })
    }

    fn attempt(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let body = self.block("`{`")?;
        let mut catches = Vec::new();
        while catches.is_empty() || self.is_word("catch") {
            self.word("catch")?;
            let sqlstate = match self.kind() {
                Kind::Word(word) if word == "any" => {
                    self.advance();
                    None
                }
                _ => Some(self.text("`any` or an SQLSTATE in quotes")?),
            };
            let error = if self.try_word("as") { Some(self.name("a name for the error")?) } else { None };
            let expected = if error.is_some() { "`{`" } else { "`as` or `{`" };
            catches.push(Catch { sqlstate, error, body: self.block(expected)? });
        }
        Ok(StatementKind::Try { body, catches })
    }

    fn call_of(&mut self) -> Parsed<(String, Vec<Expression>)> {
        let procedure = self.name("a procedure")?;
        self.sign("(")?;
        Ok((procedure, self.expressions_to(")")?))
    }

    fn call_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let (procedure, arguments) = self.call_of()?;
        let has_names = self.try_word("into");
        let into = if has_names { self.list(|parser| parser.name("the name of a variable"))? } else { Vec::new() };
        self.sign_or(";", if has_names { "`,` or `;`" } else { "`into` or `;`" })?;
        Ok(StatementKind::Call { procedure, arguments, into, body: None })
    }
}
