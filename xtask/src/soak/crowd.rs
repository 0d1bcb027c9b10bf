//! Clients of all kinds at the same time: each is served, and the server says so of each.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use testbed::port;
use testbed::process::Running;

use super::clients::Kind;
use super::{PATIENCE, linerate};

/// So many clients of each kind, in random order from three addresses.
pub(super) fn crowd(program: &Path, each: usize) -> Result<String> {
    let port = port::free()?;
    let words = format!("serve --bind 127.0.0.1 --port {port}");
    let mut server = Running::captured(linerate(program, &words))?;
    port::await_listener(None, port, &mut server)?;
    let mut order: Vec<_> =
        Kind::ALL.iter().flat_map(|kind| (0..each).map(move |number| (*kind, number))).collect();
    fastrand::Rng::with_seed(SEED).shuffle(&mut order);
    let start = Instant::now();
    let clients = order.into_iter().zip(ADDRESSES.iter().cycle()).map(|((kind, number), from)| {
        let options = kind.tests()[number % kind.tests().len()];
        Ok((kind, options, Running::captured(kind.command(program, (from, port), options))?))
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;
    let (count, began) = (clients.len(), start.elapsed());
    let mut failed = Vec::new();
    for (kind, options, client) in clients {
        let ended = client.finish(PATIENCE)?;
        if !kind.is_served(&ended) {
            failed.push(format!("{kind:?} {options}: {}{}", ended.complaint(), ended.last_line()));
        }
    }
    let took = start.elapsed();
    ensure!(failed.is_empty(), "{} of {count} failed, the first: {}", failed.len(), failed[0]);
    let done = served(&server, count)?;
    server.stop()?;
    Ok(format!(
        "crowd: {done} of {count} clients at the same time, {each} of each kind, were served: started in \
         {:.1} s, all over after {:.1} s",
        began.as_secs_f64(),
        took.as_secs_f64()
    ))
}

/// What the server says of the tests: as many as there were clients.
fn served(server: &Running, count: usize) -> Result<usize> {
    let start = Instant::now();
    loop {
        let lines = format!("{}{}", server.stdout(), server.stderr());
        let done = lines.lines().filter(|line| line.ends_with(": done")).count();
        if done >= count || start.elapsed() > SAID {
            ensure!(done == count, "the server says of {done} of {count} that they are done");
            return Ok(done);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

const ADDRESSES: [&str; 3] = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
const SEED: u64 = 27;
/// Within which the server tells of the last one: what ends a flow of iperf2 is answered for a while.
const SAID: Duration = Duration::from_secs(15);
