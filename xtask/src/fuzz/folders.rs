//! What stands where: the project's part below `fuzz`, a run's part in the target folder.

use std::path::{Path, PathBuf};

use crate::workspace::Workspace;

/// Both parts.
#[derive(Clone, Debug)]
pub(super) struct Folders {
    /// `fuzz`, which the project keeps.
    kept: PathBuf,
    /// Where targets are built and leave what they find.
    work: PathBuf,
}

impl Folders {
    pub(super) fn of(workspace: &Workspace) -> Self {
        Self { kept: workspace.root.join("fuzz"), work: workspace.target.join("fuzz") }
    }

    pub(super) fn root(&self) -> &Path {
        &self.kept
    }

    pub(super) fn sources(&self) -> PathBuf {
        self.kept.join("src/targets")
    }

    pub(super) fn dictionary(&self) -> PathBuf {
        self.kept.join("iperf3.dict")
    }

    /// The inputs with which every run of a target begins.
    pub(super) fn corpus(&self, target: &str) -> PathBuf {
        self.kept.join("corpus").join(target)
    }

    /// Inputs that broke something once; there may be none.
    pub(super) fn regressions(&self, target: &str) -> PathBuf {
        self.kept.join("regressions").join(target)
    }

    /// Where cargo builds: the flags differ from those of all other builds.
    pub(super) fn build(&self) -> PathBuf {
        self.work.join("build")
    }

    /// Inputs that earlier runs kept, since they reached something new.
    pub(super) fn reached(&self, target: &str) -> PathBuf {
        self.work.join("reached").join(target)
    }

    /// Inputs that broke something.
    pub(super) fn broken(&self, target: &str) -> PathBuf {
        self.work.join("broken").join(target)
    }

    /// What a target said in its last run.
    pub(super) fn log(&self, target: &str) -> PathBuf {
        self.work.join(format!("{target}.log"))
    }
}
