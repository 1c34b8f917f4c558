//! `osier shell`: runs statements of a command line, of files, or of whoever types, and shows what comes of them.

use std::borrow::Cow;
use std::io::{BufReader, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use osier_bench::error::BenchError;
use rustyline::completion::Completer;
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, Config, DefaultEditor, Editor, Helper};

use super::backslash::{self, Next};
use super::connection::{Connection, Server};
use super::error::{ClientError, status};
use super::script::{Lines, Runner};
use super::split::Splitter;
use super::target::Target;
use crate::cli::{ConnectionArgs, ShellArgs};
use crate::serve::embedded::Embedded;

/// The file with what was typed before, in the home directory, unless the variable `OSIER_HISTORY` names another one.
const HISTORY: &str = ".osier_history";
/// How many entries it has.
const HISTORY_MAX: usize = 1000;

/// A session, and the database that this process has opened for it.
pub struct Opened {
    /// The connection.
    pub connection: Connection,
    /// Who is connected to what.
    pub target: Target,
    /// The database, if no other process has it open.
    pub embedded: Option<Arc<Embedded>>,
}

/// Connects as the options of a command say. A database that is not there is made if `creates`.
///
/// # Errors
/// Where that cannot be.
pub fn open(args: &ConnectionArgs, connection: Option<&str>, creates: bool) -> Result<Opened, ClientError> {
    let mut target = Target::of(args, connection)?;
    // A server has the settings that it was started with.
    let refuse_settings = || match args.settings.settings.is_empty() {
        true => Ok(()),
        false => Err(ClientError::Usage("--set is for a database that this process opens: leave it out".to_owned())),
    };
    let Some(home) = args.dirs.first() else {
        refuse_settings()?;
        let connection = Connection::open(&Server::Remote(target.clone()), &target, &ask_password)?;
        return Ok(Opened { connection, target, embedded: None });
    };
    if let Some(own) = socket_in(home, &target) {
        refuse_settings()?;
        let connection = Connection::open(&Server::Remote(own.clone()), &own, &ask_password)?;
        return Ok(Opened { connection, target: own, embedded: None });
    }
    let embedded = Arc::new(Embedded::open(&args.dirs, &args.settings, creates)?);
    target.host = home.display().to_string();
    let connection = Connection::open(&Server::Embedded(embedded.clone()), &target, &ask_password)?;
    Ok(Opened { connection, target, embedded: Some(embedded) })
}

/// The socket of a server that has the database open, if somebody listens there.
fn socket_in(home: &std::path::Path, target: &Target) -> Option<Target> {
    let home = std::path::absolute(home).ok()?;
    for entry in std::fs::read_dir(&home).ok()?.flatten() {
        let port = entry.file_name().to_str().and_then(|name| name.strip_prefix(".s.PGSQL.")?.parse().ok());
        if let Some(port) = port
            && std::os::unix::net::UnixStream::connect(entry.path()).is_ok()
        {
            return Some(Target { host: home.display().to_string(), port, ..target.clone() });
        }
    }
    None
}

/// Runs the shell.
///
/// # Errors
/// What keeps the database from being opened or closed. Other failures are shown, and told by the status.
pub fn shell(args: &ShellArgs) -> Result<ExitCode, BenchError> {
    let opened = match open(&args.connection, args.target.as_deref(), false) {
        Ok(opened) => opened,
        Err(ClientError::Engine(error)) => return Err(*error),
        Err(error) => {
            eprintln!("osier: error: {error}");
            return Ok(ExitCode::from(status::NO_CONNECTION));
        }
    };
    let Opened { connection, target, embedded } = opened;
    let mut runner = Runner::new(connection, Box::new(std::io::stdout()));
    runner.style.is_bare = args.tuples_only;
    runner.style.is_unaligned = args.no_align;
    runner.is_quiet = args.quiet;
    let done = run(args, &mut runner, &target);
    drop(runner);
    if let Some(embedded) = embedded {
        embedded.close(true)?;
    }
    match done {
        Ok(code) => Ok(code),
        Err(ClientError::Script) => Ok(ExitCode::from(status::SCRIPT)),
        Err(error @ ClientError::File { .. }) => Err(error.into()),
        Err(ClientError::Connection(what)) => {
            eprintln!("osier: error: {what}");
            Ok(ExitCode::from(status::NO_CONNECTION))
        }
        Err(error) => {
            eprintln!("osier: error: {error}");
            Ok(ExitCode::from(status::FAILED))
        }
    }
}

fn run(args: &ShellArgs, runner: &mut Runner, target: &Target) -> Result<ExitCode, ClientError> {
    let is_script = !args.command.is_empty() || !args.file.is_empty();
    let is_interactive = !is_script && std::io::stdin().is_terminal();
    runner.stops_at_errors = !is_interactive;
    for variable in &args.variables {
        let (name, value) = variable.split_once('=').unwrap_or((variable, "on"));
        backslash::set(runner, name, value)?;
    }
    if is_interactive {
        return interact(runner, target);
    }
    let mut input = Lines::new(Box::new(BufReader::new(std::io::stdin())), "<stdin>");
    if args.single_transaction {
        runner.connection.run("BEGIN")?;
    }
    let mut code = ExitCode::SUCCESS;
    for command in &args.command {
        let failed = match command.trim_start().starts_with('\\') {
            true => runner.backslash(command.trim(), &mut input).is_err(),
            false => runner.run(command, "", &mut input)?.is_some(),
        };
        code = if failed { ExitCode::from(status::FAILED) } else { ExitCode::SUCCESS };
        if failed && runner.stops_at_errors {
            return Ok(code);
        }
    }
    for file in &args.file {
        match file.as_os_str() == "-" {
            true => runner.script(&mut input)?,
            false => runner.script(&mut Lines::open(file)?)?,
        }
    }
    if !is_script {
        runner.script(&mut input)?;
    }
    if args.single_transaction {
        runner.connection.run("COMMIT")?;
    }
    Ok(code)
}

/// Runs what is typed.
fn interact(runner: &mut Runner, target: &Target) -> Result<ExitCode, ClientError> {
    let broken = |error: ReadlineError| ClientError::Usage(format!("the terminal cannot be used: {error}"));
    let config = Config::builder().max_history_size(HISTORY_MAX).map_err(broken)?.history_ignore_space(true).build();
    let mut editor: DefaultEditor = Editor::with_config(config).map_err(broken)?;
    let history = history_file();
    if let Some(history) = &history {
        // There is none before the first time.
        drop(editor.load_history(history));
    }
    println!("osier {} (server {})\nType \\? for help.\n", env!("CARGO_PKG_VERSION"), runner.connection.version());
    let mut splitter = Splitter::default();
    loop {
        match editor.readline(&prompt(runner, &splitter, target)) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    drop(editor.add_history_entry(&line));
                }
                if typed(runner, &mut splitter, &line)? == Next::End {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => splitter = Splitter::default(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        }
    }
    if let Some(history) = &history
        && let Err(error) = editor.save_history(history)
    {
        eprintln!("warning: {} cannot be written: {error}", history.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn history_file() -> Option<PathBuf> {
    let named = std::env::var_os("OSIER_HISTORY").map(PathBuf::from);
    named.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(HISTORY)))
}

fn prompt(runner: &Runner, splitter: &Splitter, target: &Target) -> String {
    let block = match runner.connection.status() {
        b'T' => "*",
        b'E' => "!",
        _ => "",
    };
    format!("{}{}{block}> ", target.database, splitter.prompt())
}

/// Runs what a line completes.
fn typed(runner: &mut Runner, splitter: &mut Splitter, line: &str) -> Result<Next, ClientError> {
    // What a statement copies comes from the terminal as it is.
    let mut data = Lines::new(Box::new(BufReader::new(std::io::stdin())), "<stdin>");
    if !splitter.has_begun() {
        let word = line.trim().trim_end_matches(';').to_ascii_lowercase();
        if matches!(word.as_str(), "quit" | "exit") {
            return Ok(Next::End);
        }
        if line.trim_start().starts_with('\\') {
            return runner.backslash(line.trim(), &mut data);
        }
    }
    let line = format!("{line}\n");
    let mut rest = line.as_str();
    while let Some((statement, left)) = splitter.take(rest) {
        runner.run(statement.trim(), "", &mut data)?;
        rest = left;
    }
    Ok(Next::Continue)
}

/// Shows nothing of what is typed.
struct Hidden;

impl Completer for Hidden {
    type Candidate = String;
}

impl Hinter for Hidden {
    type Hint = String;
}

impl Validator for Hidden {}

impl Highlighter for Hidden {
    fn highlight<'l>(&self, line: &'l str, _position: usize) -> Cow<'l, str> {
        Cow::Owned("*".repeat(line.chars().count()))
    }

    fn highlight_char(&self, _line: &str, _position: usize, _kind: CmdKind) -> bool {
        true
    }
}

impl Helper for Hidden {}

/// Asks for a password, where somebody can be asked.
fn ask_password(user: &str) -> Option<String> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    let mut editor: Editor<Hidden, DefaultHistory> = Editor::new().ok()?;
    editor.set_helper(Some(Hidden));
    // Without colours nothing would be hidden.
    editor.set_color_mode(ColorMode::Forced);
    editor.set_auto_add_history(false);
    editor.readline(&format!("Password for user {user}: ")).ok()
}
