//! A raw client that is served once, step by step, and takes the time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::random::Random;
use super::script::{
    ACCESS_DENIED, COOKIE_LENGTH, CREATE_STREAMS, DISPLAY_RESULTS, Dialect, EXCHANGE_RESULTS,
    EXTENSION, IPERF_DONE, PARAM_EXCHANGE, SERVER_ERROR, Session, TEST_END, TEST_RUNNING,
};
use crate::ask::{Direction, Transport};

/// From the connect to TEST_RUNNING, of a test of one TCP stream that is then ended.
///
/// # Errors
/// What kept it from being served.
pub(super) fn start_latency(
    server: SocketAddr,
    dialect: Dialect,
    random: &mut Random,
) -> io::Result<Duration> {
    let session = Session { seconds: 1, ..Session::new(Transport::Tcp, Direction::Send) };
    let session = session.of(dialect);
    let mut cookie = [b'p'; COOKIE_LENGTH];
    for byte in &mut cookie[1..COOKIE_LENGTH - 1] {
        *byte = b'a' + random.byte() % 26;
    }
    cookie[COOKIE_LENGTH - 1] = 0;
    let start = Instant::now();
    let mut control = connect(server)?;
    control.write_all(&cookie)?;
    await_state(&mut control, PARAM_EXCHANGE)?;
    control.write_all(&session.parameters())?;
    await_state(&mut control, CREATE_STREAMS)?;
    let mut stream = connect(server)?;
    stream.write_all(&cookie)?;
    if dialect == Dialect::Own {
        stream.write_all(&0_u32.to_be_bytes())?;
    }
    await_state(&mut control, TEST_RUNNING)?;
    let latency = start.elapsed();
    control.write_all(&[TEST_END])?;
    await_state(&mut control, EXCHANGE_RESULTS)?;
    control.write_all(&session.results())?;
    skip_text(&mut control)?;
    await_state(&mut control, DISPLAY_RESULTS)?;
    control.write_all(&[IPERF_DONE])?;
    Ok(latency)
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&server, PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

fn await_state(control: &mut TcpStream, state: u8) -> io::Result<()> {
    let mut byte = [0];
    loop {
        control.read_exact(&mut byte)?;
        match byte[0] {
            ACCESS_DENIED => return Err(io::Error::new(ErrorKind::ConnectionRefused, "busy")),
            SERVER_ERROR => return Err(io::Error::new(ErrorKind::ConnectionRefused, "refused")),
            EXTENSION => skip_text(control)?,
            other if other == state => return Ok(()),
            _ => {}
        }
    }
}

/// Clause 5.1.
fn skip_text(control: &mut TcpStream) -> io::Result<()> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let length = u64::from(u32::from_be_bytes(length));
    io::copy(&mut control.take(length), &mut io::sink())?;
    Ok(())
}

const PATIENCE: Duration = Duration::from_secs(3);
