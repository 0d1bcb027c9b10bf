//! The least that a server can do: accept a connection and close it.
//!
//! It runs as a process of its own, so that its CPU time can be read; it is the measure
//! of what opened and dropped connections cost.

use std::net::{SocketAddr, TcpListener};

use anyhow::Context;
use clap::Args;

use crate::Verdict;

/// Accepts connections and closes them
#[derive(Debug, Args)]
pub(crate) struct Bare {
    /// Where to listen
    address: SocketAddr,
}

impl Bare {
    /// Until it is killed.
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let listener = TcpListener::bind(self.address).context("cannot listen")?;
        loop {
            // One that is gone before it was taken is none of the others' business.
            drop(listener.accept());
        }
    }
}
