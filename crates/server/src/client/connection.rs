//! A connection of a client: it begins a session, sends simple queries and takes what comes back, one message at a time.
//!
//! Invariants:
//! - After [`Connection::query`] everything up to [`Event::Ready`] is taken with [`Connection::next`] before the next query is
//!   sent.
//! - A password is sent only if the server asks for it; with SCRAM it is not sent at all, and the server proves that it knows it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, DataRowBody, Message};
use postgres_protocol::message::frontend;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::error::{ClientError, Told};
use super::target::Target;
use crate::serve::embedded::Embedded;

/// Data of `COPY` is sent in pieces of about this size.
const PIECE_BYTES: usize = 64 << 10;

/// A socket.
#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(bytes),
            Socket::Unix(socket) => socket.read(bytes),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.write_all(bytes),
            Socket::Unix(socket) => socket.write_all(bytes),
        }
    }

    /// Whether something has come.
    fn is_readable(&self) -> bool {
        let descriptor = match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        };
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&at_once)).is_ok_and(|count| count > 0)
    }
}

/// What a client connects to.
#[derive(Clone)]
pub enum Server {
    /// One that listens somewhere.
    Remote(Target),
    /// A database within this process.
    Embedded(Arc<Embedded>),
}

impl Server {
    fn connect(&self) -> Result<Socket, ClientError> {
        let target = match self {
            Server::Embedded(embedded) => return Ok(Socket::Unix(embedded.connect()?)),
            Server::Remote(target) => target,
        };
        let failed = |place: String| {
            move |error: std::io::Error| {
                let cure = "Is the server running there, and accepting connections?";
                ClientError::Connection(format!("connection to server at {place} failed: {error}\n\t{cure}"))
            }
        };
        if let Some(path) = target.socket() {
            let place = format!("socket \"{}\"", path.display());
            return UnixStream::connect(&path).map(Socket::Unix).map_err(failed(place));
        }
        let place = format!("\"{}\", port {}", target.host, target.port);
        let socket = TcpStream::connect((target.host.as_str(), target.port)).map_err(failed(place))?;
        // Requests are whole when they are sent.
        drop(socket.set_nodelay(true));
        Ok(Socket::Tcp(socket))
    }

    /// Cancels the statement that runs on a connection.
    pub fn cancel(&self, (process, secret): (i32, i32)) {
        match self {
            Server::Embedded(embedded) => embedded.cancel(process, &secret.to_be_bytes()),
            Server::Remote(_) => {
                let mut request = BytesMut::new();
                frontend::cancel_request(process, secret, &mut request);
                // Where that fails the statement goes on; whoever asked sees it.
                drop(self.connect().map(|mut socket| socket.write_all(&request)));
            }
        }
    }
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The number of its type.
    pub type_oid: u32,
}

/// What a server answers.
pub enum Event {
    /// Rows with these columns come.
    Columns(Vec<Column>),
    /// A row.
    Row(Row),
    /// A statement is done.
    Complete(String),
    /// There was no statement.
    Empty,
    /// The server waits for data.
    CopyIn,
    /// Data comes.
    CopyOut,
    /// Data.
    CopyData(Bytes),
    /// Something that is no answer.
    Notice(Told),
    /// The query failed.
    Failed(Told),
    /// The next query may come.
    Ready,
}

/// What a session has sent to those that listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The number of that session's process.
    pub process: i32,
    /// The channel.
    pub channel: String,
    /// What was sent; empty where nothing was.
    pub payload: String,
}

/// A row, as text.
pub struct Row(Vec<Option<Bytes>>);

impl Row {
    /// Returns the values.
    pub fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.0.iter().map(|value| value.as_deref())
    }

    /// Returns a value as text; `None` where it is NULL, or there is none.
    pub fn text(&self, at: usize) -> Option<String> {
        self.0.get(at)?.as_ref().map(|value| String::from_utf8_lossy(value).into_owned())
    }
}

/// A connection with a session.
pub struct Connection {
    socket: Socket,
    incoming: BytesMut,
    outgoing: BytesMut,
    key: (i32, i32),
    status: u8,
    version: String,
    server: Server,
    notifications: Vec<Notification>,
}

impl Connection {
    /// Connects and begins a session. `ask` is asked for a password where none is given and the server wants one.
    ///
    /// # Errors
    /// Where there is no server, or it does not let the client in.
    pub fn open(
        server: &Server,
        target: &Target,
        ask: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Connection, ClientError> {
        let mut connection = Connection {
            socket: server.connect()?,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            key: (0, 0),
            status: b'I',
            version: String::new(),
            server: server.clone(),
            notifications: Vec::new(),
        };
        let mut parameters =
            vec![("user", &*target.user), ("database", &*target.database), ("client_encoding", "UTF8")];
        parameters.extend(target.parameters.iter().map(|(name, value)| (&**name, &**value)));
        if target.parameters.iter().all(|(name, _)| name != "application_name") {
            parameters.push(("application_name", "osier"));
        }
        frontend::startup_message(parameters, &mut connection.outgoing)?;
        connection.send()?;
        connection.authenticate(target, ask)?;
        loop {
            match connection.next()? {
                Event::Ready => return Ok(connection),
                Event::Failed(told) => return Err(ClientError::Told(Box::new(told))),
                _ => {}
            }
        }
    }

    fn authenticate(&mut self, target: &Target, ask: &dyn Fn(&str) -> Option<String>) -> Result<(), ClientError> {
        let password = || {
            let given = target.password.clone().or_else(|| ask(&target.user));
            given.ok_or_else(|| ClientError::Connection("fe_sendauth: no password supplied".to_owned()))
        };
        loop {
            match self.message()? {
                Message::AuthenticationOk => return Ok(()),
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(password()?.as_bytes(), &mut self.outgoing)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(target.user.as_bytes(), password()?.as_bytes(), body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.outgoing)?;
                }
                Message::AuthenticationSasl(body) => self.prove(&body, &password()?)?,
                Message::ErrorResponse(body) => return Err(ClientError::Told(Box::new(Told::read(body.fields())?))),
                Message::NoticeResponse(_) => {}
                _ => return Err(unexpected("a way of authentication that this client does not know")),
            }
            self.send()?;
        }
    }

    /// Shows with SCRAM that the password is known.
    fn prove(&mut self, body: &AuthenticationSaslBody, password: &str) -> Result<(), ClientError> {
        if !body.mechanisms().any(|mechanism| Ok(mechanism == SCRAM_SHA_256))? {
            return Err(unexpected("a way of authentication that this client does not know"));
        }
        let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut self.outgoing)?;
        self.send()?;
        loop {
            match self.message()? {
                Message::AuthenticationSaslContinue(body) => {
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut self.outgoing)?;
                    self.send()?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let wrong = |_| ClientError::Connection("the server does not know the password".to_owned());
                    return scram.finish(body.data()).map_err(wrong);
                }
                Message::ErrorResponse(body) => return Err(ClientError::Told(Box::new(Told::read(body.fields())?))),
                _ => return Err(unexpected("something else in the middle of SCRAM")),
            }
        }
    }

    /// Returns what cancels a statement of this connection.
    pub fn canceller(&self) -> (Server, (i32, i32)) {
        (self.server.clone(), self.key)
    }

    /// Whether a transaction block is open: `I` no, `T` yes, `E` and it has failed.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// Returns the notifications that have come since it was asked.
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        std::mem::take(&mut self.notifications)
    }

    /// Returns the version that the server tells.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn send(&mut self) -> Result<(), ClientError> {
        self.socket.write_all(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    fn message(&mut self) -> Result<Message, ClientError> {
        loop {
            if let Some(message) = Message::parse(&mut self.incoming)? {
                return Ok(message);
            }
            self.receive()?;
        }
    }

    fn receive(&mut self) -> Result<(), ClientError> {
        let mut piece = [0; 16 << 10];
        match self.socket.read(&mut piece) {
            Ok(0) => Err(ClientError::Connection("the server closed the connection".to_owned())),
            Ok(length) => {
                self.incoming.extend_from_slice(&piece[..length]);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a text with statements.
    ///
    /// # Errors
    /// A connection that broke; a text with a zero byte.
    pub fn query(&mut self, text: &str) -> Result<(), ClientError> {
        let malformed = |error: std::io::Error| ClientError::Failed(format!("the statement cannot be sent: {error}"));
        frontend::query(text, &mut self.outgoing).map_err(malformed)?;
        self.send()
    }

    /// Takes the next answer.
    ///
    /// # Errors
    /// A connection that broke, or that the server has ended.
    pub fn next(&mut self) -> Result<Event, ClientError> {
        loop {
            return Ok(match self.message()? {
                Message::RowDescription(body) => {
                    let column = |field: postgres_protocol::message::backend::Field<'_>| {
                        Ok(Column { name: field.name().to_owned(), type_oid: field.type_oid() })
                    };
                    Event::Columns(body.fields().map(column).collect()?)
                }
                Message::DataRow(body) => Event::Row(row(&body)?),
                Message::CommandComplete(body) => Event::Complete(body.tag()?.to_owned()),
                Message::EmptyQueryResponse => Event::Empty,
                Message::CopyInResponse(_) => Event::CopyIn,
                Message::CopyOutResponse(_) => Event::CopyOut,
                Message::CopyData(body) => Event::CopyData(body.into_bytes()),
                Message::NoticeResponse(body) => Event::Notice(Told::read(body.fields())?),
                Message::NotificationResponse(body) => {
                    let (channel, payload) = (body.channel()?.to_owned(), body.message()?.to_owned());
                    self.notifications.push(Notification { process: body.process_id(), channel, payload });
                    continue;
                }
                Message::ErrorResponse(body) => {
                    let told = Told::read(body.fields())?;
                    if told.severity == "FATAL" || told.severity == "PANIC" {
                        return Err(ClientError::Connection(told.to_string()));
                    }
                    Event::Failed(told)
                }
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    Event::Ready
                }
                Message::BackendKeyData(body) => {
                    self.key = (body.process_id(), body.secret_key());
                    continue;
                }
                Message::ParameterStatus(body) => {
                    if body.name()? == "server_version" {
                        body.value()?.clone_into(&mut self.version);
                    }
                    continue;
                }
                _ => continue,
            });
        }
    }

    /// Runs statements whose results are of no interest, but for their first column of the last row.
    ///
    /// # Errors
    /// What they fail with.
    pub fn run(&mut self, text: &str) -> Result<Vec<Row>, ClientError> {
        self.query(text)?;
        let (mut rows, mut failed) = (Vec::new(), None);
        loop {
            match self.next()? {
                Event::Row(row) => rows.push(row),
                Event::Failed(told) => failed = Some(told),
                Event::CopyIn => self.copy_fail("no data was expected")?,
                Event::Ready => {
                    return match failed {
                        None => Ok(rows),
                        Some(told) => Err(ClientError::Told(Box::new(told))),
                    };
                }
                _ => {}
            }
        }
    }

    /// Sends data of a `COPY ... FROM STDIN`. Returns whether more is wanted: where the statement has failed none is.
    ///
    /// # Errors
    /// A connection that broke.
    pub fn copy_data(&mut self, data: &[u8]) -> Result<bool, ClientError> {
        for piece in data.chunks(PIECE_BYTES) {
            frontend::CopyData::new(piece)?.write(&mut self.outgoing);
            if self.outgoing.len() >= PIECE_BYTES {
                self.send()?;
                if self.socket.is_readable() {
                    // The server says nothing before the end, unless something is wrong.
                    self.receive()?;
                }
                if self.incoming.first() == Some(&b'E') {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Says that this was all of the data.
    ///
    /// # Errors
    /// A connection that broke.
    pub fn copy_done(&mut self) -> Result<(), ClientError> {
        frontend::copy_done(&mut self.outgoing);
        self.send()
    }

    /// Gives a `COPY ... FROM STDIN` up.
    ///
    /// # Errors
    /// A connection that broke.
    pub fn copy_fail(&mut self, why: &str) -> Result<(), ClientError> {
        frontend::copy_fail(why, &mut self.outgoing)?;
        self.send()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        frontend::terminate(&mut self.outgoing);
        // A server that has gone misses nothing.
        drop(self.send());
    }
}

fn row(body: &DataRowBody) -> Result<Row, ClientError> {
    let bytes = body.buffer_bytes();
    let values = body.ranges().map(|range| Ok(range.map(|range| bytes.slice(range)))).collect()?;
    Ok(Row(values))
}

fn unexpected(what: &str) -> ClientError {
    ClientError::Connection(format!("the server asks for {what}"))
}
