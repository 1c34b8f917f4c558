//! The status page of `osier serve --http`, asked with requests of one's own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::Directory;
use support::served::{Served, query};

/// Starts a server, and returns the port of its status page.
fn served(directory: &Directory, options: &str) -> (Served, u16) {
    let served = Served::start(directory, &format!("--auth trust --no-socket --http 0 {options}"));
    let port = served.line.split("http://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
    (served, port)
}

/// Sends bytes and returns all that comes back.
fn send(port: u16, request: &[u8]) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(request).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

/// The status and the body of what is answered for a path.
fn get(port: u16, path: &str) -> (u16, String) {
    let answer = send(port, format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Asks again until the answer is as it should be.
fn until(port: u16, path: &str, is_good: impl Fn(&str) -> bool) -> String {
    let begun = Instant::now();
    loop {
        let (_, body) = get(port, path);
        if is_good(&body) {
            return body;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{path}: {body}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The value of a metric.
fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("there is no {name} in {text}")).parse().unwrap()
}

#[test]
fn figures_follow_what_clients_do() {
    let directory = Directory::new();
    let (served, port) = served(&directory, "--set streams=2");
    assert_eq!(get(port, "/health"), (200, "serving\n".to_owned()));
    assert_eq!(get(port, "/ready"), (200, "ready\n".to_owned()));
    let before = until(port, "/metrics", |text| text.contains("\nosier_ready 1\n"));
    let mut client = served.client();
    client.ask(&query("CREATE TABLE t (a int PRIMARY KEY)"));
    for number in 0..20 {
        client.ask(&query(&format!("INSERT INTO t VALUES ({number})")));
    }
    client.ask(&query("INSERT INTO t VALUES (1)"));
    client.ask(&query("SELECT nosuch"));
    let after = until(port, "/metrics", |text| text.contains("osier_errors_total{sqlstate=\"42703\"} 1"));
    let grown = |name: &str| metric(&after, name) - metric(&before, name);
    assert!(grown("osier_statement_seconds_count") >= 22.0, "{after}");
    assert!(grown("osier_commit_wait_seconds_count") >= 20.0, "{after}");
    assert!(grown("osier_transactions_committed_total") >= 21.0, "{after}");
    let bytes = |stream: u32| grown(&format!("osier_log_bytes_total{{stream=\"{stream}\"}}"));
    assert!(bytes(0) + bytes(1) > 0.0, "{after}");
    assert_eq!(metric(&after, "osier_connections"), 1.0);
    assert_eq!(metric(&after, "osier_errors_total{sqlstate=\"23505\"}"), 1.0);
    drop(client);
    until(port, "/metrics", |text| text.contains("\nosier_connections 0\n"));
    // Each family is told once, with its kind.
    let mut families: Vec<_> = after.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let count = families.len();
    families.dedup();
    assert!(count == families.len() && count > 30, "{families:?}");
}

#[test]
fn slow_statements_are_shown_without_their_values() {
    let directory = Directory::new();
    let (served, port) = served(&directory, "--slow-statement 0.000001");
    let mut client = served.client();
    client.ask(&query("SELECT 'secret' || 4711 AS shown"));
    let body = until(port, "/status.json", |body| body.contains("shown"));
    assert!(!body.contains("secret") && !body.contains("4711"), "{body}");
    let figures: Value = serde_json::from_str(&body).unwrap();
    let slow = figures["slow_statements"].as_array().unwrap();
    let found = slow.iter().find(|slow| slow["text"] == "SELECT ? || ? AS shown").unwrap();
    assert!(found["longest_seconds"].as_f64().unwrap() > 0.0 && found["count"] == 1, "{found}");
    assert_eq!(figures["database"]["checkpoints"]["failed"], 0);
    let (status, page) = get(port, "/?x=1");
    assert!(status == 200 && page.contains("</html>"));
    // It works where there is no network: nothing is loaded from elsewhere.
    assert!(!page.contains("src=") && !page.contains("https://") && !page.contains("@import"), "{page}");
}

#[test]
fn a_restart_shows_its_recovery() {
    let directory = Directory::new();
    let (first, _) = served(&directory, "");
    first.client().ask(&query("CREATE TABLE t (a int)"));
    drop(first);
    let (_served, port) = served(&directory, "");
    let body = until(port, "/status.json", |body| body.contains("\"phases\""));
    let figures: Value = serde_json::from_str(&body).unwrap();
    assert!(figures["database"]["recovery"]["seconds"].as_f64().unwrap() > 0.0, "{body}");
    assert!(metric(&get(port, "/metrics").1, "osier_recovery_seconds") > 0.0);
}

#[test]
fn garbage_and_idlers_harm_nobody() {
    let directory = Directory::new();
    let (served, port) = served(&directory, "");
    for (request, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\r\n\r\n"[..], "400"),
        (b"DELETE / HTTP/1.1\r\n\r\n", "405"),
        (b"GET /nosuch HTTP/1.1\r\n\r\n", "404"),
        (b"GET /../Cargo.toml HTTP/1.1\r\n\r\n", "404"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
    ] {
        let answer = send(port, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    let long = [b"GET / HTTP/1.1\r\n".to_vec(), b"X: y\r\n".repeat(2000)].concat();
    assert!(send(port, &long).starts_with("HTTP/1.1 431 "));
    let head = send(port, b"HEAD / HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    // More than may be: those beyond are closed, and SQL is served all the while.
    let idlers: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    assert_eq!(support::served::kinds(&served.client().ask(&query("SELECT 1"))), "TDCZ");
    // The others are answered that they were too slow, and their places are free again.
    let begun = Instant::now();
    while send_some(port).is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20), "idlers keep all places");
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(idlers);
}

/// Asks for `/health`, which may be refused.
fn send_some(port: u16) -> Option<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    socket.write_all(b"GET /health HTTP/1.1\r\n\r\n").ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200").then_some(answer)
}
