//! Where the demo plays: servers, measurements, and what is printed of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use campaign::search::Repeat;
use campaign::{PlannedRow, Results, Runner};
use linux::event::StopSignals;
use measurement::{IntoMap, RecordSet, TestPlan, TestRecord};
use report::export::{Audience, Table};
use report::rates::UnitFormat;
use report::screen::{Head, Screen, Shape};
use session::Family;
use session::client::{ClientOptions, Request};

use crate::flags::DemoFlags;
use crate::progress::{Detail, Progress};
use crate::results::Finish;
use crate::{exit, output, terminal};

/// The measurements so far, and how they are shown.
pub(super) struct Stage<'a> {
    flags: &'a DemoFlags,
    interrupts: &'a StopSignals,
    server: IpAddr,
    all: Results,
}

impl<'a> Stage<'a> {
    /// One whose server answers.
    pub(super) fn new(flags: &'a DemoFlags, interrupts: &'a StopSignals, server: IpAddr) -> Self {
        Self { flags, interrupts, server, all: Results::none() }
    }

    fn is_for_people(&self) -> bool {
        self.flags.format.or(&Table).audience() == Audience::People
    }

    /// Prints a line of the story, for people.
    pub(super) fn say(&self, text: &str) {
        if self.is_for_people() {
            // A reader that is gone is told of at the end.
            _ = output::print_table(|out| writeln!(out, "{text}"));
        }
    }

    /// Runs rows, and prints them with what limits. None: they did not come to their end.
    pub(super) fn measure(
        &mut self,
        plans: &[TestPlan],
    ) -> anyhow::Result<Option<Vec<TestRecord>>> {
        wait_for_server(SocketAddr::new(self.server, PORT))?;
        let Some(first) = plans.first() else { return Ok(None) };
        let request = self.request(first);
        let mut progress =
            Progress::new(Detail::from_flags(self.flags.quiet, false)).of(plans.len());
        let mut runner = Runner::new(request, Some(self.interrupts), &mut progress);
        let rows = plans.iter().cloned().map(PlannedRow::of_plan).collect();
        let results = runner.search(&mut Repeat::once(rows));
        let is_complete = results.are_complete();
        self.show(&results.records, plans);
        let records = results.records.records.clone();
        self.all.append(results);
        Ok(is_complete.then_some(records))
    }

    fn request(&self, plan: &TestPlan) -> Request {
        Request {
            host: self.server.to_string(),
            port: PORT,
            family: Family::Any,
            bind: None,
            further_binds: Vec::new(),
            connect_timeout: PATIENCE,
            cpus: Vec::new(),
            tags: [("demo".to_owned(), self.flags.link_rate.to_string())].into_iter().into_map(),
            options: ClientOptions::default(),
            plan: plan.clone(),
        }
    }

    /// The head line once, then the rows, what limits them, and why to doubt them.
    fn show(&self, records: &RecordSet, plans: &[TestPlan]) {
        let Some(first) = records.records.first() else { return };
        let unit = UnitFormat::Adaptive;
        let shape = Shape { plans, probed: false, repeated: false, unit };
        let screen = Screen::new(terminal::width(), &shape, String::new());
        let mut lines = Vec::new();
        if self.all.records.records.is_empty() {
            let kernel = linux::host::system_names().kernel;
            let head = Head::new(
                first.peer.as_ref(),
                &first.plan,
                &first.streams,
                &kernel,
                (plans.len(), None),
            );
            lines = screen.opening(&head);
        }
        lines.extend(records.records.iter().flat_map(|record| screen.row(record, "")));
        lines.extend(screen.limits(records));
        lines.extend(screen.doubt(records));
        self.say(&lines.join("\n"));
    }

    /// What the story ends with: for programs all records.
    pub(super) fn end(mut self) -> anyhow::Result<ExitCode> {
        let is_complete = self.all.are_complete();
        let code = if self.is_for_people() {
            let error = self.all.error.as_ref().map(exit::of_session);
            error.as_ref().map_or(ExitCode::SUCCESS, exit::complain)
        } else {
            let finish = Finish::new(self.flags.format.or(&Table), None);
            Finish { is_live: false, ..finish }.print(&mut self.all)?
        };
        // What goes wrong was planted, so that it is no failure.
        Ok(if is_complete { ExitCode::SUCCESS } else { code })
    }
}

/// A `linerate serve` that ends with this value, and with this process.
pub(super) struct DemoServer(Child);

impl DemoServer {
    /// One that listens at `address` alone: without namespaces the network of this host is the demo's.
    pub(super) fn start(mut command: Command, address: Ipv4Addr) -> anyhow::Result<Self> {
        let (address, port) = (address.to_string(), PORT.to_string());
        command.args(["serve", "--quiet", "--bind", &address, "--port", &port]);
        // Nothing of the caller's LINERATE_ settings is meant for this server.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("LINERATE_") {
                command.env_remove(name);
            }
        }
        linux::process::end_with_this_thread(&mut command);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        child.map(Self).context("cannot start the server")
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        // It holds nothing that a kill could damage, and may have ended already.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn wait_for_server(address: SocketAddr) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() >= deadline => {
                return Err(error).context("the demo's own server does not answer");
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

const PORT: u16 = session::DEFAULT_PORT;
const PATIENCE: Duration = Duration::from_secs(5);
