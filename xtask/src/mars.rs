//! `mars`: installs the library for C, and packs the crates of the runtime.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};

use crate::command;
use crate::workspace::Workspace;

/// The runtime as a library for C, and as crates
#[derive(Debug, Args)]
pub(crate) struct Mars {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Builds libmars and installs it with its headers and its file for pkg-config
    Install {
        /// Where to: DIR/include, DIR/lib, DIR/lib/pkgconfig
        #[arg(long, value_name = "DIR", default_value = "/usr/local")]
        prefix: PathBuf,
    },
    /// Packs the crates that the runtime consists of, builds them from what was packed, and uploads
    /// nothing
    Package,
}

impl Mars {
    pub(crate) fn run(self) -> Result<String> {
        match self.action {
            Action::Install { prefix } => install(&prefix),
            Action::Package => package(),
        }
    }
}

fn install(prefix: &Path) -> Result<String> {
    let workspace = Workspace::runtime()?;
    let words = ["build", "--release", "--package", "linerate-libmars"];
    command::run(command::cargo(words).current_dir(&workspace.root))?;
    // The file for pkg-config names it, wherever that is read.
    let prefix = std::path::absolute(prefix)?;
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    copy_tree(&workspace.root.join("libmars/include"), &include)?;
    for library in ["libmars.a", "libmars.so"] {
        copy(&workspace.target.join("release").join(library), &lib.join(library))?;
    }
    let description = lib.join("pkgconfig/mars.pc");
    write(&description, pkg_config(&prefix))?;
    Ok(format!("mars: installed to {}", prefix.display()))
}

/// Cargo builds no package whose dependencies are not published: the packages are unpacked into a
/// workspace, and built there.
fn package() -> Result<String> {
    let (above, runtime) = (Workspace::find()?, Workspace::runtime()?);
    let packed = above.target.join("package");
    let unpacked = packed.join("mars");
    // Files of an earlier time.
    _ = fs::remove_dir_all(&unpacked);
    let mut manifest = format!("workspace = {{ resolver = \"3\", members = {CRATES:?} }}\n");
    for name in CRATES {
        let root = if SHARED.contains(&name) { &above.root } else { &runtime.root };
        let mut package = command::cargo(["package", "--no-verify", "--exclude-lockfile"]);
        package.args(["--allow-dirty", "--package", name, "--target-dir"]).arg(&above.target);
        command::run(package.current_dir(root))?;
        let folder = unpacked.join(name);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let archive = packed.join(format!("{name}-{}.crate", env!("CARGO_PKG_VERSION")));
        let mut unpack = Command::new("tar");
        unpack.args(["--strip-components=1", "-xzf"]).arg(archive).arg("-C").arg(folder);
        command::run(&mut unpack)?;
        manifest.extend(["patch.crates-io.", name, ".path = \"", name, "\"\n"]);
    }
    write(&unpacked.join("Cargo.toml"), manifest)?;
    let mut build = command::cargo(["build", "--workspace", "--features", "linerate-mars/tasks"]);
    command::run(build.current_dir(unpacked))?;
    Ok(format!("mars: {} can be published", CRATES.join(", ")))
}

/// `linerate-mars` and those that it needs, of which linerate's workspace has some.
const CRATES: [&str; 4] = ["linerate-fiber", "linerate-copy", "linerate-linux", "linerate-mars"];
const SHARED: [&str; 2] = ["linerate-copy", "linerate-linux"];

/// The file for pkg-config. Task programs have a folder of headers before that of all.
fn pkg_config(prefix: &Path) -> String {
    format!(
        "prefix={}\n\
         libdir=${{prefix}}/lib\n\
         includedir=${{prefix}}/include\n\
         taskcflags=-I${{includedir}}/mars-task -I${{includedir}}\n\
         \n\
         Name: mars\n\
         Description: Tasks and their synchronisation as in MARS 1.1.5, on ordinary CPUs\n\
         Version: 1.1.5\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -lmars\n\
         Libs.private: -lpthread -ldl -lm\n",
        prefix.display()
    )
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_tree(&path, &target)?;
        } else {
            copy(&path, &target)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write(to, &bytes)
}

fn write(to: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(to, bytes))
        .with_context(|| format!("cannot write {}", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_for_pkg_config_names_the_prefix_and_its_folders() {
        let text = pkg_config(Path::new("/opt/mars"));
        assert!(text.starts_with("prefix=/opt/mars\nlibdir=${prefix}/lib\n"));
        assert!(text.contains("\nLibs: -L${libdir} -lmars\n"));
    }
}
