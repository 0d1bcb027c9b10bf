//! Clients that are to harm a server: silent ones, half cookies, garbage, and tests that are asked
//! for and left alone.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Opens connections of each kind until it is told to stop, and holds some of them.
pub(super) fn harass(port: u16, stop: &AtomicBool) {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (mut random, mut held) = (fastrand::Rng::with_seed(1), Vec::new());
    while !stop.load(Relaxed) {
        // A server that is shut for a moment is tried again.
        if let Ok(socket) = TcpStream::connect(to) {
            held.extend(harm(socket, &mut random));
        }
        stray(to, &mut random);
        if held.len() > MOST_HELD {
            held.remove(0);
        }
        thread::sleep(PAUSE);
    }
}

/// One connection. None: it is closed already.
fn harm(mut socket: TcpStream, random: &mut fastrand::Rng) -> Option<TcpStream> {
    let mut cookie: Vec<u8> = (0..36).map(|_| random.alphanumeric() as u8).collect();
    cookie.push(0);
    let mut garbage = vec![0; random.usize(1..4096)];
    random.fill(&mut garbage);
    // What the server does not want to hear fails, which is no matter here.
    match random.u8(0..9) {
        0 => {}
        1 => _ = socket.write_all(&cookie[..random.usize(0..37)]),
        2 => _ = socket.write_all(&garbage),
        3 => _ = socket.write_all(&[&cookie[..], &garbage].concat()),
        4 => _ = socket.write_all(b"linerate keyed, version 1           \0garbage"),
        5..8 => iperf2(&mut socket, random),
        _ => ask(&mut socket, &cookie),
    }
    random.bool().then_some(socket)
}

/// The header of a client of iperf2 that receives for years, that asks for a connection to a port, or
/// that is to be answered; sometimes not all of it.
fn iperf2(socket: &mut TcpStream, random: &mut fastrand::Rng) {
    let flags: u32 = [0x4401_0078, 0xc001_0079, 0x0080_0000][random.usize(0..3)];
    let mut words = [0_u32; 15];
    let amount = 0x8000_0001;
    (words[0], words[1], words[2], words[5]) = (flags, random.u32(0..2_000), 22, amount);
    words[8] = 0x0400_0000;
    let header: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    _ = socket.write_all(&header[..random.usize(37..=header.len())]);
}

/// Asks for a test, and opens none of its streams.
fn ask(socket: &mut TcpStream, cookie: &[u8]) {
    let text = br#"{"tcp":true,"omit":0,"time":10,"num":0,"parallel":8,"len":131072}"#;
    let length = u32::try_from(text.len()).unwrap_or_default().to_be_bytes();
    let mut state = [0; 1];
    _ = socket.set_read_timeout(Some(PAUSE));
    if socket.write_all(cookie).is_ok() && socket.read_exact(&mut state).is_ok() {
        _ = socket.write_all(&[&length[..], text].concat());
    }
}

/// Datagrams that belong to no test.
fn stray(to: SocketAddr, random: &mut fastrand::Rng) {
    let mut datagram = vec![0; random.usize(0..1400)];
    random.fill(&mut datagram);
    if let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) {
        _ = socket.send_to(&datagram, to);
        _ = socket.send_to(b"9876", to);
    }
}

const MOST_HELD: usize = 60;
const PAUSE: Duration = Duration::from_millis(20);
