//! What a `COPY` statement says of its format.

use sqlparser::ast::{self, CopyLegacyCsvOption, CopyLegacyOption, CopyOption};

use crate::error::{Result, SqlError, SqlState};
use crate::parse;

/// How records look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Csv,
    Binary,
}

/// All that is said of the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) format: Format,
    pub(crate) delimiter: u8,
    pub(crate) null: Vec<u8>,
    pub(crate) has_header: bool,
    /// Whether the header must have the names of the columns.
    pub(crate) matches_header: bool,
    pub(crate) quote: u8,
    pub(crate) escape: u8,
    /// Columns that are quoted always; `*` is all.
    pub(crate) force_quote: Vec<String>,
    pub(crate) force_not_null: Vec<String>,
    pub(crate) force_null: Vec<String>,
}

/// What was said, before what was not is filled in.
#[derive(Default)]
struct Said {
    format: Option<Format>,
    delimiter: Option<char>,
    null: Option<String>,
    has_header: bool,
    matches_header: bool,
    quote: Option<char>,
    escape: Option<char>,
    force_quote: Vec<String>,
    force_not_null: Vec<String>,
    force_null: Vec<String>,
}

fn names(idents: &[ast::Ident]) -> Vec<String> {
    idents.iter().map(parse::name).collect()
}

impl Options {
    /// Reads the options of a statement.
    pub(crate) fn of(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<Options> {
        let mut said = Said::default();
        for option in options {
            said.option(option)?;
        }
        for option in legacy {
            said.legacy(option)?;
        }
        said.finish()
    }
}

impl Said {
    fn option(&mut self, option: &CopyOption) -> Result<()> {
        match option {
            CopyOption::Format(name) => {
                self.format = Some(match parse::name(name).as_str() {
                    "text" => Format::Text,
                    "csv" => Format::Csv,
                    "binary" => Format::Binary,
                    other => {
                        let message = format!("COPY format \"{other}\" not recognized");
                        return Err(SqlError::new(SqlState::InvalidParameterValue, message));
                    }
                });
            }
            CopyOption::Freeze(_) => {}
            CopyOption::Delimiter(delimiter) => self.delimiter = Some(*delimiter),
            CopyOption::Null(null) => self.null = Some(null.clone()),
            CopyOption::Header(has_header) => self.has_header = *has_header,
            CopyOption::Quote(quote) => self.quote = Some(*quote),
            CopyOption::Escape(escape) => self.escape = Some(*escape),
            CopyOption::ForceQuote(columns) => self.force_quote = names(columns),
            CopyOption::ForceNotNull(columns) => self.force_not_null = names(columns),
            option if parse::copy::is_match(option) => self.matches_header = true,
            CopyOption::ForceNull(columns) => self.force_null = names(columns),
            CopyOption::Encoding(encoding) => {
                if !matches!(encoding.to_lowercase().as_str(), "utf8" | "utf-8" | "unicode") {
                    return Err(SqlError::unsupported(format!("the encoding {encoding} of COPY"))
                        .with_hint("Texts are UTF8 here: convert the data, or leave ENCODING out."));
                }
            }
        }
        Ok(())
    }

    fn legacy(&mut self, option: &CopyLegacyOption) -> Result<()> {
        match option {
            CopyLegacyOption::Binary => self.format = Some(Format::Binary),
            CopyLegacyOption::Delimiter(delimiter) => self.delimiter = Some(*delimiter),
            CopyLegacyOption::Null(null) => self.null = Some(null.clone()),
            CopyLegacyOption::Header => self.has_header = true,
            CopyLegacyOption::Csv(options) => {
                self.format = Some(Format::Csv);
                for option in options {
                    match option {
                        CopyLegacyCsvOption::Header => self.has_header = true,
                        CopyLegacyCsvOption::Quote(quote) => self.quote = Some(*quote),
                        CopyLegacyCsvOption::Escape(escape) => self.escape = Some(*escape),
                        CopyLegacyCsvOption::ForceQuote(columns) => self.force_quote = names(columns),
                        CopyLegacyCsvOption::ForceNotNull(columns) => self.force_not_null = names(columns),
                    }
                }
            }
            other => return Err(SqlError::unsupported(format!("the option {other} of COPY"))),
        }
        Ok(())
    }

    fn finish(self) -> Result<Options> {
        let format = self.format.unwrap_or(Format::Text);
        let refused = |message: &str| Err(SqlError::new(SqlState::SyntaxError, message));
        let has_look = self.delimiter.is_some() || self.null.is_some() || self.has_header;
        if format == Format::Binary && has_look {
            return refused("cannot specify DELIMITER, NULL or HEADER in BINARY mode");
        }
        if format != Format::Csv && (self.quote.is_some() || self.escape.is_some()) {
            return refused("COPY quote and escape are available only in CSV mode");
        }
        let byte = |given: Option<char>, otherwise: u8, name: &str| match given {
            None => Ok(otherwise),
            Some(given) => u8::try_from(given).ok().filter(u8::is_ascii).ok_or_else(|| {
                let message = format!("COPY {name} must be a single one-byte character");
                SqlError::new(SqlState::FeatureNotSupported, message)
            }),
        };
        let is_csv = format == Format::Csv;
        let delimiter = byte(self.delimiter, if is_csv { b',' } else { b'\t' }, "delimiter")?;
        let quote = byte(self.quote, b'"', "quote")?;
        let escape = byte(self.escape, quote, "escape")?;
        if matches!(delimiter, b'\n' | b'\r') || is_csv && delimiter == quote {
            return refused("COPY delimiter cannot be newline or carriage return, nor the quote");
        }
        if !is_csv && (delimiter == b'\\' || delimiter.is_ascii_alphanumeric() || delimiter == b'.') {
            return refused(&format!("COPY delimiter cannot be \"{}\"", char::from(delimiter)));
        }
        let null = self.null.unwrap_or_else(|| if is_csv { String::new() } else { "\\N".to_owned() });
        Ok(Options {
            format,
            delimiter,
            null: null.into_bytes(),
            has_header: self.has_header,
            matches_header: self.matches_header,
            quote,
            escape,
            force_quote: self.force_quote,
            force_not_null: self.force_not_null,
            force_null: self.force_null,
        })
    }
}
