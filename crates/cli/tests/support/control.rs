//! A connection of a test by hand: it does what a real client or server would not do, or tells
//! what they would not tell.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use super::PATIENCE;

/// A connection by hand.
pub(crate) struct Control(pub(crate) TcpStream);

impl Control {
    pub(crate) fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self(stream)
    }

    pub(crate) fn connect(server: SocketAddr) -> Self {
        Self::over(TcpStream::connect(server).expect("a connection"))
    }

    /// Connects and sends the cookie.
    pub(crate) fn greet(server: SocketAddr) -> Self {
        let mut connection = Self::connect(server);
        connection.write(&COOKIE);
        connection
    }

    /// Asks a server for a test.
    pub(crate) fn ask(server: SocketAddr, parameters: &Value) -> Self {
        let mut control = Self::greet(server);
        assert_eq!(control.state(), Some(PARAM_EXCHANGE));
        control.tell(parameters);
        control
    }

    /// The next byte; none: the end, or nothing in time.
    pub(crate) fn state(&mut self) -> Option<u8> {
        let mut byte = [0];
        self.0.read_exact(&mut byte).ok().map(|()| byte[0])
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

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("a connection");
    }

    pub(crate) fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).expect("a connection");
        bytes
    }
}

pub(crate) const COOKIE: [u8; 37] = *b"abcdefghijklmnopqrstuvwxyz234567abcd\0";
pub(crate) const TEST_START: u8 = 1;
pub(crate) const TEST_RUNNING: u8 = 2;
pub(crate) const PARAM_EXCHANGE: u8 = 9;
pub(crate) const CREATE_STREAMS: u8 = 10;
