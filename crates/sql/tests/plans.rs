//! Plans: whatever way a query is planned, its rows are the same.
//!
//! Random joins run as they are planned, with ways of joining and reading forbidden one after the other, and once more as a query
//! whose conditions no plan looks into and whose tables it cannot look up.

mod support;

use support::Client;

/// Columns of all tables that are numbers, and may be NULL but for the first.
const NUMBERS: [&str; 4] = ["id", "a", "b", "c"];

/// Indexes on expressions, and partial ones.
const COMPUTED: [&str; 6] = [
    "((a + 1))",
    "(lower(t), a)",
    "(b) WHERE a > 2",
    "(id) WHERE c IS NOT NULL",
    "((a + b), c) WHERE b IN (1, 2, 3)",
    "(a) WHERE b < 5 AND c > 1",
];

/// What is forbidden, in turn.
const SETTINGS: [&[&str]; 7] = [
    &[],
    &["enable_hashjoin"],
    &["enable_nestloop"],
    &["enable_mergejoin"],
    &["enable_hashjoin", "enable_nestloop"],
    &["enable_hashjoin", "enable_mergejoin"],
    &["enable_nestloop", "enable_mergejoin", "enable_indexscan"],
];

/// Makes tables with NULLs, duplicates, and keys of one column, of two and of none.
fn fill(client: &mut Client, random: &mut fastrand::Rng) {
    let sizes = [0, 1, 4, 15, 40, 40, 60, 25];
    let shapes = [
        "id int PRIMARY KEY, a int, b bigint, c smallint, t text",
        "id int PRIMARY KEY, a int, b int, c int, t text UNIQUE",
        "id bigint, a int, b int, c int, t text, PRIMARY KEY (b, id)",
        "id int, a int, b int, c int, t varchar(10)",
    ];
    for (at, size) in sizes.into_iter().enumerate() {
        client.run(&format!("CREATE TABLE t{at} ({})", shapes[at % shapes.len()]));
        for index in ["(a)", "(b, a)", "(c)", "(t)"] {
            if random.bool() {
                client.run(&format!("CREATE INDEX ON t{at} {index}"));
            }
        }
        // Some are made of the rows that are there.
        let (early, late): (Vec<&str>, Vec<&str>) = COMPUTED.into_iter().partition(|_| random.bool());
        let make = |client: &mut Client, random: &mut fastrand::Rng, index: &str| {
            if random.bool() {
                client.run(&format!("CREATE INDEX ON t{at} {index}"));
            }
        };
        early.into_iter().for_each(|index| make(client, random, index));
        let spread = [3, 10, 50][random.usize(..3)];
        for id in 0..size {
            let mut number = |is_nullable: bool| match is_nullable && random.u8(..6) == 0 {
                true => "NULL".to_owned(),
                false => random.i32(-1..spread).to_string(),
            };
            let (a, b, c) = (number(true), number(at % 4 != 2), number(true));
            client.run(&format!("INSERT INTO t{at} VALUES ({id}, {a}, {b}, {c}, 'x{id}')"));
        }
        late.into_iter().for_each(|index| make(client, random, index));
    }
}

/// A query: its tables, joined by these.
struct Query<'r> {
    random: &'r mut fastrand::Rng,
    /// Whether plans may look into it.
    tables: Vec<usize>,
}

impl Query<'_> {
    fn column(&mut self, of: usize) -> String {
        format!("q{of}.{}", NUMBERS[self.random.usize(..NUMBERS.len())])
    }

    /// A condition on one of the tables before, and on the one that is joined.
    fn condition(&mut self, from: usize, to: usize) -> String {
        let left = self.random.usize(from..to);
        let (a, b) = (self.column(left), self.column(to));
        match self.random.u8(..17) {
            12 => format!("lower(q{left}.t) = lower(q{to}.t)"),
            13 => format!("q{to}.a + 1 = {a}"),
            14 => format!("q{to}.a > {} AND q{to}.b = {a}", self.random.i32(1..5)),
            15 => format!("q{to}.b IN (1, 3) AND q{to}.a + q{to}.b = {a}"),
            16 => format!("q{to}.c > {} AND q{to}.b < 5 AND q{to}.a = {a}", self.random.i32(0..4)),
            0 => format!("{a} < {b}"),
            1 => format!("{a} + 1 = {b}"),
            2 => format!("({a} = {b} OR {b} IS NULL)"),
            3 => format!("q{left}.t = q{to}.t"),
            4 => format!("{b} = {}", self.random.i32(0..9)),
            5 => format!("{a} > {}", self.random.i32(0..9)),
            6 => format!("q{left}.id = q{to}.id AND q{left}.b = q{to}.b"),
            _ => format!("{a} = {b}"),
        }
    }

    /// A condition on the tables up to one.
    fn filter(&mut self, count: usize) -> String {
        let (one, other) = (self.random.usize(..count), self.random.usize(..count));
        let (a, b) = (self.column(one), self.column(other));
        let value = self.random.i32(-1..9);
        match self.random.u8(..15) {
            10 => format!("q{one}.a + 1 = {value}"),
            11 => format!("q{one}.a >= {value} AND q{one}.b = {}", self.random.i32(-1..5)),
            12 => format!("q{one}.c = {value} AND q{one}.id > {}", self.random.i32(-1..9)),
            13 => format!("q{one}.a + q{one}.b > {value} AND q{one}.b = {}", self.random.i32(1..5)),
            14 => format!("lower(q{one}.t) < 'x2' AND q{one}.b <= {value} AND q{one}.c > 1 AND q{one}.a > 0"),
            0 => format!("{a} IS NULL"),
            1 => format!("{a} IN (1, 2, {value})"),
            2 => format!("{a} BETWEEN {value} AND {}", value + 3),
            3 => format!("{a} <> {b}"),
            4 => format!("q{one}.t LIKE 'x1%'"),
            5 => format!("NOT ({a} = {value} AND {b} > 2)"),
            6 => format!("EXISTS (SELECT 1 FROM t3 WHERE t3.a = {a})"),
            7 => format!("{a} = {b}"),
            _ => format!("{a} = {value}"),
        }
    }
}

/// A random query, for plans to look into, and as one that they cannot.
fn query(random: &mut fastrand::Rng) -> (String, String) {
    let count = random.usize(2..=5);
    let tables = (0..count).map(|_| random.usize(..8)).collect();
    let mut query = Query { random, tables };
    let mut open = format!("t{} q0", query.tables[0]);
    let mut closed = format!("(SELECT * FROM t{} OFFSET 0) q0", query.tables[0]);
    let mut filters = Vec::new();
    for at in 1..count {
        let table = query.tables[at];
        let on: Vec<String> = (0..query.random.usize(1..=2)).map(|_| query.condition(0, at)).collect();
        let hidden = on.iter().map(|one| format!("(({one}) IS TRUE)")).collect::<Vec<_>>().join(" AND ");
        let on = on.join(" AND ");
        let whole = format!("(SELECT * FROM t{table} OFFSET 0) q{at}");
        match query.random.u8(..12) {
            0..=4 => {
                open += &format!(" JOIN t{table} q{at} ON {on}");
                closed += &format!(" JOIN {whole} ON {hidden}");
            }
            5 | 6 => {
                open += &format!(" LEFT JOIN t{table} q{at} ON {on}");
                closed += &format!(" LEFT JOIN {whole} ON {hidden}");
            }
            7 => {
                open += &format!(" RIGHT JOIN t{table} q{at} ON {on}");
                closed += &format!(" RIGHT JOIN {whole} ON {hidden}");
            }
            8 => {
                open += &format!(" FULL JOIN t{table} q{at} ON {on}");
                closed += &format!(" FULL JOIN {whole} ON {hidden}");
            }
            9 => {
                let (a, own) = (query.column(at - 1), NUMBERS[query.random.usize(..NUMBERS.len())]);
                let kind = if query.random.bool() { "LEFT" } else { "INNER" };
                let lateral =
                    format!("LATERAL (SELECT * FROM t{table} l WHERE l.{own} = {a} ORDER BY id, a, b, c LIMIT 2)");
                open += &format!(" {kind} JOIN {lateral} q{at} ON {on}");
                closed += &format!(" {kind} JOIN {lateral} q{at} ON {hidden}");
            }
            _ => {
                open += &format!(" CROSS JOIN t{table} q{at}");
                closed += &format!(" CROSS JOIN {whole}");
                filters.push(on);
            }
        }
    }
    for _ in 0..query.random.usize(..3) {
        let filter = query.filter(count);
        filters.push(filter);
    }
    let columns = (0..count).map(|at| format!("q{at}.id, q{at}.a, q{at}.b, q{at}.c, q{at}.t"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let hidden = filters.iter().map(|one| format!("(({one}) IS TRUE)")).collect::<Vec<_>>();
    let filter = |parts: &[String]| match parts {
        [] => String::new(),
        parts => format!(" WHERE {}", parts.join(" AND ")),
    };
    let select = |from: &str, filters: &[String]| format!("SELECT {columns} FROM {from}{}", filter(filters));
    (select(&open, &filters), select(&closed, &hidden))
}

fn sorted(rows: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_unstable();
    rows
}

#[test]
fn random_joins_give_the_same_rows_whatever_their_plan() {
    let seeds = std::env::var("OSIER_TEST_PLANS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(4);
    let mut methods = std::collections::BTreeMap::<String, usize>::new();
    let mut computed = 0;
    for seed in 0..seeds {
        let sql = support::open(&support::directory(&format!("plans-{seed}")));
        let (mut client, mut random) = (Client::new(&sql), fastrand::Rng::with_seed(seed));
        fill(&mut client, &mut random);
        for _ in 0..100 {
            let (open, closed) = query(&mut random);
            client.run("BEGIN READ ONLY");
            // Rows multiply where conditions are few.
            if client.run(&format!("SELECT count(*) FROM (SELECT 1 FROM ({open}) s LIMIT 20001) s")) == "20001" {
                client.run("COMMIT");
                continue;
            }
            let expected = client.run(&closed);
            for settings in SETTINGS {
                settings.iter().for_each(|setting| drop(client.run(&format!("SET {setting} = off"))));
                let found = client.run(&open);
                let plan = client.run(&format!("EXPLAIN {open}"));
                assert_eq!(sorted(&found), sorted(&expected), "seed {seed}: {open}\nwithout {settings:?}:\n{plan}");
                let names = plan.lines().filter_map(|line| line.split_once("  (cost"));
                let is_computed = |line: &str| line.contains("_expr_") || line.contains("_lower_a_");
                computed += plan.lines().filter(|line| line.contains("Index Scan") && is_computed(line)).count();
                for (name, _) in names.filter(|(name, _)| name.contains("Join") || name.contains("Nested Loop")) {
                    *methods.entry(name.trim_start_matches([' ', '-', '>']).to_owned()).or_default() += 1;
                }
                settings.iter().for_each(|setting| drop(client.run(&format!("RESET {setting}"))));
            }
            client.run("COMMIT");
        }
    }
    assert!(computed > 20, "only {computed} scans of indexes on expressions");
    for method in ["Nested Loop", "Nested Loop Left Join", "Hash Join", "Hash Left Join", "Hash Right Join"] {
        assert!(methods.contains_key(method), "no plan has a {method}: {methods:?}");
    }
    for method in ["Merge Join", "Merge Left Join", "Merge Full Join", "Hash Full Join", "Nested Loop Full Join"] {
        assert!(methods.contains_key(method), "no plan has a {method}: {methods:?}");
    }
}

#[test]
fn subqueries_read_tables_beside_the_join_that_they_are_in() {
    let mut client = Client::new(&support::open(&support::directory("plans-lateral")));
    client.run(
        "CREATE TABLE a (x int PRIMARY KEY); CREATE TABLE b (y int PRIMARY KEY);
         INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1), (3)",
    );
    let both = ["1|1|2", "1|3|4", "2|1|3", "2|3|5"];
    client.expect("SELECT * FROM a, b LEFT JOIN LATERAL (SELECT a.x + b.y AS s) l ON true ORDER BY 1, 2", &both);
    client.expect("SELECT * FROM a, b JOIN LATERAL (SELECT a.x + b.y AS s) l ON true ORDER BY 1, 2", &both);
    client.expect(
        "SELECT * FROM a LEFT JOIN (b JOIN LATERAL (SELECT a.x + b.y AS s) l ON true) ON s = 2 ORDER BY 1, 2",
        &["1|1|2", "2|NULL|NULL"],
    );
    client.expect(
        "SELECT * FROM a LEFT JOIN (b LEFT JOIN LATERAL (SELECT a.x + b.y AS s WHERE a.x = b.y) l ON true) ON y = 1
             ORDER BY 1, 2",
        &["1|1|2", "2|1|NULL"],
    );
}
