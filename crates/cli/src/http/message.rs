//! Requests and responses of HTTP/1.1 (RFC 9112), as much as reading a page takes. No I/O.

use httparse::{EMPTY_HEADER, Header, Status};

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) wants: Wants,
    /// Path without the query.
    pub(crate) path: String,
    /// What follows the question mark; empty: nothing.
    pub(crate) query: String,
    pub(crate) form: Form,
}

/// Method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// `GET`: the whole answer.
    Page,
    /// `HEAD`: the head of the answer only.
    Head,
    /// Any other method.
    Else,
}

/// Text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Text format of Prometheus, version 0.0.4.
    Plain,
}

/// Result of parsing the received bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The request is not complete.
    Incomplete,
    /// The bytes are not a request of HTTP/1.
    Invalid,
    /// The request is complete.
    Request(Request),
}

impl Request {
    /// Reads the head of a request.
    pub(crate) fn read(bytes: &[u8]) -> Asked {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(Status::Complete(_)) => {}
            Ok(Status::Partial) => return Asked::Incomplete,
            Err(_) => return Asked::Invalid,
        }
        // "A server MUST respond with a 400 … to any HTTP/1.1 request message that lacks a
        // Host header field" (RFC 9112, section 3.2).
        if request.version == Some(1) && values(request.headers, "host").next().is_none() {
            return Asked::Invalid;
        }
        let path = request.path.unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Asked::Request(Self {
            wants: match request.method {
                Some("GET") => Wants::Page,
                Some("HEAD") => Wants::Head,
                _ => Wants::Else,
            },
            path: path.to_owned(),
            query: query.to_owned(),
            form: form(request.headers),
        })
    }
}

/// Plain text for clients that accept nothing else.
fn form(headers: &[Header<'_>]) -> Form {
    let accepted: Vec<_> = values(headers, "accept").flat_map(|value| value.split(',')).collect();
    let takes = |kind: &str| {
        accepted.iter().any(|range| {
            range.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind)
        })
    };
    let all = ["application/openmetrics-text", "application/*", "*/*"];
    if takes("text/plain") && !all.into_iter().any(takes) { Form::Plain } else { Form::OpenMetrics }
}

fn values<'h>(headers: &'h [Header<'_>], name: &'h str) -> impl Iterator<Item = &'h str> {
    let named = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    named.filter_map(|header| std::str::from_utf8(header.value).ok())
}

/// An HTTP response, after which the connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    status: &'static str,
    kind: &'static str,
    more: &'static str,
    body: String,
}

impl Answer {
    /// Response 200 with this content type.
    pub(crate) const fn page(kind: &'static str, body: String) -> Self {
        Self { status: "200 OK", kind, more: "", body }
    }

    /// Response 404: the path does not exist.
    pub(crate) fn not_found() -> Self {
        Self::refusal("404 Not Found", "", "see /\n")
    }

    /// Response 503 with the reason `why`.
    pub(crate) fn unavailable(why: &str) -> Self {
        Self::refusal("503 Service Unavailable", "", &format!("{why}\n"))
    }

    /// Response 200 with metrics, which are OpenMetrics 1.0, in the format that a client takes.
    pub(crate) fn metrics(form: Form, text: String) -> Self {
        match form {
            Form::OpenMetrics => Self::page(OPEN_METRICS, text),
            Form::Plain => Self::page(PLAIN, report::export::from_open_metrics(&text)),
        }
    }

    /// Response 405: only `GET` and `HEAD` are supported.
    pub(crate) fn not_allowed() -> Self {
        let more = "Allow: GET, HEAD\r\n";
        Self::refusal("405 Method Not Allowed", more, "GET and HEAD only\n")
    }

    /// Response 405: only `GET` is supported.
    pub(crate) fn only_get() -> Self {
        Self::refusal("405 Method Not Allowed", "Allow: GET\r\n", "GET only\n")
    }

    /// Response 400: what the request asks for is not valid, for the reason `why`.
    pub(crate) fn invalid(why: &str) -> Self {
        Self::refusal("400 Bad Request", "", &format!("{why}\n"))
    }

    /// Response 403: what the request asks for is not allowed, for the reason `why`.
    pub(crate) fn forbidden(why: &str) -> Self {
        Self::refusal("403 Forbidden", "", &format!("{why}\n"))
    }

    /// Response 400: the request is not valid.
    pub(crate) fn bad_request() -> Self {
        Self::refusal("400 Bad Request", "", "not a request of HTTP/1.1\n")
    }

    /// Response 431: the head of the request is too long.
    pub(crate) fn too_long() -> Self {
        Self::refusal("431 Request Header Fields Too Large", "", "8 KiB at most\n")
    }

    fn refusal(status: &'static str, more: &'static str, body: &str) -> Self {
        Self { status, kind: TEXT, more, body: body.to_owned() }
    }

    /// The whole response for the wire.
    pub(crate) fn written(&self) -> Vec<u8> {
        [self.head().as_bytes(), self.body.as_bytes()].concat()
    }

    /// The head of the response, without the body.
    pub(crate) fn head(&self) -> String {
        let Self { status, kind, more, body } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             {more}X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        )
    }
}

/// The content type of a sentence.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
/// OpenMetrics 1.0, section "Protocol Negotiation".
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Prometheus, "Exposition formats".
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Fields of a head; browsers send about twenty.
const MOST_HEADERS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Asked {
        Request::read(text.as_bytes())
    }

    fn form_for(accept: &str) -> Form {
        match read(&format!("GET /metrics HTTP/1.1\r\nHost: a\r\n{accept}\r\n")) {
            Asked::Request(request) => request.form,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_is_read_when_its_head_is_complete() {
        let head = "GET /metrics?name=x HTTP/1.1\r\nHost: a\r\n\r\n";
        for length in 0..head.len() {
            assert_eq!(read(&head[..length]), Asked::Incomplete, "{length}");
        }
        let (path, query) = ("/metrics".to_owned(), "name=x".to_owned());
        let request = Request { wants: Wants::Page, path, query, form: Form::OpenMetrics };
        assert_eq!(read(head), Asked::Request(request));
    }

    #[test]
    fn what_is_no_request_is_told_from_one() {
        let heads =
            ["\u{16}\u{3}\u{1}\n", "GET /\n\n", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n"];
        for head in heads {
            assert_eq!(read(head), Asked::Invalid, "{head:?}");
        }
        assert_eq!(read(&format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(65))), Asked::Invalid);
        assert!(matches!(read("GET / HTTP/1.0\r\n\r\n"), Asked::Request(_)));
    }

    #[test]
    fn only_who_takes_plain_text_alone_gets_it() {
        // Prometheus' own words.
        let prometheus = "Accept: application/openmetrics-text;version=1.0.0;q=0.5,\
                          text/plain;version=0.0.4;q=0.2,*/*;q=0.1\r\n";
        assert_eq!(form_for(prometheus), Form::OpenMetrics);
        assert_eq!(form_for(""), Form::OpenMetrics);
        assert_eq!(form_for("Accept: */*\r\n"), Form::OpenMetrics);
        assert_eq!(form_for("Accept: text/plain, */*;q=0.1\r\n"), Form::OpenMetrics);
        assert_eq!(form_for("accept: Text/Plain; version=0.0.4\r\n"), Form::Plain);
        assert_eq!(form_for("Accept: text/html\r\nAccept: text/plain\r\n"), Form::Plain);
    }

    #[test]
    fn an_answer_tells_its_length_and_ends_the_connection() {
        let text = String::from_utf8(Answer::not_allowed().written()).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{head}");
        for field in ["Content-Length: 18", "Allow: GET, HEAD", "Connection: close"] {
            assert!(head.lines().any(|line| line == field), "no '{field}' in {head}");
        }
        assert_eq!(body.len(), 18);
    }
}
