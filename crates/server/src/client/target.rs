//! Where a client connects, and as whom: options, connection strings and variables, as psql takes them.
//!
//! What counts more comes first: the connection string, the options, the variables `PGHOST`, `PGPORT`, `PGUSER`, `PGDATABASE` and
//! `PGPASSWORD`, and then 127.0.0.1, 5432 and `osier`.

use std::path::{Path, PathBuf};

use super::error::ClientError;
use crate::cli::ConnectionArgs;

/// Where to connect, and as whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// A name, an address, or the directory of a Unix socket.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password, if it is known.
    pub password: Option<String>,
    /// `options` and `application_name`, and what the server is told besides.
    pub parameters: Vec<(String, String)>,
}

/// Members of a connection string, the last one of a name counts.
type Members = Vec<(String, String)>;

impl Target {
    /// Reads the options of a command.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(args: &ConnectionArgs, connection: Option<&str>) -> Result<Target, ClientError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Target::with(args, connection, &variable)
    }

    fn with(
        args: &ConnectionArgs,
        connection: Option<&str>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Target, ClientError> {
        let text = connection.or(args.dbname.as_deref());
        let members = text.map(members).transpose()?.unwrap_or_default();
        let member = |name: &str| members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let host = member("host").or_else(|| args.host.clone()).or_else(|| variable("PGHOST"));
        let port = member("port").or_else(|| args.port.clone()).or_else(|| variable("PGPORT"));
        let user = member("user").or_else(|| args.username.clone()).or_else(|| variable("PGUSER"));
        let user = user.unwrap_or_else(|| "osier".to_owned());
        let database = member("dbname").or_else(|| variable("PGDATABASE")).unwrap_or_else(|| user.clone());
        let port = port.unwrap_or_else(|| "5432".to_owned());
        let port = port.parse().ok().filter(|port| *port != 0);
        check_tls(member("sslmode").or_else(|| variable("PGSSLMODE")).as_deref())?;
        let parameters = members.iter().filter(|(name, _)| matches!(name.as_str(), "options" | "application_name"));
        Ok(Target {
            host: host.unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: port.ok_or_else(|| ClientError::Usage("invalid port number".to_owned()))?,
            user,
            database,
            password: member("password").or_else(|| variable("PGPASSWORD")),
            parameters: parameters.cloned().collect(),
        })
    }

    /// Returns the Unix socket, if the host is the directory of one.
    pub fn socket(&self) -> Option<PathBuf> {
        self.host.starts_with('/').then(|| Path::new(&self.host).join(format!(".s.PGSQL.{}", self.port)))
    }
}

/// Refuses what cannot be spoken.
fn check_tls(mode: Option<&str>) -> Result<(), ClientError> {
    match mode {
        None | Some("disable" | "allow" | "prefer") => Ok(()),
        Some(mode @ ("require" | "verify-ca" | "verify-full")) => {
            let message =
                format!("sslmode={mode}: this client does not speak TLS; use a Unix socket, a tunnel, or psql");
            Err(ClientError::Usage(message))
        }
        Some(mode) => Err(ClientError::Usage(format!("invalid sslmode value: \"{mode}\""))),
    }
}

/// The members of a connection string: a URL, `name=value` pairs, or the name of a database.
fn members(text: &str) -> Result<Members, ClientError> {
    for scheme in ["postgres://", "postgresql://"] {
        if let Some(rest) = text.strip_prefix(scheme) {
            return url_members(rest);
        }
    }
    if text.contains('=') { pairs(text) } else { Ok(vec![("dbname".to_owned(), text.to_owned())]) }
}

/// The members of `user:password@host:port/database?name=value&...`.
fn url_members(text: &str) -> Result<Members, ClientError> {
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let (authority, database) = text.split_once('/').unwrap_or((text, ""));
    let (who, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = who.split_once(':').map_or((who, None), |(user, password)| (user, Some(password)));
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let mut members = Members::new();
    let mut add = |name: &str, value: &str| -> Result<(), ClientError> {
        if !value.is_empty() {
            members.push((name.to_owned(), decoded(value)?));
        }
        Ok(())
    };
    add("user", user)?;
    add("password", password.unwrap_or_default())?;
    add("host", host)?;
    add("port", port.unwrap_or_default())?;
    add("dbname", database)?;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong(format!("missing value for \"{pair}\"")))?;
        add(known(&decoded(name)?)?, value)?;
    }
    Ok(members)
}

fn wrong(what: String) -> ClientError {
    ClientError::Usage(format!("this is no connection string: {what}"))
}

/// The name of a member that is understood.
fn known(name: &str) -> Result<&'static str, ClientError> {
    const KNOWN: [&str; 8] = ["user", "password", "host", "port", "dbname", "sslmode", "options", "application_name"];
    let found = KNOWN.iter().find(|known| **known == name);
    found.copied().ok_or_else(|| wrong(format!("there is no \"{name}\"; there are {}", KNOWN.join(", "))))
}

/// A text without its `%xx`.
fn decoded(text: &str) -> Result<String, ClientError> {
    let malformed = || wrong(format!("\"{text}\" has a percent sign without two hexadecimal digits behind it"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).ok_or_else(malformed)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| malformed())?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong(format!("\"{text}\" is not UTF-8")))
}

/// The members of `name = value name='va lue'`.
fn pairs(text: &str) -> Result<Members, ClientError> {
    let mut members = Members::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=').ok_or_else(|| wrong(format!("missing \"=\" after \"{rest}\"")))?;
        let name = known(name.trim())?;
        let behind = behind.trim_start();
        let is_quoted = behind.starts_with('\'');
        let mut value = String::new();
        let mut chars = behind.char_indices().skip(usize::from(is_quoted));
        let mut end = if is_quoted { None } else { Some(behind.len()) };
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => value.extend(chars.next().map(|(_, c)| c)),
                '\'' if is_quoted => {
                    end = Some(at + 1);
                    break;
                }
                c if !is_quoted && c.is_whitespace() => {
                    end = Some(at);
                    break;
                }
                c => value.push(c),
            }
        }
        let end = end.ok_or_else(|| wrong("a quote does not end".to_owned()))?;
        members.push((name.to_owned(), value));
        rest = behind[end..].trim_start();
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(connection: Option<&str>, args: &ConnectionArgs) -> Result<Target, ClientError> {
        Target::with(args, connection, &|name| (name == "PGUSER").then(|| "env".to_owned()))
    }

    #[test]
    fn connection_strings_count_more_than_options() {
        let args =
            ConnectionArgs { host: Some("h".to_owned()), port: Some("7".to_owned()), ..ConnectionArgs::default() };
        let found = target(Some("postgres://u%40x:p%3Aw@db.example:5433/my%20db?application_name=a"), &args).unwrap();
        let shown = (found.host.as_str(), found.port, found.user.as_str(), found.database.as_str());
        assert_eq!(shown, ("db.example", 5433, "u@x", "my db"));
        assert_eq!(found.password.as_deref(), Some("p:w"));
        assert_eq!(found.parameters, [("application_name".to_owned(), "a".to_owned())]);
        let found = target(Some("postgresql:///x?host=/run/db&port=1"), &args).unwrap();
        assert_eq!(found.socket(), Some(PathBuf::from("/run/db/.s.PGSQL.1")));
        let found = target(Some("postgres://[::1]:9/"), &args).unwrap();
        assert_eq!(
            (found.host.as_str(), found.port, found.user.as_str(), found.database.as_str()),
            ("::1", 9, "env", "env")
        );
        let found = target(None, &args).unwrap();
        assert_eq!((found.host.as_str(), found.port), ("h", 7));
    }

    #[test]
    fn pairs_may_be_quoted() {
        let found =
            target(Some(r"host = /a  password='it\'s me' user=b\ c dbname=''"), &ConnectionArgs::default()).unwrap();
        let shown = (found.host.as_str(), found.user.as_str(), found.database.as_str());
        assert_eq!((shown, found.password.as_deref()), (("/a", "b c", ""), Some("it's me")));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, what) in [
            ("postgres://h/d?sslmode=require", "TLS"),
            ("postgres://h/d?nosuch=1", "nosuch"),
            ("postgres://h/d%2", "percent"),
            ("postgres://h:99999/d", "port"),
            ("host=h nosuch", "="),
            ("host='h", "quote"),
        ] {
            let error = target(Some(text), &ConnectionArgs::default()).unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
