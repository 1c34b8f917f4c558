//! Statements that the parser's tree has no place for: roles, rights, and `ALTER` of what is no table.
//!
//! They travel in a statement that this dialect does not have, `INSTALL`, as JSON.

use serde::{Deserialize, Serialize};
use sqlparser::ast::{self, Ident, SqlOption};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::enums::TypeStatement;
use super::extension::ExtensionStatement;
use super::materialized::Refresh;
pub(crate) use super::options::SequenceOption;

/// A statement of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Own {
    Alter {
        kind: Kind,
        if_exists: bool,
        name: Vec<String>,
        change: Change,
    },
    CreateRole {
        name: RoleSpec,
        options: Vec<RoleOption>,
    },
    AlterRole {
        role: RoleSpec,
        options: Vec<RoleOption>,
    },
    RenameRole {
        from: String,
        to: String,
    },
    DropRoles {
        roles: Vec<RoleSpec>,
        if_exists: bool,
    },
    Grant(GrantStatement),
    GrantRoles {
        is_revoke: bool,
        roles: Vec<String>,
        members: Vec<RoleSpec>,
        admin: bool,
    },
    Type(TypeStatement),
    Extension(ExtensionStatement),
    Refresh(Refresh),
    /// What is understood and not there.
    Refused(String),
}

impl Own {
    /// The words that it begins with.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Own::Alter { kind: Kind::Table, .. } => "ALTER TABLE",
            Own::Alter { kind: Kind::View, .. } => "ALTER VIEW",
            Own::Alter { kind: Kind::Materialized, .. } => "ALTER MATERIALIZED VIEW",
            Own::Alter { kind: Kind::Sequence, .. } => "ALTER SEQUENCE",
            Own::Alter { kind: Kind::Schema, .. } => "ALTER SCHEMA",
            Own::Alter { kind: Kind::Index, .. } => "ALTER INDEX",
            Own::CreateRole { .. } => "CREATE ROLE",
            Own::AlterRole { .. } | Own::RenameRole { .. } => "ALTER ROLE",
            Own::DropRoles { .. } => "DROP ROLE",
            Own::Grant(GrantStatement { is_revoke: false, .. }) | Own::GrantRoles { is_revoke: false, .. } => "GRANT",
            Own::Grant(_) | Own::GrantRoles { .. } => "REVOKE",
            Own::Type(statement) => statement.words(),
            Own::Extension(statement) => statement.words(),
            Own::Refresh(_) => "REFRESH MATERIALIZED VIEW",
            Own::Refused(_) => "",
        }
    }
}

/// What `ALTER` is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Table,
    View,
    Materialized,
    Sequence,
    Schema,
    Index,
}

/// What `ALTER` changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    Name(String),
    Owner(RoleSpec),
    Schema(String),
    /// The name of a column of a materialized view.
    Column {
        from: String,
        to: String,
    },
    /// Of a sequence.
    Options(Vec<SequenceOption>),
}

/// A role as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RoleSpec {
    Named(String),
    Current,
    Session,
    Public,
}

/// An attribute of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RoleOption {
    Superuser(bool),
    CreateDb(bool),
    CreateRole(bool),
    Inherit(bool),
    Login(bool),
    Password(Option<String>),
    ValidUntil(String),
    InRole(Vec<RoleSpec>),
    Members(Vec<RoleSpec>, bool),
    /// What there is not: replication, row security, limits of connections.
    Absent(String),
}

/// `GRANT` and `REVOKE` of rights on objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GrantStatement {
    pub(crate) is_revoke: bool,
    /// `GRANT OPTION FOR`, or `WITH GRANT OPTION`.
    pub(crate) option: bool,
    /// Words with their columns; empty: all.
    pub(crate) privileges: Vec<(String, Vec<String>)>,
    pub(crate) target: Target,
    pub(crate) grantees: Vec<RoleSpec>,
    pub(crate) cascade: bool,
}

/// What rights are on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Target {
    Tables(Vec<Vec<String>>),
    Sequences(Vec<Vec<String>>),
    Schemas(Vec<String>),
    Procedures(Vec<Vec<String>>),
    AllTables(Vec<String>),
    AllSequences(Vec<String>),
}

/// Puts a statement into one that goes through the pipeline.
pub(super) fn carry(own: &Own) -> ast::Statement {
    let text = serde_json::to_string(own).expect("statements are strings and lists");
    ast::Statement::Install { extension_name: Ident::new(text) }
}

/// The statement that another one carries.
pub(crate) fn carried(statement: &ast::Statement) -> Option<Own> {
    match statement {
        ast::Statement::Install { extension_name } => serde_json::from_str(&extension_name.value).ok(),
        _ => None,
    }
}

pub(super) type Parsed<T> = Result<T, ParserError>;

/// Reads words.
pub(super) struct Reader<'r, 'p>(pub(super) &'r mut Parser<'p>);

/// Reads a statement, if the next one is of these.
pub(super) fn statement(parser: &mut Parser<'_>) -> Parsed<Option<Own>> {
    let start = place(parser);
    let mut reader = Reader(parser);
    let own = reader.statement()?;
    if own.is_none() {
        while parser.index() > start {
            parser.prev_token();
        }
    }
    Ok(own)
}

/// Where the next token is that is no white space.
fn place(parser: &mut Parser<'_>) -> usize {
    parser.next_token();
    parser.prev_token();
    parser.index()
}

/// Reads `WITH CHECK OPTION` behind a view.
pub(super) fn check_option(parser: &mut Parser<'_>, view: &mut ast::CreateView) -> Parsed<()> {
    if !parser.parse_keyword(Keyword::WITH) {
        return Ok(());
    }
    let mut reader = Reader(parser);
    let value = if reader.word("local") { "local" } else { "cascaded" };
    reader.word("cascaded");
    reader.need("check")?;
    reader.need("option")?;
    let text = ast::Value::SingleQuotedString(value.to_owned()).with_empty_span();
    let option = SqlOption::KeyValue { key: Ident::new("check_option"), value: ast::Expr::Value(text) };
    match &mut view.options {
        ast::CreateTableOptions::With(options) => options.push(option),
        other => *other = ast::CreateTableOptions::With(vec![option]),
    }
    Ok(())
}

impl Reader<'_, '_> {
    /// Takes a word, if it is the next one.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let is_next = match &self.0.peek_token_ref().token {
            Token::Word(next) => next.quote_style.is_none() && next.value.eq_ignore_ascii_case(word),
            _ => false,
        };
        if is_next {
            self.0.next_token();
        }
        is_next
    }

    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let at = place(self.0);
        let are_next = words.iter().all(|word| self.word(word));
        while !are_next && self.0.index() > at {
            self.0.prev_token();
        }
        are_next
    }

    pub(super) fn need(&mut self, word: &str) -> Parsed<()> {
        match self.word(word) {
            true => Ok(()),
            false => self.0.expected_ref(word, self.0.peek_token_ref()),
        }
    }

    pub(super) fn name(&mut self) -> Parsed<String> {
        Ok(super::name(&self.0.parse_identifier()?))
    }

    pub(super) fn object(&mut self) -> Parsed<Vec<String>> {
        let mut parts = vec![self.name()?];
        while self.0.consume_token(&Token::Period) {
            parts.push(self.name()?);
        }
        Ok(parts)
    }

    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.0.consume_token(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn role(&mut self) -> Parsed<RoleSpec> {
        self.word("group");
        let ident = self.0.parse_identifier()?;
        let is_plain = ident.quote_style.is_none();
        Ok(match super::name(&ident) {
            name if is_plain && matches!(name.as_str(), "current_user" | "current_role") => RoleSpec::Current,
            name if is_plain && name == "session_user" => RoleSpec::Session,
            name if name == "public" => RoleSpec::Public,
            name => RoleSpec::Named(name),
        })
    }

    fn roles(&mut self) -> Parsed<Vec<RoleSpec>> {
        self.list(Reader::role)
    }

    fn statement(&mut self) -> Parsed<Option<Own>> {
        if self.word("grant") {
            return self.grant(false).map(Some);
        }
        if self.word("revoke") {
            return self.grant(true).map(Some);
        }
        if self.words(&["reassign", "owned"]) || self.words(&["drop", "owned"]) {
            self.skip();
            return Ok(Some(Own::Refused("REASSIGN OWNED and DROP OWNED".to_owned())));
        }
        for noun in ["role", "user", "group"] {
            if self.words(&["create", noun]) {
                let name = self.role()?;
                let mut options = if noun == "user" { vec![RoleOption::Login(true)] } else { Vec::new() };
                options.extend(self.role_options()?);
                return Ok(Some(Own::CreateRole { name, options }));
            }
            if self.words(&["drop", noun]) {
                let if_exists = self.words(&["if", "exists"]);
                return Ok(Some(Own::DropRoles { roles: self.roles()?, if_exists }));
            }
            if self.words(&["alter", noun]) {
                return self.alter_role(noun == "group").map(Some);
            }
        }
        if let Some(own) = self.type_statement()? {
            return Ok(Some(own));
        }
        if let Some(own) = self.extension_statement()? {
            return Ok(Some(own));
        }
        match self.refresh()? {
            Some(own) => Ok(Some(own)),
            None => self.alter(),
        }
    }

    pub(super) fn skip(&mut self) {
        while !matches!(self.0.peek_token_ref().token, Token::SemiColon | Token::EOF) {
            self.0.next_token();
        }
    }

    fn alter(&mut self) -> Parsed<Option<Own>> {
        if self.words(&["alter", "default", "privileges"]) {
            self.skip();
            return Ok(Some(Own::Refused("ALTER DEFAULT PRIVILEGES".to_owned())));
        }
        let kind = if self.words(&["alter", "view"]) {
            Kind::View
        } else if self.words(&["alter", "materialized", "view"]) {
            Kind::Materialized
        } else if self.words(&["alter", "sequence"]) {
            Kind::Sequence
        } else if self.words(&["alter", "schema"]) {
            Kind::Schema
        } else if self.words(&["alter", "index"]) {
            Kind::Index
        } else if self.words(&["alter", "table"]) {
            Kind::Table
        } else {
            return Ok(None);
        };
        let if_exists = self.words(&["if", "exists"]);
        if kind == Kind::Table {
            self.word("only");
            if !matches!(self.0.peek_token_ref().token, Token::Word(_)) {
                return Ok(None);
            }
        }
        let name = self.object()?;
        let change = if self.words(&["set", "schema"]) {
            Change::Schema(self.name()?)
        } else if kind != Kind::Table && self.words(&["rename", "to"]) {
            Change::Name(self.name()?)
        } else if self.words(&["owner", "to"]) {
            Change::Owner(self.role()?)
        } else if kind == Kind::Table {
            return Ok(None);
        } else if kind == Kind::Materialized && self.word("rename") {
            self.word("column");
            let from = self.name()?;
            self.need("to")?;
            Change::Column { from, to: self.name()? }
        } else if kind == Kind::Sequence {
            Change::Options(self.sequence_options()?)
        } else {
            self.skip();
            let what = match kind {
                Kind::Materialized => "ALTER MATERIALIZED VIEW with anything but RENAME, OWNER TO and SET SCHEMA",
                Kind::View => "ALTER VIEW with anything but RENAME TO, OWNER TO and SET SCHEMA",
                Kind::Index => "ALTER INDEX with anything but RENAME TO",
                _ => "ALTER SCHEMA with anything but RENAME TO and OWNER TO",
            };
            return Ok(Some(Own::Refused(what.to_owned())));
        };
        Ok(Some(Own::Alter { kind, if_exists, name, change }))
    }

    fn alter_role(&mut self, is_group: bool) -> Parsed<Own> {
        let role = self.role()?;
        let is_add = is_group && self.word("add");
        if is_add || (is_group && self.word("drop")) {
            self.need("user")?;
            let members = self.roles()?;
            let RoleSpec::Named(role) = role else { return Ok(Own::Refused("a group without a name".to_owned())) };
            return Ok(Own::GrantRoles { is_revoke: !is_add, roles: vec![role], members, admin: false });
        }
        if self.words(&["rename", "to"]) {
            let RoleSpec::Named(from) = role else {
                return Ok(Own::Refused("renaming a role that has no name here".to_owned()));
            };
            return Ok(Own::RenameRole { from, to: self.name()? });
        }
        if self.word("set") || self.word("reset") || self.word("in") {
            self.skip();
            return Ok(Own::Refused("ALTER ROLE ... SET".to_owned()));
        }
        Ok(Own::AlterRole { role, options: self.role_options()? })
    }

    fn role_options(&mut self) -> Parsed<Vec<RoleOption>> {
        self.word("with");
        let mut options = Vec::new();
        while let Some(option) = self.role_option()? {
            options.push(option);
        }
        Ok(options)
    }

    fn role_option(&mut self) -> Parsed<Option<RoleOption>> {
        type Make = fn(bool) -> RoleOption;
        let switches: [(&str, &str, Make); 7] = [
            ("superuser", "nosuperuser", RoleOption::Superuser),
            ("createdb", "nocreatedb", RoleOption::CreateDb),
            ("createrole", "nocreaterole", RoleOption::CreateRole),
            ("inherit", "noinherit", RoleOption::Inherit),
            ("login", "nologin", RoleOption::Login),
            ("replication", "noreplication", |is| absent(is, "REPLICATION")),
            ("bypassrls", "nobypassrls", |is| absent(is, "BYPASSRLS")),
        ];
        for (on, off, make) in switches {
            if self.word(on) {
                return Ok(Some(make(true)));
            }
            if self.word(off) {
                return Ok(Some(make(false)));
            }
        }
        self.word("encrypted");
        Ok(Some(if self.word("password") {
            match self.word("null") {
                true => RoleOption::Password(None),
                false => RoleOption::Password(Some(self.0.parse_literal_string()?)),
            }
        } else if self.words(&["valid", "until"]) {
            RoleOption::ValidUntil(self.0.parse_literal_string()?)
        } else if self.words(&["connection", "limit"]) {
            let is_none = self.0.consume_token(&Token::Minus);
            self.0.parse_number_value()?;
            absent(!is_none, "CONNECTION LIMIT")
        } else if self.words(&["in", "role"]) || self.words(&["in", "group"]) {
            RoleOption::InRole(self.roles()?)
        } else if self.word("role") || self.word("user") {
            RoleOption::Members(self.roles()?, false)
        } else if self.word("admin") {
            RoleOption::Members(self.roles()?, true)
        } else {
            return Ok(None);
        }))
    }

    fn grant(&mut self, is_revoke: bool) -> Parsed<Own> {
        let mut option = is_revoke && self.words(&["grant", "option", "for"]);
        let mut admin = is_revoke && !option && self.words(&["admin", "option", "for"]);
        let mut privileges = Vec::new();
        if self.word("all") {
            self.word("privileges");
            let columns = self.columns()?;
            if !columns.is_empty() {
                let all = ["select", "insert", "update", "references"];
                privileges = all.iter().map(|word| ((*word).to_owned(), columns.clone())).collect();
            }
        } else {
            privileges = self.list(|reader| Ok((reader.name()?, reader.columns()?)))?;
        }
        let before = if is_revoke { "from" } else { "to" };
        if !self.word("on") {
            self.need(before)?;
            let members = self.roles()?;
            admin |= !is_revoke && self.words(&["with", "admin", "option"]);
            if self.grantor()? {
                return Ok(Own::Refused("GRANTED BY".to_owned()));
            }
            let roles = privileges.into_iter().map(|(role, _)| role).collect();
            return Ok(Own::GrantRoles { is_revoke, roles, members, admin });
        }
        let Some(target) = self.target()? else {
            self.skip();
            let what = "rights on anything but tables, sequences, schemas and procedures";
            return Ok(Own::Refused(what.to_owned()));
        };
        self.need(before)?;
        let grantees = self.roles()?;
        option |= !is_revoke && self.words(&["with", "grant", "option"]);
        if self.grantor()? {
            self.skip();
            return Ok(Own::Refused("GRANTED BY".to_owned()));
        }
        let cascade = self.word("cascade");
        self.word("restrict");
        Ok(Own::Grant(GrantStatement { is_revoke, option, privileges, target, grantees, cascade }))
    }

    /// Whether a statement names another grantor than who runs it.
    fn grantor(&mut self) -> Parsed<bool> {
        Ok(self.words(&["granted", "by"]) && self.role()? != RoleSpec::Current)
    }

    fn columns(&mut self) -> Parsed<Vec<String>> {
        if !self.0.consume_token(&Token::LParen) {
            return Ok(Vec::new());
        }
        let columns = self.list(Reader::name)?;
        self.0.expect_token(&Token::RParen)?;
        Ok(columns)
    }

    fn target(&mut self) -> Parsed<Option<Target>> {
        for (words, make) in [
            (["all", "tables", "in", "schema"], Target::AllTables as fn(Vec<String>) -> Target),
            (["all", "sequences", "in", "schema"], Target::AllSequences),
        ] {
            if self.words(&words) {
                return Ok(Some(make(self.list(Reader::name)?)));
            }
        }
        for word in ["database", "language", "domain", "type", "tablespace", "foreign", "large", "parameter", "all"] {
            if self.word(word) {
                return Ok(None);
            }
        }
        if self.word("schema") {
            return Ok(Some(Target::Schemas(self.list(Reader::name)?)));
        }
        if self.word("sequence") {
            return Ok(Some(Target::Sequences(self.list(Reader::object)?)));
        }
        if ["procedure", "function", "routine"].iter().any(|word| self.word(word)) {
            let names = self.list(|reader| {
                let name = reader.object()?;
                if reader.0.consume_token(&Token::LParen) {
                    while !reader.0.consume_token(&Token::RParen) {
                        if reader.0.next_token().token == Token::EOF {
                            return reader.0.expected_ref(")", reader.0.peek_token_ref());
                        }
                    }
                }
                Ok(name)
            })?;
            return Ok(Some(Target::Procedures(names)));
        }
        self.word("table");
        Ok(Some(Target::Tables(self.list(Reader::object)?)))
    }
}

/// An attribute that there is not: `NO...` is as it is anyway.
fn absent(is_asked_for: bool, what: &str) -> RoleOption {
    RoleOption::Absent(if is_asked_for { what.to_owned() } else { String::new() })
}
