//! Recorded control connections: how they are read, and played to both machines.

#![expect(clippy::disallowed_methods, reason = "a test reads its fixtures")]

use std::fs;
use std::path::Path;

use linerate_protocol::iperf3::{
    Client, ClientEvent, Cookie, ErrorCode, Parameters, Results, Server, ServerEvent, State,
};
use measurement::Timestamp;

/// One file of `tests/transcripts`; its README has the format.
pub(crate) struct Transcript {
    /// Version and scenario, e.g. `3.12/tcp`.
    pub(crate) name: String,
    /// What happened, in order.
    pub(crate) lines: Vec<Line>,
}

/// One line that is not a remark.
#[derive(Debug)]
pub(crate) enum Line {
    Client(Vec<u8>),
    Server(Vec<u8>),
    Hello(Vec<u8>),
    Reply(Vec<u8>),
    ClientCloses,
    ServerCloses { reset: bool },
}

impl Transcript {
    /// Every file, in order of its name.
    pub(crate) fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
        let versions = fs::read_dir(root).expect("the transcripts are there");
        let folders = versions.map(|entry| entry.expect("readable").path());
        let mut all: Vec<_> = folders
            .filter(|path| path.is_dir())
            .flat_map(|path| fs::read_dir(path).expect("a readable folder"))
            .map(|entry| Self::read(&entry.expect("readable").path()))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn read(path: &Path) -> Self {
        let part = |path: &Path| path.file_stem().expect("named").to_string_lossy().into_owned();
        let folder = path.parent().and_then(Path::file_name).expect("in a folder");
        let text = fs::read_to_string(path).expect("readable");
        Self {
            name: format!("{}/{}", folder.to_string_lossy(), part(path)),
            lines: text.lines().filter_map(Line::parse).collect(),
        }
    }

    /// The version of both ends, as numbers that compare.
    pub(crate) fn version(&self) -> Vec<u32> {
        let version = self.name.split('/').next().expect("never empty");
        version.split('.').map(|part| part.parse().expect("a number")).collect()
    }

    /// What was done.
    pub(crate) fn scenario(&self) -> &str {
        self.name.split('/').nth(1).expect("a version and a scenario")
    }

    /// All that the client said after the cookie.
    pub(crate) fn client_messages(&self) -> Vec<Message> {
        Message::cut(
            &self.said(|line| match line {
                Line::Client(bytes) => Some(bytes),
                _ => None,
            })[Cookie::LENGTH..],
        )
    }

    /// All that the server said.
    pub(crate) fn server_messages(&self) -> Vec<Message> {
        Message::cut(&self.said(|line| match line {
            Line::Server(bytes) => Some(bytes),
            _ => None,
        }))
    }

    pub(crate) fn cookie(&self) -> Cookie {
        let said = self.said(|line| match line {
            Line::Client(bytes) => Some(bytes),
            _ => None,
        });
        Cookie::from_wire(said[..Cookie::LENGTH].try_into().expect("as long as it must be"))
    }

    /// What the client asked for; none if it was turned away before.
    pub(crate) fn parameters(&self) -> Option<Parameters> {
        let text = self.client_messages().into_iter().find_map(Message::json)?;
        Some(Parameters::from_json(&text).unwrap_or_else(|code| panic!("{}: {code}", self.name)))
    }

    /// Both ends' results, the client's first; none if it did not come so far.
    pub(crate) fn results(&self) -> Option<[Results; 2]> {
        let client = self.client_messages().into_iter().filter_map(Message::json).nth(1)?;
        let server = self.server_messages().into_iter().find_map(Message::json)?;
        let read = |text: &[u8]| {
            Results::from_json(text).unwrap_or_else(|why| panic!("{}: {why}", self.name))
        };
        Some([read(&client), read(&server)])
    }

    fn said(&self, by: fn(&Line) -> Option<&Vec<u8>>) -> Vec<u8> {
        self.lines.iter().filter_map(by).flatten().copied().collect()
    }
}

impl Line {
    fn parse(text: &str) -> Option<Self> {
        let (head, rest) = text.split_once(' ').expect("a mark and a space");
        Some(match (head, rest) {
            (">", hex) => Self::Client(bytes(hex)),
            ("<", hex) => Self::Server(bytes(hex)),
            ("u>", hex) => Self::Hello(bytes(hex)),
            ("u<", hex) => Self::Reply(bytes(hex)),
            ("#", "client closes") => Self::ClientCloses,
            ("#", "server closes") => Self::ServerCloses { reset: false },
            ("#", "server resets") => Self::ServerCloses { reset: true },
            ("#", _) => return None,
            _ => panic!("no line of a transcript: {text}"),
        })
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.trim().chars().map(|c| c.to_digit(16).expect("hex")).collect();
    let byte = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).expect("two digits");
    digits.chunks(2).map(byte).collect()
}

/// One message of either end, cut without the machines' help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    State(State),
    Json(Vec<u8>),
    Error(ErrorCode),
}

impl Message {
    /// No JSON here is so long that its length does not begin with zero (clause 5.1).
    pub(crate) fn cut(mut bytes: &[u8]) -> Vec<Self> {
        let mut messages = Vec::new();
        while let Some(first) = bytes.first() {
            let (message, rest) = match State::from_byte(*first) {
                Some(State::ServerError) => (Self::Error(ErrorCode(number(&bytes[1..]))), 9),
                Some(state) => (Self::State(state), 1),
                None => {
                    let end = 4 + usize::try_from(number(bytes)).expect("a length");
                    (Self::Json(bytes[4..end].to_vec()), end)
                }
            };
            messages.push(message);
            bytes = &bytes[rest..];
        }
        messages
    }

    pub(crate) fn json(self) -> Option<Vec<u8>> {
        match self {
            Self::Json(text) => Some(text),
            _ => None,
        }
    }
}

fn number(bytes: &[u8]) -> i32 {
    i32::from_be_bytes(bytes[..4].try_into().expect("four of them"))
}

/// What both machines made of a transcript.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) client: Vec<ClientEvent>,
    pub(crate) server: Vec<ServerEvent>,
    /// What they said in place of those recorded.
    pub(crate) client_said: Vec<u8>,
    pub(crate) server_said: Vec<u8>,
}

/// A client that hears the recorded server, and a server that hears the recorded
/// client. Their hosts do what the recorded ones did, and when.
pub(crate) struct Replay<'a> {
    transcript: &'a Transcript,
    client: Client,
    /// None: the listener turned the client away.
    server: Option<Server>,
    /// Bytes of the cookie, which the listener takes off.
    cookie: usize,
    outcome: Outcome,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(transcript: &'a Transcript, otherwise: Parameters) -> Self {
        let parameters = transcript.parameters();
        let server = parameters.is_some().then(|| Server::new(NOW));
        let asked = parameters.unwrap_or(otherwise);
        let client = Client::new(asked, &transcript.cookie(), NOW);
        let cookie = Cookie::LENGTH;
        Self { transcript, client, server, cookie, outcome: Outcome::default() }
    }

    /// Plays all lines; bytes come in pieces of at most `piece`.
    pub(crate) fn play(mut self, piece: usize) -> Outcome {
        for line in &self.transcript.lines {
            match line {
                Line::Client(bytes) => {
                    let cookie = self.cookie.min(bytes.len());
                    self.cookie -= cookie;
                    let bytes = &bytes[cookie..];
                    self.do_as_the_client(&Message::cut(bytes));
                    bytes.chunks(piece).for_each(|bytes| self.hear_client(bytes));
                }
                Line::Server(bytes) => {
                    self.do_as_the_server(&Message::cut(bytes));
                    bytes.chunks(piece).for_each(|bytes| self.hear_server(bytes));
                }
                Line::ClientCloses => {
                    self.server.as_mut().into_iter().for_each(Server::handle_close);
                }
                Line::ServerCloses { reset } => self.client.handle_close(*reset),
                Line::Hello(_) | Line::Reply(_) => {}
            }
            self.collect();
        }
        self.outcome
    }

    /// What no message asks for: the client's host decides it.
    fn do_as_the_client(&mut self, messages: &[Message]) {
        if messages.contains(&Message::State(State::TestEnd)) {
            self.client.end_test(NOW);
        }
        if messages.contains(&Message::State(State::ClientTerminate)) {
            self.client.terminate();
        }
    }

    fn do_as_the_server(&mut self, messages: &[Message]) {
        if messages.contains(&Message::State(State::ServerTerminate)) {
            self.server.as_mut().into_iter().for_each(Server::terminate);
        }
    }

    fn hear_client(&mut self, bytes: &[u8]) {
        if let Some(server) = &mut self.server {
            server.handle_bytes(bytes, NOW);
        }
        self.collect();
    }

    fn hear_server(&mut self, bytes: &[u8]) {
        self.client.handle_bytes(bytes, NOW);
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(event) = self.client.poll_event() {
            if let (ClientEvent::ResultsWanted, Some([own, _])) =
                (&event, self.transcript.results())
            {
                self.client.send_results(&own, NOW);
            }
            self.outcome.client.push(event);
        }
        self.outcome.client_said.extend(self.client.take_output());
        let Some(server) = &mut self.server else { return };
        while let Some(event) = server.poll_event() {
            match &event {
                ServerEvent::Asked(_) => {
                    server.accept(None, NOW);
                    server.streams_open(NOW);
                }
                ServerEvent::Ended => server.request_results(Vec::new(), NOW),
                ServerEvent::Results(_) => {
                    let [_, own] = self.transcript.results().expect("they were exchanged");
                    server.send_results(&own, NOW);
                }
                ServerEvent::Done | ServerEvent::Failed(_) => {}
            }
            self.outcome.server.push(event);
        }
        self.outcome.server_said.extend(server.take_output());
    }
}

/// Nothing here takes time.
const NOW: Timestamp = Timestamp::from_nanos(1_000_000_000);
