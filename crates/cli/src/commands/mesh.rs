//! `linerate mesh`.

mod hosts;
mod joined;
mod kubernetes;
mod passed_on;
mod slurm;
mod store;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use analysis::mesh::{Design, Pair, Round, Stage, Topology};
use anyhow::{Context, anyhow};
use campaign::mesh::{
    Agents, Channel, Coordinator, Ended, Engine, MeshHost, Observer, Push, Srun, Tested,
};
use linux::event::StopSignals;
use measurement::record::RunError;
use measurement::units::counted;
use measurement::{BitRate, IntoMap, MeshPair, MeshRecord};
use report::export::Export;
use report::mesh;
use session::SessionError;

use crate::conclusion::Conclusion;
use crate::exit::UsageError;
use crate::flags::MeshFlags;
use crate::moving_line::MovingLine;
use crate::{exit, output, terminal};

use store::Store;

pub(crate) fn run(flags: &MeshFlags) -> anyhow::Result<ExitCode> {
    if let Some(image) = &flags.job.kubernetes {
        return kubernetes::print(flags, image);
    }
    if let Some(at) = &flags.job.join {
        return joined::run(flags, at);
    }
    if flags.slurm && flags.job.nodes.is_some() {
        return slurm::submit(flags);
    }
    let hosts = hosts::of(flags)?;
    coordinate(flags, &hosts, |interrupts| channels(flags, &hosts, interrupts))
}

/// Runs the mesh on agents that are started when all else is known to be right.
fn coordinate(
    flags: &MeshFlags,
    hosts: &[MeshHost],
    channels: impl FnOnce(&StopSignals) -> Vec<std::io::Result<Channel>>,
) -> anyhow::Result<ExitCode> {
    let format = flags.output.format.of_rows()?;
    refuse_same_file(flags)?;
    let topology = flags.topology.as_deref().map(|file| topology(file, hosts)).transpose()?;
    let store = flags.output.output.as_deref();
    let store = store.map(|file| Store::open(file, flags.output.resume, hosts)).transpose()?;
    let seed = store.as_ref().map_or(SEED, |store| store.seed);
    let mut design = Design::of(u32::try_from(hosts.len())?, topology.clone(), seed);
    design.sample = flags.sample.or(design.sample);
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let mut progress = Progress::new(flags, hosts, store);
    let agents = Agents::new(channels(&interrupts));
    let tested = Tested { time: flags.time, streams: flags.streams };
    let coordinator = Coordinator::new(hosts, design, tested, agents);
    let ended = coordinator.run(Some(&interrupts), &mut progress).map_err(|why| anyhow!(why))?;
    drop(progress);
    finish(flags, format, hosts, topology.as_ref(), &ended)
}

/// The page replaces its file: that is none of the others, and its directory is there.
fn refuse_same_file(flags: &MeshFlags) -> Result<(), UsageError> {
    let Some(page) = &flags.output.html else { return Ok(()) };
    let shown = page.display();
    let directory = page.parent().filter(|path| !path.as_os_str().is_empty());
    if page.is_dir() || directory.is_some_and(|path| !path.is_dir()) {
        return Err(UsageError(format!("cannot write {shown}: choose another file for --html")));
    }
    let of = |file: &Path| std::path::absolute(file).ok();
    let others = [&flags.output.output, &flags.hosts, &flags.topology].into_iter().flatten();
    if { others }.any(|other| of(other) == of(page) || other == page) {
        return Err(UsageError(format!("--html would replace {shown}: choose another file")));
    }
    Ok(())
}

fn topology(file: &Path, hosts: &[MeshHost]) -> anyhow::Result<Topology> {
    let text = hosts::read(file)?;
    let names: Vec<_> = hosts.iter().map(|host| host.name.clone()).collect();
    let parsed = Topology::parse(&text, &names);
    Ok(parsed.map_err(|why| UsageError(format!("{}: {why}", file.display())))?)
}

/// Starts an agent on each host.
fn channels(
    flags: &MeshFlags,
    hosts: &[MeshHost],
    interrupts: &StopSignals,
) -> Vec<std::io::Result<Channel>> {
    if flags.ssh.push {
        let program = flags.program.as_deref().unwrap_or("linerate");
        return match Push::of_this_program() {
            Ok(push) => push.start(&flags.ssh.engine(), hosts, program, interrupts),
            Err(error) => {
                let text = format!("cannot read this program: {}", session::reason(&error));
                hosts.iter().map(|_| Err(std::io::Error::other(text.clone()))).collect()
            }
        };
    }
    let engine: Box<dyn Engine> = match &flags.via {
        _ if flags.slurm => Box::new(Srun),
        Some(via) => Box::new(via.clone()),
        None => Box::new(flags.ssh.engine()),
    };
    let is_ssh = !flags.slurm && flags.via.is_none();
    let this = || {
        let path = std::env::current_exe().ok().filter(|_| !is_ssh);
        path.map_or_else(|| "linerate".to_owned(), |path| path.display().to_string())
    };
    let program = flags.program.clone().unwrap_or_else(this);
    let words = [program, "mesh-agent".to_owned()];
    hosts.iter().map(|host| Channel::start(&mut engine.command(host, &words))).collect()
}

/// Shows how far a mesh is, and stores its pairs.
struct Progress {
    line: MovingLine,
    store: Option<Store>,
    pairs: usize,
    round: String,
    /// Whether linerate could be copied to hosts that have none.
    could_push: bool,
}

impl Progress {
    fn new(flags: &MeshFlags, hosts: &[MeshHost], store: Option<Store>) -> Self {
        let line = MovingLine::new(flags.output.quiet);
        line.show(format!("starting linerate on {}", counted(hosts.len() as u64, "host")));
        let by_ssh = !flags.slurm && flags.via.is_none() && flags.job.join.is_none();
        let could_push = by_ssh && !flags.ssh.push;
        Self { line, store, pairs: 0, round: String::new(), could_push }
    }
}

impl Observer for Progress {
    fn round(&mut self, round: &Round, ahead: usize) {
        let why = match round.stage {
            Stage::Survey => "survey",
            Stage::Load => "all hosts at once",
            Stage::Alone => "suspects alone",
            Stage::Together => "suspects together",
        };
        let (number, all) = (round.number + 1, round.number as usize + 1 + ahead);
        self.round = format!("round {number} of {all}, {why}");
        self.line.show(format!("{}: {} pairs tested", self.round, self.pairs));
    }

    fn stored(&mut self, round: &Round, pair: Pair) -> Result<Option<MeshPair>, String> {
        self.store.as_mut().map_or(Ok(None), |store| store.stored(round, pair))
    }

    fn pair(&mut self, pair: &MeshPair) -> Result<(), String> {
        self.pairs += 1;
        self.line.show(format!("{}: {} pairs tested", self.round, self.pairs));
        self.store.as_mut().map_or(Ok(()), |store| store.pair(pair))
    }

    fn lost(&mut self, host: &MeshHost, why: &str) -> Result<(), String> {
        let is_missing = self.could_push && why.ends_with("not found");
        let advice = if is_missing { ": install it there, or add --push" } else { "" };
        let said = format!("linerate: {} is lost: {why}{advice}", host.name);
        // Standard error may be closed; the record names the host, too.
        self.line.suspend(|| _ = writeln!(anstream::stderr(), "{said}"));
        self.store.as_mut().map_or(Ok(()), |store| store.lost(&host.name, why))
    }
}

/// Prints the record, and returns the exit code.
fn finish(
    flags: &MeshFlags,
    format: &'static dyn Export,
    hosts: &[MeshHost],
    topology: Option<&Topology>,
    ended: &Ended,
) -> anyhow::Result<ExitCode> {
    let error = ended.was_interrupted.then(|| interrupted(ended));
    let tags = flags.output.tag.iter().cloned().into_map();
    let record = campaign::mesh::record(hosts, topology, ended, tags, error);
    if let Some(file) = &flags.output.html {
        output::write_whole(file, |out| mesh::write_page(&record, out))?;
    }
    let conclusion = Conclusion {
        missed: flags.expect.map_or_else(Vec::new, |least| missed(&record, ended, least)),
        error: record.error.as_ref(),
        ..Conclusion::new(format, None)
    };
    conclusion.print(&record, |out| mesh::write(&record, terminal::width(), out))
}

fn interrupted(ended: &Ended) -> RunError {
    let message = format!("interrupted after {}", counted(u64::from(ended.rounds), "round"));
    RunError { message, ..exit::of_session(&SessionError::Interrupted) }
}

/// The hosts and pairs that have less than is expected: a host that is lost and a pair without a result
/// have nothing.
fn missed(record: &MeshRecord, ended: &Ended, least: BitRate) -> Vec<String> {
    let mesh = &ended.mesh;
    let name = |host: u32| record.hosts[host as usize].as_str();
    let lost = mesh.lost().map(|host| format!("{} is lost, {least} are expected", name(host)));
    let without = mesh.untested().into_iter();
    let without = without.filter(|pair| !mesh.is_lost(pair.a) && !mesh.is_lost(pair.b));
    let without = without.map(|pair| {
        format!("no result of {} and {}, {least} are expected", name(pair.a), name(pair.b))
    });
    let slow = mesh.below(least).into_iter().map(|(from, to, rate)| {
        format!("{rate} from {} to {}, {least} are expected", name(from), name(to))
    });
    let mut said = shortened(lost, |more| format!("{more} more hosts are lost"));
    said.extend(shortened(without, |more| format!("{more} more pairs have no result")));
    said.extend(shortened(slow, |more| format!("{more} more directions are below {least}")));
    said
}

/// The first sentences, and how many more there are.
fn shortened(
    mut sentences: impl Iterator<Item = String>,
    more: impl Fn(u64) -> String,
) -> Vec<String> {
    let mut said: Vec<_> = sentences.by_ref().take(MOST_SAID).collect();
    let left = sentences.count() as u64;
    if left > 0 {
        said.push(more(left));
    }
    said
}

const MOST_SAID: usize = 10;
/// Of choices at random: two runs with the same hosts test the same pairs.
const SEED: u64 = 0x6d65_7368;
