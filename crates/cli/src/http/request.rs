//! Requests of HTTP/1.1 (RFC 9112), as much as reading a page takes. No I/O.

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
}
