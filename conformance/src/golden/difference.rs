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
    Exit {
        theirs: String,
        ours: String,
    },
    /// One is JSON and the other is not, or of another kind.
    Form {
        theirs: String,
        ours: String,
    },
    /// Our output is no JSON.
    Broken {
        error: String,
    },
    KeyMissing {
        path: String,
    },
    KeyAdded {
        path: String,
    },
    /// Another type, or another text.
    KeyChanged {
        path: String,
        theirs: String,
        ours: String,
    },
    /// The keys of an object stand in another order.
    KeyOrder {
        path: String,
        theirs: String,
        ours: String,
    },
    LineMissing {
        shape: String,
    },
    LineAdded {
        shape: String,
    },
    /// Lines of this shape have their columns elsewhere.
    Columns {
        shape: String,
    },
}

impl What {
    /// The path of the key that it is about.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::KeyMissing { path }
            | Self::KeyAdded { path }
            | Self::KeyChanged { path, .. }
            | Self::KeyOrder { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The shape of the line that it is about.
    pub(crate) fn shape(&self) -> Option<&str> {
        match self {
            Self::LineMissing { shape } | Self::LineAdded { shape } | Self::Columns { shape } => {
                Some(shape)
            }
            _ => None,
        }
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
            Self::Exit { theirs, ours } | Self::Form { theirs, ours } => {
                write!(formatter, "{ours} instead of {theirs}")
            }
            Self::Broken { error } => write!(formatter, "no JSON: {error}"),
            Self::KeyMissing { path } => write!(formatter, "key `{path}` is missing"),
            Self::KeyAdded { path } => write!(formatter, "key `{path}` is new"),
            Self::KeyChanged { path, theirs, ours } => {
                write!(formatter, "key `{path}` is {ours} instead of {theirs}")
            }
            Self::KeyOrder { path, theirs, ours } => {
                write!(formatter, "keys of `{path}` are {ours} instead of {theirs}")
            }
            Self::LineMissing { shape } => write!(formatter, "line `{shape}` is missing"),
            Self::LineAdded { shape } => write!(formatter, "line `{shape}` is new"),
            Self::Columns { shape } => write!(formatter, "line `{shape}` has other columns"),
        }
    }
}
