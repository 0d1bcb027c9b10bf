//! One target: the program that libFuzzer is part of, and its arguments.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::folders::Folders;
use super::outcome::Outcome;
use crate::command;

/// A target that is built.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) name: String,
    program: PathBuf,
    folders: Folders,
}

/// A target that runs.
pub(super) struct Running<'a> {
    target: &'a Target,
    child: Child,
    begin: SystemTime,
}

impl Target {
    pub(super) fn new(name: &str, program: &Path, folders: &Folders) -> Self {
        Self { name: name.to_owned(), program: program.to_owned(), folders: folders.clone() }
    }

    /// Searches for so long. Inputs that are kept come first, those that broke something too.
    pub(super) fn start(&self, time: Duration) -> Result<Running<'_>> {
        let broken = self.folders.broken(&self.name);
        let reached = self.folders.reached(&self.name);
        for folder in [&broken, &reached] {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let mut search = self.command();
        search.arg(format!("-max_total_time={}", time.as_secs()));
        search.arg(format!("-artifact_prefix={}/", broken.display()));
        search.args(["-print_final_stats=1", LONGEST]);
        search.arg(reached).arg(self.folders.corpus(&self.name));
        search.args(Some(self.folders.regressions(&self.name)).filter(|folder| folder.is_dir()));
        let log = self.folders.log(&self.name);
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        search.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let begin = SystemTime::now();
        let child = search.spawn().with_context(|| format!("cannot run {}", self.name))?;
        Ok(Running { target: self, child, begin })
    }

    /// Runs one input, in sight.
    pub(super) fn replay(&self, input: &Path) -> Result<()> {
        command::run(self.command().arg(input))
    }

    /// Copies into the corpus what reached more than it does, and says how many inputs.
    pub(super) fn distil(&self) -> Result<usize> {
        let (corpus, reached) = (self.folders.corpus(&self.name), self.folders.reached(&self.name));
        let count = || Ok::<_, anyhow::Error>(fs::read_dir(&corpus)?.count());
        fs::create_dir_all(&reached)?;
        let before = count()?;
        let mut merge = self.command();
        // What is reached counts, not how often, and no two inputs that reach the same.
        merge.args(["-set_cover_merge=1", "-use_counters=0", SHORT]).arg(&corpus).arg(&reached);
        command::output(&mut merge)?;
        Ok(count()? - before)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("LINERATE_FUZZ_TARGET", &self.name);
        command.arg(format!("-dict={}", self.folders.dictionary().display())).args(BOUNDS);
        command
    }
}

impl Running<'_> {
    /// What it did, when its time is over.
    pub(super) fn wait(mut self) -> Result<Outcome> {
        let Self { target, begin, .. } = self;
        let status =
            self.child.wait().with_context(|| format!("cannot wait for {}", target.name))?;
        let log = target.folders.log(&target.name);
        let text = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
        let input = newest(&target.folders.broken(&target.name), begin)?;
        let text = String::from_utf8_lossy(&text);
        Ok(Outcome::new(&target.name, &text, status.success(), input))
    }
}

/// The last file of a folder that was written since `begin`.
fn newest(folder: &Path, begin: SystemTime) -> Result<Option<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    // File systems may be content with whole seconds.
    let begin = begin - Duration::from_secs(1);
    Ok(files.into_iter().filter(|(written, _)| *written >= begin).max().map(|(_, path)| path))
}

/// Seconds that one input may take, and MiB that all may.
const BOUNDS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=1024"];
/// Bytes of an input: room for results of many streams.
const LONGEST: &str = "-max_len=8192";
/// Bytes of an input that the corpus takes.
const SHORT: &str = "-max_len=1024";
