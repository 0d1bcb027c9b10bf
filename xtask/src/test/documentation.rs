//! Documentation of libraries, and the examples in it, from what the tests compiled.
//!
//! `cargo doc` would compile all crates once more, for their types alone. `cargo test --doc` starts rustdoc with
//! the crates that are there. A script instead of rustdoc writes the documentation first.

use std::fs;

use anyhow::{Context, Result};

use crate::command;
use crate::workspace::Workspace;

/// Fails on a link without an end, or an example that does not work.
pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let script = workspace.root.join("xtask/src/test/rustdoc.sh");
    fs::metadata(&script).with_context(|| format!("no {}", script.display()))?;
    let mut cargo =
        command::linting_cargo(["test", "--workspace", "--doc", "--quiet", "--no-fail-fast"]);
    cargo.env("RUSTDOC", script).env("LINERATE_DOC", workspace.target.join("doc"));
    command::run(cargo.current_dir(&workspace.root))
}
