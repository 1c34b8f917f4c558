//! Statements that PostgreSQL reads in another way than the parser does: what stands behind their first word is read here.
//!
//! They become nodes of the parser's syntax tree all the same; `SELECT INTO` is a `CREATE TABLE AS`. Two have none of their own
//! there: `MOVE` is a `FETCH` into nowhere ([`is_move`]), and `CHECKPOINT` is a flush of the tables.
//!
//! Invariant: a first word that begins no statement of PostgreSQL begins none here, whatever the parser knows.

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{
    Declare, DeclareType, DescribeAlias, Expr, FetchDirection, FetchPosition, FlushType, Ident, ObjectName, Select,
    SetExpr, Statement, UtilityOption, Value, ValueWithSpan,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::quote::is_reserved;
use super::words::{identifier, needs, takes, unexpected, word_of};
use super::{materialized, merge, near, objects, syntax_error};
use crate::error::{Result, SqlError, SqlState};

/// First words of statements that other databases have.
const FOREIGN: &[&str] = &[
    "assert",
    "attach",
    "cache",
    "case",
    "deny",
    "desc",
    "describe",
    "detach",
    "exec",
    "export",
    "flush",
    "from",
    "if",
    "install",
    "kill",
    "load",
    "msck",
    "open",
    "optimize",
    "pragma",
    "print",
    "raise",
    "raiserror",
    "rename",
    "replace",
    "return",
    "throw",
    "uncache",
    "unload",
    "use",
    "waitfor",
    "while",
];

/// How procedures come into a database.
const PROCEDURES_HINT: &str =
    "Procedures are declared in the language of `osier procedure load`, and called with CALL.";

/// Whether a `FETCH` is a `MOVE`: its rows go nowhere.
pub(crate) fn is_move(into: Option<&ObjectName>) -> bool {
    into.is_some()
}

/// A statement as a text. Of those that have no text of the parser's it is the first words: one may have a password in it.
pub(crate) fn text(statement: &Statement) -> String {
    match statement {
        Statement::Flush { .. } => "CHECKPOINT".to_owned(),
        Statement::Install { .. } => objects::carried(statement).map_or_else(String::new, |own| own.words().to_owned()),
        Statement::Fetch { name, direction, position, into: Some(_) } => format!("MOVE {direction} {position} {name}"),
        Statement::Merge(merge) => merge::text(merge),
        Statement::Query(query) if matches!(&*query.body, SetExpr::Merge(_)) => merge::text_with(query),
        other => other.to_string(),
    }
}

/// Reads the next statement.
pub(super) fn statement(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let first = parser.peek_token();
    let Some(word) = word_of(&first) else { return theirs(parser, text) };
    if FOREIGN.contains(&word.as_str()) {
        return Err(near(text, &first.token.to_string(), first.span.start));
    }
    refuse(parser, &word)?;
    let read: fn(&mut Parser<'_>, &str) -> Result<Statement> = match word.as_str() {
        "abort" => abort,
        "checkpoint" => checkpoint,
        "create" if materialized::is_next(parser) => materialized::create,
        "declare" => declare,
        "execute" => execute,
        "explain" => explain,
        "fetch" => fetch,
        "listen" => listen,
        "merge" => merge::statement,
        "move" => move_,
        "notify" => notify,
        "prepare" => prepare,
        "unlisten" => unlisten,
        "with" if merge::is_behind_with(parser) => merge::with,
        _ => return theirs(parser, text),
    };
    parser.next_token();
    read(parser, text)
}

/// Reads what the parser reads as PostgreSQL does.
fn theirs(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    if let Some(own) = objects::statement(parser).map_err(|error| syntax_error(text, error))? {
        return Ok(objects::carry(&own));
    }
    let mut statement = parser.parse_statement().map_err(|error| syntax_error(text, error))?;
    if let Statement::CreateView(view) = &mut statement {
        objects::check_option(parser, view).map_err(|error| syntax_error(text, error))?;
    }
    if let Statement::Query(mut query) = statement {
        let into = first_select(&mut query.body).and_then(|select| select.into.take());
        return Ok(match into {
            Some(into) => {
                let table = CreateTableBuilder::new(into.name).temporary(into.temporary).query(Some(query));
                Statement::CreateTable(table.build())
            }
            None => Statement::Query(query),
        });
    }
    if let Statement::Call(call) = &statement
        && call.args == sqlparser::ast::FunctionArguments::None
    {
        return Err(unexpected(parser, text));
    }
    Ok(statement)
}

/// The first `SELECT` of a query, behind which `INTO` may stand.
fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

/// Refuses statements that the database has not, before their text is looked at: the parser does not read all of it.
fn refuse(parser: &Parser<'_>, first: &str) -> Result<()> {
    let word = |at: usize| word_of(parser.peek_nth_token_ref(at)).unwrap_or_default();
    let (second, third, fourth) = (word(1), word(2), word(3));
    let routine = |word: &str| matches!(word, "function" | "procedure" | "routine" | "aggregate" | "trigger");
    let (what, hint) = match (first, second.as_str()) {
        ("do", _) => ("DO".to_owned(), PROCEDURES_HINT),
        ("create", kind) if routine(kind) => (format!("CREATE {}", kind.to_uppercase()), PROCEDURES_HINT),
        ("create", "or") if third == "replace" && routine(&fourth) => {
            (format!("CREATE {}", fourth.to_uppercase()), PROCEDURES_HINT)
        }
        ("alter" | "drop", kind) if routine(kind) => {
            let hint = "`osier procedure` lists, replaces and drops procedures.";
            (format!("{} {}", first.to_uppercase(), kind.to_uppercase()), hint)
        }
        ("prepare", "transaction") => {
            ("PREPARE TRANSACTION".to_owned(), "Transactions of several databases are not prepared here.")
        }
        ("commit" | "rollback", "prepared") => {
            (format!("{} PREPARED", first.to_uppercase()), "Transactions of several databases are not prepared here.")
        }
        _ => return Ok(()),
    };
    Err(SqlError::unsupported(what).with_hint(hint))
}

/// Whether `UNLISTEN` means all channels, and not one of a name.
pub(crate) fn is_every_channel(channel: &Ident) -> bool {
    channel.quote_style.is_none() && channel.value == "*"
}

fn listen(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    Ok(Statement::LISTEN { channel: channel(parser, text)? })
}

fn unlisten(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let channel = if parser.consume_token(&Token::Mul) { Ident::new("*") } else { channel(parser, text)? };
    Ok(Statement::UNLISTEN { channel })
}

fn notify(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let channel = channel(parser, text)?;
    let mut payload = None;
    if parser.consume_token(&Token::Comma) {
        payload = Some(match parser.peek_token().token {
            Token::SingleQuotedString(payload)
            | Token::EscapedStringLiteral(payload)
            | Token::UnicodeStringLiteral(payload) => payload,
            Token::DollarQuotedString(quoted) => quoted.value,
            _ => return Err(unexpected(parser, text)),
        });
        parser.next_token();
    }
    Ok(Statement::NOTIFY { channel, payload })
}

/// The name of a channel, which is no literal.
fn channel(parser: &mut Parser<'_>, text: &str) -> Result<Ident> {
    match parser.peek_token().token {
        Token::Word(word) if word.quote_style.is_none() && is_reserved(&word.value.to_lowercase()) => {
            Err(unexpected(parser, text))
        }
        Token::Word(word) if !word.value.is_empty() => identifier(parser, text),
        _ => Err(unexpected(parser, text)),
    }
}

fn abort(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let chain = parser.parse_commit_rollback_chain().map_err(|error| syntax_error(text, error))?;
    Ok(Statement::Rollback { chain, savepoint: None })
}

fn checkpoint(_: &mut Parser<'_>, _: &str) -> Result<Statement> {
    let (location, channel, tables) = (None, None, Vec::new());
    let object_type = FlushType::Tables;
    Ok(Statement::Flush { object_type, location, channel, read_lock: false, export: false, tables })
}

fn explain(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let is_query = |word: String| matches!(word.as_str(), "select" | "with" | "values" | "table");
    let has_options = parser.peek_token().token == Token::LParen
        && word_of(parser.peek_nth_token_ref(1)).is_some_and(|word| !is_query(word));
    let (mut analyze, mut verbose, mut options) = (false, false, None);
    if has_options {
        options = Some(explain_options(parser, text)?);
    } else {
        analyze = takes(parser, "analyze") || takes(parser, "analyse");
        verbose = takes(parser, "verbose");
    }
    let next = parser.peek_token();
    let inner = statement(parser, text)?;
    if let Statement::Explain { .. } = inner {
        return Err(near(text, &next.token.to_string(), next.span.start));
    }
    Ok(Statement::Explain {
        describe_alias: DescribeAlias::Explain,
        analyze,
        verbose,
        query_plan: false,
        estimate: false,
        statement: Box::new(inner),
        format: None,
        options,
    })
}

/// `(name value, ...)`, where a value is a word, a number or a text.
fn explain_options(parser: &mut Parser<'_>, text: &str) -> Result<Vec<UtilityOption>> {
    parser.next_token();
    let mut options = Vec::new();
    loop {
        let name = identifier(parser, text)?;
        let mut arg = None;
        if !matches!(parser.peek_token().token, Token::Comma | Token::RParen) {
            let value = parser.next_token();
            let shown = match &value.token {
                Token::Word(word) => word.value.clone(),
                Token::Number(number, _) => number.clone(),
                Token::SingleQuotedString(quoted) | Token::EscapedStringLiteral(quoted) => quoted.clone(),
                other => return Err(near(text, &other.to_string(), value.span.start)),
            };
            arg = Some(Expr::Identifier(Ident::with_span(value.span, shown)));
        }
        options.push(UtilityOption { name, arg });
        let next = parser.next_token();
        match next.token {
            Token::Comma => {}
            Token::RParen => return Ok(options),
            other => return Err(near(text, &other.to_string(), next.span.start)),
        }
    }
}

fn prepare(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let name = identifier(parser, text)?;
    let mut data_types = Vec::new();
    if parser.consume_token(&Token::LParen) {
        data_types =
            parser.parse_comma_separated(Parser::parse_data_type).map_err(|error| syntax_error(text, error))?;
        if !parser.consume_token(&Token::RParen) {
            return Err(unexpected(parser, text));
        }
    }
    needs(parser, text, "as")?;
    let first = parser.peek_token();
    let inner = statement(parser, text)?;
    match inner {
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {}
        Statement::Merge(_) => {}
        _ => return Err(near(text, &first.token.to_string(), first.span.start)),
    }
    Ok(Statement::Prepare { name, data_types, statement: Box::new(inner) })
}

fn execute(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let name = identifier(parser, text)?;
    let mut parameters = Vec::new();
    let has_parentheses = parser.consume_token(&Token::LParen);
    if has_parentheses {
        parameters = parser.parse_comma_separated(Parser::parse_expr).map_err(|error| syntax_error(text, error))?;
        if !parser.consume_token(&Token::RParen) {
            return Err(unexpected(parser, text));
        }
    }
    let (name, into, using) = (Some(vec![name].into()), Vec::new(), Vec::new());
    let (immediate, output, default) = (false, false, false);
    Ok(Statement::Execute { name, parameters, has_parentheses, immediate, into, using, output, default })
}

fn declare(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let name = identifier(parser, text)?;
    let (mut binary, mut sensitive, mut scroll, mut hold) = (Some(false), None, None, None);
    while !takes(parser, "cursor") {
        match word_of(&parser.peek_token()).unwrap_or_default().as_str() {
            "binary" => binary = Some(true),
            "insensitive" => sensitive = Some(true),
            "asensitive" => sensitive = Some(false),
            "scroll" if scroll == Some(false) => return Err(both_scrolls()),
            "scroll" => scroll = Some(true),
            "no" if scroll == Some(true) => return Err(both_scrolls()),
            "no" => {
                scroll = Some(false);
                parser.next_token();
                if word_of(&parser.peek_token()).is_none_or(|next| next != "scroll") {
                    return Err(unexpected(parser, text));
                }
            }
            _ => return Err(unexpected(parser, text)),
        }
        parser.next_token();
    }
    for (word, is_held) in [("with", true), ("without", false)] {
        if takes(parser, word) {
            needs(parser, text, "hold")?;
            hold = Some(is_held);
        }
    }
    needs(parser, text, "for")?;
    let for_query = Some(parser.parse_query().map_err(|error| syntax_error(text, error))?);
    let (data_type, assignment, declare_type) = (None, None, Some(DeclareType::Cursor));
    let names = vec![name];
    let declared = Declare { names, data_type, assignment, declare_type, binary, sensitive, scroll, hold, for_query };
    Ok(Statement::Declare { stmts: vec![declared] })
}

fn both_scrolls() -> SqlError {
    SqlError::new(SqlState::SyntaxError, "cannot specify both SCROLL and NO SCROLL").with_code("42P11")
}

fn fetch(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let direction = direction(parser, text)?;
    // The word before the name may be left out.
    let position = if takes(parser, "in") { FetchPosition::In } else { FetchPosition::From };
    if position == FetchPosition::From {
        takes(parser, "from");
    }
    let name = identifier(parser, text)?;
    Ok(Statement::Fetch { name, direction, position, into: None })
}

fn move_(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let Statement::Fetch { name, direction, position, .. } = fetch(parser, text)? else {
        unreachable!("that is what is read")
    };
    Ok(Statement::Fetch { name, direction, position, into: Some(ObjectName(Vec::new())) })
}

fn direction(parser: &mut Parser<'_>, text: &str) -> Result<FetchDirection> {
    if let Some(limit) = count(parser, text)? {
        return Ok(FetchDirection::Count { limit });
    }
    let required = |parser: &mut Parser<'_>| count(parser, text)?.ok_or_else(|| unexpected(parser, text));
    let word = word_of(&parser.peek_token()).unwrap_or_default();
    // A cursor may be called as a direction is: then nothing follows its name.
    let is_name = matches!(parser.peek_nth_token_ref(1).token, Token::SemiColon | Token::EOF);
    if is_name {
        return Ok(FetchDirection::Next);
    }
    let simple = match word.as_str() {
        "next" => FetchDirection::Next,
        "prior" => FetchDirection::Prior,
        "first" => FetchDirection::First,
        "last" => FetchDirection::Last,
        "all" => FetchDirection::All,
        "absolute" | "relative" | "forward" | "backward" => FetchDirection::Forward { limit: None },
        _ => return Ok(FetchDirection::Next),
    };
    parser.next_token();
    Ok(match word.as_str() {
        "absolute" => FetchDirection::Absolute { limit: required(parser)? },
        "relative" => FetchDirection::Relative { limit: required(parser)? },
        "forward" if parser.parse_keyword(Keyword::ALL) => FetchDirection::ForwardAll,
        "backward" if parser.parse_keyword(Keyword::ALL) => FetchDirection::BackwardAll,
        "forward" => FetchDirection::Forward { limit: count(parser, text)? },
        "backward" => FetchDirection::Backward { limit: count(parser, text)? },
        _ => simple,
    })
}

/// A whole number with a sign, if the next token begins one.
fn count(parser: &mut Parser<'_>, text: &str) -> Result<Option<ValueWithSpan>> {
    let first = parser.peek_token();
    let sign = match first.token {
        Token::Minus => "-",
        Token::Plus => "+",
        Token::Number(..) => "",
        _ => return Ok(None),
    };
    if !sign.is_empty() {
        parser.next_token();
    }
    let digits = parser.next_token();
    match &digits.token {
        Token::Number(number, _) if number.parse::<i32>().is_ok() => {
            let value = Value::Number(format!("{sign}{number}"), false);
            Ok(Some(ValueWithSpan { value, span: first.span }))
        }
        other => Err(near(text, &other.to_string(), digits.span.start)),
    }
}
