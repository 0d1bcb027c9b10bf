//! The plain loops in C, built when they are needed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use testbed::program::{Installed, PLAIN};

use crate::command;
use crate::packages;
use crate::workspace::Workspace;

/// The one of that name.
pub(super) fn program(name: &str) -> Result<Installed> {
    Ok(Installed::known(&PLAIN, path(name)?))
}

/// Where the one of that name is.
pub(super) fn path(name: &str) -> Result<PathBuf> {
    build(&Workspace::find()?, name)
}

/// Compiles it into the target folder and says where it is.
fn build(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    ensure!(packages::is_there("cc"), "no C compiler; install one with `apt-get install gcc`");
    let folder = workspace.target.join("bench");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let program = folder.join(name);
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]);
    command::run(
        compile.arg(&program).arg(workspace.root.join(SOURCES).join(format!("{name}.c"))),
    )?;
    Ok(program)
}

const SOURCES: &str = "xtask/src/bench/reference";

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    use serde_json::Value;
    use testbed::port;
    use testbed::process::Running;

    use super::*;

    /// More streams than the loop takes from its epoll at once, and two tests of one server.
    #[test]
    fn the_loop_counts_what_it_sent_over_every_stream() {
        let program =
            build(&Workspace::find().expect("a workspace"), "streams").expect("it compiles");
        let port = port::free().expect("loopback is there").to_string();
        let mut server = Command::new(&program);
        server.args(["server", "127.0.0.1", &port, "200"]);
        let mut server = Running::start(server).expect("it starts");
        let printed = [client(&program, &port), client(&program, &port)];
        assert!(server.is_running());
        for one in printed {
            let number = |name: &str| one[name].as_f64().expect("a number");
            assert!(number("bytes") >= 200.0 * number("least") && number("bytes") > 0.0, "{one}");
            assert!(number("seconds") >= 0.5 && number("jain") <= 1.0, "{one}");
            assert_eq!(one["streams"], 200);
        }
    }

    /// Tries again while the server does not listen yet.
    fn client(program: &Path, port: &str) -> Value {
        for _ in 0..100 {
            let words = ["client", "127.0.0.1", port, "200", "0.5", "reno"];
            let output = Command::new(program).args(words).output().expect("it starts");
            if output.status.success() {
                return serde_json::from_slice(&output.stdout).expect("JSON");
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("no client came through");
    }
}
