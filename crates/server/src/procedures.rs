//! The commands about procedures. They open the database, which must be closed: its functions of a program are known to that
//! program only, so that these commands list them and cannot call them.

use std::path::Path;
use std::process::ExitCode;

use osier::call::{ListedProcedure, Output};
use osier::procedure::analysis::{Decomposition, Dependencies};
use osier::procedure::program::{Field, Program};
use osier::table::{Argument, Datum};
use osier::{Database, Error, ProcedureError, Transaction};
use osier_bench::engine::open;
use osier_bench::error::BenchError;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::cli::procedures::{
    CallArgs, DependenciesArg, GraphArgs, HomeArgs, ListArgs, LoadArgs, NameArgs, PrintArgs, ProcedureCommand,
};
use crate::commands::say;
use crate::graphs::{self, Drawing};
use crate::operate::{expect_own_log, name_socket, own_config};

/// Runs a command about procedures.
pub fn run(command: &ProcedureCommand) -> Result<ExitCode, BenchError> {
    match command {
        ProcedureCommand::Load(args) => load(args),
        ProcedureCommand::List(args) => list(args),
        ProcedureCommand::Print(args) => print(args),
        ProcedureCommand::Drop(args) => remove(args),
        ProcedureCommand::Call(args) => call(args),
        ProcedureCommand::Graph(args) => graph(args),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Does something with the database, and closes it.
fn with<T>(home: &HomeArgs, action: impl FnOnce(&Database) -> Result<T, BenchError>) -> Result<T, BenchError> {
    expect_own_log(&home.settings, "procedure")?;
    let db = open(own_config(&home.dirs, &home.settings)?).map_err(name_socket)?;
    let done = action(&db);
    let closed = db.close();
    let value = done?;
    closed?;
    Ok(value)
}

/// What a load did with a procedure.
#[derive(Clone, Copy)]
enum Loaded {
    Created,
    Replaced,
    Unchanged,
}

fn load(args: &LoadArgs) -> Result<(), BenchError> {
    let mut programs = Vec::new();
    for path in &args.files {
        programs.extend(read(path)?);
    }
    if programs.is_empty() {
        return Err(BenchError::Usage("the files hold no procedure".to_owned()));
    }
    let loaded = with(&args.home, |db| {
        let load = |tx: &Transaction<'_>| programs.iter().map(|program| load_one(tx, program)).collect();
        let (loaded, receipt) = db.run(load)?;
        receipt.wait().map_err(Error::from)?;
        let loaded: Vec<Loaded> = loaded;
        Ok(loaded)
    })?;
    for (program, loaded) in programs.iter().zip(loaded) {
        let did = match loaded {
            Loaded::Created => "created",
            Loaded::Replaced => "replaced",
            Loaded::Unchanged => "left unchanged",
        };
        say(&mut std::io::stdout(), &format!("{did} {}", program.name))?;
    }
    Ok(())
}

fn load_one(tx: &Transaction<'_>, program: &Program) -> Result<Loaded, Error> {
    let loaded = match tx.procedure(&program.name) {
        Err(Error::Procedure(ProcedureError::Unknown { .. })) => Loaded::Created,
        Ok(before) if before == *program => return Ok(Loaded::Unchanged),
        Ok(_) => Loaded::Replaced,
        Err(error) => return Err(error),
    };
    tx.replace_procedure(program).map(|()| loaded)
}

fn read(path: &Path) -> Result<Vec<Program>, BenchError> {
    let text = std::fs::read_to_string(path).map_err(|source| {
        let (action, path) = ("read", path.to_owned());
        BenchError::Io { action, path, source }
    })?;
    Program::parse_all(&text).map_err(|error| BenchError::Usage(format!("{}, {error}", path.display())))
}

#[derive(Serialize)]
struct Listed<'l> {
    name: &'l str,
    version: u32,
    kind: &'static str,
    signature: String,
    kept: &'l [u32],
}

fn list(args: &ListArgs) -> Result<(), BenchError> {
    let procedures = with(&args.home, |db| {
        let (listed, receipt) = db.run(|tx| tx.procedures())?;
        receipt.wait().map_err(Error::from)?;
        Ok(listed)
    })?;
    let listed: Vec<Listed<'_>> = procedures.iter().map(listed).collect();
    let out = &mut *args.output.text();
    let mut rows = vec![["name", "version", "kind", "signature", "kept"].map(str::to_owned).to_vec()];
    for Listed { name, version, kind, signature, kept } in &listed {
        let kept: Vec<_> = kept.iter().map(u32::to_string).collect();
        let (name, kind, signature) = ((*name).to_owned(), (*kind).to_owned(), signature.clone());
        rows.push(vec![name, version.to_string(), kind, signature, kept.join(" ")]);
    }
    say(out, table(&rows).trim_end())?;
    if listed.iter().any(|of| !of.kept.is_empty()) {
        let why = "Versions are kept until a definition follows a checkpoint that holds all that they did.";
        say(out, why)?;
    }
    args.output.write(&listed)
}

fn listed(of: &ListedProcedure) -> Listed<'_> {
    let kind = if of.is_opaque { "function" } else { "declared" };
    Listed { name: &of.name, version: of.version, kind, signature: of.signature(), kept: &of.kept }
}

fn print(args: &PrintArgs) -> Result<(), BenchError> {
    let program = with(&args.home, |db| {
        let (program, receipt) = db.run(|tx| match args.version {
            Some(version) => tx.procedure_of_version(&args.name, version),
            None => tx.procedure(&args.name),
        })?;
        receipt.wait().map_err(Error::from)?;
        Ok(program)
    })?;
    say(&mut std::io::stdout(), program.to_string().trim_end())
}

fn remove(args: &NameArgs) -> Result<(), BenchError> {
    with(&args.home, |db| Ok(db.drop_procedure(&args.name)?))?;
    say(&mut std::io::stdout(), &format!("dropped {}", args.name))
}

fn call(args: &CallArgs) -> Result<(), BenchError> {
    let output = with(&args.home, |db| {
        let (found, receipt) = db.run(|tx| tx.procedures())?;
        receipt.wait().map_err(Error::from)?;
        let parameters = found.into_iter().find(|of| of.name == args.name).and_then(|of| of.parameters);
        let values = arguments(args, &parameters.unwrap_or_default())?;
        let values: Vec<Argument<'_>> = values.iter().map(Argument::from).collect();
        let mut session = db.session()?;
        let (output, receipt) = session.call(&args.name, &values)?;
        receipt.wait().map_err(Error::from)?;
        Ok(output)
    })?;
    let out = &mut *args.output.text();
    if output.fields().is_empty() {
        say(out, "done")?;
    } else {
        let mut rows = vec![output.fields().iter().map(|field| field.name.clone()).collect()];
        let texts = output.to_texts().into_iter();
        rows.extend(
            texts.map(|row| row.into_iter().map(|value| value.unwrap_or("NULL".to_owned())).collect::<Vec<_>>()),
        );
        say(out, table(&rows).trim_end())?;
    }
    args.output.write(&results(&output))
}

fn graph(args: &GraphArgs) -> Result<(), BenchError> {
    let draw = args.draw.as_deref().map(Drawing::of).transpose()?;
    let by = match args.dependencies {
        DependenciesArg::Tables => Dependencies::Tables,
        DependenciesArg::Columns => Dependencies::Columns,
    };
    let decomposition = if args.chopping { Decomposition::Chopping } else { Decomposition::Slices };
    let graph = with(&args.home, |db| {
        let (graph, receipt) = db.run(|tx| tx.procedure_graph(&args.names, by, decomposition))?;
        receipt.wait().map_err(Error::from)?;
        Ok(graph)
    })?;
    if let Some((path, drawing)) = draw {
        let text = drawing.draw(&graph);
        std::fs::write(path, text).map_err(|source| {
            let (action, path) = ("write", path.to_owned());
            BenchError::Io { action, path, source }
        })?;
    }
    say(&mut *args.output.text(), graphs::text(&graph).trim_end())?;
    args.output.write(&graph)
}

/// Reads the arguments by the types of the parameters. A wrong number is left to the call, which says what it takes.
fn arguments(args: &CallArgs, parameters: &[Field]) -> Result<Vec<Datum>, BenchError> {
    let mut values = Vec::new();
    for (at, text) in args.arguments.iter().enumerate() {
        let Some(field) = parameters.get(at) else {
            values.push(Datum::Text(text.clone()));
            continue;
        };
        let read = field.ty.parse_value(text);
        values.push(read.map_err(|what| {
            BenchError::Usage(format!("argument {} of `{}`, {} {}: {what}", at + 1, args.name, field.name, field.ty))
        })?);
    }
    Ok(values)
}

/// The rows as objects. What JSON has no number for without a loss is a text.
fn results(output: &Output) -> Vec<Json> {
    let rows = output.rows().iter().zip(output.to_texts());
    let object = |(row, texts): (&Vec<Datum>, Vec<Option<String>>)| {
        let values = output.fields().iter().zip(row.iter().zip(texts));
        let values = values.map(|(field, (value, text))| (field.name.clone(), to_json(field, value, text)));
        Json::Object(values.collect())
    };
    rows.map(object).collect()
}

fn to_json(field: &Field, value: &Datum, text: Option<String>) -> Json {
    match value {
        Datum::Null => Json::Null,
        Datum::Bool(value) => json!(value),
        Datum::Int(value) => json!(value),
        Datum::Float(value) if value.is_finite() => json!(value),
        Datum::Array(elements) => {
            let element = Field { name: String::new(), ty: field.ty.ty.into() };
            elements.iter().map(|value| to_json(&element, value, element.ty.show_value(value))).collect()
        }
        _ => json!(text),
    }
}

/// Lines with columns as wide as their widest value; the first row is the head.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.insert(1, line(&rule));
    lines.concat()
}
