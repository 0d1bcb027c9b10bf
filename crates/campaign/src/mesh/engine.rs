//! How a program is started on a host: by the host's ssh, by Slurm's srun, or by a command that the
//! user gave.

use std::process::Command;

use super::MeshHost;

/// Starts programs on hosts. What they print comes back on their standard output.
pub trait Engine {
    /// The command that runs the `words` on `host`.
    fn command(&self, host: &MeshHost, words: &[String]) -> Command;
}

/// A command before the program, e.g. `ip netns exec {host}`; `{host}` is the host's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via(Vec<String>);

impl Via {
    /// Splits a command at its spaces.
    ///
    /// # Errors
    /// It is empty, or does not name the host.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        if words.iter().any(|word| word.contains(HOST)) {
            Ok(Self(words))
        } else {
            Err(format!("it has no {HOST}, e.g. 'ip netns exec {HOST}'"))
        }
    }
}

impl Engine for Via {
    fn command(&self, host: &MeshHost, words: &[String]) -> Command {
        let prefix = self.0.iter().map(|word| word.replace(HOST, &host.name));
        command(prefix.chain(words.iter().cloned()))
    }
}

/// ssh(1) of this host, with its configuration: one connection for each host, and no questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssh {
    /// Further options, e.g. `-F FILE`.
    pub options: Vec<String>,
}

impl Engine for Ssh {
    fn command(&self, host: &MeshHost, words: &[String]) -> Command {
        let fixed =
            ["ssh", "-T", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5"];
        let fixed = fixed.iter().map(|word| (*word).to_owned());
        let place = ["--".to_owned(), host.name.clone(), quoted(words)];
        command(fixed.chain(self.options.iter().cloned()).chain(place))
    }
}

/// srun(1) inside an allocation of Slurm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Srun;

impl Engine for Srun {
    fn command(&self, host: &MeshHost, words: &[String]) -> Command {
        // A step waits for ever for a node that is down: not longer than this.
        let fixed = ["srun", "-N1", "-n1", "--overlap", "--exact", "--immediate=30", "--no-kill"];
        let fixed = fixed.iter().map(|word| (*word).to_owned());
        let place = ["-w".to_owned(), host.name.clone()];
        command(fixed.chain(place).chain(words.iter().cloned()))
    }
}

fn command(mut words: impl Iterator<Item = String>) -> Command {
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// A line for a POSIX shell that runs the words, each in single quotes.
#[must_use]
pub fn quoted(words: &[String]) -> String {
    let word = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

const HOST: &str = "{host}";

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(engine: &dyn Engine) -> String {
        let host = MeshHost { name: "n1".to_owned(), addresses: vec!["10.0.0.1".to_owned()] };
        let command = engine.command(&host, &["/opt/it's".to_owned(), "mesh-agent".to_owned()]);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_engine_reaches_the_host_by_its_name() {
        let via = Via::parse("ip netns exec {host}").expect("names the host");
        assert_eq!(shown(&via), "ip netns exec n1 /opt/it's mesh-agent");
        assert!(shown(&Ssh::default()).ends_with(r"-- n1 '/opt/it'\''s' 'mesh-agent'"));
        assert!(shown(&Srun).contains("-w n1 /opt/it's"));
        assert!(Via::parse("ip netns exec").is_err());
    }
}
