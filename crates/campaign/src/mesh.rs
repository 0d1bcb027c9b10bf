//! Tests between many hosts: starts an agent on each by an engine that reaches it ([`Engine`]),
//! runs the rounds of [`analysis::mesh`], and stores each pair when its test has ended.
//!
//! An agent is a process of linerate on a host, which answers tests and runs those that it is told to.
//! Coordinator and agent talk over the standard input and output of that process, or over a
//! connection, in lines of JSON ([`message`]).

mod agents;
mod coordinator;
mod ended;
mod engine;
mod links;
pub mod message;
mod named;
mod push;
#[cfg(test)]
mod tests;

pub use agents::{Agents, Channel};
pub use coordinator::{Coordinator, Observer, Tested};
pub use ended::{Ended, Limit};
pub use engine::{Engine, Srun, Ssh, Via, quoted};
pub use links::Links;
pub use named::{record, stage};
pub use push::Push;

use measurement::Order;

/// A host as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshHost {
    /// Its name, by which the engine reaches it.
    pub name: String,
    /// The addresses at which other hosts reach it, one for each link.
    pub addresses: Vec<String>,
}

impl MeshHost {
    /// Reads a file of hosts: a line `NAME [ADDRESS[,ADDRESS...]]` for each; `#` starts a comment. Without
    /// an address the name is one.
    ///
    /// # Errors
    /// A line has more than two words, an empty address or more than [`MOST_LINKS`], or a name is there
    /// twice, or there are fewer than two hosts.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        let mut hosts: Vec<Self> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<_> = line.split_whitespace().collect();
            let (name, address) = match words[..] {
                [] => continue,
                [name] => (name, name),
                [name, address] => (name, address),
                _ => return Err(format!("line {} is not NAME [ADDRESS,ADDRESS...]", number + 1)),
            };
            let addresses: Vec<_> = address.split(',').map(str::to_owned).collect();
            if addresses.iter().any(String::is_empty) {
                return Err(format!("line {} has an empty address", number + 1));
            }
            if addresses.len() > MOST_LINKS {
                return Err(format!("line {} has more than {MOST_LINKS} addresses", number + 1));
            }
            hosts.push(Self { name: name.to_owned(), addresses });
        }
        let mut names: Vec<_> = hosts.iter().map(|host| host.name.as_str()).collect();
        names.order();
        match names.windows(2).find(|two| two[0] == two[1]).map(|two| two[0]) {
            Some(name) => Err(format!("{name} is there twice")),
            None if hosts.len() < 2 => Err("a mesh takes two hosts or more".to_owned()),
            None => Ok(hosts),
        }
    }
}

/// Addresses of a host, at most.
pub const MOST_LINKS: usize = 16;
