//! What benches and tests of linerate share: programs, their hosts, rounds, and tables.
//!
//! For development only: `xtask` and `conformance` are built upon it, and tests of crates may use
//! it as a dev-dependency. A newcomer needs these pages:
//!
//! | to | use |
//! |---|---|
//! | start a program, capture what it prints, wait for a line, signal it, read what it took | [`process::Running`], [`process::finish`] |
//! | read CPU time, memory, threads of any process | [`usage::Usage`] |
//! | find a free port, wait until a server listens | [`port`] |
//! | wait for any other event | [`wait`] |
//! | see sockets with their addresses and states | [`sockets`] |
//! | say what a test is, in words that every program has | [`workload::Test`], [`workload::Workload`] |
//! | call linerate, iperf3 and other programs for a test, and read what they report | [`program::Installed`], [`program::Program`] |
//! | make hosts for a run, with a cable, a router or a relay between them | [`topology::Topology`] |
//! | run one test of a program between them, and see from outside what it took | [`run::run`] |
//! | compare programs on hosts of their own, workload by workload | [`comparison::Comparison`] |
//! | capture packets | [`capture::Capture`] |
//! | see what else the machine did meanwhile | [`noise::Reading`], [`machine::Machine`] |
//! | let programs take turns in rounds | [`rounds::Benchmark`], [`rounds::run`] |
//! | work out medians, ratios and percentiles | [`spread`] |
//! | hold a number against a limit | [`promise::Promise`], [`promise::Outcome`] |
//! | write a table | [`markdown::Table`]; of rows: [`table::Layout`] |
//!
//! One test of a server and its client on this host:
//!
//! ```no_run
//! use std::net::Ipv4Addr;
//! use std::time::Duration;
//!
//! use testbed::process::{self, Running};
//! use testbed::program::{Installed, Printed};
//! use testbed::workload::{End, Test, Workload};
//! use testbed::port;
//!
//! # fn main() -> anyhow::Result<()> {
//! let program = Installed::find("iperf3")?;
//! let workload = Workload::tcp(1);
//! let test = Test::new(Ipv4Addr::LOCALHOST, workload, End::Seconds(1));
//! let test = Test { port: port::free()?, ..test };
//!
//! // It ends with this value, whatever happens below.
//! let mut server = Running::captured(program.server(None, &test))?;
//! port::await_listener(None, test.port, &mut server)?;
//! let client = process::finish(program.client(None, &test), Duration::from_secs(10))?;
//!
//! let printed = Printed { client: client.stdout.clone(), ..Printed::default() };
//! let report = program.program.read(&test, &printed).map_err(|error| client.blame(error))?;
//! println!("{} bit/s, {:?} of CPU time", report.rate, client.cpu);
//! # Ok(())
//! # }
//! ```
//!
//! A new program is a file below `program` and its line in [`program::PROGRAMS`]; a new metric a
//! line in [`figures::Metric`].

#![forbid(unsafe_code)]

pub mod candidate;
pub mod capture;
pub mod comparison;
pub mod congestion;
pub mod environment;
pub mod figures;
pub mod interface;
pub mod machine;
pub mod markdown;
pub mod noise;
pub mod output;
pub mod port;
pub mod process;
pub mod program;
pub mod progress;
pub mod promise;
pub mod rounds;
pub mod run;
pub mod sockets;
pub mod spread;
pub mod table;
pub mod topology;
pub mod usage;
pub mod wait;
pub mod workload;
