//! Slices, local dependency graphs and the global one, through the public API: the example of PACMAN's figures 2 to 5, and what
//! else makes operations depend on each other.

use osier::procedure::analysis::{Decomposition, Dependencies, ProcedureGraph};
use osier::procedure::program::Program;
use osier::table::{Schema, Type};
use osier::{Database, Protocol, SequenceOptions};

mod support;

/// A database with tables of a key and some columns, and a sequence.
fn database(test: &str, tables: &[&str]) -> Database {
    let home = support::directory("procedure_graphs", test);
    let db = Database::open(support::config(&home, Protocol::Gsn, 1)).expect("a database");
    for name in tables {
        let schema = Schema::builder(*name)
            .column("id", Type::Int64)
            .column("a", Type::Int64)
            .column("b", Type::Int64)
            .primary_key(["id"])
            .index(format!("{name}_by_a"), ["a"]);
        db.create_table(schema.build().expect("a schema")).expect("a table");
    }
    db.create_sequence(&SequenceOptions::new("numbers")).expect("a sequence");
    db
}

fn graph(db: &Database, programs: &str, by: Dependencies, decomposition: Decomposition) -> ProcedureGraph {
    let programs = Program::parse_all(programs).expect("programs");
    for program in &programs {
        db.replace_procedure(program).expect("a procedure");
    }
    let names: Vec<String> = programs.into_iter().map(|program| program.name).collect();
    db.run(|tx| tx.procedure_graph(&names, by, decomposition)).expect("a graph").0
}

/// The slices of a procedure as their tables, those that are modified with a `*`, and the edges between them.
fn local(graph: &ProcedureGraph, procedure: usize) -> String {
    let of = &graph.procedures[procedure];
    let slice = |at: usize| {
        let tables = of.slices[at].tables.iter();
        let tables = tables.map(|of| format!("{}{}", of.table, if of.is_modified { "*" } else { "" }));
        format!("{}({})", graph.slice_name(procedure, at), tables.collect::<Vec<_>>().join(" "))
    };
    let name = |at: &usize| graph.slice_name(procedure, *at);
    let slices: Vec<_> = (0..of.slices.len()).map(slice).collect();
    let edges: Vec<_> = of.edges.iter().map(|(from, to)| format!("{}->{}", name(from), name(to))).collect();
    format!("{}; {}", slices.join(" "), edges.join(" "))
}

fn global(graph: &ProcedureGraph) -> String {
    let block = |at: usize| {
        let slices = graph.blocks[at].slices.iter().map(|(procedure, slice)| graph.slice_name(*procedure, *slice));
        format!("{}({})", graph.block_name(at), slices.collect::<Vec<_>>().join(" "))
    };
    let name = |at: &usize| graph.block_name(*at);
    let blocks: Vec<_> = (0..graph.blocks.len()).map(block).collect();
    let edges: Vec<_> = graph.edges.iter().map(|(from, to)| format!("{}->{}", name(from), name(to))).collect();
    format!("{}; {}", blocks.join(" "), edges.join(" "))
}

/// The local graph of one procedure over the tables `t`, `u` and `v`.
fn sliced(test: &str, by: Dependencies, body: &str) -> String {
    let db = database(test, &["t", "u", "v"]);
    let program = format!("procedure p(x bigint, y bigint, xs bigint[]) {{ {body} }}");
    local(&graph(&db, &program, by, Decomposition::Slices), 0)
}

fn by_tables(test: &str, body: &str) -> String {
    sliced(test, Dependencies::Tables, body)
}

/// The procedures of PACMAN's figures 2a and 4.
const BANK: &str = "
procedure transfer(src bigint, amount bigint) {
    get family (src) as person;
    let dst = person.a;
    if dst is not null {
        get current (src) as src_val;
        update current (src) set a = src_val.a - amount;
        get current (dst) as dst_val;
        update current (dst) set a = dst_val.a + amount;
        get saving (src) as bonus;
        update saving (src) set a = bonus.a + 1;
    }
}
procedure deposit(name bigint, amount bigint, nation bigint) {
    get current (name) as tmp;
    update current (name) set a = tmp.a + amount;
    if tmp.a + amount > 10000 {
        get saving (name) as bonus;
        update saving (name) set a = bonus.a + tmp.a / 50;
    }
    if tmp.a + amount > 10000 {
        get stats (nation) as count;
        update stats (nation) set a = count.a + 1;
    }
}";

#[test]
fn the_bank_example_is_that_of_the_paper() {
    let db = database("bank", &["family", "current", "saving", "stats"]);
    let found = graph(&db, BANK, Dependencies::Tables, Decomposition::Slices);
    // Figures 3 and 5a, 4 and 5b, 5c.
    assert_eq!(local(&found, 0), "T1(family) T2(current*) T3(saving*); T1->T2 T1->T3");
    assert_eq!(local(&found, 1), "D1(current*) D2(saving*) D3(stats*); D1->D2 D1->D3");
    assert_eq!(global(&found), "Bα(T1) Bβ(T2 D1) Bγ(T3 D2) Bδ(D3); Bα->Bβ Bβ->Bγ Bβ->Bδ");
    let texts: Vec<_> = found.procedures[0].slices.iter().map(|slice| slice.text.as_str()).collect();
    let expected = [
        "get family (src) as person;\n",
        "let dst = person.a;\nif dst is not null {\n    get current (src) as src_val;\n    update current (src) set a = \
         src_val.a - amount;\n    get current (dst) as dst_val;\n    update current (dst) set a = dst_val.a + \
         amount;\n}\n",
        "let dst = person.a;\nif dst is not null {\n    get saving (src) as bonus;\n    update saving (src) set a = \
         bonus.a + 1;\n}\n",
    ];
    assert_eq!(texts, expected, "as figure 3, with the condition in both slices");
}

#[test]
fn chopping_is_coarser_than_slices() {
    let db = database("chopping", &["family", "current", "saving", "stats"]);
    let found = graph(&db, BANK, Dependencies::Tables, Decomposition::Chopping);
    // Another call of any of them conflicts with all that modifies: one piece, but for what nobody modifies.
    assert_eq!(local(&found, 0), "T1(family) T2(current* saving*); T1->T2");
    assert_eq!(local(&found, 1), "D1(current* saving* stats*); ");
    assert_eq!(global(&found), "Bα(T1) Bβ(T2 D1); Bα->Bβ");
}

#[test]
fn a_value_or_a_condition_is_a_flow_dependency() {
    let text = "get t (x) as r; update u (r.a) set b = 1; if y > 0 { update v (x) set b = 2; }";
    assert_eq!(by_tables("flow", text), "P1(t) P2(u*) P3(v*); P1->P2");
    let text = "get t (x) as r; if exists(r) { update u (y) set b = 1; } else { update v (y) set b = 1; }";
    assert_eq!(by_tables("control", text), "P1(t) P2(u*) P3(v*); P1->P2 P1->P3");
    let text = "get t (x) as r else { insert into u (id, a, b) values (y, 0, 0); }";
    assert_eq!(by_tables("missing", text), "P1(t) P2(u*); P1->P2");
    let text = "get t (x) as r; if r.a = 0 { return; } update u (y) set b = 1;";
    assert_eq!(by_tables("return", text), "P1(t) P2(u*); P1->P2");
}

#[test]
fn an_abort_decides_nothing() {
    let text =
        "get t (x) as r else { abort 'P0001' 'none'; } if r.a < 0 { abort 'P0001' 'less'; } update u (y) set b = 1;";
    assert_eq!(by_tables("abort", text), "P1(t) P2(u*); ");
}

#[test]
fn a_round_of_a_loop_may_depend_on_one_before() {
    // Within one round `u` comes first; what it reads is computed from `t` of the round before.
    let text = "let last = 0; foreach i in xs { update u (i) as w set b = last; get t (w.a) as r; set last = r.a; }";
    assert_eq!(by_tables("carried", text), "P1(t u*); ");
    // The same without that: one loop after the other.
    let text = "foreach i in xs { update u (i) as w set b = 1; get t (w.a) as r; update v (r.a) set b = 1; }";
    assert_eq!(by_tables("distributed", text), "P1(u*) P2(t) P3(v*); P1->P2 P2->P3");
    // What leaves the loop decides about the next round.
    let text = "foreach i in xs { update u (i) set b = 1; get t (i) as r; if r.a = 0 { break; } }";
    assert_eq!(by_tables("break", text), "P1(t) P2(u*); P1->P2");
    let text = "foreach i in xs { get t (i) as r; update u (i) as w set b = r.a; if w.a = 0 { break; } }";
    assert_eq!(by_tables("broken", text), "P1(t u*); ");
}

#[test]
fn a_scan_is_one_operation_and_decides_about_its_body() {
    let text = "for r in t using t_by_a (x) { update u (r.id) set b = 1; }";
    assert_eq!(by_tables("scan", text), "P1(t) P2(u*); P1->P2");
    let text = "for r in t { for s in u (r.a) { update v (s.a) set b = 1; } }";
    assert_eq!(by_tables("nested", text), "P1(t) P2(u) P3(v*); P1->P2 P2->P3");
    let text = "for r in t { } for s in u { update v (s.id) set b = 1; }";
    assert_eq!(by_tables("scans", text), "P1(t) P2(u) P3(v*); P2->P3");
}

#[test]
fn what_is_undone_together_is_together() {
    let text = "try { insert into t (id, a, b) values (x, 0, 0); update u (x) set b = 1; } catch '23505' { update v (x) \
                set b = 1; } get t (y) as r;";
    assert_eq!(by_tables("try", text), "P1(t* u* v*); ");
    // What follows depends on where it goes on.
    let text = "let was = 0; try { insert into t (id, a, b) values (x, 0, 0); } catch '23505' { set was = 1; } \
                if was = 1 { update u (x) set b = 1; } update v (y) set b = 1;";
    assert_eq!(by_tables("caught", text), "P1(t*) P2(u*) P3(v*); P1->P2");
    // A caught abort is no abort.
    let text = "try { get t (x) as r; if r.a = 0 { abort 'P0001' 'none'; } } catch any { update u (x) set b = 1; }";
    assert_eq!(by_tables("caught abort", text), "P1(t u*); ");
}

#[test]
fn draws_that_have_an_order_depend_on_each_other() {
    let text = "insert into t (id, a, b) values (nextval('numbers'), 0, 0); insert into u (id, a, b) values \
                (nextval('numbers'), 0, 0);";
    assert_eq!(by_tables("sequence", text), "P1(<draws>* t* u*); ");
    let text = "let n = nextval('numbers'); insert into t (id, a, b) values (n, 0, 0); insert into u (id, a, b) \
                values (n, 0, 0);";
    assert_eq!(by_tables("drawn", text), "P1(<draws>*) P2(t*) P3(u*); P1->P2 P1->P3");
}

#[test]
fn of_columns_only_those_that_are_changed_count() {
    let by_columns = |test: &str, body: &str| sliced(test, Dependencies::Columns, body);
    let text = "get t (x) as r; update t (y) set b = 1; update u (r.a) set b = 1;";
    assert_eq!(by_columns("columns", text), "P1(t) P2(t*) P3(u*); P1->P3");
    let text = "get t (x) as r; update t (y) set a = 1; update u (r.a) set b = 1;";
    assert_eq!(by_columns("same column", text), "P1(t*) P2(u*); P1->P2");
    // A row that comes or goes is seen by every read; an index is read by its columns.
    let text = "get t (x) as r; delete from t (y); update u (r.a) set b = 1;";
    assert_eq!(by_columns("rows go", text), "P1(t*) P2(u*); P1->P2");
    let text = "get t (x) as r else { update u (y) set b = 1; } insert into t (id, a, b) values (y, 0, 0);";
    assert_eq!(by_columns("rows come", text), "P1(t*) P2(u*); P1->P2");
    let text = "for r in t using t_by_a (x) { update u (r.b) set b = 1; } update t (y) set a = 1;";
    assert_eq!(by_columns("index", text), "P1(t*) P2(u*); P1->P2");
    // Rows are written as a whole.
    let text = "update t (x) set a = 1; update t (y) set b = 1;";
    assert_eq!(by_columns("writes", text), "P1(t*); ");
}

#[test]
fn blocks_that_depend_on_each_other_are_one() {
    let db = database("circle", &["t", "u", "v"]);
    let programs = "
        procedure one(x bigint) { update t (x) as r set b = 1; update u (r.a) set b = 1; }
        procedure two(x bigint) { update u (x) as r set b = 1; update v (r.a) set b = 1; }
        procedure three(x bigint) { update v (x) as r set b = 1; update t (r.a) set b = 1; }
        procedure none(x bigint) { get t (x) as r; get u (r.a) as s; }";
    let found = graph(&db, programs, Dependencies::Tables, Decomposition::Slices);
    let shown: Vec<_> = (0..4).map(|at| local(&found, at)).collect();
    let expected = ["O1(t* u*); ", "two 1(u* v*); ", "three 1(t* v*); ", "N1(t) N2(u); N1->N2"];
    assert_eq!(shown, expected, "slices of one procedure in one block are one slice");
    assert_eq!(global(&found), "Bα(O1 two 1 three 1); ");
    assert!(found.procedures[3].is_read_only, "and no block has its slices");
}

#[test]
fn statements_of_a_procedure_that_is_called_are_the_callers() {
    let db = database("called", &["t", "u", "v"]);
    let programs = "
        procedure found(x bigint) returns (a bigint) { get t (x) as r else { return 0; } return r.a; }
        procedure caller(x bigint) { call found(x) into key; update u (key) set b = 1; update v (x) set b = 1; }";
    let found = graph(&db, programs, Dependencies::Tables, Decomposition::Slices);
    assert_eq!(local(&found, 1), "C1(t) C2(u*) C3(v*); C1->C2");
    assert_eq!(found.procedures[1].slices[1].text, "call found(x) into key;\nupdate u (key) set b = 1;\n");
}

#[test]
fn a_procedure_that_is_not_there_is_named() {
    let db = database("unknown", &[]);
    let graph = db.run(|tx| tx.procedure_graph(&["gone".to_owned()], Dependencies::Tables, Decomposition::Slices));
    let error = graph.expect_err("there is none").to_string();
    assert!(error.contains("gone"), "{error}");
}
