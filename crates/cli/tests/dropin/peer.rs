//! The other end by hand: what a real one would not do, or would not tell.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};

pub(crate) use crate::shared::control::{
    COOKIE, CREATE_STREAMS, Control, PARAM_EXCHANGE, TEST_RUNNING, TEST_START,
};
use crate::support::{Running, client, until};

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
        control.write(&[PARAM_EXCHANGE]);
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
pub(crate) fn ask(port: u16, parameters: &Value) -> (Control, Option<u8>) {
    let mut control = Control::ask(local(port), parameters);
    let answer = control.state();
    (control, answer)
}

/// A stream of the client by hand.
pub(crate) fn open_stream(port: u16) -> Control {
    Control::greet(local(port))
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// The parameters of a program TCP test.
pub(crate) fn plain_test() -> Value {
    json!({"tcp": true, "omit": 0, "time": 1, "parallel": 1, "len": 131_072})
}

pub(crate) const SERVER_ERROR: u8 = 0xfe;
