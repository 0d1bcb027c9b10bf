//! Scenarios: the real program, run as a person or a script runs it.
//!
//! Traffic goes over loopback, or over links of their own where the system lets the
//! tests make some. What a scenario needs and the system does not have, it reports
//! as skipped. Times are generous: none of these tests is a benchmark.

#![forbid(unsafe_code)]

#[path = "../support/mod.rs"]
mod shared;

mod ab;
mod calc;
mod copy;
mod demo;
mod diagnose;
mod dut;
mod engines;
mod errors;
mod faults;
mod formats;
mod gathering;
mod guard;
mod habits;
mod history;
mod host;
mod import;
mod interruptions;
mod iperf2;
mod iperf2_client;
mod iperf2_udp;
mod ladder;
mod latency;
mod many;
mod mesh;
mod mesh_jobs;
mod mesh_ssh;
mod probe;
mod rates;
mod report;
mod search;
mod service;
mod serving;
mod several;
mod shortages;
mod siege;
mod support;
mod sweep;
mod threats;
mod tune;
mod tune_other;
mod undo;
