//! Requests and answers of HTTP/1.1, as far as the status page needs them: one request for each connection, without a body.
//!
//! Invariant: what is not understood is refused; nothing of a request is repeated in an answer.

use std::net::IpAddr;

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'h> {
    /// What is asked for, without what stands behind `?`.
    pub path: &'h str,
    /// Whether only the head of the answer is wanted.
    pub is_head: bool,
    /// For which server the client takes this one.
    host: Option<&'h str>,
}

impl<'h> Request<'h> {
    /// Reads the head of a request, which ends with a blank line.
    ///
    /// # Errors
    /// The answer to one that is not understood.
    pub fn parse(head: &'h [u8]) -> Result<Request<'h>, Response> {
        let malformed = || Response::error(400, "this is no request of HTTP/1.1");
        let head = std::str::from_utf8(head).map_err(|_| malformed())?;
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(malformed());
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
            return Err(malformed());
        }
        let is_head = match method {
            "GET" => false,
            "HEAD" => true,
            _ => return Err(Response::error(405, "there are GET and HEAD")),
        };
        if !target.starts_with('/') {
            return Err(malformed());
        }
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let fields = lines.take_while(|line| !line.is_empty()).map(|line| line.split_once(':'));
        let mut host = None;
        for field in fields {
            let (name, value) = field.ok_or_else(malformed)?;
            if name.eq_ignore_ascii_case("host") {
                host = Some(value.trim());
            }
        }
        Ok(Request { path, is_head, host })
    }

    /// Whether the client means an address of this machine. A page of another server can make a browser ask this one under the
    /// name of that other server, whose address it has changed.
    pub fn is_for_loopback(&self) -> bool {
        let Some(host) = self.host else { return true };
        let name = match host.strip_prefix('[') {
            Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    content_type: &'static str,
    body: String,
    has_body: bool,
}

impl Response {
    /// Makes an answer.
    pub fn new(status: u16, content_type: &'static str, body: String) -> Response {
        Response { status, content_type, body, has_body: true }
    }

    /// Makes an answer of a line of text.
    pub fn text(status: u16, text: &str) -> Response {
        Response::new(status, "text/plain; charset=utf-8", format!("{text}\n"))
    }

    /// Makes an answer that says what is wrong with the request.
    pub fn error(status: u16, what: &str) -> Response {
        Response::text(status, what)
    }

    /// Leaves the body out, and says how long it is.
    pub fn without_body(self) -> Response {
        Response { has_body: false, ..self }
    }

    fn reason(&self) -> &'static str {
        match self.status {
            200 => "OK",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Bad Request",
        }
    }

    /// Returns what is sent.
    pub fn bytes(&self) -> Vec<u8> {
        let Response { status, content_type, body, has_body } = self;
        let allow = if *status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{allow}\
             Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n\
             Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
             connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\r\n",
            self.reason(),
            body.len(),
        );
        let mut bytes = head.into_bytes();
        if *has_body {
            bytes.extend_from_slice(body.as_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read() {
        let head = b"GET /metrics?x=1 HTTP/1.1\r\nAccept: */*\r\nhost: 127.0.0.1:9187\r\n\r\n";
        let request = Request::parse(head).unwrap();
        assert_eq!((request.path, request.is_head), ("/metrics", false));
        assert!(request.is_for_loopback());
        assert!(Request::parse(b"HEAD / HTTP/1.0\r\n\r\n").unwrap().is_head);
    }

    #[test]
    fn names_of_others_are_told_from_the_loopback() {
        for (host, is_own) in [
            ("localhost:1", true),
            ("LOCALHOST", true),
            ("[::1]:80", true),
            ("127.0.0.9", true),
            ("evil.example:9187", false),
            ("10.0.0.1", false),
            ("", false),
            ("localhost.evil.example", false),
        ] {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(Request::parse(head.as_bytes()).unwrap().is_for_loopback(), is_own, "{host}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for (head, status) in [
            (&b"\x16\x03\x01\r\n\r\n"[..], 400),
            (b"GET /\r\n\r\n", 400),
            (b"GET / HTTP/2\r\n\r\n", 400),
            (b"GET  / HTTP/1.1\r\n\r\n", 400),
            (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
            (b"\xff\xfe / HTTP/1.1\r\n\r\n", 400),
            (b"POST / HTTP/1.1\r\n\r\n", 405),
        ] {
            assert_eq!(Request::parse(head).unwrap_err().status, status, "{}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn an_answer_without_its_body_still_tells_the_length() {
        let bytes = Response::text(200, "well").without_body().bytes();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("Content-Length: 5\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }
}
