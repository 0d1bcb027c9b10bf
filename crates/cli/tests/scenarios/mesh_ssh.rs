//! Meshes by ssh: an sshd in each of four namespaces.

use std::fs;
use std::os::unix::fs::PermissionsExt;
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
    fn new(name: &str, with_linerate: bool) -> Option<Self> {
        let sshd = Path::new("/usr/sbin/sshd");
        if !sshd.exists() {
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
        hosts.configure(with_linerate);
        for host in 1..=HOSTS {
            let server = hosts.sshd(host);
            hosts.servers.push(Some(server));
        }
        Some(hosts)
    }

    /// Configurations of sshd and of ssh.
    fn configure(&self, with_linerate: bool) {
        let file = |name: &str| self.fabric.file(name).display().to_string();
        let bin = self.fabric.file("bin");
        fs::create_dir_all(&bin).expect("a directory");
        if with_linerate {
            let program = linerate("").get_program().to_owned();
            std::os::unix::fs::symlink(program, bin.join("linerate")).expect("a link");
        }
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", bin.display());
        let server = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nPermitRootLogin yes\nPidFile none\n\
             UsePAM no\nSetEnv PATH={path} XDG_CACHE_HOME={}\n",
            file("host"),
            file("authorized"),
            file("cache")
        );
        fs::write(self.fabric.file("sshd_config"), server).expect("a file");
        let mut client = format!(
            "IdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile /dev/null\n\
             StrictHostKeyChecking no\nLogLevel ERROR\n",
            file("user")
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
        command.arg("-f").arg(self.fabric.file("sshd_config"));
        Running::start(command)
    }

    fn mesh(&self, options: &str) -> Finished {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.fabric.name(0)]).arg(linerate("").get_program());
        command.args(["mesh", "--quiet", "--json", "-t", "500ms", "--hosts"]);
        command.arg(self.fabric.file("hosts")).arg("--ssh-config");
        command.arg(self.fabric.file("ssh_config")).args(options.split_whitespace());
        run(program(command))
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

    /// The copies in the cache of the hosts.
    fn copies(&self) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.fabric.file("cache").join("linerate"));
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

#[test]
fn all_pairs_are_tested_by_ssh_and_no_agent_is_left() {
    let Some(mut hosts) = Hosts::new("ssh", true) else { return };
    let finished = hosts.mesh("");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["rates"].as_array().map(Vec::len), Some(12), "{record:#}");
    until("end of the agents", || (hosts.agents() == 0).then_some(()));
    // A host that does not answer is lost for the reason that ssh gives.
    let server = hosts.servers[2].take().expect("a server");
    server.signal("TERM");
    _ = server.finish();
    let finished = hosts.mesh("");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let lost = format!("{} is lost: ssh: connect to host 10.77.0.3", hosts.fabric.name(3));
    assert!(finished.stderr.contains(&lost), "{finished:?}");
    assert_eq!(finished.json()["rates"].as_array().map(Vec::len), Some(6), "{finished:?}");
}

#[test]
fn the_program_is_copied_once_to_hosts_that_have_none() {
    let Some(hosts) = Hosts::new("push", false) else { return };
    let without = hosts.mesh("");
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.stderr.contains("not found: install it there, or add --push"), "{without:?}");
    // All hosts have one home here, as on a cluster; each may bring the copy.
    let finished = hosts.mesh("--push");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["rates"].as_array().map(Vec::len), Some(12), "{record:#}");
    let copies = hosts.copies();
    let [copy] = &copies[..] else { panic!("one copy: {copies:?}") };
    let seen = || fs::metadata(copy).expect("the copy");
    assert_eq!(seen().permissions().mode() & 0o777, 0o700);
    let before = seen().modified().expect("a time");
    let again = hosts.mesh("--push");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(seen().modified().expect("a time"), before);
    let refused = run(linerate("mesh --push --hosts x --via {host}"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

const HOSTS: u32 = 4;
