//! A client in the process: it runs statements and has their rows as text.

use std::path::PathBuf;
use std::sync::Arc;

use osier::{Config, Create, Database};
use osier_sql::session::{CopyShape, Mode, Output, Prepared, Session, Status};
use osier_sql::{Datum, Declared, Result, Sql, SqlError, value};

/// An empty directory for a test.
pub fn directory(test: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sql").join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory");
    path
}

/// A database in a directory.
pub fn open(path: &std::path::Path) -> Arc<Sql> {
    let config = Config::new(path)
        .create(Create::IfMissing)
        .transaction_log_bytes_max(256 << 10)
        .ring_bytes(1 << 20)
        .segment_bytes(8 << 20);
    Sql::new(Arc::new(Database::open(config).expect("a database"))).expect("a catalog")
}

/// A client.
pub struct Client {
    pub session: Session,
    /// Whether the statement that was run last has returned rows.
    pub has_rows: bool,
}

/// Rows as text; NULL is `NULL`.
#[derive(Default)]
pub struct Rows {
    columns: Vec<Declared>,
    rows: Vec<Vec<String>>,
    copied: Vec<u8>,
}

impl Rows {
    /// Takes rows with these columns.
    #[allow(dead_code, reason = "not every file of tests takes rows itself")]
    pub fn of(columns: Vec<Declared>) -> Rows {
        Rows { columns, ..Rows::default() }
    }
}

impl Output for Rows {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        let settings = Default::default();
        let show = |(datum, declared): (&Datum, &Declared)| {
            if datum.is_null() {
                return "NULL".to_owned();
            }
            let mut out = Vec::new();
            value::push_text(datum, *declared, &settings, &mut out);
            String::from_utf8(out).expect("UTF-8")
        };
        self.rows.push(row.iter().zip(&self.columns).map(show).collect());
        Ok(())
    }

    fn copy_begin(&mut self, _: CopyShape) -> Result<()> {
        Ok(())
    }

    fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.copied.extend(bytes);
        Ok(())
    }

    fn restart(&mut self) -> bool {
        self.rows.clear();
        self.copied.clear();
        true
    }
}

impl Client {
    pub fn new(sql: &Arc<Sql>) -> Client {
        let mut session = Session::new(sql, Sql::FIRST_ROLE).expect("a session");
        session.register(|| {});
        Client { session, has_rows: false }
    }

    /// Runs the statements of a text, and returns the rows of the last one, or its tag where it has none.
    pub fn try_run(&mut self, text: &str) -> Result<String> {
        self.try_with(text, &[])
    }

    /// As [`Client::try_run`], with parameters as text.
    pub fn try_with(&mut self, text: &str, parameters: &[&str]) -> Result<String> {
        // As the server does.
        if parameters.is_empty()
            && let Some((prepared, values)) = self.session.recall(text)
        {
            return self.give(&prepared, &values);
        }
        let mut last = String::new();
        for parsed in self.session.split(text)? {
            let prepared = match self.session.prepare_parsed(&parsed) {
                Ok(prepared) => prepared,
                Err(error) => return Err(self.session.fail(error)),
            };
            let settings = self.session.settings().clone();
            let typed = prepared.parameters().iter().zip(parameters);
            let values = typed.map(|(ty, text)| value::parse(text, (*ty).into(), &settings));
            last = self.give(&prepared, &values.collect::<Result<Vec<_>>>()?)?;
        }
        Ok(last)
    }

    fn give(&mut self, prepared: &Arc<Prepared>, values: &[Datum]) -> Result<String> {
        let columns = prepared.columns().map(|columns| columns.iter().map(|column| column.declared).collect());
        let mut rows = Rows { columns: columns.unwrap_or_default(), ..Rows::default() };
        let done = self.session.run(prepared, values, Mode::Alone, &mut rows)?;
        if let Some(receipt) = done.receipt {
            receipt.wait().expect("durable");
        }
        self.has_rows = prepared.columns().is_some();
        Ok(match prepared.columns() {
            Some(_) => rows.rows.iter().map(|row| row.join("|")).collect::<Vec<_>>().join("\n"),
            None if !rows.copied.is_empty() => String::from_utf8(rows.copied).expect("UTF-8"),
            None => done.tag,
        })
    }

    /// Runs a prepared statement with a parameter as text, and returns its rows.
    #[allow(dead_code, reason = "not every file of tests runs prepared ones")]
    pub fn call(&mut self, prepared: &Arc<Prepared>, parameter: &str) -> Result<String> {
        let types = self.session.parameter_types(prepared);
        let values = types.iter().map(|ty| value::parse(parameter, (*ty).into(), self.session.settings()));
        let values = values.collect::<Result<Vec<_>>>()?;
        self.give(prepared, &values)
    }

    #[track_caller]
    pub fn run(&mut self, text: &str) -> String {
        self.try_run(text).unwrap_or_else(|error| panic!("{text}: {} {error} {:?}", error.code(), error.detail()))
    }

    /// The error that a statement fails with.
    #[allow(dead_code, reason = "not every file of tests asks for it")]
    #[track_caller]
    #[allow(dead_code, reason = "not every file of tests asks for it")]
    pub fn error(&mut self, text: &str) -> SqlError {
        match self.try_run(text) {
            Ok(rows) => panic!("{text}: {rows}"),
            Err(error) => error,
        }
    }

    /// Compares the rows of a query.
    #[allow(dead_code, reason = "not every file of tests asks for it")]
    #[track_caller]
    pub fn expect(&mut self, text: &str, expected: &[&str]) {
        let found = self.run(text);
        assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{text}");
    }

    /// Runs the statements of a file, and compares what they give with what stands behind them there.
    #[allow(dead_code, reason = "not every file of tests has statements in a file")]
    pub fn suite(&mut self, name: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite").join(name);
        let text = std::fs::read_to_string(path).expect("the file");
        let mut lines = text.lines().enumerate().peekable();
        let (mut count, mut wrong) = (0, Vec::new());
        while let Some((number, line)) = lines.next() {
            if line.is_empty() || line.starts_with("--") {
                continue;
            }
            let mut expected = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with("--> ") || line.starts_with("--! "))
            {
                expected.push(line.to_owned());
            }
            let found: Vec<String> = match self.try_run(line) {
                Ok(rows) if self.has_rows => rows.lines().map(|row| format!("--> {row}")).collect(),
                Ok(_) => Vec::new(),
                Err(error) => vec![format!("--! {}", error.code())],
            };
            count += 1;
            if found != expected {
                wrong.push(format!("{name}:{}: {line}\n  expected {expected:?}\n  found    {found:?}", number + 1));
            }
        }
        assert!(wrong.is_empty(), "{} of {count} statements:\n{}", wrong.len(), wrong.join("\n"));
        assert!(count > 40, "only {count} statements");
    }

    #[allow(dead_code, reason = "not every file of tests asks for it")]
    pub fn status(&self) -> Status {
        self.session.status()
    }
}
