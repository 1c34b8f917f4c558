//! The commands with a backslash, those of psql that need no catalog.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use super::connection::Event;
use super::error::ClientError;
use super::report::report;
use super::script::{Lines, Runner};

/// What comes after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More.
    Continue,
    /// Nothing.
    End,
}

/// What `\?` shows.
const HELP: &str = "  \\copy TABLE from|to FILE ...  copy rows between a table and a file of this machine
  \\conninfo                     where this is connected
  \\d [NAME]                     the statements that make all relations, or one
  \\dt                           the tables
  \\echo TEXT                    print a text
  \\i FILE                       run the statements of a file
  \\q                            end
  \\set ON_ERROR_STOP on|off     whether scripts end at errors
  \\timing [on|off]              show how long statements take
  \\x [on|off]                   show each value on a line of its own
  \\?                            this
";

/// Runs a command.
///
/// # Errors
/// What it fails with.
pub fn run(runner: &mut Runner, command: &str) -> Result<Next, ClientError> {
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim().trim_end_matches(';').trim_end();
    let name = name.trim_end_matches(';');
    if runner.restriction.is_some() && name != "\\unrestrict" {
        let message = "backslash commands are restricted; only \\unrestrict is allowed";
        return Err(ClientError::Usage(message.to_owned()));
    }
    match name {
        "\\q" | "\\quit" => return Ok(Next::End),
        "\\?" | "\\h" | "\\help" => runner.say(HELP)?,
        "\\timing" => {
            runner.has_timing = switch(rest, runner.has_timing)?;
            runner.say(&format!("Timing is {}.\n", word(runner.has_timing)))?;
        }
        "\\x" => {
            runner.style.is_expanded = switch(rest, runner.style.is_expanded)?;
            runner.say(&format!("Expanded display is {}.\n", word(runner.style.is_expanded)))?;
        }
        "\\echo" => runner.say(&format!("{rest}\n"))?,
        // What `pg_dump` begins and ends its texts with: commands between these are none of its own.
        "\\restrict" => restrict(runner, rest)?,
        "\\unrestrict" => unrestrict(runner, rest)?,
        "\\set" => {
            let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, "on"));
            set(runner, name, value.trim())?;
        }
        "\\i" | "\\include" => {
            let mut lines = Lines::open(Path::new(unquoted(rest).as_str()))?;
            runner.script(&mut lines)?;
        }
        "\\conninfo" => {
            let version = runner.connection.version().to_owned();
            runner.say(&format!("The server's version is {version}.\n"))?;
        }
        "\\d" | "\\dt" => describe(runner, name == "\\dt", &unquoted(rest))?,
        "\\copy" => copy(runner, rest)?,
        other => return Err(ClientError::Usage(format!("invalid command {other}\nTry \\? for help."))),
    }
    Ok(Next::Continue)
}

/// Allows no command with a backslash from here on but the one that ends this, with the same key.
fn restrict(runner: &mut Runner, key: &str) -> Result<(), ClientError> {
    if key.is_empty() {
        return Err(ClientError::Usage("\\restrict: missing required argument".to_owned()));
    }
    runner.restriction = Some(key.to_owned());
    Ok(())
}

fn unrestrict(runner: &mut Runner, key: &str) -> Result<(), ClientError> {
    match runner.restriction.as_deref() {
        None => Err(ClientError::Usage("\\unrestrict: not currently in restricted mode".to_owned())),
        Some(known) if known != key => Err(ClientError::Usage("\\unrestrict: wrong key".to_owned())),
        Some(_) => {
            runner.restriction = None;
            Ok(())
        }
    }
}

/// Sets a variable of the shell.
///
/// # Errors
/// One that there is not.
pub fn set(runner: &mut Runner, name: &str, value: &str) -> Result<(), ClientError> {
    if name != "ON_ERROR_STOP" {
        return Err(ClientError::Usage(format!("there is no variable {name}; there is ON_ERROR_STOP")));
    }
    runner.stops_at_errors = switch(value, true)?;
    Ok(())
}

fn word(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn switch(text: &str, before: bool) -> Result<bool, ClientError> {
    match text.to_ascii_lowercase().as_str() {
        "" => Ok(!before),
        "on" | "1" | "true" | "yes" => Ok(true),
        "off" | "0" | "false" | "no" => Ok(false),
        other => Err(ClientError::Usage(format!("unrecognized value \"{other}\": Boolean expected"))),
    }
}

/// A name or a file without its quotes.
fn unquoted(text: &str) -> String {
    let within = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('\'')
        .map(|text| text.replace("''", "'"))
        .or_else(|| within('"').map(|text| text.replace("\"\"", "\"")))
        .unwrap_or_else(|| text.to_owned())
}

/// Shows definitions.
fn describe(runner: &mut Runner, only_tables: bool, name: &str) -> Result<(), ClientError> {
    let rows = runner.connection.run("SHOW osier.definitions")?;
    let text = |row: &super::connection::Row, at: usize| row.text(at).unwrap_or_default();
    let plain = |shown: &str| shown.replace('"', "");
    let is_wanted = |shown: &str| {
        let shown = plain(shown);
        name.is_empty() || shown == name || shown.split_once('.').is_some_and(|(_, relation)| relation == name)
    };
    let mut found = false;
    for row in &rows {
        let (section, shown, definition) = (text(row, 0), text(row, 1), text(row, 2));
        let is_its_index = section == "after" && definition.contains(&format!(" ON public.{name} "));
        if !is_wanted(&shown) && !is_its_index {
            continue;
        }
        match (only_tables, section.as_str()) {
            (true, "rows") => runner.say(&format!("{shown}\n"))?,
            (false, "before" | "after") if !definition.starts_with("SELECT ") => {
                runner.say(&format!("{definition}\n"))?
            }
            _ => continue,
        }
        found = true;
    }
    match found {
        true => Ok(()),
        false if name.is_empty() => runner.say("Did not find any relations.\n"),
        false => Err(ClientError::Usage(format!("Did not find any relation named \"{name}\"."))),
    }
}

/// Copies between a file of this machine and a table or a query.
fn copy(runner: &mut Runner, text: &str) -> Result<(), ClientError> {
    let wrong = || ClientError::Usage("\\copy: TABLE or (QUERY), then FROM or TO, and the name of a file".to_owned());
    let (what, direction, rest) = divide(text).ok_or_else(wrong)?;
    let (file, options) = file_name(rest).ok_or_else(wrong)?;
    let path = Path::new(&file);
    if direction == "FROM" {
        let file = std::fs::File::open(path).map_err(ClientError::file("open", path))?;
        return feed(runner, &format!("COPY {what} FROM STDIN {options}"), &mut BufReader::new(file), path);
    }
    let mut file = std::fs::File::create(path).map_err(ClientError::file("create", path))?;
    let statement = format!("COPY {what} TO STDOUT {options}");
    runner.connection.query(&statement)?;
    let mut failed = false;
    loop {
        match runner.connection.next()? {
            Event::CopyData(bytes) => file.write_all(&bytes).map_err(ClientError::file("write", path))?,
            Event::Complete(tag) if !runner.is_quiet => runner.say(&format!("{tag}\n"))?,
            Event::Failed(told) => {
                eprint!("{}", report(&told, &statement));
                failed = true;
            }
            Event::Ready if failed => return Err(ClientError::Usage("\\copy has failed".to_owned())),
            Event::Ready => return Ok(()),
            _ => {}
        }
    }
}

/// Runs a `COPY ... FROM STDIN` with the bytes of a reader.
fn feed(runner: &mut Runner, statement: &str, reader: &mut dyn BufRead, path: &Path) -> Result<(), ClientError> {
    runner.connection.query(statement)?;
    let mut failed = false;
    loop {
        match runner.connection.next()? {
            Event::CopyIn => {
                loop {
                    let piece = reader.fill_buf().map_err(ClientError::file("read", path))?;
                    let length = piece.len();
                    if length == 0 || !runner.connection.copy_data(piece)? {
                        break;
                    }
                    reader.consume(length);
                }
                runner.connection.copy_done()?;
            }
            Event::Complete(tag) if !runner.is_quiet => runner.say(&format!("{tag}\n"))?,
            Event::Failed(told) => {
                eprint!("{}", report(&told, statement));
                failed = true;
            }
            Event::Ready if failed => return Err(ClientError::Usage("\\copy has failed".to_owned())),
            Event::Ready => return Ok(()),
            _ => {}
        }
    }
}

/// What stands before `from` or `to`, which of them, and what stands behind.
fn divide(text: &str) -> Option<(&str, &'static str, &str)> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut word_begin = true;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 && word_begin => {
                for direction in ["FROM", "TO"] {
                    let word = text.get(at..at + direction.len());
                    let behind =
                        text.get(at + direction.len()..).filter(|behind| behind.starts_with(char::is_whitespace));
                    if let (Some(word), Some(behind)) = (word, behind)
                        && word.eq_ignore_ascii_case(direction)
                    {
                        return Some((text[..at].trim(), direction, behind.trim()));
                    }
                }
            }
            _ => {}
        }
        word_begin = c.is_whitespace() || c == ')';
    }
    None
}

/// The name of a file, and what stands behind it.
fn file_name(text: &str) -> Option<(String, &str)> {
    let end = match text.strip_prefix('\'') {
        Some(rest) => rest.find('\'')? + 2,
        None => text.find(char::is_whitespace).unwrap_or(text.len()),
    };
    let (name, options) = text.split_at(end);
    (!name.is_empty()).then(|| (unquoted(name), options.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_told_from_where() {
        let found = divide("t (a, \"from x\") FROM 'my file.csv' WITH (FORMAT csv)").unwrap();
        assert_eq!(found, ("t (a, \"from x\")", "FROM", "'my file.csv' WITH (FORMAT csv)"));
        assert_eq!(file_name(found.2), Some(("my file.csv".to_owned(), "WITH (FORMAT csv)")));
        let found = divide("(SELECT a FROM t WHERE b = ' to ') to out.txt").unwrap();
        assert_eq!(found, ("(SELECT a FROM t WHERE b = ' to ')", "TO", "out.txt"));
        assert_eq!(file_name(found.2), Some(("out.txt".to_owned(), "")));
        assert_eq!((divide("tomato"), file_name("")), (None, None));
    }

    #[test]
    fn switches_toggle_or_are_set() {
        assert!(switch("", false).unwrap() && switch("ON", false).unwrap() && !switch("0", true).unwrap());
        assert!(switch("perhaps", true).is_err());
    }
}
