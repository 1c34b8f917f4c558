//! A program with a client library, `tokio-postgres`: it proves its password, and uses what such programs use.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use support::Directory;
use support::served::Served;
use tokio::sync::mpsc;
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, IsolationLevel, NoTls, SimpleQueryMessage};

const PASSWORD: &str = "gr\u{fc}n 7";

/// The bytes of a value in the binary format, of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Raw(Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw, Box<dyn Error + Sync + Send>> {
        Ok(Raw(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for Raw {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

/// Runs a program as a client of a server of its own. `told` hears notices.
fn program<F: Future<Output = ()>>(run: impl FnOnce(Client, mpsc::UnboundedReceiver<String>) -> F) {
    let directory = Directory::new();
    let served = Served::start_with(&directory, "--no-socket", Some(PASSWORD));
    let line = format!("host=127.0.0.1 port={} user=osier password='{PASSWORD}' dbname=osier", served.port);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let (client, mut connection) = tokio_postgres::connect(&line, NoTls).await.unwrap();
        let (tell, told) = mpsc::unbounded_channel();
        let talk = async move {
            while let Some(message) = std::future::poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notice(notice) = message.unwrap() {
                    drop(tell.send(format!("{} {}: {}", notice.severity(), notice.code().code(), notice.message())));
                }
            }
        };
        let (talked, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(120), talk), run(client, told));
        assert!(talked.is_ok(), "the connection ends with its client");
    });
}

#[test]
fn values_go_both_ways_in_binary() {
    program(|client, _| async move {
        let at = UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_000);
        let row = client
            .query_one(
                "SELECT $1::bool, $2::int2, $3::int4, $4::int8, $5::float4, $6::float8, $7::text, $8::varchar(5), \
                 $9::bytea, $10::timestamptz, $11::timestamp, $12::int4[], $13::text[], $14::int8",
                &[
                    &true,
                    &i16::MIN,
                    &i32::MAX,
                    &i64::MIN,
                    &1.5_f32,
                    &f64::MIN_POSITIVE,
                    &"\u{1f600} it's",
                    &"abc",
                    &&[0_u8, 255, 1][..],
                    &at,
                    &at,
                    &vec![Some(1), None, Some(-3)],
                    &vec!["a,b", "", "\"{}\\"],
                    &None::<i64>,
                ],
            )
            .await
            .unwrap();
        assert!(row.get::<_, bool>(0));
        assert_eq!((row.get::<_, i16>(1), row.get::<_, i32>(2), row.get::<_, i64>(3)), (i16::MIN, i32::MAX, i64::MIN));
        assert_eq!((row.get::<_, f32>(4), row.get::<_, f64>(5)), (1.5, f64::MIN_POSITIVE));
        assert_eq!((row.get::<_, &str>(6), row.get::<_, String>(7)), ("\u{1f600} it's", "abc".to_owned()));
        assert_eq!(row.get::<_, &[u8]>(8), [0, 255, 1]);
        assert_eq!((row.get::<_, SystemTime>(9), row.get::<_, SystemTime>(10)), (at, at));
        assert_eq!(row.get::<_, Vec<Option<i32>>>(11), [Some(1), None, Some(-3)]);
        assert_eq!(row.get::<_, Vec<String>>(12), ["a,b", "", "\"{}\\"]);
        assert_eq!(row.get::<_, Option<i64>>(13), None);
        assert_eq!(*row.columns()[9].type_(), Type::TIMESTAMPTZ);
        // What the library has no type for: the bytes are those of PostgreSQL's format.
        let hours = |hours: i64| (hours * 3_600_000_000).to_be_bytes().to_vec();
        for (name, bytes, text) in [
            ("numeric", [0, 2, 0, 0, 0x40, 0, 0, 2, 0, 1, 0x1a, 0x2c].to_vec(), "-1.67"),
            ("numeric", [0, 0, 0, 0, 0xc0, 0, 0, 0].to_vec(), "NaN"),
            ("date", 8_766_i32.to_be_bytes().to_vec(), "2024-01-01"),
            ("time", hours(13), "13:00:00"),
            ("timestamp", hours(24), "2000-01-02 00:00:00"),
            ("interval", [hours(1), vec![0, 0, 0, 2, 0, 0, 0, 3]].concat(), "3 mons 2 days 01:00:00"),
            ("uuid", (0..16).collect(), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
            ("inet", vec![2, 24, 0, 4, 192, 168, 1, 5], "192.168.1.5/24"),
            ("inet", vec![3, 128, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "::1/128"),
            ("cidr", vec![2, 8, 1, 4, 10, 0, 0, 0], "10.0.0.0/8"),
            ("macaddr", vec![8, 0, 43, 1, 2, 3], "08:00:2b:01:02:03"),
            ("json", b"{\"a\" : [1]}".to_vec(), "{\"a\" : [1]}"),
            ("jsonb", b"\x01{\"a\": [1]}".to_vec(), "{\"a\": [1]}"),
            ("bpchar", b"ab".to_vec(), "ab"),
        ] {
            let query = format!("SELECT $1::{name}, $1::{name}::text");
            let row = client.query_one(&query, &[&Raw(bytes.clone())]).await.unwrap();
            assert_eq!((row.get::<_, Raw>(0), row.get::<_, &str>(1)), (Raw(bytes), text), "{name}");
        }
        let error = client.query("SELECT $1::uuid", &[&Raw(vec![1])]).await.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::PROTOCOL_VIOLATION));
        assert_eq!(client.query_one("SELECT 7", &[]).await.unwrap().get::<_, i32>(0), 7);
    });
}

#[test]
fn transactions_savepoints_portals_and_what_is_sent_together() {
    program(|mut client, _| async move {
        client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, name text)").await.unwrap();
        let insert = client.prepare("INSERT INTO t VALUES ($1, $2)").await.unwrap();
        assert_eq!(insert.params(), [Type::INT4, Type::TEXT]);
        // All four are sent before one is answered; one fails, and no other with it.
        let (a, b, c, d) = tokio::join!(
            client.execute(&insert, &[&1, &"one"]),
            client.execute(&insert, &[&1, &"again"]),
            client.execute(&insert, &[&2, &"two"]),
            client.query_one("SELECT count(*) FROM t", &[]),
        );
        assert_eq!((a.unwrap(), c.unwrap(), d.unwrap().get::<_, i64>(0)), (1, 1, 2));
        assert_eq!(b.unwrap_err().code(), Some(&SqlState::UNIQUE_VIOLATION));

        let mut transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::Serializable)
            .read_only(false)
            .start()
            .await
            .unwrap();
        transaction.execute(&insert, &[&3, &"three"]).await.unwrap();
        let savepoint = transaction.savepoint("s").await.unwrap();
        savepoint.execute(&insert, &[&4, &"four"]).await.unwrap();
        savepoint.execute(&insert, &[&4, &"four"]).await.unwrap_err();
        savepoint.rollback().await.unwrap();
        let nested = transaction.transaction().await.unwrap();
        nested.execute(&insert, &[&5, &"five"]).await.unwrap();
        nested.commit().await.unwrap();
        let statement = transaction.prepare("SELECT id FROM t WHERE id <> $1 ORDER BY id").await.unwrap();
        let portal = transaction.bind(&statement, &[&2]).await.unwrap();
        let mut pieces = Vec::new();
        loop {
            let rows = transaction.query_portal(&portal, 2).await.unwrap();
            if rows.is_empty() {
                break;
            }
            pieces.push(rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>());
        }
        assert_eq!(pieces, [vec![1, 3], vec![5]]);
        transaction.commit().await.unwrap();

        let dropped = client.transaction().await.unwrap();
        dropped.execute(&insert, &[&6, &"six"]).await.unwrap();
        drop(dropped);
        let rows = client.query("SELECT id, name FROM t ORDER BY id", &[]).await.unwrap();
        let found: Vec<(i32, &str)> = rows.iter().map(|row| (row.get(0), row.get("name"))).collect();
        assert_eq!(found, [(1, "one"), (2, "two"), (3, "three"), (5, "five")]);
        let simple =
            client.simple_query("SELECT id FROM t WHERE id = 1; UPDATE t SET id = 9 WHERE id = 1").await.unwrap();
        let shown: Vec<String> = simple
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                SimpleQueryMessage::CommandComplete(count) => Some(format!("{count} rows")),
                _ => None,
            })
            .collect();
        assert_eq!(shown, ["1", "1 rows", "1 rows"]);
    });
}

#[test]
fn rows_are_copied_as_text_and_binary() {
    program(|client, _| async move {
        client.batch_execute("CREATE TABLE t (id int8 PRIMARY KEY, name text, at timestamptz)").await.unwrap();
        let mut sink = std::pin::pin!(client.copy_in::<_, Bytes>("COPY t (id, name) FROM STDIN").await.unwrap());
        // Pieces end where they like.
        for piece in ["1\to", "ne\n2\t\\N\n3", "\ttab\\t \u{fc}\n"] {
            sink.send(Bytes::from(piece)).await.unwrap();
        }
        assert_eq!(sink.finish().await.unwrap(), 3);

        let types = [Type::INT8, Type::TEXT, Type::TIMESTAMPTZ];
        let sink = client.copy_in("COPY t FROM STDIN (FORMAT binary)").await.unwrap();
        let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, &types));
        let at = UNIX_EPOCH + Duration::from_millis(1_234_567_890_123);
        for id in 100..1100_i64 {
            let name = (id % 3 > 0).then(|| format!("name {id}"));
            writer.as_mut().write(&[&id, &name, &at]).await.unwrap();
        }
        assert_eq!(writer.finish().await.unwrap(), 1000);

        let stream = client.copy_out("COPY (SELECT * FROM t WHERE id >= 100 ORDER BY id) TO STDOUT (FORMAT binary)");
        let mut rows = std::pin::pin!(BinaryCopyOutStream::new(stream.await.unwrap(), &types));
        let mut id = 100_i64;
        while let Some(row) = rows.next().await {
            let row = row.unwrap();
            assert_eq!((row.get::<i64>(0), row.get::<SystemTime>(2)), (id, at));
            assert_eq!(row.get::<Option<&str>>(1), (id % 3 > 0).then(|| format!("name {id}")).as_deref());
            id += 1;
        }
        assert_eq!(id, 1100);
        let mut text =
            std::pin::pin!(client.copy_out("COPY (SELECT id, name FROM t WHERE id < 100) TO STDOUT").await.unwrap());
        let mut copied = Vec::new();
        while let Some(piece) = text.next().await {
            copied.extend_from_slice(&piece.unwrap());
        }
        assert_eq!(String::from_utf8(copied).unwrap(), "1\tone\n2\t\\N\n3\ttab\\t \u{fc}\n");

        // One that is dropped before its end is given up, and so is one with a bad line.
        drop(client.copy_in::<_, Bytes>("COPY t FROM STDIN").await.unwrap());
        let mut sink = std::pin::pin!(client.copy_in::<_, Bytes>("COPY t (id) FROM STDIN").await.unwrap());
        sink.send(Bytes::from("5000\nno number\n")).await.unwrap();
        let error = sink.finish().await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code(), &SqlState::INVALID_TEXT_REPRESENTATION);
        assert_eq!(error.where_(), Some("COPY t, line 2, column id: \"no number\""));
        assert_eq!(client.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get::<_, i64>(0), 1003);
    });
}

#[test]
fn statements_are_cancelled_and_errors_and_notices_say_what_they_are_about() {
    program(|client, mut told| async move {
        let cancel = client.cancel_token();
        let endless = client.query("SELECT count(*) FROM generate_series(1, 1000000000000)", &[]);
        let cancelling = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            cancel.cancel_query(NoTls).await.unwrap();
        };
        let (ended, ()) = tokio::join!(endless, cancelling);
        assert_eq!(ended.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));

        let tables = "CREATE TABLE a (id int PRIMARY KEY, n int NOT NULL CHECK (n > 0)); \
                      CREATE TABLE b (a_id int CONSTRAINT of_a REFERENCES a)";
        client.batch_execute(tables).await.unwrap();
        client.batch_execute("DROP TABLE IF EXISTS none_such; ROLLBACK").await.unwrap();
        let notices = [told.recv().await.unwrap(), told.recv().await.unwrap()];
        assert_eq!(notices[0], "NOTICE 00000: table \"none_such\" does not exist, skipping");
        assert_eq!(notices[1], "WARNING 25P01: there is no transaction in progress");

        let error = async |text: &str| client.batch_execute(text).await.unwrap_err().as_db_error().unwrap().clone();
        let syntax = error("SELECT 1 +").await;
        assert_eq!((syntax.code(), syntax.severity()), (&SqlState::SYNTAX_ERROR, "ERROR"));
        assert_eq!(syntax.position(), Some(&ErrorPosition::Original(11)));
        let unknown = error("SELECT nope FROM a").await;
        assert_eq!(
            (unknown.code(), unknown.position()),
            (&SqlState::UNDEFINED_COLUMN, Some(&ErrorPosition::Original(8)))
        );
        let missing = error("INSERT INTO a (id) VALUES (1)").await;
        assert_eq!(missing.code(), &SqlState::NOT_NULL_VIOLATION);
        assert_eq!((missing.schema(), missing.table(), missing.column()), (Some("public"), Some("a"), Some("n")));
        assert_eq!(missing.detail(), Some("Failing row contains (1, null)."));
        let check = error("INSERT INTO a VALUES (1, 0)").await;
        assert_eq!((check.code(), check.constraint()), (&SqlState::CHECK_VIOLATION, Some("a_n_check")));
        let key = error("INSERT INTO b VALUES (7)").await;
        assert_eq!((key.code(), key.constraint()), (&SqlState::FOREIGN_KEY_VIOLATION, Some("of_a")));
        assert_eq!(key.detail(), Some("Key (a_id)=(7) is not present in table \"a\"."));
        let refused = error("PREPARE TRANSACTION 'x'").await;
        assert_eq!(refused.code(), &SqlState::FEATURE_NOT_SUPPORTED);
    });
}
