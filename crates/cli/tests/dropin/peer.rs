//! The other end by hand: what a real one would not do, or would not tell.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Running, client, until};

/// A server by hand.
pub(crate) struct ByHand(TcpListener);

impl ByHand {
    pub(crate) fn listen() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        Self(listener)
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }

    /// Takes a client up to its parameters.
    pub(crate) fn greet(&self) -> (Control, Value) {
        let mut control = Control::over(self.accept());
        control.read(COOKIE.len());
        control.say(PARAM_EXCHANGE);
        let parameters = control.hear();
        (control, parameters)
    }

    /// Takes a stream of the client.
    pub(crate) fn stream(&self) -> Control {
        let mut stream = Control::over(self.accept());
        stream.read(COOKIE.len());
        stream
    }

    fn accept(&self) -> TcpStream {
        let stream = until("client", || self.0.accept().ok()).0;
        stream.set_nonblocking(false).expect("a connection");
        stream
    }
}

/// What a client with these options asks of a server.
pub(crate) fn parameters(options: &str) -> Value {
    let server = ByHand::listen();
    let _client = Running::start(client(server.port(), options));
    server.greet().1
}

/// A client by hand that asks for this; gives the answer to it.
pub(crate) fn ask(port: u16, parameters: &Value) -> (Control, u8) {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a server");
    let mut control = Control::over(stream);
    control.write(&COOKIE);
    assert_eq!(control.state(), PARAM_EXCHANGE);
    control.tell(parameters);
    let answer = control.state();
    (control, answer)
}

/// A stream of the client by hand.
pub(crate) fn open_stream(port: u16) -> Control {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a server");
    let mut stream = Control::over(stream);
    stream.write(&COOKIE);
    stream
}

/// The parameters of a program TCP test.
pub(crate) fn plain_test() -> Value {
    json!({"tcp": true, "omit": 0, "time": 1, "parallel": 1, "len": 131_072})
}

/// A connection by hand.
pub(crate) struct Control(TcpStream);

impl Control {
    fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self(stream)
    }

    pub(crate) fn say(&mut self, state: u8) {
        self.write(&[state]);
    }

    pub(crate) fn state(&mut self) -> u8 {
        self.read(1)[0]
    }

    pub(crate) fn tell(&mut self, value: &Value) {
        let text = value.to_string();
        let length = u32::try_from(text.len()).expect("short").to_be_bytes();
        self.write(&[&length, text.as_bytes()].concat());
    }

    pub(crate) fn hear(&mut self) -> Value {
        let length = self.read(4).try_into().map(u32::from_be_bytes).expect("4 bytes");
        let text = self.read(usize::try_from(length).expect("short"));
        serde_json::from_slice(&text).expect("JSON")
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("a connection");
    }

    fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).expect("a connection");
        bytes
    }
}

const COOKIE: [u8; 37] = *b"abcdefghijklmnopqrstuvwxyz234567abcd\0";
pub(crate) const TEST_START: u8 = 1;
pub(crate) const TEST_RUNNING: u8 = 2;
pub(crate) const PARAM_EXCHANGE: u8 = 9;
pub(crate) const CREATE_STREAMS: u8 = 10;
pub(crate) const SERVER_ERROR: u8 = 0xfe;
