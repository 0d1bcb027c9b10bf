//! How others learn that a server is ready, and that it stops.

use std::fs;
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

use crate::support::{Directory, PATIENCE, Running, Server, linerate, run, test, until};

#[test]
fn the_ready_file_holds_the_address_while_the_server_listens() {
    let directory = Directory::new("ready");
    let file = directory.file("address");
    let mut serve = linerate("serve --quiet --bind 127.0.0.1 --port 0 --ready-file");
    serve.arg(&file);
    let server = Running::start(serve);
    let text = await_text(&file);
    let address = text.strip_suffix('\n').expect("a line").parse().expect("an address");
    // It is open as soon as the file is there.
    TcpStream::connect_timeout(&address, PATIENCE).expect("a connection");
    assert_eq!(directory.names(), ["address"], "no draft is left");
    server.signal("TERM");
    server.finish().assert_success();
    assert!(directory.names().is_empty(), "{:?}", directory.names());
}

#[test]
fn a_ready_file_of_an_earlier_server_is_replaced() {
    let directory = Directory::new("ready-again");
    let file = directory.file("address");
    fs::write(&file, "an address that is no longer served, and a long one\n").expect("a file");
    let server = Server::spawn(serve_with(&file));
    assert_eq!(await_text(&file), format!("{}\n", server.address));
    drop(server);
    assert_eq!(directory.names(), ["address"], "what was killed removes nothing");
}

#[test]
fn a_ready_file_that_another_server_took_over_stays() {
    let directory = Directory::new("ready-taken");
    let file = directory.file("address");
    let server = Server::spawn(serve_with(&file));
    let draft = directory.file("draft");
    fs::write(&draft, "another server\n").expect("a file");
    fs::rename(&draft, &file).expect("a new name");
    server.running.signal("TERM");
    server.finish();
    assert_eq!(fs::read_to_string(&file).expect("a file"), "another server\n");
}

#[test]
fn what_is_no_ordinary_file_is_not_overwritten() {
    let directory = Directory::new("ready-odd");
    let link = directory.file("link");
    symlink("elsewhere", &link).expect("a link");
    for odd in [Path::new("/dev/null"), directory.path(), &link] {
        let words = [&format!("cannot write ready file {}", odd.display()), "no ordinary file"];
        run(serve_with(odd)).assert_refusal(1, &words);
    }
    assert!(fs::metadata("/dev/null").expect("a device").file_type().is_char_device());
    assert_eq!(directory.names(), ["link"]);
}

#[test]
fn a_ready_file_without_a_directory_is_an_error() {
    let directory = Directory::new("ready-nowhere");
    let file = directory.file("none/address");
    let words = ["cannot write ready file", "no such file", "make its directory first"];
    run(serve_with(&file)).assert_refusal(1, &words);
}

#[test]
fn a_service_manager_is_told_of_the_start_and_of_the_stop() {
    let name = format!("linerate-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let manager = UnixDatagram::bind_addr(&address).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut serve = linerate("serve --bind 127.0.0.1 --port 0");
    serve.env("NOTIFY_SOCKET", format!("@{name}"));
    let server = Server::spawn(serve);
    let status = format!("READY=1\nSTATUS=listens on {}\n", server.address);
    assert_eq!(message(&manager), status);
    test(&server, "--tcp --send -t 50ms").assert_success();
    server.running.signal("TERM");
    let stop = message(&manager);
    assert!(stop.starts_with("STOPPING=1\nSTATUS="), "{stop}");
    server.finish();
}

fn serve_with(ready_file: &Path) -> std::process::Command {
    let mut serve = linerate("serve --bind 127.0.0.1 --port 0 --ready-file");
    serve.arg(ready_file);
    serve
}

fn await_text(file: &Path) -> String {
    until(&file.display().to_string(), || fs::read_to_string(file).ok())
}

fn message(manager: &UnixDatagram) -> String {
    let mut bytes = [0; 512];
    let length = manager.recv(&mut bytes).expect("a message");
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}
