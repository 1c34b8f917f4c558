//! What texts mean, the canonical text of some procedures, and the messages for mistakes.

use super::builder::{case_when, coalesce, column, exists, float, int, not, now, null, numeric, random, text, var};
use super::expression::{Constant, Expression, Function};
use super::form::{BLOCK_DEPTH_MAX, EXPRESSION_DEPTH_MAX, FIELDS_MAX};
use super::parse::TEXT_BYTES_MAX;
use super::program::{DataType, Program, Range, StatementKind};
use crate::error::ProcedureError;
use crate::table::Type;

fn parse(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn expression(text: &str) -> Expression {
    let program = parse(&format!("procedure p() {{ set x = {text}; }}"));
    let StatementKind::Set { value, .. } = &program.body[0].kind else { panic!("it was `set`") };
    value.clone()
}

/// What is wrong with a text.
fn mistake(text: &str) -> String {
    Program::parse(text).expect_err(text).to_string()
}

/// What is wrong with the form of a text.
fn malformed(text: &str) -> String {
    parse(text).check_form().expect_err(text).to_string()
}

const PAYMENT: &str = "\
procedure payment_by_name(w_id integer, d_id integer, c_w_id integer, c_d_id integer, c_last text,
        amount numeric(12,2))
        returns (c_id integer, balance numeric(12,2)) {
    get warehouse (w_id) as w else {
        abort 'P0002' 'no such warehouse';
    }
    update warehouse (w_id) set w_ytd = w.w_ytd + amount;
    get district (w_id, d_id) as d else {
        abort 'P0002' 'no such district';
    }
    update district (w_id, d_id) set d_ytd = d.d_ytd + amount;
    let found integer[] = array[]::integer[];
    for c in customer using customer_by_name (c_w_id, c_d_id, c_last) {
        append c.c_id to found;
    }
    if cardinality(found) = 0 {
        abort 'P0002' 'no customer is called ' || c_last;
    }
    let chosen = found[(cardinality(found) + 1) / 2];
    get customer (c_w_id, c_d_id, chosen) as c;
    let data = c.c_data;
    if c.c_credit = 'BC' {
        set data = left(chosen || ',' || c_d_id || ',' || c_w_id || ',' || d_id || ',' || w_id
                || ',' || amount || '|' || c.c_data, 500);
    }
    update customer (c_w_id, c_d_id, chosen)
            set c_balance = c.c_balance - amount, c_ytd_payment = c.c_ytd_payment + amount,
            c_payment_cnt = c.c_payment_cnt + 1, c_data = data;
    insert into history (h_id, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount,
            h_data)
            values (nextval('history_id'), chosen, c_d_id, c_w_id, d_id, w_id, now(), amount,
            w.w_name || '    ' || d.d_name);
    return chosen, c.c_balance - amount;
}
";

const TRANSFER: &str = "\
procedure transfer(source bigint, target bigint, amount bigint) returns (\"left\" bigint) {
    if amount <= 0 {
        abort '22023' 'the amount must be positive';
    } else if source = target {
        abort '22023' 'an account pays another one';
    }
    get accounts (source) as payer else {
        abort 'P0002' 'no account ' || source;
    }
    if payer.balance < amount {
        abort 'P0001' 'too little';
    }
    update accounts (source) set balance = payer.balance - amount;
    update accounts (target) as payee set balance = payee.balance + amount else {
        abort 'P0002' 'no account ' || target;
    }
    return payer.balance - amount;
}
";

#[test]
fn canonical_texts_are_their_own() {
    for text in [PAYMENT, &TRANSFER.replace("\"left\"", "left")] {
        let program = parse(text);
        program.check_form().unwrap();
        assert_eq!(program.to_string(), text);
    }
    assert_eq!(parse(TRANSFER).to_string(), TRANSFER.replace("\"left\"", "left"), "`left` is no keyword");
}

#[test]
fn a_built_program_is_the_parsed_one() {
    let built = Program::builder("transfer")
        .parameter("source", Type::Int64)
        .parameter("target", Type::Int64)
        .parameter("amount", Type::Int64)
        .returns("left", Type::Int64)
        .body(|b| {
            b.if_(var("amount").le(0), |b| b.abort("22023", "the amount must be positive"))
                .else_if(var("source").eq(var("target")), |b| b.abort("22023", "an account pays another one"));
            b.get("accounts", [var("source")])
                .bind("payer")
                .or_else(|b| b.abort("P0002", text("no account ").concatenate(var("source"))));
            b.if_(column("payer", "balance").lt(var("amount")), |b| b.abort("P0001", "too little"));
            let left = column("payer", "balance") - var("amount");
            b.update("accounts", [var("source")], [("balance", left.clone())]);
            b.update("accounts", [var("target")], [("balance", column("payee", "balance") + var("amount"))])
                .bind("payee")
                .or_else(|b| b.abort("P0002", text("no account ").concatenate(var("target"))));
            b.return_([left]);
        });
    assert_eq!(built.build().unwrap(), parse(TRANSFER));
}

/// Every statement in a text that is not canonical, and how it is printed.
#[test]
fn every_statement_is_built_parsed_and_printed() {
    let built = Program::builder("every").parameter("a", DataType::array(Type::Int32)).returns_set("x", Type::Int64);
    let built = built.body(|b| {
        b.declare("n", Type::Int64);
        b.let_typed("m", Type::Text, "it's");
        b.let_("empty", Expression::Array(Vec::new()).cast(DataType::array(Type::Text)));
        b.set("n", 1);
        b.append("empty", var("m"));
        b.first(Range::all("t").using("i").prefix([1]).from([2]).before([3]).descending().limit(4)).bind("r");
        b.upsert("t", [("k", int(1)), ("v", null())]);
        b.replace("t", [("k", 1)]).or_else(|_| ());
        b.delete("t", [1]).bind("old");
        b.delete_all(Range::all("t"));
        b.delete_all_counted(Range::all("t").after([1]).to([2]), "gone");
        b.while_(exists("old").and(not(var("n").is_null())), |b| b.break_());
        b.for_("i", 1, var("n"), |b| b.continue_());
        b.for_each([("x", var("a")), ("y", var("a"))], |b| b.emit([var("x") % var("y")]));
        b.for_rows("row", Range::all("order"), |_| ());
        b.try_(|b| b.call("other", [1]))
            .catch("23", |_| ())
            .catch_any_as("e", |b| b.abort("P0001", column("e", "message")));
        b.call_into("other", [1], ["p", "q"]);
        b.for_call(["u", "v"], "set", [1], |b| b.return_nothing());
    });
    let text = "\
procedure every(a integer[]) returns set (x bigint) {
    let n bigint;
    let m text = 'it''s';
    let empty = array[]::text[];
    set n = 1;
    append m to empty;
    first t using i (1) from (2) before (3) descending limit 4 as r;
    upsert into t (k, v) values (1, null);
    replace into t (k) values (1) else {}
    delete from t (1) as old;
    delete all t;
    delete all t after (1) to (2) count gone;
    while exists(old) and not n is null {
        break;
    }
    for i = 1 to n {
        continue;
    }
    foreach x, y in a, a {
        emit x % y;
    }
    for row in order {}
    try {
        call other(1);
    } catch '23' {} catch any as e {
        abort 'P0001' e.message;
    }
    call other(1) into p, q;
    for u, v in call \"set\"(1) {
        return;
    }
}
";
    let built = built.build().unwrap();
    assert_eq!(built.to_string(), text);
    let loose = text.to_uppercase().replace("'IT''S'", "'it''s'").replace("\"SET\"", "\"set\"");
    let loose = loose.replace("DESCENDING", "/* a\ncomment */ desc -- another; }\n").replace("    ", "\t");
    assert_eq!(parse(&loose), built, "{loose}");
}

#[test]
fn operators_bind_as_in_postgresql() {
    for (text, grouped) in [
        ("a or b and c", "a or (b and c)"),
        ("not a = b", "not (a = b)"),
        ("not a and b", "(not a) and b"),
        ("a = b is null", "(a = b) is null"),
        ("a is distinct from b = c", "a is distinct from (b = c)"),
        ("a < b || c", "a < (b || c)"),
        ("a || b + c", "a || (b + c)"),
        ("a - b - c", "(a - b) - c"),
        ("a + b * c", "a + (b * c)"),
        ("a / b % c", "(a / b) % c"),
        ("-a * b", "(-a) * b"),
        ("-a::integer", "-(a::integer)"),
        ("-a[1]", "-(a[1])"),
        ("r.a[1]::text", "((r.a)[1])::text"),
        ("a != b", "a <> b"),
        ("a between 1 and 2 and b", "(a >= 1 and a <= 2) and b"),
        ("a not between 1 and 2 + 3", "a < 1 or a > (2 + 3)"),
        ("a in (1)", "a = 1"),
        ("a in (1, 2, 3, 4)", "(a = 1 or a = 2) or (a = 3 or a = 4)"),
        ("a not in (1, 2)", "a <> 1 and a <> 2"),
        ("a + 1 in (b)", "(a + 1) = b"),
        ("case a when 1 then 2 when 3 then 4 end", "case when a = 1 then 2 when a = 3 then 4 end"),
        ("case now() when b then 2 end", "case when now() = b then 2 end"),
    ] {
        assert_eq!(expression(text), expression(grouped), "{text}");
    }
}

#[test]
fn printed_expressions_have_no_needless_parentheses() {
    for text in [
        "a or b and not c = d",
        "(a or b) and c",
        "a - (b - c)",
        "a - b - c",
        "(a = b) = c",
        "(a is null) is null",
        "-(-a)",
        "-(5)",
        "-(-5)",
        "-(5::integer)",
        "(-a)[1]",
        "(a + b)::text",
        "a::integer[][1]",
        "-5::integer",
        "a - -5",
        "('NaN')::double precision",
        "'NaN'::double precision::text",
        "'NaN'::double precision[]",
        "case when a then b else case when c then d end end",
    ] {
        assert_eq!(expression(text).to_string(), text);
    }
}

#[test]
fn constants_are_read() {
    for (text, constant) in [
        ("9223372036854775807", Constant::Int(i64::MAX)),
        ("-9223372036854775808", Constant::Int(i64::MIN)),
        ("- 5", Constant::Int(-5)),
        ("007", Constant::Int(7)),
        ("12.50", Constant::Numeric(1250, 2)),
        ("-0.5", Constant::Numeric(-5, 1)),
        ("5.", Constant::Numeric(5, 0)),
        ("0000.000000000000000001", Constant::Numeric(1, 18)),
        ("-999999999999999999.", Constant::Numeric(-999_999_999_999_999_999, 0)),
        ("1e3", Constant::Float(1000.0)),
        ("-1.5E-2", Constant::Float(-0.015)),
        ("-0e0", Constant::Float(-0.0)),
        ("'Infinity'::float8", Constant::Float(f64::INFINITY)),
        ("'it''s'", Constant::Text("it's".into())),
        ("'NaN'", Constant::Text("NaN".into())),
        ("X'00fF'", Constant::Bytes(vec![0, 255])),
        ("timestamp '2026-11-22 03:05:08'", Constant::Timestamp(1_795_316_708_000_000)),
    ] {
        assert_eq!(expression(text), Expression::Constant(constant), "{text}");
    }
    assert_eq!(float(-f64::NAN), Expression::Constant(Constant::Float(f64::NAN)));
    assert_eq!(numeric(-5, 3).to_string(), "-0.005");
    assert_eq!((-int(5)).to_string(), "-(5)");
    let choice = case_when(random().gt(0.5), coalesce([now(), null()])).when(true, null()).end();
    assert_eq!(choice.to_string(), "case when random() > 5e-1 then coalesce(now(), null) when true then null end");
}

#[test]
fn types_have_other_names() {
    let names = "int|int4|integer|bigint|int8|smallint|int2|boolean|bool|float8|double precision|decimal(5)|numeric(5, 2)|text|\
                 bytea|timestamp|int[]";
    let fields: Vec<String> = names.split('|').enumerate().map(|(index, ty)| format!("f{index} {ty}")).collect();
    let fields = fields.join(", ");
    let program = parse(&format!("procedure p({fields}) {{}}"));
    let types: Vec<String> = program.parameters.iter().map(|field| field.ty.to_string()).collect();
    let canonical = "integer|integer|integer|bigint|bigint|smallint|smallint|boolean|boolean|double precision|double precision|\
                     numeric(5,0)|numeric(5,2)|text|bytea|timestamp|integer[]";
    assert_eq!(types.join("|"), canonical);
}

#[test]
fn a_text_may_hold_several_procedures() {
    let text = "procedure a() {} -- first\nprocedure b() { return; }";
    let names: Vec<String> = Program::parse_all(text).unwrap().into_iter().map(|program| program.name).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(Program::parse_all(" /* nothing */ ").unwrap().is_empty());
    assert_eq!(
        mistake(text),
        "line 2, column 1: expected the end of the text: it holds one procedure, found `procedure`"
    );
}

#[test]
fn statements_know_their_lines() {
    let program = parse("procedure p() {\n  set a = 1;\n\n  if a = 'x\ny' {\n set b = 2; }\n}");
    let StatementKind::If { branches, .. } = &program.body[1].kind else { panic!("it was `if`") };
    assert_eq!([program.body[0].line, program.body[1].line, branches[0].1[0].line], [2, 4, 6]);
    assert_eq!(program.body[1].place(2), "line 4 `if a = 'x...`");
    let payment = parse(PAYMENT);
    let update = payment.body.iter().rev().nth(2).unwrap();
    assert_eq!(update.summary(), "update customer (c_w_id, c_d_id, chosen) set c_balance = c.c_balance - amount...");
}

/// Texts and messages, of which the first paragraph tells.
const MISTAKES: &str = include_str!("mistakes_for_tests.txt");

#[test]
fn mistakes_are_explained() {
    let paragraphs = MISTAKES.split("\n\n").skip(1);
    let mut wrong = Vec::new();
    for paragraph in paragraphs {
        let mut lines = paragraph.trim_end().lines();
        let (kind, message) = (lines.next().unwrap(), lines.next_back().unwrap());
        let text = lines.map(|line| line.strip_prefix("> ").unwrap()).collect::<Vec<_>>().join("\n");
        let found = match kind {
            "text" => mistake(&text),
            "statement" => mistake(&format!("procedure p() {{\n{text}\n}}")),
            _ => malformed(&text),
        };
        if found != message {
            wrong.push(format!("{text}\nexpected: {message}\nfound:    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn mistakes_of_builders_are_explained() {
    let empty = Program::builder("p").body(|b| {
        b.set("a", 1);
        b.get("t", [1]);
    });
    let empty = empty.build();
    let message = "procedure `p`, statement 2 `get t (1) as \"\"`: the name of a row is empty; give it one";
    assert_eq!(empty.unwrap_err().to_string(), message);

    let inner = Program::builder("p").body(|b| {
        b.if_(true, |b| b.set("a", 1)).else_if(false, |b| b.set("b", numeric(i64::MAX, 0)));
    });
    let message = "procedure `p`, statement 3 `set b = 9223372036854775807.`: a numeric of 9223372036854775807 with 0 digits \
                   after the point has more than 18 digits";
    assert_eq!(inner.build().unwrap_err().to_string(), message);

    let both = Program::builder("p").returns("a", Type::Text).returns_set("b", Type::Text).build();
    let message = "procedure `p`, head: it returns values and a set; choose `returns` or `returns_set`";
    assert_eq!(both.unwrap_err().to_string(), message);

    let add = |builder: super::builder::ProgramBuilder, index| builder.parameter(format!("p{index}"), Type::Text);
    assert!((0..FIELDS_MAX).fold(Program::builder("p"), add).build().is_ok());
    let message = "procedure `p`, head: there are 256 parameters; the most is 255: pass arrays, or split the procedure";
    assert_eq!((0..=FIELDS_MAX).fold(Program::builder("p"), add).build().unwrap_err().to_string(), message);
    let nameless = Program::builder("").build().unwrap_err().to_string();
    assert_eq!(nameless, "procedure ``, head: the name of a procedure is empty; give it one");
    let long = Program::builder("n".repeat(64)).build().unwrap_err().to_string();
    assert!(long.ends_with("of a procedure has 64 bytes; shorten it to 63"), "{long}");
}

/// Runs where the stack is small, so that what is too deep would be seen.
fn on_a_small_stack(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, test).unwrap();
        thread.join().unwrap();
    });
}

#[test]
fn nesting_is_bounded() {
    let statement = |value: &str| format!("procedure p() {{ set x = {value}; }}");
    let nested = |open: &str, count: usize, close: &str| format!("{}1{}", open.repeat(count), close.repeat(count));
    let blocks = |count: usize| format!("procedure p() {}{}", "{ while a ".repeat(count) + "{}", "}".repeat(count));
    let accepted = [
        statement(&nested("not ", EXPRESSION_DEPTH_MAX - 1, "")),
        statement(&nested("1 - (", EXPRESSION_DEPTH_MAX - 1, ")")),
        statement(&nested("array[", EXPRESSION_DEPTH_MAX - 1, "]")),
        statement(&nested("(", 300, ")")),
        statement(&format!("1{}", " + 1".repeat(EXPRESSION_DEPTH_MAX - 1))),
        statement(&format!("a in (1{})", ", 1".repeat(10_000))),
        blocks(BLOCK_DEPTH_MAX - 1),
    ];
    let refused = [
        statement(&nested("not ", EXPRESSION_DEPTH_MAX, "")),
        statement(&nested("-(", EXPRESSION_DEPTH_MAX, ")")),
        statement(&nested("array[", EXPRESSION_DEPTH_MAX, "]")),
        statement(&nested("(", 100_000, ")")),
        statement(&nested("case when ", 100_000, "")),
        statement(&format!("1{}", " + 1".repeat(EXPRESSION_DEPTH_MAX))),
        statement(&format!("a{}", "[1]".repeat(EXPRESSION_DEPTH_MAX))),
        statement(&format!("a{}", "::text".repeat(EXPRESSION_DEPTH_MAX))),
        blocks(BLOCK_DEPTH_MAX),
        blocks(10_000),
    ];
    on_a_small_stack(|| {
        for text in accepted {
            let program = parse(&text);
            program.check_form().unwrap();
            assert_eq!(Program::parse(&program.to_string()), Ok(program));
        }
        for text in refused {
            let message = mistake(&text);
            assert!(message.contains("more than"), "{message}");
        }
        let deep = (0..2000).fold(int(1), |deep, _| !deep);
        let error = Program::builder("p").body(|b| b.set("x", deep)).build().unwrap_err().to_string();
        assert!(error.contains("nested more than 128 levels"), "{error}");
    });
}

#[test]
fn what_is_repeated_is_bounded() {
    let inner = format!("(a in (1{}))", ", 1".repeat(2000));
    let text = format!("procedure p() {{ set x = {inner} in (1{}); }}", ", 1".repeat(2000));
    assert!(mistake(&text).ends_with("the operand of `in` is too long to repeat; move it into a variable first"));
    let long = " ".repeat(TEXT_BYTES_MAX + 1);
    assert_eq!(mistake(&long), "line 1, column 1: the text has 1048577 bytes; shorten it to 1048576");
    assert_eq!(Program::parse_all(&long[1..]), Ok(Vec::new()));
}

#[test]
fn every_function_is_printed_and_parsed() {
    for (function, name, least, _) in Function::ALL {
        let argument = if *function == Function::NextValue { text("s") } else { null() };
        let call = Expression::Call(*function, vec![argument; *least]);
        assert_eq!(expression(&call.to_string()), call, "{name}");
    }
}

#[test]
fn errors_have_the_sqlstate_of_syntax() {
    let error = Program::parse("x").unwrap_err();
    assert!(matches!(error, ProcedureError::Syntax { line: 1, column: 1, .. }));
    assert_eq!(error.sqlstate(), "42601");
}
