//! A Python environment of its own, below the folder that the programs are built in.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::catalogue::{Consumer, PACKAGES, PACKAGES_ALONE};
use super::understood::Understood;

/// Where the environment is, installed or not.
pub(super) struct Environment {
    folder: PathBuf,
}

impl Environment {
    pub(super) fn locate() -> anyhow::Result<Self> {
        let program = env::current_exe().context("cannot find this program")?;
        let folder = program.parent().context("this program is in no folder")?;
        Ok(Self { folder: folder.join("consumers") })
    }

    /// Installs the packages, unless they are.
    pub(super) fn install(&self) -> anyhow::Result<()> {
        let wanted = [PACKAGES, PACKAGES_ALONE].concat().join("\n");
        if fs::read_to_string(self.marker()).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&self.folder))?;
        succeed(self.pip().args(PACKAGES))?;
        let alone = ["--no-deps", "--ignore-requires-python"];
        succeed(self.pip().args(alone).args(PACKAGES_ALONE))?;
        fs::write(self.marker(), wanted).context("cannot note what is installed")
    }

    /// What a consumer understands of a text, or its last words.
    pub(super) fn feed(
        &self,
        consumer: &Consumer,
        text: &str,
    ) -> anyhow::Result<Result<Understood, String>> {
        let path = self.folder.join("fed");
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        let output = Command::new(self.python())
            .args(["-c", consumer.script])
            .arg(&path)
            .output()
            .context("cannot run Python")?;
        if !output.status.success() {
            return Ok(Err(last_words(&output.stderr)));
        }
        let understood = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("the script of {} printed no JSON", consumer.name))?;
        Ok(Ok(Understood::from_json(understood)))
    }

    fn pip(&self) -> Command {
        let mut command = Command::new(self.python());
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        command
    }

    fn python(&self) -> PathBuf {
        self.folder.join(Path::new("bin/python"))
    }

    fn marker(&self) -> PathBuf {
        self.folder.join("installed")
    }
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().context("cannot run Python")?;
    if !output.status.success() {
        bail!("cannot install the consumers from PyPI: {}", last_words(&output.stderr));
    }
    Ok(())
}

/// Python ends with the line that says what is wrong.
fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason").to_owned()
}
