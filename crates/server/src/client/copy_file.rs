//! Rows of a file, as CSV or as the text of `COPY`, which `COPY ... FROM STDIN` takes to a table.
//!
//! Invariant: what an error says of a line is of the line in the file, whatever was sent before it.

use super::connection::Event;
use super::error::{ClientError, Told};
use super::import::Report;
use super::interrupt::Interruptible;
use super::script::{Lines, Runner};
use crate::cli::{ImportArgs, ImportFormat};

/// What is to be done with a file.
pub struct CopyFile {
    table: String,
    columns: Option<String>,
    has_header: bool,
    is_csv: bool,
    delimiter: Option<String>,
    null: Option<String>,
    batch_rows: Option<u64>,
}

impl CopyFile {
    /// Reads the options of a command.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(args: &ImportArgs, format: ImportFormat) -> Result<CopyFile, ClientError> {
        let is_csv = format == ImportFormat::Csv;
        let table = args.table.clone().unwrap_or_default();
        if args.delimiter.as_ref().is_some_and(|delimiter| delimiter.len() != 1) {
            return Err(ClientError::Usage("--delimiter is one character, of one byte".to_owned()));
        }
        Ok(CopyFile {
            table: relation(&table),
            columns: args.columns.clone(),
            has_header: is_csv && !args.no_header,
            is_csv,
            delimiter: args.delimiter.clone(),
            null: args.null.clone(),
            batch_rows: args.batch_rows.map(std::num::NonZeroU64::get),
        })
    }

    /// Copies all lines.
    ///
    /// # Errors
    /// What fails.
    pub fn run(&self, mut runner: Runner, lines: &mut Lines) -> Result<Report, ClientError> {
        let connection = &mut runner.connection;
        let _interruptible = Interruptible::new(connection);
        let header = if self.has_header { self.record(lines)? } else { None };
        let statement = self.statement(header.as_deref(), &lines.name)?;
        let mut report = Report::default();
        loop {
            let first = lines.number;
            connection.query(&statement)?;
            let (mut told, mut is_over) = (None, false);
            loop {
                match connection.next()? {
                    Event::CopyIn => {
                        let mut sent = 0;
                        while self.batch_rows.is_none_or(|most| sent < most) {
                            let Some(record) = self.record(lines)? else {
                                is_over = true;
                                break;
                            };
                            if !connection.copy_data(&record)? {
                                break;
                            }
                            sent += 1;
                        }
                        connection.copy_done()?;
                    }
                    Event::Complete(tag) => {
                        report.rows += tag.strip_prefix("COPY ").and_then(|rows| rows.parse::<u64>().ok()).unwrap_or(0);
                        report.transactions += 1;
                    }
                    Event::Failed(error) => told = Some(error),
                    Event::Ready => break,
                    _ => {}
                }
            }
            match told {
                Some(told) => return Err(failed(told, &lines.name, first, report.rows)),
                None if is_over => return Ok(report),
                None => {}
            }
        }
    }

    /// Reads a record, which may have several lines; `None` at the end.
    fn record(&self, lines: &mut Lines) -> Result<Option<Vec<u8>>, ClientError> {
        let Some(mut record) = lines.next()? else { return Ok(None) };
        while self.goes_on(&record) {
            match lines.next()? {
                Some(more) => record.extend_from_slice(&more),
                None => break,
            }
        }
        Ok(Some(record))
    }

    /// Whether the record does not end with this line.
    fn goes_on(&self, record: &[u8]) -> bool {
        if self.is_csv {
            return !record.iter().filter(|byte| **byte == b'"').count().is_multiple_of(2);
        }
        let line = record.strip_suffix(b"\n").unwrap_or(record);
        !line.iter().rev().take_while(|byte| **byte == b'\\').count().is_multiple_of(2)
    }

    fn statement(&self, header: Option<&[u8]>, file: &str) -> Result<String, ClientError> {
        let columns = match (&self.columns, header) {
            (Some(columns), _) => columns.split(',').map(|name| quoted(name.trim())).collect::<Vec<_>>(),
            (None, Some(header)) => self.names(header, file)?.iter().map(|name| quoted(name)).collect(),
            (None, None) => Vec::new(),
        };
        let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
        let mut options = vec![format!("FORMAT {}", if self.is_csv { "csv" } else { "text" })];
        options.extend(self.delimiter.as_deref().map(|delimiter| format!("DELIMITER {}", literal(delimiter))));
        options.extend(self.null.as_deref().map(|null| format!("NULL {}", literal(null))));
        Ok(format!("COPY {}{columns} FROM STDIN ({})", self.table, options.join(", ")))
    }

    /// The names of columns in the first record.
    fn names(&self, header: &[u8], file: &str) -> Result<Vec<String>, ClientError> {
        let wrong =
            |what: &str| ClientError::Failed(format!("{file}:1: {what}; --no-header says that there are no names"));
        let text = std::str::from_utf8(header).map_err(|_| wrong("the names of columns are not UTF-8"))?;
        // Some programs begin a file with a mark of its encoding.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_end_matches(['\r', '\n']);
        let delimiter = self.delimiter.as_deref().and_then(|delimiter| delimiter.chars().next()).unwrap_or(',');
        let (mut names, mut name, mut is_quoted) = (Vec::new(), String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if is_quoted && chars.next_if_eq(&'"').is_some() => name.push('"'),
                '"' => is_quoted = !is_quoted,
                c if c == delimiter && !is_quoted => names.push(std::mem::take(&mut name)),
                c => name.push(c),
            }
        }
        names.push(name);
        match names.iter().any(String::is_empty) {
            true => Err(wrong("a column has no name")),
            false => Ok(names),
        }
    }
}

/// A relation as it was given: with quotes, or as it is.
fn relation(name: &str) -> String {
    let is_plain = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !part.is_empty();
    if name.contains('"') || name.split('.').all(is_plain) { name.to_owned() } else { quoted(name) }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    let text = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", text.replace('\\', "\\\\")) } else { format!("'{text}'") }
}

/// Says where in the file it was.
fn failed(mut told: Told, file: &str, first: usize, rows: u64) -> ClientError {
    let place = told.context.as_deref().or(told.detail.as_deref()).and_then(line_of);
    let before = if rows > 0 { format!("; the {rows} rows of earlier batches were committed") } else { String::new() };
    match place {
        Some((line, rest)) => {
            let column = rest.strip_prefix(", ").map_or(String::new(), |rest| format!(", {rest}"));
            told.message = format!("{file}:{}{column}: {}{before}", first + line, told.message);
            (told.context, told.detail) = (None, told.detail.filter(|detail| line_of(detail).is_none()));
        }
        None => told.message = format!("{file}: {}{before}", told.message),
    }
    ClientError::Told(Box::new(told))
}

/// The line that `COPY t, line 7, column c: ...` names, and what stands behind it.
fn line_of(text: &str) -> Option<(usize, &str)> {
    let (_, rest) = text.split_once("COPY ")?;
    let (_, rest) = rest.split_once(", line ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, rest[end..].trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv() -> CopyFile {
        CopyFile {
            table: relation("t"),
            columns: None,
            has_header: true,
            is_csv: true,
            delimiter: None,
            null: None,
            batch_rows: None,
        }
    }

    #[test]
    fn names_come_from_the_first_record() {
        let statement = csv().statement(Some("\u{feff}a,\"B \"\"c\"\"\",d e\r\n".as_bytes()), "f").unwrap();
        assert_eq!(statement, "COPY t (\"a\", \"B \"\"c\"\"\", \"d e\") FROM STDIN (FORMAT csv)");
        assert!(csv().statement(Some(b"a,,c\n"), "f").is_err());
        let text = CopyFile { is_csv: false, null: Some("\\N".to_owned()), delimiter: Some("'".to_owned()), ..csv() };
        assert_eq!(
            text.statement(None, "f").unwrap(),
            "COPY t FROM STDIN (FORMAT text, DELIMITER '''', NULL E'\\\\N')"
        );
    }

    #[test]
    fn a_record_may_have_several_lines() {
        let text = "a,\"x\ny\"\"z\nw\"\nb,1\n";
        let mut lines = Lines::new(Box::new(text.as_bytes()), "f");
        let records = std::iter::from_fn(|| csv().record(&mut lines).unwrap());
        let records: Vec<_> = records.map(|record| String::from_utf8(record).unwrap()).collect();
        assert_eq!(records, ["a,\"x\ny\"\"z\nw\"\n", "b,1\n"]);
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let context = Some("COPY t, line 3, column a: \"x\"".to_owned());
        let told = Told { message: "wrong".to_owned(), context, ..Told::default() };
        let ClientError::Told(told) = failed(told, "f.csv", 10, 9) else { panic!("the server has told") };
        assert_eq!(told.message, "f.csv:13, column a: \"x\": wrong; the 9 rows of earlier batches were committed");
        assert_eq!(line_of("More. COPY t, line 12."), Some((12, "")));
    }

    #[test]
    fn a_table_is_quoted_where_it_has_to_be() {
        let names = ["t", "s.t", "\"My t\"", "My t", "a-b"].map(relation);
        assert_eq!(names, ["t", "s.t", "\"My t\"", "\"My t\"", "\"a-b\""]);
    }
}
