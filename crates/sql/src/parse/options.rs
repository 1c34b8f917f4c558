//! Options of sequences and identity columns, and of `LIKE`, in any order.

use serde::{Deserialize, Serialize};
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::Token;

use super::objects::{Parsed, Reader};
use super::rewrite::{IdentityChange, Like};

/// An option of `ALTER SEQUENCE`. A number is as it was written, with its sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SequenceOption {
    Type(String),
    Increment(String),
    /// `None`: the least of its type.
    Minimum(Option<String>),
    /// `None`: the greatest of its type.
    Maximum(Option<String>),
    Start(String),
    Cache(String),
    Cycle(bool),
    /// The column, with its table; `None`: no column.
    OwnedBy(Option<Vec<String>>),
    /// `None`: from where it started.
    Restart(Option<String>),
}

impl Reader<'_, '_> {
    /// Reads one or more options of a sequence.
    pub(super) fn sequence_options(&mut self) -> Parsed<Vec<SequenceOption>> {
        let mut options = vec![self.sequence_option()?];
        while !matches!(self.0.peek_token_ref().token, Token::SemiColon | Token::EOF) {
            let option = self.sequence_option()?;
            let same = |known: &SequenceOption| std::mem::discriminant(known) == std::mem::discriminant(&option);
            if options.iter().any(same) {
                return Err(ParserError::ParserError("conflicting or redundant options".to_owned()));
            }
            options.push(option);
        }
        Ok(options)
    }

    fn sequence_option(&mut self) -> Parsed<SequenceOption> {
        Ok(if self.word("as") {
            SequenceOption::Type(self.0.parse_data_type()?.to_string())
        } else if self.word("increment") {
            self.word("by");
            SequenceOption::Increment(self.whole()?)
        } else if self.word("minvalue") {
            SequenceOption::Minimum(Some(self.whole()?))
        } else if self.word("maxvalue") {
            SequenceOption::Maximum(Some(self.whole()?))
        } else if self.words(&["no", "minvalue"]) {
            SequenceOption::Minimum(None)
        } else if self.words(&["no", "maxvalue"]) {
            SequenceOption::Maximum(None)
        } else if self.words(&["no", "cycle"]) {
            SequenceOption::Cycle(false)
        } else if self.word("cycle") {
            SequenceOption::Cycle(true)
        } else if self.word("start") {
            self.word("with");
            SequenceOption::Start(self.whole()?)
        } else if self.word("cache") {
            SequenceOption::Cache(self.whole()?)
        } else if self.words(&["owned", "by"]) {
            let is_none = self.word("none");
            SequenceOption::OwnedBy(if is_none { None } else { Some(self.object()?) })
        } else if self.word("restart") {
            let is_with = self.word("with");
            let is_number = matches!(self.0.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus);
            SequenceOption::Restart(if is_with || is_number { Some(self.whole()?) } else { None })
        } else {
            return self.0.expected_ref("an option of a sequence", self.0.peek_token_ref());
        })
    }

    /// A whole number with its sign.
    fn whole(&mut self) -> Parsed<String> {
        let is_negative = self.0.consume_token(&Token::Minus);
        if !is_negative {
            let _ = self.0.consume_token(&Token::Plus);
        }
        match &self.0.peek_token_ref().token {
            Token::Number(digits, _) => {
                let number = format!("{}{digits}", if is_negative { "-" } else { "" });
                self.0.next_token();
                Ok(number)
            }
            _ => self.0.expected_ref("a number", self.0.peek_token_ref()),
        }
    }

    /// Reads what becomes of an identity column.
    pub(super) fn identity_change(&mut self) -> Parsed<IdentityChange> {
        if self.words(&["drop", "identity"]) {
            return Ok(IdentityChange::Drop { if_exists: self.words(&["if", "exists"]) });
        }
        if self.words(&["drop", "expression"]) {
            return Ok(IdentityChange::DropExpression { if_exists: self.words(&["if", "exists"]) });
        }
        if self.words(&["add", "generated"]) {
            return self.identity_added();
        }
        let (mut is_always, mut options) = (None, Vec::new());
        while self.0.peek_token_ref().token != Token::EOF {
            let is_set = self.word("set");
            if is_set && self.word("generated") {
                is_always = Some(self.word("always"));
                if is_always == Some(false) {
                    self.need("by")?;
                    self.need("default")?;
                }
                continue;
            }
            let option = self.sequence_option()?;
            // Only this one stands without `SET`.
            if !is_set && !matches!(option, SequenceOption::Restart(_)) {
                return self.0.expected_ref("SET", self.0.peek_token_ref());
            }
            options.push(option);
        }
        Ok(IdentityChange::Set { is_always, options })
    }

    /// Reads what stands behind `ADD GENERATED`.
    fn identity_added(&mut self) -> Parsed<IdentityChange> {
        let is_always = self.word("always");
        if !is_always {
            self.need("by")?;
            self.need("default")?;
        }
        self.need("as")?;
        self.need("identity")?;
        let (mut sequence, mut options) = (None, Vec::new());
        if self.0.consume_token(&Token::LParen) {
            while !self.0.consume_token(&Token::RParen) {
                let is_name = self.words(&["sequence", "name"]);
                let option = if is_name { None } else { Some(self.sequence_option()?) };
                let same = |known: &SequenceOption| {
                    option.as_ref().is_some_and(|own| std::mem::discriminant(known) == std::mem::discriminant(own))
                };
                if (is_name && sequence.is_some()) || options.iter().any(same) {
                    return Err(ParserError::ParserError("conflicting or redundant options".to_owned()));
                }
                match option {
                    Some(option) => options.push(option),
                    None => sequence = Some(self.object()?),
                }
            }
        }
        Ok(IdentityChange::Add { is_always, sequence, options })
    }

    /// Reads what stands behind `LIKE`.
    pub(super) fn like(&mut self) -> Parsed<Like> {
        let mut like = Like { table: self.object()?, ..Like::default() };
        loop {
            let is_included = self.word("including");
            if !is_included && !self.word("excluding") {
                return Ok(like);
            }
            if self.word("all") {
                for part in [&mut like.comments, &mut like.constraints, &mut like.defaults] {
                    *part = is_included;
                }
                for part in [&mut like.identity, &mut like.indexes, &mut like.generated] {
                    *part = is_included;
                }
                continue;
            }
            // What tables here do not have is not there to be copied.
            if ["compression", "statistics", "storage"].iter().any(|part| self.word(part)) {
                continue;
            }
            let parts = [
                ("comments", &mut like.comments),
                ("constraints", &mut like.constraints),
                ("defaults", &mut like.defaults),
                ("generated", &mut like.generated),
                ("identity", &mut like.identity),
                ("indexes", &mut like.indexes),
            ];
            match parts.into_iter().find_map(|(word, part)| self.word(word).then_some(part)) {
                Some(part) => *part = is_included,
                None => return self.0.expected_ref("what LIKE includes", self.0.peek_token_ref()),
            }
        }
    }
}
