//! `linerate probe`: tests a host when a monitoring system asks by HTTP, and answers with the
//! result.
//!
//! Whoever reaches the address may have the hosts of `--allow` tested, one test at a time each, and
//! no others.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use linux::event::{EventFd, StopSignals};
use linux::poll::{PollFd, wait};
use linux::seccomp::Work;
use std::os::fd::AsFd;

use crate::flags::ProbeFlags;
use crate::http::Listener;
use crate::lines::Lines;

mod ask;
mod desk;
mod measure;
mod pages;

use desk::Desk;
use pages::ProbePages;

pub(crate) fn run(flags: &ProbeFlags) -> anyhow::Result<ExitCode> {
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    linux::heap::fix_mmap_threshold();
    let listener = Listener::bind(flags.listen, "probes", "--listen")?;
    // It asks nothing of other processes. A kernel without seccomp is no reason not to probe.
    _ = linux::seccomp::allow_only(Work::Test);
    let (lines, written) = Lines::start().context("cannot start the log's thread")?;
    if !flags.quiet {
        lines.write(format!("linerate probes at http://{}/probe", listener.address()));
    }
    let answered = Arc::new(EventFd::new().context("cannot serve probes")?);
    let desk = Desk::open(flags.max_tests, Arc::clone(&answered), lines)
        .map_err(|error| anyhow!("cannot start the threads of probes: {error}; see ulimit -u"))?;
    let pages = ProbePages::new(ask::Rules::of(flags), Arc::clone(&desk.shared));
    let service = listener.start(Box::new(pages), answered)?;
    while !interrupts.arrived() {
        wait(&mut [PollFd::readable(interrupts.as_fd())], None)
            .context("cannot wait for signals")?;
    }
    desk.close();
    drop(service);
    written.wait();
    Ok(ExitCode::SUCCESS)
}
