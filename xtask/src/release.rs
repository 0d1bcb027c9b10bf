//! `release`: packages, archives and lists of parts of the files that `dist` builds.

mod crates;
mod deb;
mod image;
mod licences;
mod maintainer;
mod sbom;
mod tarball;
mod texts;
mod tree;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::output::say;
use crate::static_binary::{Contents, Target};
use crate::workspace::Workspace;
use crate::{command, dist, packages};

use maintainer::Maintainer;
use texts::Texts;

/// Builds what is handed out: a Debian package, an archive, a wheel, an SBOM and the licences of what
/// is linked in for each kind of machine, and an image of containers for all of them
///
/// Puts them into `target/dist`, with checksums. Each is packed twice, and the two must be the same.
/// Needs python3 with venv, which it installs as root on Debian, and PyPI for hatchling.
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// The machine to build for [default: all of them]
    #[arg(long, value_enum)]
    target: Option<&'static Target>,
    /// Pack what `cargo xtask dist` has built, and build nothing
    #[arg(long)]
    built: bool,
    /// Who maintains the Debian packages, with an address that is read
    /// [default: DEBFULLNAME and DEBEMAIL of the environment, else the authors that Cargo.toml names,
    /// without such an address]
    #[arg(long, value_name = "NAME <ADDRESS>")]
    maintainer: Option<Maintainer>,
}

impl Release {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        packages::provide(&packages::RELEASE)?;
        let targets = dist::chosen(self.target, self.target.is_none())?;
        let binaries = if self.built {
            targets.iter().map(|target| dist::file(&workspace, target, Contents::Whole)).collect()
        } else {
            dist::build(&workspace, &targets, Contents::Whole)?
        };
        let seconds = seconds(&workspace)?;
        let of_environment = || Maintainer::of_environment().map_err(anyhow::Error::msg);
        let maintainer = self
            .maintainer
            .map_or_else(of_environment, Ok)
            .context("DEBFULLNAME and DEBEMAIL name no maintainer")?;
        let mut made = 0;
        let mut all = Vec::new();
        for (target, binary) in targets.into_iter().zip(&binaries) {
            let linerate = Linerate::read(&workspace, target, binary, seconds)?;
            let linerate = Linerate { maintainer: maintainer.clone(), ..linerate };
            for pack in [deb::pack, tarball::pack, wheel::pack, sbom::write, licences::pack] {
                say(twice(&workspace, |folder| pack(&linerate, folder))?.display());
                made += 1;
            }
            all.push(linerate);
        }
        say(twice(&workspace, |folder| image::pack(&all, folder))?.display());
        made += 1;
        dist::write_checksums(&dist::folder(&workspace))?;
        Ok(format!("release: {made} files, the same when packed again"))
    }
}

/// What is packed.
struct Linerate<'a> {
    workspace: &'a Workspace,
    target: &'static Target,
    /// The static file.
    binary: Vec<u8>,
    texts: Texts,
    /// Those of what is linked in.
    licences: String,
    maintainer: Maintainer,
    /// When the sources were changed, since the epoch.
    seconds: u64,
}

impl<'a> Linerate<'a> {
    fn read(
        workspace: &'a Workspace,
        target: &'static Target,
        binary: &Path,
        seconds: u64,
    ) -> Result<Self> {
        let missing = || format!("{} is missing: run `cargo xtask dist --all`", binary.display());
        let bytes = fs::read(binary).with_context(missing)?;
        let texts = Texts::of(target, binary)?;
        let licences = licences::read(target, &workspace.root)?;
        let maintainer = Maintainer::default();
        Ok(Self { workspace, target, binary: bytes, texts, licences, maintainer, seconds })
    }

    /// A text of the project.
    fn text(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.workspace.root.join(path))
            .with_context(|| format!("cannot read {path}"))
    }

    /// The licences that go with the program: its own, and those of what is linked in.
    fn licences(&self) -> Result<Vec<(&'static str, String)>> {
        let own = ["LICENSE-APACHE", "LICENSE-MIT"].map(|name| Ok((name, self.text(name)?)));
        let linked = Ok((LINKED, self.licences.clone()));
        own.into_iter().chain([linked]).collect()
    }

    /// When the sources were changed, in a format of date(1).
    fn date(&self, format: &str) -> Result<String> {
        let mut date = Command::new("date");
        date.args(["--utc", &format!("--date=@{}", self.seconds), format]).env("LC_ALL", "C");
        Ok(command::output(&mut date)?.trim().to_owned())
    }

    /// Name, version and machine.
    fn name(&self) -> String {
        format!("linerate-{VERSION}-{}-linux", self.target.name)
    }
}

/// Packs twice, in two folders; the file, if both have the same bytes.
fn twice(workspace: &Workspace, pack: impl Fn(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    let folders = ["pack", "pack-again"].map(|name| workspace.target.join(name));
    let mut files = Vec::new();
    for folder in &folders {
        // What an earlier run left there would be packed, too.
        _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        files.push(pack(folder)?);
    }
    let bytes = |file: &PathBuf| {
        fs::read(file).with_context(|| format!("{} was not written", file.display()))
    };
    let name = files[0].file_name().context("a file has a name")?.to_owned();
    ensure!(
        bytes(&files[0])? == bytes(&files[1])?,
        "{} differs when it is packed again",
        name.display()
    );
    let file = dist::folder(workspace).join(name);
    fs::copy(&files[0], &file).with_context(|| format!("cannot write {}", file.display()))?;
    for folder in folders {
        fs::remove_dir_all(folder)?;
    }
    Ok(file)
}

/// The time that all files have: of the last commit, or as SOURCE_DATE_EPOCH says
/// (reproducible-builds.org/specs/source-date-epoch).
fn seconds(workspace: &Workspace) -> Result<u64> {
    let text = if let Ok(text) = env::var("SOURCE_DATE_EPOCH") {
        text
    } else {
        let mut git = Command::new("git");
        git.args(["log", "-1", "--format=%ct"]).current_dir(&workspace.root);
        command::output(&mut git).context("without git set SOURCE_DATE_EPOCH")?
    };
    text.trim().parse().with_context(|| format!("no number of seconds: {}", text.trim()))
}

/// The name of the Debian package for a target.
pub(crate) fn package(target: &Target) -> String {
    format!("linerate_{VERSION}_{}.deb", target.debian)
}

/// The file with the licences of what is linked in.
const LINKED: &str = "THIRD-PARTY-LICENSES.txt";
/// Of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_have_this_version_and_the_sums_of_the_licences() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |path: &str| fs::read_to_string(root.join(path)).expect(path);
        assert!(read("contrib/openwrt/Makefile").contains(&format!("PKG_VERSION:={VERSION}\n")));
        assert!(read("docs/install.md").contains(&format!("linerate_{VERSION}_amd64.deb")));
        let recipe = read(&format!("contrib/yocto/linerate_{VERSION}.bb"));
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let mut md5 = Command::new("md5sum");
            let sum = command::output(md5.arg(root.join(licence))).expect("md5sum");
            let sum = sum.split(' ').next().expect("a sum");
            assert!(recipe.contains(&format!("file://{licence};md5={sum} ")), "{licence}");
        }
    }
}
