//! A Debian package.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::tree::{self, Tree};
use super::{LINKED, Linerate, VERSION};
use crate::command;

/// Packs it; nothing is started when it is installed.
pub(super) fn pack(linerate: &Linerate<'_>, folder: &Path) -> Result<PathBuf> {
    let root = folder.join("root");
    compressed(linerate)?.write(&root)?;
    tree::compress(&root, &["usr/share"])?;
    plain(linerate)?.write(&root)?;
    let listed = Files::read(&root)?;
    let mut control = Tree::default();
    control.text("control", control_file(linerate, listed.kibibytes));
    control.text("md5sums", listed.sums);
    for (name, text) in SCRIPTS {
        control.program(name, text);
    }
    control.write(&root.join("DEBIAN"))?;
    // Whatever the umask was.
    command::output(Command::new("chmod").args(["--recursive", "go=u,go-w"]).arg(&root))?;
    let file = folder.join(super::package(linerate.target));
    let mut pack = Command::new("dpkg-deb");
    // As every release of Debian reads it, and with the time of the sources: all files are newer.
    pack.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&file);
    pack.env("SOURCE_DATE_EPOCH", linerate.seconds.to_string());
    command::output(&mut pack)?;
    Ok(file)
}

/// Texts that Debian wants compressed.
fn compressed(linerate: &Linerate<'_>) -> Result<Tree> {
    let mut tree = Tree::default();
    for (name, page) in &linerate.texts.pages {
        tree.text(format!("usr/share/man/man1/{name}"), page.as_str());
    }
    let changes = format!(
        "linerate ({VERSION}) unstable; urgency=medium\n\n  * CHANGELOG.md lists what changed.\n\n \
         -- {}  {}\n",
        linerate.maintainer,
        linerate.date("--rfc-email")?
    );
    tree.text("usr/share/doc/linerate/changelog", changes);
    tree.text("usr/share/doc/linerate/CHANGELOG.md", linerate.text("CHANGELOG.md")?);
    tree.text(format!("usr/share/doc/linerate/{LINKED}"), linerate.licences.as_str());
    Ok(tree)
}

fn plain(linerate: &Linerate<'_>) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.program("usr/bin/linerate", linerate.binary.clone());
    let texts = &linerate.texts;
    tree.text("usr/share/bash-completion/completions/linerate", texts.bash.as_str());
    tree.text("usr/share/fish/vendor_completions.d/linerate.fish", texts.fish.as_str());
    tree.text("usr/share/zsh/vendor-completions/_linerate", texts.zsh.as_str());
    tree.text("lib/systemd/system/linerate.service", unit(&linerate.text(UNIT)?)?);
    tree.text("usr/share/doc/linerate/copyright", copyright(&linerate.text("LICENSE-MIT")?));
    tree.text("usr/share/lintian/overrides/linerate", OVERRIDES);
    Ok(tree)
}

/// The unit for a program that a package installed, and without the line on how to install it.
fn unit(text: &str) -> Result<String> {
    ensure!(text.contains("=/usr/local/bin/linerate "), "{UNIT} starts another program");
    Ok(text.replace("=/usr/local/bin/linerate ", "=/usr/bin/linerate "))
}

/// deb-control(5).
fn control_file(linerate: &Linerate<'_>, kibibytes: usize) -> String {
    format!(
        "Package: linerate\n\
         Version: {VERSION}\n\
         Architecture: {}\n\
         Maintainer: {}\n\
         Installed-Size: {kibibytes}\n\
         Depends: passwd\n\
         Recommends: iproute2\n\
         Suggests: ethtool\n\
         Section: net\n\
         Priority: optional\n\
         Description: measures a network path and names what limits it\n \
         linerate measures TCP and UDP in both directions against another linerate\n \
         or any iperf3, names the bottleneck of each result and what to change, and\n \
         says where every lost datagram went and whether to believe the number.\n",
        linerate.target.debian, linerate.maintainer,
    )
}

/// Both licences in the machine-readable format of Debian.
fn copyright(mit: &str) -> String {
    let holder =
        mit.lines().find_map(|line| line.strip_prefix("Copyright (c) ")).unwrap_or("unknown");
    let body = mit.lines().skip_while(|line| !line.starts_with("Permission")).map(|line| {
        if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {}\n", line.trim_end()) }
    });
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: linerate\n\
         Comment: /usr/share/doc/linerate/{LINKED}.gz has the licences of what\n \
         is linked in: crates, Rust's library, and musl (MIT) or glibc (LGPL-2.1+).\n\n\
         Files: *\n\
         Copyright: {holder}\n\
         License: Expat or Apache-2.0\n\n\
         License: Expat\n{}\n\
         License: Apache-2.0\n \
         On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n",
        body.collect::<String>()
    )
}

/// What a package lists of its files.
struct Files {
    kibibytes: usize,
    /// deb-md5sums(5).
    sums: String,
}

impl Files {
    fn read(root: &Path) -> Result<Self> {
        let mut find = Command::new("find");
        find.args([".", "-type", "f", "-printf", "%s %P\\n"]).current_dir(root);
        let listed = command::output(&mut find)?;
        let mut files: Vec<_> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
        files.sort_by_key(|(_, path)| *path);
        let bytes: Option<Vec<usize>> = files.iter().map(|(size, _)| size.parse().ok()).collect();
        // Each file takes whole kibibytes.
        let kibibytes =
            bytes.context("find prints no sizes")?.iter().map(|size| size.div_ceil(1024)).sum();
        let mut md5 = Command::new("md5sum");
        md5.args(files.iter().map(|(_, path)| path)).current_dir(root);
        Ok(Self { kibibytes, sums: command::output(&mut md5)? })
    }
}

const UNIT: &str = "contrib/linerate.service";
/// deb-postinst(5), deb-prerm(5), deb-postrm(5).
const SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("deb/postinst")),
    ("prerm", include_str!("deb/prerm")),
    ("postrm", include_str!("deb/postrm")),
];
/// What lintian(1) says and is meant to be so.
const OVERRIDES: &str = include_str!("deb/overrides");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_starts_the_program_of_the_package() {
        let unit = unit(include_str!("../../../contrib/linerate.service")).expect("the unit");
        assert!(unit.contains("\nExecStart=/usr/bin/linerate serve"));
        assert!(!unit.contains("/usr/local"));
    }

    #[test]
    fn the_copyright_has_no_empty_line_within_a_licence() {
        let text = copyright(include_str!("../../../LICENSE-MIT"));
        assert!(text.contains("\nLicense: Expat\n Permission is hereby granted"));
        assert!(text.contains("\n .\n"));
        assert!(text.contains("\nCopyright: 2026 The linerate developers\n"));
    }
}
