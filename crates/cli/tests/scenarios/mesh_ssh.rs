//! Meshes by ssh: an sshd in each of four namespaces.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::mesh::Fabric;
use crate::shared::{Finished, Running, linerate, program, run, skip, until};

/// Hosts with sshd, and keys that only this test knows.
struct Hosts {
    servers: Vec<Option<Running>>,
    fabric: Fabric,
}

impl Hosts {
    /// The first hosts have linerate in their `PATH`.
    fn new(name: &str, with_linerate: u32) -> Option<Self> {
        if !Path::new("/usr/sbin/sshd").exists() {
            return skip("no sshd");
        }
        let fabric = Fabric::new(name, HOSTS, 500)?;
        fabric.coordinator(10);
        fs::create_dir_all("/run/sshd").expect("the directory of sshd");
        for key in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(fabric.file(key));
            assert!(keygen.status().expect("ssh-keygen").success());
        }
        fs::rename(fabric.file("user.pub"), fabric.file("authorized")).expect("a key");
        let mut hosts = Self { servers: Vec::new(), fabric };
        hosts.configure();
        for host in 1..=HOSTS {
            hosts.configure_sshd(host);
            if host <= with_linerate {
                let program = linerate("").get_program().to_owned();
                let link = hosts.bin(host).join("linerate");
                symlink(program, link).expect("a link");
            }
            let server = hosts.sshd(host);
            hosts.servers.push(Some(server));
        }
        let listen = || (1..=HOSTS).all(|host| hosts.has_sshd(host)).then_some(());
        until("sshd on each host", listen);
        Some(hosts)
    }

    /// Has programs of one host, first in its `PATH`.
    fn bin(&self, host: u32) -> PathBuf {
        self.fabric.file(&format!("bin-{host}"))
    }

    /// A script in place of a program of one host.
    fn replace(&self, host: u32, program: &str, script: &str) {
        let file = self.bin(host).join(program);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// The configuration of sshd. All hosts but the first have one home, as on a cluster.
    fn configure_sshd(&self, host: u32) {
        let file = |name: &str| self.fabric.file(name).display().to_string();
        let bin = self.bin(host);
        fs::create_dir_all(&bin).expect("a directory");
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", bin.display());
        let server = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nPermitRootLogin yes\nPidFile none\n\
             UsePAM no\nSetEnv PATH={path} XDG_CACHE_HOME={}\n",
            file("host"),
            file("authorized"),
            file(if host == 1 { "cache-1" } else { "cache" })
        );
        fs::write(self.fabric.file(&format!("sshd_config-{host}")), server).expect("a file");
    }

    /// The configuration of ssh, which warns of each new host.
    fn configure(&self) {
        let mut client = format!(
            "IdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile /dev/null\n\
             StrictHostKeyChecking no\n",
            self.fabric.file("user").display()
        );
        for host in 1..=HOSTS {
            let name = self.fabric.name(host);
            client.push_str("Host ");
            client.push_str(&name);
            client.push_str("\n  HostName 10.77.0.");
            client.push_str(&host.to_string());
            client.push('\n');
        }
        fs::write(self.fabric.file("ssh_config"), client).expect("a file");
    }

    fn sshd(&self, host: u32) -> Running {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.fabric.name(host), "/usr/sbin/sshd", "-D", "-q"]);
        command.arg("-f").arg(self.fabric.file(&format!("sshd_config-{host}")));
        Running::start(command)
    }

    /// Whether a socket listens at port 22 (`0016`, state `0A` of proc(5)).
    fn has_sshd(&self, host: u32) -> bool {
        let mut grep = Command::new("ip");
        grep.args(["netns", "exec", &self.fabric.name(host), "grep", "-q", ":0016 .* 0A "]);
        grep.arg("/proc/net/tcp").status().is_ok_and(|status| status.success())
    }

    fn mesh(&self, options: &str) -> Finished {
        run(self.command(options))
    }

    fn command(&self, options: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.fabric.name(0)]).arg(linerate("").get_program());
        command.args(["mesh", "--quiet", "--json", "-t", "500ms", "--hosts"]);
        command.arg(self.fabric.file("hosts")).arg("--ssh-config");
        command.arg(self.fabric.file("ssh_config")).args(options.split_whitespace());
        program(command)
    }

    /// Processes of agents on all hosts.
    fn agents(&self) -> usize {
        let pids = |host| {
            let mut command = Command::new("ip");
            let output = command.args(["netns", "pids", &self.fabric.name(host)]).output();
            String::from_utf8(output.expect("ip-netns(8)").stdout).expect("numbers")
        };
        let is_agent = |pid: &str| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == b"mesh-agent")
        };
        (1..=HOSTS).map(|host| pids(host).lines().filter(|pid| is_agent(pid)).count()).sum()
    }

    /// The copies in a cache.
    fn copies(&self, cache: &str) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.fabric.file(cache).join("linerate"));
        folder.map_or(Vec::new(), |files| files.map(|file| file.expect("a file").path()).collect())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for server in self.servers.iter().flatten() {
            server.signal("TERM");
        }
    }
}

/// Directions that have a rate, and hosts that are lost.
fn measured(finished: &Finished) -> [usize; 2] {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let record = finished.json();
    ["rates", "lost"].map(|name| record[name].as_array().map_or(0, Vec::len))
}

#[test]
fn all_pairs_are_tested_by_ssh_and_no_agent_is_left() {
    let Some(mut hosts) = Hosts::new("ssh", HOSTS) else { return };
    let finished = hosts.mesh("");
    assert_eq!(measured(&finished), [12, 0], "{finished:?}");
    until("end of the agents", || (hosts.agents() == 0).then_some(()));
    // A host that does not answer is lost for the reason that ssh gives.
    let server = hosts.servers[2].take().expect("a server");
    server.signal("TERM");
    _ = server.finish();
    let finished = hosts.mesh("");
    assert_eq!(measured(&finished), [6, 1], "{finished:?}");
    let lost = format!("{} is lost: ssh: connect to host 10.77.0.3", hosts.fabric.name(3));
    assert!(finished.stderr.contains(&lost), "{finished:?}");
    until("end of the agents", || (hosts.agents() == 0).then_some(()));
}

#[test]
fn the_program_is_copied_once_to_hosts_that_have_none_of_its_version() {
    let Some(hosts) = Hosts::new("push", 1) else { return };
    let without = hosts.mesh("");
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.stderr.contains("not found: install it there, or add --push"), "{without:?}");
    let other = "[ \"$1\" = --version ] && echo 'linerate 0.0.1' && exit; exit 2";
    hosts.replace(4, "linerate", other);
    let finished = hosts.mesh("--push");
    assert_eq!(measured(&finished), [12, 0], "{finished:?}");
    assert!(hosts.copies("cache-1").is_empty(), "the first host has it");
    let copies = hosts.copies("cache");
    let [copy] = &copies[..] else { panic!("one copy: {copies:?}") };
    let seen = || fs::metadata(copy).expect("the copy");
    assert_eq!(seen().permissions().mode() & 0o777, 0o700);
    let before = (seen().ino(), seen().modified().expect("a time"));
    let again = hosts.mesh("--push");
    assert_eq!(measured(&again), [12, 0], "{again:?}");
    assert_eq!((seen().ino(), seen().modified().expect("a time")), before);
    until("end of the agents", || (hosts.agents() == 0).then_some(()));
    // A host of another architecture is lost for this reason, not for what ssh warns of.
    hosts.replace(3, "uname", "echo pdp11");
    let finished = hosts.mesh("--push");
    assert_eq!(measured(&finished), [6, 1], "{finished:?}");
    let words =
        format!("it is pdp11, and this linerate is for {}: install", std::env::consts::ARCH);
    assert!(finished.stderr.contains(&words), "{finished:?}");
    assert_eq!(hosts.copies("cache").len(), 1);
}

#[test]
fn a_copy_that_is_interrupted_leaves_nothing() {
    let Some(hosts) = Hosts::new("int", 1) else { return };
    let waits = hosts.fabric.file("waits");
    hosts.replace(3, "uname", &format!(": > {}; read line; exit 1", waits.display()));
    let running = Running::start(hosts.command("--push"));
    until("host that waits", || waits.exists().then_some(()));
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert!(!finished.stderr.contains("is lost"), "{finished:?}");
    until("end of the agents", || (hosts.agents() == 0).then_some(()));
    let is_part = |file: &PathBuf| !file.to_string_lossy().ends_with(std::env::consts::ARCH);
    until("end of the parts", || (!hosts.copies("cache").iter().any(is_part)).then_some(()));
}

#[test]
fn a_copy_is_refused_without_ssh() {
    for (options, of) in [
        ("--hosts x --via {host}", "--via"),
        ("--slurm", "--slurm"),
        ("--kubernetes --nodes 2", "--kubernetes"),
        ("--join x:1 --nodes 2", "--join"),
    ] {
        let refused = run(linerate(&format!("mesh --push {options}")));
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let is_said = refused.stderr.contains("--push") && refused.stderr.contains(of);
        assert!(is_said && refused.stderr.lines().count() == 1, "{refused:?}");
    }
}

const HOSTS: u32 = 4;
