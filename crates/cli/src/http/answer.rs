//! Responses of HTTP/1.1 (RFC 9112). No I/O.

use super::request::Form;

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

#[cfg(test)]
mod tests {
    use super::*;

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
