//! The process itself: where it runs, and its number in a file.

use std::fs;
use std::path::Path;

use crate::evidence::allowed_cpus;
use crate::support::{
    Directory, Running, Server, client, eventually, free_port, iperf3, long_test, run,
    side_by_side, skip, until,
};

#[test]
fn a_process_stays_on_its_cpu() {
    if !has_two_cpus() {
        return;
    }
    side_by_side(
        [("-A 1", "-A 0", "1", "0"), ("", "-A 1,0", "0", "1")],
        |(of_the_server, of_the_client, server_on, client_on)| {
            let (server, client) = long_test(of_the_server, &format!("{of_the_client} -b 10M"));
            for (pid, cpu) in [(server.running.id(), server_on), (client.id(), client_on)] {
                eventually(&format!("thread on CPU {cpu}, with {of_the_client}"), || {
                    allowed_cpus(pid).iter().any(|cpus| cpus == cpu)
                });
                let other = if cpu == "0" { "1" } else { "0" };
                assert!(!allowed_cpus(pid).iter().any(|cpus| cpus == other), "{of_the_client}");
            }
        },
    );
}

#[test]
fn a_pidfile_holds_the_number_of_the_process() {
    let directory = Directory::new("pidfile");
    let [of_the_server, of_the_client] = ["server", "client"].map(|name| directory.file(name));
    let server = Server::start(&format!("-I {}", of_the_server.display()));
    assert_eq!(until("a number", || number_in(&of_the_server)), server.running.id());
    let options = format!("-t 20 --pidfile {}", of_the_client.display());
    let client = Running::start(client(server.port, &options));
    assert_eq!(until("a number", || number_in(&of_the_client)), client.id());
    let another = format!("-s -p {} -I {}", free_port(), of_the_server.display());
    run(iperf3(&another)).assert_error("Another instance");
    client.signal("INT");
    client.finish();
    server.stop();
    assert!(!of_the_server.exists() && !of_the_client.exists(), "they are removed at the end");
}

#[test]
fn what_is_no_ordinary_file_is_not_taken_for_a_pidfile() {
    let directory = Directory::new("no-pidfile");
    let socket = directory.file("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let options = format!("-s -p {} -I {}", free_port(), socket.display());
    run(iperf3(&options)).assert_error("it is no ordinary file");
    assert!(socket.exists(), "and it stays where it is");
}

/// iperf3 ends the number with a zero byte, which some scripts take away.
fn number_in(pidfile: &Path) -> Option<u32> {
    fs::read_to_string(pidfile).ok()?.trim_end_matches('\0').trim().parse().ok()
}

fn has_two_cpus() -> bool {
    let own = allowed_cpus(std::process::id());
    let has = own.iter().any(|cpus| cpus.starts_with("0-"));
    has || skip::<()>("CPUs 0 and 1 are needed").is_some()
}
