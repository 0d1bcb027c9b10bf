//! Engines on systems that refuse them something: another engine with its reason, or one
//! sentence, and never a hang.

use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::Value;

use crate::support::{
    Finished, Running, Server, client, json, json_across, limited, linerate, link, run, shell,
    test, unprivileged,
};

#[test]
fn a_client_without_io_uring_says_so() {
    let server = Server::start();
    let options = ["--send --engine uring", "--send --engine uring-zerocopy"];
    for options in options.into_iter().chain(["--receive --engine uring-multishot"]) {
        let command = client(&server, &format!("--tcp -t 1s {options}"));
        let finished = without_io_uring(|| run(command));
        finished.assert_refusal(1, &["cannot use engine 'uring", "io_uring is forbidden"]);
    }
}

#[test]
fn a_server_without_io_uring_uses_another_engine_and_says_so() {
    let server = without_io_uring(Server::start);
    let replaced = [("--receive", "uring", "write"), ("--send", "uring-multishot", "read")];
    for (direction, wanted, used) in replaced {
        let finished = test(
            &server,
            &format!("--tcp {direction} -t 200ms --engine {wanted} --format details"),
        );
        finished.assert_success();
        let note = format!("{wanted} cannot be used, {used} was: io_uring is forbidden");
        finished.assert_prints(&[&note]);
    }
}

#[test]
fn the_search_for_the_fastest_goes_on_without_io_uring() {
    let server = Server::start();
    let command = client(&server, "--tcp --send -t 200ms --fastest --json");
    let finished = without_io_uring(|| run(command));
    finished.assert_success();
    let record = finished.json();
    let trials = record["trials"]["engines"].as_array().expect("trials");
    let of_uring = |trial: &&Value| trial["engines"][0].as_str() == Some("uring");
    let refused = trials.iter().find(of_uring).expect("it was tried");
    assert!(refused["error"].as_str().is_some_and(|why| why.contains("forbidden")), "{refused}");
    assert_ne!(direction(&record)["engines"]["send"]["name"], "uring");
}

#[test]
fn sends_in_place_that_the_kernel_cannot_note_are_written_and_counted() {
    let Some(link) = link() else { return };
    // Not every kernel has one for each namespace.
    if !shell(&link.near, "echo 0 > /proc/sys/net/core/optmem_max") {
        return;
    }
    let _server = Server::start_on(&link.far, "");
    let record = json_across(&link, "--tcp --send -n 8M --engine zerocopy");
    assert_all_written(&record, "zerocopy");
}

#[test]
fn pages_that_must_not_be_locked_are_written_and_counted() {
    let server = Server::start();
    for engine in ["zerocopy", "uring-zerocopy"] {
        // A ring needs a few pages itself.
        let kibibytes = if engine == "zerocopy" { 0 } else { 64 };
        let options = format!("--tcp --send -n 8M --engine {engine} --json");
        let Some(finished) = locking(&server, kibibytes, &options) else { return };
        if finished.ran_to_its_end() {
            assert_all_written(&finished.json(), engine);
        } else {
            finished.assert_refusal(1, &["cannot use engine", "ulimit -l"]);
        }
    }
}

#[test]
fn a_ring_that_gets_no_memory_is_refused_in_one_sentence() {
    let server = Server::start();
    for engine in ["uring", "uring-zerocopy"] {
        let options = format!("--tcp --send -t 200ms --engine {engine}");
        let Some(finished) = locking(&server, 0, &options) else { return };
        // Some kernels do not count the memory of rings as locked.
        if finished.ran_to_its_end() {
            finished.assert_prints(&[&format!("sent by {engine}")]);
        } else {
            finished.assert_refusal(1, &["cannot use engine 'uring", "ulimit -l"]);
        }
    }
}

#[test]
fn a_server_sends_by_every_engine_or_says_which_it_used() {
    let server = Server::start();
    for engine in ["sendfile", "vmsplice", "zerocopy", "uring", "uring-zerocopy"] {
        let record = json(&server, &format!("--tcp --receive -n 8M --engine {engine}"));
        let outcome = direction(&record);
        let used = &outcome["engines"]["send"];
        assert!(used["name"] == engine || used["instead_of"]["name"] == engine, "{outcome}");
        assert_eq!(outcome["delivered"]["bytes"], 8 << 20, "{outcome}");
    }
}

#[test]
fn every_engine_gets_along_with_a_tiny_buffer() {
    let server = Server::start();
    let engines = ["write", "sendfile", "vmsplice", "zerocopy", "uring", "uring-zerocopy"];
    for engine in engines {
        let record = json(&server, &format!("--tcp --send -t 300ms -w 4K --engine {engine}"));
        let outcome = direction(&record);
        assert_eq!(outcome["engines"]["send"]["name"], engine, "{outcome}");
        let bytes = |of: &str| outcome[of]["bytes"].as_u64();
        assert!(bytes("delivered") > Some(0), "{outcome}");
        // Of what was offered the end may still lie in the buffer.
        assert!(bytes("delivered") <= bytes("offered"), "{engine}: {outcome}");
        let notes = record["outcome"]["notes"].to_string();
        assert!(!notes.contains("the peer reports more"), "{engine}: {notes}");
    }
}

#[test]
fn a_payload_in_a_file_that_must_not_grow_is_refused_here_and_replaced_there() {
    let server = Server::start();
    let options = "-t 200ms --engine sendfile --format details";
    let finished = run(limited("-f 0", &client(&server, &format!("--tcp --send {options}"))));
    finished.assert_refusal(1, &["cannot use engine 'sendfile'", "file too large"]);
    let serve = linerate("serve --verbose --port 0 --bind 127.0.0.1");
    let server = Server::spawn(limited("-f 0", &serve));
    let finished = test(&server, &format!("--tcp --receive {options}"));
    finished.assert_success();
    let note = "sendfile cannot be used, write was: file too large";
    finished.assert_prints(&[note]);
}

#[test]
fn too_few_descriptors_for_pipes_and_rings_are_told_in_one_sentence() {
    let server = Server::start();
    for engine in ["vmsplice", "uring"] {
        let options = format!("--tcp --send -t 200ms -P 100 --engine {engine}");
        let finished = run(limited("-n 180", &client(&server, &options)));
        finished.assert_refusal(1, &[&format!("cannot use engine '{engine}'"), "ulimit -n"]);
    }
}

#[test]
fn a_server_without_descriptors_waits_and_serves_again() {
    let server = Server::start();
    let files = |most: &str| {
        let process = server.running.id().to_string();
        let limit = format!("--nofile={most}:");
        let done = Command::new("prlimit").args(["--pid", &process, &limit]).status();
        done.is_ok_and(|status| status.success())
    };
    if !files("8") {
        return;
    }
    // Each accept(2) fails with EMFILE, and the connections stay in the queue.
    let waiting: Vec<_> = (0..5).map(|_| TcpStream::connect(server.address)).collect();
    assert!(waiting.iter().all(Result::is_ok), "{waiting:?}");
    let usage = server.running.usage();
    let before = usage.cpu_time().expect("it runs");
    std::thread::sleep(Duration::from_secs(1));
    let took = usage.cpu_time().expect("it runs").saturating_sub(before);
    assert!(took < Duration::from_millis(500), "it takes {took:?} of a second to wait");
    assert!(files("1024"), "more are allowed");
    drop(waiting);
    test(&server, "--tcp --send -t 100ms").assert_success();
}

#[test]
fn calls_that_signals_interrupt_are_made_again() {
    let server = Server::start();
    let client = client(&server, "--tcp --bidir -n 64M -b 400M --json");
    let client = Running::start(client);
    // Stopped and continued, a process finds its call interrupted (signal(7)).
    for _ in 0..40 {
        for process in [&*client, &*server.running] {
            for signal in ["STOP", "CONT"] {
                // One that has ended needs none.
                _ = process.signal(signal);
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let finished = client.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let record = finished.json();
    let directions = record["outcome"]["directions"].as_array().expect("directions");
    let delivered = directions.iter().map(|one| one["delivered"]["bytes"].as_u64());
    assert!(delivered.clone().all(|bytes| bytes > Some(60 << 20)), "{directions:?}");
}

fn direction(record: &Value) -> &Value {
    &record["outcome"]["directions"][0]
}

/// The engine ran, every byte arrived, and all of them were copied by way of exception.
fn assert_all_written(record: &Value, engine: &str) {
    let outcome = direction(record);
    let used = &outcome["engines"]["send"];
    assert_eq!(used["name"], engine, "{outcome}");
    assert_eq!(outcome["delivered"]["bytes"], 8 << 20, "{outcome}");
    assert!(used["in_place"]["written"].as_u64() > Some(0), "{outcome}");
}

/// A test by a user who must not lock more than so many KiB; none if there is no such user.
fn locking(server: &Server, kibibytes: u32, options: &str) -> Option<Finished> {
    let command = unprivileged(&server.arguments("test", options))?;
    Some(run(limited(&format!("-l {kibibytes}"), &command)))
}

/// Does `work` where io_uring_setup(2) is refused, as containers refuse it; what it starts does
/// without too.
fn without_io_uring<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let filtered = || {
        seccompiler::apply_filter(&filter()).expect("a filter");
        work()
    };
    std::thread::scope(|scope| scope.spawn(filtered).join()).expect("a thread of ours")
}

fn filter() -> BpfProgram {
    let architecture = std::env::consts::ARCH.try_into().expect("an architecture with seccomp");
    let calls = [(IO_URING_SETUP, Vec::new())].into_iter().collect();
    let (other, these) = (SeccompAction::Allow, SeccompAction::Errno(EPERM));
    let filter = SeccompFilter::new(calls, other, these, architecture).expect("two actions");
    filter.try_into().expect("a short program")
}

/// `asm-generic/unistd.h`; the same on x86.
const IO_URING_SETUP: i64 = 425;
/// `asm-generic/errno-base.h`.
const EPERM: u32 = 1;
