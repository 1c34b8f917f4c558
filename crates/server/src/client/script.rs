//! Runs statements and shows what comes of them: those of a command line, of a file, or of whoever types.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use osier_bench::progress::Bar;

use super::backslash::{self, Next};
use super::connection::{Connection, Event};
use super::error::{ClientError, Told};
use super::interrupt::Interruptible;
use super::report::{notified, report};
use super::split::Splitter;
use super::table::{Style, Table};

/// Lines, one after the other, each with its end.
pub struct Lines {
    reader: Box<dyn BufRead>,
    /// What they are called.
    pub name: String,
    path: PathBuf,
    /// How many were read.
    pub number: usize,
    bytes: u64,
    bar: Option<Bar>,
}

impl Lines {
    /// Reads lines of a reader, which is called so.
    pub fn new(reader: Box<dyn BufRead>, name: impl Into<String>) -> Lines {
        let name = name.into();
        Lines { reader, path: PathBuf::from(&name), name, number: 0, bytes: 0, bar: None }
    }

    /// Opens a file; `-` is the standard input.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn open(path: &Path) -> Result<Lines, ClientError> {
        if path == Path::new("-") {
            return Ok(Lines::new(Box::new(std::io::BufReader::new(std::io::stdin())), "<stdin>"));
        }
        let file = std::fs::File::open(path).map_err(ClientError::file("open", path))?;
        let name = path.display().to_string();
        Ok(Lines::new(Box::new(std::io::BufReader::with_capacity(1 << 20, file)), name))
    }

    /// Shows how far they were read.
    pub fn with_bar(self, bar: Bar) -> Lines {
        Lines { bar: Some(bar), ..self }
    }

    /// Reads a line; `None` at the end.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let mut line = Vec::new();
        let read = self.reader.read_until(b'\n', &mut line).map_err(ClientError::file("read", &self.path))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += read as u64;
        if let Some(bar) = &self.bar
            && self.number.is_multiple_of(256)
        {
            bar.at(self.bytes);
        }
        Ok(Some(line))
    }

    /// Reads a line of text.
    fn text(&mut self) -> Result<Option<String>, ClientError> {
        let Some(line) = self.next()? else { return Ok(None) };
        let wrong = |_| ClientError::Failed(format!("{}:{}: this is not UTF-8", self.name, self.number));
        String::from_utf8(line).map(Some).map_err(wrong)
    }
}

/// Runs statements.
pub struct Runner {
    /// Where they are run.
    pub connection: Connection,
    /// Where results are shown.
    pub out: Box<dyn Write>,
    /// How rows are shown.
    pub style: Style,
    /// Whether tags are not.
    pub is_quiet: bool,
    /// Whether the time of each statement is shown.
    pub has_timing: bool,
    /// The key without which no command with a backslash is allowed.
    pub restriction: Option<String>,
    /// Whether a script ends at its first error.
    pub stops_at_errors: bool,
    /// Rows that were written by statements of `COPY`, for reports.
    pub copied: u64,
    /// Statements that were run.
    pub statements: u64,
}

impl Runner {
    /// Runs statements on a connection.
    pub fn new(connection: Connection, out: Box<dyn Write>) -> Runner {
        Runner {
            connection,
            out,
            style: Style::default(),
            is_quiet: false,
            has_timing: false,
            restriction: None,
            stops_at_errors: true,
            copied: 0,
            statements: 0,
        }
    }

    /// Shows something that is no error.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn say(&mut self, text: &str) -> Result<(), ClientError> {
        self.out.write_all(text.as_bytes()).map_err(ClientError::file("write", Path::new("standard output")))
    }

    fn flush(&mut self) -> Result<(), ClientError> {
        self.out.flush().map_err(ClientError::file("write", Path::new("standard output")))
    }

    /// Runs a text as one request, with `data` for what it copies. Returns what it has failed with, if it has; that is shown,
    /// with `place` before it.
    ///
    /// # Errors
    /// A connection that broke; of the operating system.
    pub fn run(&mut self, text: &str, place: &str, data: &mut Lines) -> Result<Option<Told>, ClientError> {
        let begun = Instant::now();
        let _interruptible = Interruptible::new(&self.connection);
        self.statements += 1;
        self.connection.query(text)?;
        let (mut table, mut failed) = (None, None);
        loop {
            match self.connection.next()? {
                Event::Columns(columns) => table = Some(Table::new(columns)),
                Event::Row(row) => {
                    if let Some(table) = &mut table {
                        table.push(&row);
                    }
                }
                Event::Complete(tag) => self.complete(table.take(), &tag)?,
                Event::CopyIn => self.copy_in(data)?,
                Event::CopyData(bytes) => {
                    self.out.write_all(&bytes).map_err(ClientError::file("write", Path::new("standard output")))?;
                }
                Event::CopyOut | Event::Empty => {}
                Event::Notice(told) => {
                    self.flush()?;
                    eprint!("{place}{}", report(&told, text));
                }
                Event::Failed(told) => {
                    self.flush()?;
                    eprint!("{place}{}", report(&told, text));
                    failed = Some(told);
                }
                Event::Ready => break,
            }
        }
        if self.has_timing {
            self.say(&format!("Time: {:.3} ms\n", begun.elapsed().as_secs_f64() * 1e3))?;
        }
        self.show_notifications()?;
        Ok(failed)
    }

    /// Shows the notifications that have come, behind what is said of the statement.
    fn show_notifications(&mut self) -> Result<(), ClientError> {
        for notification in self.connection.take_notifications() {
            self.say(&notified(&notification))?;
        }
        self.flush()
    }

    fn complete(&mut self, table: Option<Table>, tag: &str) -> Result<(), ClientError> {
        if let Some(count) = tag.strip_prefix("COPY ") {
            self.copied += count.parse::<u64>().unwrap_or(0);
        }
        let has_table = table.is_some();
        if let Some(table) = table {
            let shown = table.show(self.style);
            self.say(&shown)?;
        }
        let is_told = !has_table || ["INSERT", "UPDATE", "DELETE", "MERGE"].iter().any(|kind| tag.starts_with(kind));
        if is_told && !self.is_quiet {
            self.say(&format!("{tag}\n"))?;
        }
        Ok(())
    }

    /// Sends the lines up to one with `\.` alone.
    fn copy_in(&mut self, data: &mut Lines) -> Result<(), ClientError> {
        let mut is_wanted = true;
        while let Some(line) = data.next()? {
            if matches!(&line[..], b"\\.\n" | b"\\.\r\n" | b"\\.") {
                break;
            }
            // What the server does not want any more is read all the same: it is no statement.
            if is_wanted {
                is_wanted = self.connection.copy_data(&line)?;
            }
        }
        self.connection.copy_done()
    }

    /// Runs all statements of a script.
    ///
    /// # Errors
    /// [`ClientError::Script`] where one fails and the script is to end then.
    pub fn script(&mut self, lines: &mut Lines) -> Result<(), ClientError> {
        let mut splitter = Splitter::default();
        let mut begun = 0;
        while let Some(line) = lines.text()? {
            let mut rest = line.as_str();
            if !splitter.has_begun() && rest.trim_start().starts_with('\\') {
                if self.backslash(rest.trim(), lines)? == Next::End {
                    return Ok(());
                }
                continue;
            }
            loop {
                let had_begun = splitter.has_begun();
                let taken = splitter.take(rest);
                if !had_begun {
                    begun = lines.number;
                }
                let Some((statement, left)) = taken else { break };
                let place = format!("osier:{}:{begun}: ", lines.name);
                let failed = self.run(statement.trim(), &place, lines)?;
                if failed.is_some() && self.stops_at_errors {
                    return Err(ClientError::Script);
                }
                rest = left;
            }
        }
        let Some(statement) = splitter.rest() else { return Ok(()) };
        let place = format!("osier:{}:{begun}: ", lines.name);
        match self.run(statement.trim(), &place, lines)? {
            Some(_) if self.stops_at_errors => Err(ClientError::Script),
            _ => Ok(()),
        }
    }

    /// Runs a command with a backslash.
    ///
    /// # Errors
    /// [`ClientError::Script`] where it fails and the script is to end then.
    pub fn backslash(&mut self, command: &str, lines: &mut Lines) -> Result<Next, ClientError> {
        let done = backslash::run(self, command).and_then(|next| self.show_notifications().map(|()| next));
        match done {
            Ok(next) => Ok(next),
            Err(error @ (ClientError::Connection(_) | ClientError::Script)) => Err(error),
            Err(error) => {
                let place =
                    if lines.number > 0 { format!("osier:{}:{}: ", lines.name, lines.number) } else { String::new() };
                eprintln!("{place}{error}");
                if self.stops_at_errors { Err(ClientError::Script) } else { Ok(Next::Continue) }
            }
        }
    }
}
