//! Build script: sets the commit, target and features that `linerate --version` prints.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    // A build for tests is not built anew with each commit.
    let commit = if variable("PROFILE") == "release" { commit() } else { None };
    let commit = commit.map_or(String::new(), |commit| format!(" ({commit})"));
    // As in Cargo.toml, with commas between them.
    let features = variable("CARGO_CFG_FEATURE");
    let is_one = |name: &&str| !matches!(*name, "" | "default");
    let features: Vec<_> = features.split(',').filter(is_one).collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(" ") };
    println!("cargo:rustc-env=LINERATE_COMMIT={commit}");
    println!("cargo:rustc-env=LINERATE_TARGET={}", variable("TARGET"));
    println!("cargo:rustc-env=LINERATE_FEATURES={features}");
}

/// The commit and its day; none if these sources are not the work tree of a repository of their
/// own, but unpacked, perhaps within one of others.
fn commit() -> Option<String> {
    let folder = env::var("CARGO_MANIFEST_DIR").ok()?;
    let root = Path::new(&folder).ancestors().nth(2)?.canonicalize().ok()?;
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // The branch that HEAD names has the commit; the log of HEAD grows with each.
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&["rev-parse", "--git-path", file])?);
        if path.is_file() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    git(&["log", "-1", "--abbrev=12", "--date=short", "--format=%h, %cd"])
}
