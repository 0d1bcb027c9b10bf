//! Hostile connections to the server of the board.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use fastrand::Rng;

/// Opens connections for so long: some say nothing and are held, some say anything and leave. How
/// many were accepted.
pub(super) fn attack(server: SocketAddr, time: Duration) -> usize {
    let (mut random, end) = (Rng::with_seed(7), Instant::now() + time);
    let (mut held, mut accepted) = (Vec::new(), 0);
    while Instant::now() < end {
        let Ok(mut stream) = TcpStream::connect_timeout(&server, Duration::from_secs(1)) else {
            continue;
        };
        accepted += 1;
        if random.bool() {
            let noise: Vec<u8> = (0..random.usize(..4096)).map(|_| random.u8(..)).collect();
            // It may hang up on this.
            _ = stream.write_all(&noise);
        } else {
            held.push(stream);
        }
        if held.len() > MOST_HELD {
            held.swap_remove(random.usize(..MOST_HELD));
        }
    }
    accepted
}

const MOST_HELD: usize = 256;
