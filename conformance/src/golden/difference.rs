//! One difference between two outputs.

use std::fmt;

/// Where it is, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) channel: Channel,
    pub(crate) what: What,
}

/// Which output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    ClientOutput,
    ClientErrors,
    ClientExit,
    ServerOutput,
    ServerErrors,
    ServerExit,
}

impl Channel {
    /// Whether the server is there.
    pub(crate) const fn is_of_server(self) -> bool {
        matches!(self, Self::ServerOutput | Self::ServerErrors | Self::ServerExit)
    }
}

/// A difference. "Missing" is what only the reference has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A program ended otherwise.
    Exit(Change),
    /// One is JSON and the other is not, or of another kind.
    Form(Change),
    /// Our output is no JSON: the error.
    Broken(String),
    /// `linerate import` finds other runs.
    Runs(Change),
    /// The path of a key.
    KeyMissing(String),
    KeyAdded(String),
    /// Another type, or another text.
    KeyChanged(String, Change),
    /// The keys of an object stand in another order.
    KeyOrder(String, Change),
    /// The shape of a line.
    LineMissing(String),
    LineAdded(String),
    /// Lines of this shape have their columns elsewhere.
    Columns(String),
}

/// What the reference has, and what we have in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) theirs: String,
    pub(crate) ours: String,
}

impl What {
    /// The path of the key that it is about.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::KeyMissing(path)
            | Self::KeyAdded(path)
            | Self::KeyChanged(path, _)
            | Self::KeyOrder(path, _) => Some(path),
            _ => None,
        }
    }

    /// The shape of the line that it is about.
    pub(crate) fn shape(&self) -> Option<&str> {
        match self {
            Self::LineMissing(shape) | Self::LineAdded(shape) | Self::Columns(shape) => Some(shape),
            _ => None,
        }
    }
}

impl Change {
    pub(crate) fn new(theirs: &impl ToString, ours: &impl ToString) -> Self {
        Self { theirs: theirs.to_string(), ours: ours.to_string() }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.channel, self.what)
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ClientOutput => "client's output",
            Self::ClientErrors => "client's errors",
            Self::ClientExit => "client's end",
            Self::ServerOutput => "server's output",
            Self::ServerErrors => "server's errors",
            Self::ServerExit => "server's end",
        })
    }
}

impl fmt::Display for What {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(change) | Self::Form(change) => change.fmt(formatter),
            Self::Runs(change) => write!(formatter, "imported runs are {change}"),
            Self::Broken(error) => write!(formatter, "no JSON: {error}"),
            Self::KeyMissing(path) => write!(formatter, "key `{path}` is missing"),
            Self::KeyAdded(path) => write!(formatter, "key `{path}` is new"),
            Self::KeyChanged(path, change) => write!(formatter, "key `{path}` is {change}"),
            Self::KeyOrder(path, change) => write!(formatter, "keys of `{path}` are {change}"),
            Self::LineMissing(shape) => write!(formatter, "line `{shape}` is missing"),
            Self::LineAdded(shape) => write!(formatter, "line `{shape}` is new"),
            Self::Columns(shape) => write!(formatter, "line `{shape}` has other columns"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} instead of {}", self.ours, self.theirs)
    }
}
