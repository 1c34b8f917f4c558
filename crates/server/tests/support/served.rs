//! Runs `osier serve`, and speaks its protocol with bytes of one's own.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::Directory;

/// A server beside the test, killed where it is dropped.
pub struct Served {
    child: Child,
    /// Its port.
    pub port: u16,
    /// What it said when it was ready.
    pub line: String,
}

impl Served {
    /// Starts one at a free port, with its database in `db`, and waits until it is ready.
    pub fn start(directory: &Directory, options: &str) -> Served {
        Served::start_with(directory, options, None)
    }

    /// Likewise, with the first role's password.
    pub fn start_with(directory: &Directory, options: &str, password: Option<&str>) -> Served {
        let mut command = Served::command(directory, options);
        command.envs(password.map(|password| ("OSIER_PASSWORD", password)));
        Served::of(command)
    }

    /// Likewise; what it says on standard error is appended to a file.
    pub fn start_logged(directory: &Directory, options: &str, log: &Path) -> Served {
        let mut command = Served::command(directory, options);
        let log = OpenOptions::new().create(true).append(true).open(log).unwrap();
        command.stderr(log);
        Served::of(command)
    }

    /// Starts one and kills it after a while, whatever it is doing.
    pub fn start_and_kill(directory: &Directory, options: &str, after: Duration) {
        let mut child = Served::command(directory, options).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn command(directory: &Directory, options: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_osier"));
        let workers = if options.contains("--workers") { "" } else { "--workers 2" };
        command.args(format!("serve --dir db --listen 127.0.0.1:0 {workers} {options}").split_whitespace());
        command.env_remove("OSIER_PASSWORD").current_dir(directory.path()).stdout(Stdio::piped());
        command
    }

    fn of(mut command: Command) -> Served {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.split("127.0.0.1:").nth(1).unwrap_or_else(|| panic!("{line}"));
        let port = port.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
        Served { child, port, line }
    }

    /// Connects, and reads up to the first `ReadyForQuery`.
    pub fn client(&self) -> Client {
        self.try_client().unwrap()
    }

    /// Likewise; `None` where the server is gone.
    pub fn try_client(&self) -> Option<Client> {
        let mut client = self.try_raw()?;
        client.try_start(&[("user", "osier"), ("database", "osier")]).then_some(())?;
        let answers = client.answers();
        client.key = answers.into_iter().find(|answer| answer.kind == 'K').map(|answer| answer.body)?;
        Some(client)
    }

    /// Asks for the end of what a client's statement does.
    pub fn cancel(&self, client: &Client) {
        self.cancel_by(&client.key);
    }

    /// Likewise, with what a client knows of itself.
    pub fn cancel_by(&self, key: &[u8]) {
        let mut other = self.raw();
        other.send(&[&[0, 0, 0, 16, 4, 210, 22, 46], key].concat());
        assert_eq!(other.answer(), None, "the server closes and says nothing");
    }

    /// Connects, and says nothing.
    pub fn raw(&self) -> Client {
        self.try_raw().unwrap()
    }

    fn try_raw(&self) -> Option<Client> {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        socket.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        Some(Client { socket: Box::new(socket), key: Vec::new() })
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it at once, as `kill -9` does.
    pub fn kill(&self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).unwrap();
    }

    /// Whether its process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn signal(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

trait Socket: Read + Write + Send {}
impl<S: Read + Write + Send> Socket for S {}

/// A connection.
pub struct Client {
    socket: Box<dyn Socket>,
    /// By which its statements are cancelled.
    pub key: Vec<u8>,
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub kind: char,
    pub body: Vec<u8>,
}

impl Answer {
    /// A field of an error or a notice.
    pub fn field(&self, code: char) -> Option<String> {
        let fields = self.body.split(|byte| *byte == 0);
        fields.map(String::from_utf8_lossy).find_map(|field| field.strip_prefix(code).map(str::to_owned))
    }

    /// The columns of a row.
    pub fn columns(&self) -> Vec<Option<Vec<u8>>> {
        let mut rest = &self.body[2..];
        let mut columns = Vec::new();
        while let Some((length, values)) = rest.split_first_chunk::<4>() {
            let length = usize::try_from(i32::from_be_bytes(*length)).ok();
            columns.push(length.map(|length| values[..length].to_vec()));
            rest = &values[length.unwrap_or(0)..];
        }
        columns
    }
}

/// The kinds of messages, in their order.
pub fn kinds(answers: &[Answer]) -> String {
    answers.iter().map(|answer| answer.kind).collect()
}

/// A message.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

pub fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

pub fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

/// Binds without parameters.
pub fn bind(portal: &str, statement: &str) -> Vec<u8> {
    message(b'B', format!("{portal}\0{statement}\0\0\0\0\0\0\0").as_bytes())
}

/// Binds with one parameter; all formats are `format`.
pub fn bind_one(portal: &str, statement: &str, format: u8, value: &[u8]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0").into_bytes();
    body.extend_from_slice(&[0, 1, 0, format, 0, 1]);
    body.extend_from_slice(&(value.len() as u32).to_be_bytes());
    body.extend_from_slice(value);
    body.extend_from_slice(&[0, 1, 0, format]);
    message(b'B', &body)
}

pub fn execute(portal: &str, rows_max: u32) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), &[0], &rows_max.to_be_bytes()[..]].concat())
}

pub fn describe(target: char, name: &str) -> Vec<u8> {
    message(b'D', format!("{target}{name}\0").as_bytes())
}

pub fn sync() -> Vec<u8> {
    message(b'S', b"")
}

/// The first packet of a session.
pub fn startup(version: u32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    [&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat()
}

impl Client {
    /// Connects through a Unix socket, and says nothing.
    pub fn unix(path: &Path) -> Client {
        let socket = UnixStream::connect(path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Client { socket: Box::new(socket), key: Vec::new() }
    }

    pub fn start(&mut self, parameters: &[(&str, &str)]) {
        assert!(self.try_start(parameters));
    }

    fn try_start(&mut self, parameters: &[(&str, &str)]) -> bool {
        self.try_send(&startup(3 << 16, parameters))
    }

    pub fn start_version(&mut self, version: u32, parameters: &[(&str, &str)]) {
        self.send(&startup(version, parameters));
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// Sends; returns whether the server has not closed the connection yet.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.socket.write_all(bytes).is_ok()
    }

    /// The next message; `None` where the server has closed the connection, or is gone.
    pub fn answer(&mut self) -> Option<Answer> {
        let mut header = [0; 5];
        self.socket.read_exact(&mut header).ok()?;
        let length = u32::from_be_bytes(header[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        self.socket.read_exact(&mut body).ok()?;
        Some(Answer { kind: header[0].into(), body })
    }

    /// The messages up to `ReadyForQuery`, or to the end.
    pub fn answers(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(answer) = self.answer() {
            let is_last = answer.kind == 'Z';
            answers.push(answer);
            if is_last {
                break;
            }
        }
        answers
    }

    /// Sends, and reads up to `ReadyForQuery`.
    pub fn ask(&mut self, bytes: &[u8]) -> Vec<Answer> {
        self.send(bytes);
        self.answers()
    }

    pub fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.socket.read_exact(&mut byte).unwrap();
        byte[0]
    }
}
