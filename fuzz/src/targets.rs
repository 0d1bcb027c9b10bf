//! The registry of targets: a file each, in the order of their names.

mod client_machine;
mod datagrams;
mod form;
mod greetings;
mod host_counters;
mod host_inventory;
mod iperf2;
mod key_file;
mod keyed;
mod metrics_request;
mod parameters;
mod perf_text;
mod record;
mod results;
mod server_machine;
mod token;
mod transcript;
mod tuning;
mod users_file;

/// A decoder, and the function that gives it an input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its file, its folder in the corpus, and what `cargo xtask fuzz --target` takes.
    pub name: &'static str,
    /// Panics if a promise is broken by these bytes.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "client_machine", run: client_machine::run },
    Target { name: "datagrams", run: datagrams::run },
    Target { name: "form", run: form::run },
    Target { name: "greetings", run: greetings::run },
    Target { name: "host_counters", run: host_counters::run },
    Target { name: "host_inventory", run: host_inventory::run },
    Target { name: "iperf2", run: iperf2::run },
    Target { name: "key_file", run: key_file::run },
    Target { name: "keyed", run: keyed::run },
    Target { name: "metrics_request", run: metrics_request::run },
    Target { name: "parameters", run: parameters::run },
    Target { name: "perf_text", run: perf_text::run },
    Target { name: "record", run: record::run },
    Target { name: "results", run: results::run },
    Target { name: "server_machine", run: server_machine::run },
    Target { name: "token", run: token::run },
    Target { name: "transcript", run: transcript::run },
    Target { name: "tuning", run: tuning::run },
    Target { name: "users_file", run: users_file::run },
];
