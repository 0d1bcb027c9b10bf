//! What a server that runs may still do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::support::{
    Directory, Running, Server, free_port, json, linerate, run, skip, test, under_way,
    unprivileged, until,
};

#[test]
fn a_server_keeps_no_capability_in_any_thread() {
    let server = Server::start_with("--bind 127.0.0.1");
    for thread in threads_during_a_test(&server) {
        assert_powerless(&thread, 0);
    }
    assert_serves(&server);
}

#[test]
fn every_thread_of_a_server_has_the_filter_of_system_calls() {
    let Some(server) = filtered_server() else { return };
    for thread in threads_during_a_test(&server) {
        // SECCOMP_MODE_FILTER (proc(5)).
        assert_eq!(thread["Seccomp"], "2", "{thread:?}");
    }
    assert_serves(&server);
}

#[test]
fn drop_in_servers_and_probes_have_that_filter_in_each_thread() {
    if filtered_server().is_none() {
        return;
    }
    for (words, client) in [
        ("iperf3 -s -B 127.0.0.1 -p", Some("iperf3 -c 127.0.0.1 -t 60 -b 20M -p")),
        ("iperf -s -B 127.0.0.1 -p", Some("iperf -c 127.0.0.1 -t 60 -b 20M -p")),
        ("probe --allow 127.0.0.1 --listen 127.0.0.1:", None),
    ] {
        let port = free_port();
        let address = if words.ends_with(':') { port.to_string() } else { format!(" {port}") };
        let service = linerate(&format!("{words}{address}"));
        let service = Running::start_listening(service, port);
        let client = client.map(|words| Running::start(linerate(&format!("{words} {port}"))));
        let threads = until("its threads", || {
            let threads = threads(service.id());
            (threads.len() > 1).then_some(threads)
        });
        for thread in threads {
            assert_eq!(thread["Seccomp"], "2", "{words}: {thread:?}");
        }
        drop(client);
    }
}

#[test]
fn a_server_becomes_the_user_it_is_told() {
    if !is_root() {
        return skip("only root becomes another user").unwrap_or_default();
    }
    let server = Server::start_with("--bind 127.0.0.1 --user 65534");
    for thread in threads_during_a_test(&server) {
        assert_powerless(&thread, 0);
        for ids in ["Uid", "Gid"] {
            assert_eq!(thread[ids], "65534\t65534\t65534\t65534", "{thread:?}");
        }
        assert_eq!(thread["Groups"], "", "{thread:?}");
    }
    assert_serves(&server);
}

#[test]
fn a_server_of_root_is_a_user_of_its_own() {
    if !is_root() {
        return skip("only root becomes another user").unwrap_or_default();
    }
    let servers = [(); 2].map(|()| Server::start_with("--bind 127.0.0.1"));
    let users = servers.each_ref().map(|server| {
        let threads = threads_during_a_test(server);
        let users: BTreeSet<_> = threads.iter().map(|thread| thread["Uid"].clone()).collect();
        assert_eq!(users.len(), 1, "{threads:?}");
        let of_one: BTreeSet<_> = threads[0]["Uid"].split('\t').collect();
        let [user] = of_one.into_iter().collect::<Vec<_>>()[..] else { panic!("one user") };
        assert_serves(server);
        user.parse::<u32>().expect("a number")
    });
    if users.contains(&0) {
        return skip("this namespace has no user but root").unwrap_or_default();
    }
    assert!(
        users[0] != users[1] && users.iter().all(|user| (61_184..=65_519).contains(user)),
        "{users:?}"
    );
}

#[test]
fn a_server_on_a_low_port_keeps_what_it_needs_for_that() {
    if !is_root() {
        return skip("only root binds low ports").unwrap_or_default();
    }
    let Some(port) = free_low_port() else { return };
    let options = format!("serve --bind 127.0.0.1 --verbose --port {port} --user 65534");
    let server = Server::spawn(linerate(&options));
    for thread in threads_during_a_test(&server) {
        assert_powerless(&thread, NET_BIND_SERVICE);
        assert_eq!(thread["Uid"], "65534\t65534\t65534\t65534", "{thread:?}");
    }
    assert_serves(&server);
}

#[test]
fn the_ready_file_belongs_to_the_user_and_goes_with_the_server() {
    if !is_root() {
        return skip("only root becomes another user").unwrap_or_default();
    }
    // The build directory may be closed to others.
    let name = format!("/tmp/linerate-ready-{}", std::process::id());
    fs::create_dir(&name).expect("a directory");
    fs::set_permissions(&name, fs::Permissions::from_mode(0o777)).expect("a mode");
    let options = format!("--bind 127.0.0.1 --user 65534 --ready-file {name}/address");
    let server = Server::start_with(&options);
    assert_eq!(fs::metadata(format!("{name}/address")).expect("a file").uid(), 65534);
    server.running.signal("TERM");
    server.finish();
    fs::remove_dir(&name).expect("an empty directory");

    let closed = Directory::new("ready-closed");
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
    let file = closed.path().join("address").display().to_string();
    let serve = format!("serve --bind 127.0.0.1 --port 0 --user 65534 --ready-file {file}");
    let words =
        [&format!("cannot write ready file {file}: permission denied"), "choose a directory"];
    run(linerate(&serve)).assert_refusal(1, &words);
}

#[test]
fn pinning_and_congestion_control_work_without_privileges() {
    let server = Server::start_with("--bind 127.0.0.1 --cpus 0");
    test(&server, "--tcp --receive -t 50ms").assert_success();
    let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let allowed = allowed.expect("a setting");
    let name = allowed.split_whitespace().next().expect("one at least");
    let record = json(&server, &format!("--tcp --receive -t 50ms --congestion {name}"));
    assert_eq!(record["outcome"]["ending"]["state"], "completed", "{record}");
}

#[test]
fn a_user_that_does_not_exist_is_a_usage_error() {
    let finished = run(linerate("serve --port 0 --user no-such-user"));
    finished.assert_refusal(2, &["no user is called 'no-such-user'", "getent passwd"]);
}

#[test]
fn who_is_not_root_becomes_nobody_else() {
    let Some(serve) = unprivileged("serve --bind 127.0.0.1 --port 0 --user root") else { return };
    run(serve).assert_refusal(1, &["cannot become user 'root'", "start as root or omit --user"]);
}

/// What /proc tells of each thread while a test runs, whose workers are among them.
fn threads_during_a_test(server: &Server) -> Vec<BTreeMap<String, String>> {
    let running = under_way(server, "--tcp --send -P 2 -b 20M -t 60s");
    let threads = threads(server.running.id());
    let names: Vec<_> = threads.iter().map(|thread| thread["Name"].as_str()).collect();
    assert!(names.contains(&"linerate") && names.len() >= 3, "{names:?}");
    running.signal("INT");
    assert_eq!(running.finish().code, Some(130));
    threads
}

/// A server with the filter of system calls, if this kernel has filters.
fn filtered_server() -> Option<Server> {
    let server = Server::start_with("--bind 127.0.0.1");
    let line = server.line_with("system call");
    if line.contains("may make any") {
        return skip(&line);
    }
    Some(server)
}

/// The threads of a process, as proc(5) tells of them.
fn threads(process: u32) -> Vec<BTreeMap<String, String>> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("threads");
    threads
        .map(|thread| fs::read_to_string(thread.expect("a thread").path().join("status")))
        // It may have ended.
        .filter_map(Result::ok)
        .map(|status| fields(&status))
        .collect()
}

fn fields(status: &str) -> BTreeMap<String, String> {
    let pairs = status.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

/// A thread has only the capabilities `kept`, and can get no others.
fn assert_powerless(thread: &BTreeMap<String, String>, kept: u64) {
    let set = |name: &str| u64::from_str_radix(&thread[name], 16).expect("hexadecimal");
    assert_eq!((set("CapEff"), set("CapPrm")), (kept, kept), "{thread:?}");
    assert_eq!((set("CapInh"), set("CapAmb")), (0, 0), "{thread:?}");
    // Only who has `CAP_SETPCAP` can take from this set, which does no harm then.
    if is_root() {
        assert_eq!(set("CapBnd"), kept, "{thread:?}");
    }
    assert_eq!(thread["NoNewPrivs"], "1", "{thread:?}");
}

fn assert_serves(server: &Server) {
    for transport in ["--tcp", "--udp"] {
        for direction in ["--send", "--receive", "--bidir"] {
            test(server, &format!("{transport} {direction} -P 2 -t 50ms")).assert_success();
        }
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// A port below 1024 that is free for TCP and UDP.
fn free_low_port() -> Option<u16> {
    let is_free = |port: &u16| {
        let address = (Ipv4Addr::LOCALHOST, *port);
        TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()
    };
    let setting = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    let lowest = setting.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(1024);
    let port = (1..lowest).rev().find(is_free);
    if port.is_some() { port } else { skip("no low port can be bound here") }
}

/// `CAP_NET_BIND_SERVICE` is number 10 in `linux/capability.h`.
const NET_BIND_SERVICE: u64 = 1 << 10;
