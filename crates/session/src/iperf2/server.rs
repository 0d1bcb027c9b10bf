//! The server's end of tests with clients of iperf2 (docs/protocol/iperf2.md): TCP connections that
//! begin as theirs do, on which this end receives, sends or answers, and UDP flows, which it receives.
//! Which connection belongs to which test the acceptor decides (`iperf3::server`).

mod answers;
mod asked;
mod connections;
mod flow;
mod flows;
mod gathering;
mod places;
mod test;

pub(crate) use asked::{plan, receiving};
pub(crate) use flows::Flows;
pub(crate) use gathering::Gathering;
pub(crate) use test::{Client, Test};

/// How clients are called, of which there are many versions that do not tell theirs.
const SOFTWARE: &str = "iperf2";

fn failed(why: &str) -> measurement::outcome::Ending {
    measurement::outcome::Ending::Failed { error: why.to_owned() }
}
