//! Procedures: their texts.
//!
//! Invariant: what is accepted is printed as a text that is accepted, gives the same tree and prints as itself.
//!
//! Absent: what a procedure means, which needs a catalog.

use crate::procedure::program::Program;

const TEXTS: [&str; 3] = [
    "procedure transfer(source bigint, amount numeric(12,2)) returns (\"left\" numeric(12,2)) {
    get accounts (source) as payer else { abort 'P0002' 'no account ' || source; }
    if payer.balance < amount or not amount > 0. { abort 'P0001' 'too little'; } else if amount = 1 { return null; }
    update accounts (source) as old set balance = payer.balance - amount, seen = now() else { }
    insert into history (id, data) values (nextval('h'), x'00ff'); -- it has an end
    return payer.balance - amount;
}",
    "procedure every(a integer[]) returns set (x bigint) {
    let n bigint; let m text = 'it''s'; let e = array[]::text[]; set n = 1; append m to e;
    first t using i (1) from (2) before (3) descending limit 4 as r else { }
    upsert into t (k, v) values (1, null); replace into t (k) values (1) else { }
    delete from t (1) as old; delete all t after (1) to (2) count gone;
    while exists(old) { break; } for i = 1 to n { continue; } foreach x, y in a, a { emit x % y; }
    for row in t { } try { call other(1) into p, q; } catch '23' { } catch any as e { abort 'P0001' e.message; }
    for u, v in call s(1) { return; }
}",
    "procedure p() {
    set a = case a when 1 then b[1]::double precision when -2.50 then 'NaN'::float8 else 1.5e3 end;
    set b = a between 1 and 2 and a not in (1, 2, 3) or a is not distinct from b and b is not null /* here */ != c;
    set c = coalesce(-a * -5 + (b - (c - d)), abs(x), timestamp '2026-01-31 12:00:00');
}",
];

pub(super) fn texts() -> Vec<Vec<u8>> {
    TEXTS.map(|text| text.as_bytes().to_vec()).into()
}

pub(super) fn check_text(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(program) = Program::parse(text) else { return false };
    let printed = program.to_string();
    if program.check_form().is_ok() {
        let again = Program::parse(&printed).expect("what is printed is accepted");
        assert_eq!(again, program, "what is printed gives the same tree");
        assert_eq!(again.to_string(), printed, "a tree has one text");
    }
    true
}
