//! `MERGE` as PostgreSQL has it: the parser reads that of other databases.
//!
//! It becomes the parser's node all the same, where some that PostgreSQL has not stand for what the node has no place for:
//! - An `UPDATE` of no column is `DO NOTHING`.
//! - `INSERT ROW` is `INSERT DEFAULT VALUES`.
//! - The condition of an `INSERT` is the word behind `OVERRIDING`.
//!
//! Invariant: the parser itself reads no `MERGE`, because the word is no more than a name to it.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Expr, Ident, Merge, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
    Parens, Query, SetExpr, Statement, TableAlias, TableFactor, TableWithJoins, Values, With,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::{is_next, needs, needs_sign, takes, unexpected, word_of};
use super::{is_plain, syntax_error};
use crate::error::{Result, SqlError, SqlState};

/// Makes the word a name for the parser. Refuses `MERGE` where only other statements can be.
pub(super) fn hide(tokens: &mut [TokenWithSpan]) -> Result<()> {
    let is = |token: &Token, text: &str| matches!(token, Token::Word(word) if is_plain(word, text));
    if !tokens.iter().any(|token| is(&token.token, "merge")) {
        return Ok(());
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    for (place, at) in solid.iter().enumerate() {
        let Token::Word(word) = &mut tokens[*at].token else { continue };
        if !is_plain(word, "merge") {
            continue;
        }
        word.keyword = Keyword::NoKeyword;
        let is_there = |place: Option<usize>, text: &str| {
            place.and_then(|place| solid.get(place)).is_some_and(|at| is(&tokens[*at].token, text))
        };
        let is_within = place > 0 && tokens[solid[place - 1]].token == Token::LParen;
        if !is_within || !is_there(Some(place + 1), "into") {
            continue;
        }
        let before = place.checked_sub(2);
        let message = match () {
            () if is_there(before, "as") || is_there(before, "materialized") => "MERGE not supported in WITH query",
            () if is_there(before, "copy") => "MERGE not supported in COPY",
            () => continue,
        };
        return Err(SqlError::new(SqlState::FeatureNotSupported, message));
    }
    Ok(())
}

/// Whether a `MERGE` stands behind the common table expressions that the next word begins.
pub(super) fn is_behind_with(parser: &Parser<'_>) -> bool {
    let (mut depth, mut last, mut at) = (0_usize, Token::EOF, 0);
    loop {
        let TokenWithSpan { token, .. } = parser.peek_nth_token_no_skip(at);
        at += 1;
        match &token {
            Token::Whitespace(_) => continue,
            Token::EOF | Token::SemiColon => return false,
            Token::LParen if depth == 0 && last == Token::RParen => return false,
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            // Behind the list of columns stands `AS`, and behind an expression a comma.
            Token::Word(word) if depth == 0 && last == Token::RParen && !is_plain(word, "as") => {
                return is_plain(word, "merge");
            }
            _ => {}
        }
        last = token;
    }
}

/// Reads what stands behind `WITH`.
pub(super) fn with(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let with_token = parser.get_current_token().clone().into();
    let recursive = takes(parser, "recursive");
    let cte_tables = own(parser.parse_comma_separated(Parser::parse_cte), text)?;
    needs(parser, text, "merge")?;
    let merge = statement(parser, text)?;
    Ok(Statement::Query(Box::new(Query {
        with: Some(With { with_token, recursive, cte_tables }),
        body: Box::new(SetExpr::Merge(merge)),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    })))
}

/// Reads what stands behind `MERGE`.
pub(super) fn statement(parser: &mut Parser<'_>, text: &str) -> Result<Statement> {
    let merge_token = parser.get_current_token().clone().into();
    needs(parser, text, "into")?;
    let table = target(parser, text)?;
    needs(parser, text, "using")?;
    let TableWithJoins { relation, joins } = own(parser.parse_table_and_joins(), text)?;
    let source = match joins.is_empty() {
        true => relation,
        false => {
            let table_with_joins = Box::new(TableWithJoins { relation, joins });
            TableFactor::NestedJoin { table_with_joins, alias: None }
        }
    };
    needs(parser, text, "on")?;
    let on = Box::new(own(parser.parse_expr(), text)?);
    let mut clauses = vec![clause(parser, text)?];
    while is_next(parser, "when") {
        clauses.push(clause(parser, text)?);
    }
    let (optimizer_hints, into, output) = (Vec::new(), true, None);
    Ok(Statement::Merge(Merge { merge_token, optimizer_hints, into, table, source, on, clauses, output }))
}

/// The table that is written, without a list of columns.
fn target(parser: &mut Parser<'_>, text: &str) -> Result<TableFactor> {
    let is_enclosed = takes(parser, "only") && parser.consume_token(&Token::LParen);
    let name = own(parser.parse_object_name(false), text)?;
    if is_enclosed {
        needs_sign(parser, text, &Token::RParen)?;
    } else {
        // Tables that inherit from it are meant, too: there are none.
        let _ = parser.consume_token(&Token::Mul);
    }
    let explicit = takes(parser, "as");
    let alias = match &parser.peek_token_ref().token {
        Token::Word(_) if !is_next(parser, "using") => {
            let name = own(parser.parse_identifier(), text)?;
            Some(TableAlias { explicit, name, columns: Vec::new(), at: None })
        }
        _ if explicit => return Err(unexpected(parser, text)),
        _ => None,
    };
    Ok(TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    })
}

fn clause(parser: &mut Parser<'_>, text: &str) -> Result<MergeClause> {
    needs(parser, text, "when")?;
    let when_token = parser.get_current_token().clone().into();
    let clause_kind = if takes(parser, "not") { MergeClauseKind::NotMatched } else { MergeClauseKind::Matched };
    needs(parser, text, "matched")?;
    let predicate = match takes(parser, "and") {
        true => Some(own(parser.parse_expr(), text)?),
        false => None,
    };
    needs(parser, text, "then")?;
    let is_matched = clause_kind == MergeClauseKind::Matched;
    let next = word_of(parser.peek_token_ref()).unwrap_or_default();
    let action = match (next.as_str(), is_matched) {
        ("insert", false) => MergeAction::Insert(insert(parser, text)?),
        ("update", true) => update(parser, text)?,
        ("delete", true) => MergeAction::Delete { delete_token: parser.next_token().into() },
        ("do", _) => {
            let update_token = parser.next_token().into();
            needs(parser, text, "nothing")?;
            updating(update_token, Vec::new())
        }
        _ => return Err(unexpected(parser, text)),
    };
    Ok(MergeClause { when_token, clause_kind, predicate, action })
}

fn update(parser: &mut Parser<'_>, text: &str) -> Result<MergeAction> {
    let update_token = parser.next_token().into();
    needs(parser, text, "set")?;
    Ok(updating(update_token, own(parser.parse_comma_separated(Parser::parse_assignment), text)?))
}

fn updating(update_token: AttachedToken, assignments: Vec<sqlparser::ast::Assignment>) -> MergeAction {
    MergeAction::Update(MergeUpdateExpr { update_token, assignments, update_predicate: None, delete_predicate: None })
}

fn insert(parser: &mut Parser<'_>, text: &str) -> Result<MergeInsertExpr> {
    let insert_token = parser.next_token().into();
    let (mut columns, mut insert_predicate) = (Vec::new(), None);
    if takes(parser, "default") {
        let kind_token = parser.get_current_token().clone().into();
        needs(parser, text, "values")?;
        return Ok(MergeInsertExpr { insert_token, columns, kind_token, kind: MergeInsertKind::Row, insert_predicate });
    }
    if parser.consume_token(&Token::LParen) {
        columns = own(parser.parse_comma_separated(|parser| parser.parse_object_name(false)), text)?;
        needs_sign(parser, text, &Token::RParen)?;
    }
    if takes(parser, "overriding") {
        let word = ["system", "user"].into_iter().find(|word| takes(parser, word));
        let word = word.ok_or_else(|| unexpected(parser, text))?;
        insert_predicate = Some(Expr::Identifier(Ident::new(word)));
        needs(parser, text, "value")?;
    }
    needs(parser, text, "values")?;
    let kind_token = parser.get_current_token().clone().into();
    needs_sign(parser, text, &Token::LParen)?;
    let rows = vec![Parens::with_empty_span(own(parser.parse_comma_separated(Parser::parse_expr), text)?)];
    needs_sign(parser, text, &Token::RParen)?;
    let kind = MergeInsertKind::Values(Values { explicit_row: false, value_keyword: false, rows });
    Ok(MergeInsertExpr { insert_token, columns, kind_token, kind, insert_predicate })
}

fn own<T>(parsed: std::result::Result<T, ParserError>, text: &str) -> Result<T> {
    parsed.map_err(|error| syntax_error(text, error))
}

/// Whether an action is `DO NOTHING`.
pub(crate) fn is_nothing(action: &MergeAction) -> bool {
    matches!(action, MergeAction::Update(update) if update.assignments.is_empty())
}

/// The word behind `OVERRIDING`.
pub(crate) fn overriding(insert: &MergeInsertExpr) -> Option<&str> {
    match &insert.insert_predicate {
        Some(Expr::Identifier(word)) => Some(&word.value),
        _ => None,
    }
}

/// The statement as a text.
pub(super) fn text(merge: &Merge) -> String {
    let Merge { table, source, on, clauses, .. } = merge;
    let clauses: Vec<String> = clauses.iter().map(clause_text).collect();
    format!("MERGE INTO {table} USING {source} ON {on} {}", clauses.join(" "))
}

/// As [`text`], of one behind `WITH`.
pub(super) fn text_with(query: &Query) -> String {
    match (&query.with, &*query.body) {
        (Some(with), SetExpr::Merge(Statement::Merge(merge))) => format!("{with} {}", text(merge)),
        _ => query.to_string(),
    }
}

fn clause_text(clause: &MergeClause) -> String {
    let MergeClause { clause_kind, predicate, action, .. } = clause;
    let condition = predicate.as_ref().map_or_else(String::new, |predicate| format!(" AND {predicate}"));
    let action = match action {
        action if is_nothing(action) => "DO NOTHING".to_owned(),
        MergeAction::Insert(insert) => insert_text(insert),
        action => action.to_string(),
    };
    format!("WHEN {clause_kind}{condition} THEN {action}")
}

fn insert_text(insert: &MergeInsertExpr) -> String {
    let MergeInsertKind::Values(values) = &insert.kind else { return "INSERT DEFAULT VALUES".to_owned() };
    let columns: Vec<String> = insert.columns.iter().map(ToString::to_string).collect();
    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    let overriding =
        overriding(insert).map_or_else(String::new, |word| format!(" OVERRIDING {} VALUE", word.to_uppercase()));
    format!("INSERT{columns}{overriding} {values}")
}

#[cfg(test)]
mod tests {
    use crate::parse::{own, statements};

    #[test]
    fn texts_are_read_back() {
        for text in [
            "merge into t using s on t.a = s.a when matched then do nothing",
            "merge into only (x.t) as a using (values (1, 'b')) v (c, d) on c = a.e when not matched then insert default values",
            "merge into t * b using s join u on s.a = u.a on b.a = s.a when matched and b.c > 1 then delete",
            "merge into t using s on true when matched then update set (a, b) = (select 1, 2), c = default when not matched \
             and s.a is null then insert (a, b) overriding user value values (default, s.b) when not matched then do nothing",
            "with s (a) as (select 1), w as (delete from t returning *) merge into t using s on false when not matched then \
             insert overriding system value values (s.*)",
        ] {
            let read = statements(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let shown = own::text(&read[0]);
            assert_eq!(statements(&shown).expect(&shown), read, "{shown}");
            assert!(!shown.contains("ROW") && !shown.ends_with("SET "), "{shown}");
        }
    }
}
