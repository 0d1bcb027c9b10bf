//! What older versions of iperf3 print otherwise, and what is deliberately not copied
//! from any. Data, each entry with the version that has it so, and its reason.

use super::commands::{CommandLine, Setup};
use super::difference::{Difference, What};
use super::keys::is_below;
use crate::program::Version;

/// One known difference.
#[derive(Debug)]
pub(crate) struct Exception {
    /// The first version that has it otherwise; the entry excuses references from it on.
    from: Version,
    /// The version that first has it as linerate has it; the entry excuses none from it on.
    since: Version,
    pattern: Pattern,
    /// What changed.
    pub(crate) reason: &'static str,
}

/// Which differences an entry covers.
#[derive(Debug)]
enum Pattern {
    /// This key and what is in it, also below the name of an event.
    Key(&'static str),
    /// A line of this shape.
    Line(&'static str),
    /// A line or a string of JSON in which these words stand.
    Words(&'static str),
    /// The columns of lines that end so.
    Columns(&'static str),
    /// That ours ends so, and the reference does not.
    Exit(&'static str),
    /// What is printed of a wrong command line.
    Misuse,
    /// This key and what is in it, in one setup only.
    KeyIn(Setup, &'static str),
    /// What the server of one setup prints.
    ServerIn(Setup),
}

impl Exception {
    /// What it is about, for people.
    pub(crate) fn name(&self) -> String {
        match self.pattern {
            Pattern::Key(key) => format!("key `{key}`"),
            Pattern::Line(words) | Pattern::Words(words) => format!("`{words}`"),
            Pattern::Columns(end) => format!("columns of `...{end}`"),
            Pattern::Exit(how) => format!("exit with {how}"),
            Pattern::Misuse => "misuse".to_owned(),
            Pattern::KeyIn(setup, key) => format!("key `{key}` when {setup:?}"),
            Pattern::ServerIn(setup) => format!("the server when {setup:?}"),
        }
    }

    fn covers(&self, line: &CommandLine, difference: &Difference) -> bool {
        let what = &difference.what;
        match self.pattern {
            Pattern::Key(key) => what.path().is_some_and(|path| is_at(path, key)),
            Pattern::Line(line) => what.shape() == Some(line),
            Pattern::Words(words) => says(what, words),
            Pattern::Columns(end) => {
                matches!(what, What::Columns { shape } if shape.ends_with(end))
            }
            Pattern::Exit(how) => matches!(what, What::Exit { ours, .. } if ours == how),
            Pattern::Misuse => line.setup == Setup::Misused && what.shape().is_some(),
            Pattern::KeyIn(setup, key) => {
                line.setup == setup && what.path().is_some_and(|path| is_at(path, key))
            }
            Pattern::ServerIn(setup) => line.setup == setup && difference.channel.is_of_server(),
        }
    }
}

/// Paths of events have `EVENT.data` before them, and `intervals[]` is the event
/// `interval`; an embedded output of the server has its own name before it.
fn is_at(path: &str, key: &str) -> bool {
    let path = path.strip_prefix("server_output_json.").unwrap_or(path);
    let event = path.split_once(".data").map(|(event, rest)| match event {
        "interval" => format!("intervals[]{rest}"),
        _ => format!("{event}{rest}"),
    });
    is_below(path, key) || event.is_some_and(|path| is_below(&path, key))
}

fn says(what: &What, words: &str) -> bool {
    let changed = matches!(what, What::KeyChanged { theirs, ours, .. }
        if theirs.contains(words) && ours.contains(words));
    changed || what.shape().is_some_and(|shape| shape.contains(words))
}

/// The entries for a reference of this version.
pub(crate) fn entries(reference: Version) -> impl Iterator<Item = &'static Exception> {
    ENTRIES.iter().filter(move |entry| entry.from <= reference && reference < entry.since)
}

/// The entry that excuses a difference from a reference of this version.
pub(crate) fn excuse(
    reference: Version,
    line: &CommandLine,
    difference: &Difference,
) -> Option<&'static Exception> {
    entries(reference).find(|entry| entry.covers(line, difference))
}

const fn key(minor: u32, key: &'static str, reason: &'static str) -> Exception {
    Exception { from: OLDEST, since: Version(3, minor), pattern: Pattern::Key(key), reason }
}

const fn gives_up(key: &'static str) -> Exception {
    Exception {
        from: Version(3, 14),
        since: NEVER,
        pattern: Pattern::KeyIn(Setup::GivesUp, key),
        reason: "a stream that never was has no buffers to report",
    }
}

const fn words(minor: u32, words: &'static str, reason: &'static str) -> Exception {
    Exception { from: OLDEST, since: Version(3, minor), pattern: Pattern::Words(words), reason }
}

const fn exit(minor: u32, how: &'static str, reason: &'static str) -> Exception {
    Exception { from: OLDEST, since: Version(3, minor), pattern: Pattern::Exit(how), reason }
}

/// The oldest version to compare with.
const OLDEST: Version = Version(3, 12);
/// Of entries that hold for every version of iperf3.
const NEVER: Version = Version(u32::MAX, 0);

const ENTRIES: &[Exception] = &[
    Exception {
        from: OLDEST,
        since: NEVER,
        pattern: Pattern::Key("linerate"),
        reason: "what linerate knows and iperf3 has no name for stands under one key",
    },
    Exception {
        from: OLDEST,
        since: NEVER,
        pattern: Pattern::Line("linerate"),
        reason: "in a stream of events, it is an event of this name",
    },
    Exception {
        from: OLDEST,
        since: NEVER,
        pattern: Pattern::Key("start.target_bitrate"),
        reason: "an iperf3 server of UDP has it twice in one object, which JSON does not allow for",
    },
    Exception {
        from: OLDEST,
        since: NEVER,
        pattern: Pattern::Words("title: Linux"),
        reason: "iperf3 prints a title twice before the line about the system",
    },
    Exception {
        from: OLDEST,
        since: NEVER,
        pattern: Pattern::ServerIn(Setup::Interrupted),
        reason: "a client that is interrupted ends its test in order, so that both ends have \
                 whole results; iperf3's breaks off, and its server prints a time of nonsense",
    },
    Exception {
        from: OLDEST,
        since: NEVER,
        pattern: Pattern::KeyIn(Setup::Interrupted, "end.receiver_tcp_congestion"),
        reason: "of an interrupted test the receiver's word comes too",
    },
    gives_up("start.sock_bufsize"),
    gives_up("start.sndbuf_actual"),
    gives_up("start.rcvbuf_actual"),
    key(13, "start.fq_rate", "new: what --fq-rate asks"),
    key(13, "start.test_start.bidir", "new: whether the test is bidirectional"),
    key(13, "start.test_start.fqrate", "new: what --fq-rate asks, as the server reads it"),
    key(14, "start.sock_bufsize", "stood there once for each stream"),
    key(14, "start.sndbuf_actual", "stood there once for each stream"),
    key(14, "start.rcvbuf_actual", "stood there once for each stream"),
    words(14, "unable to connect to server", "gives advice since then"),
    exit(14, "failure", "an error reported in JSON was a success before"),
    Exception {
        from: OLDEST,
        since: Version(3, 14),
        pattern: Pattern::Misuse,
        reason: "shows how to get help; before, it showed all of the help",
    },
    key(17, "start.test_start.interval", "new: the interval of reports"),
    Exception {
        from: Version(3, 16),
        since: Version(3, 17),
        pattern: Pattern::Words("pthread_mutex"),
        reason: "one version complains of its own locks when it ends early",
    },
    Exception {
        from: OLDEST,
        since: Version(3, 18),
        pattern: Pattern::Columns("sender"),
        reason: "one blank less after the retransmissions of a sender",
    },
    words(19, "interrupt - the", "names the signal since then"),
    exit(19, "success", "the end by a signal is a success since then"),
    key(20, "start.timestamp.timemillisecs", "new: milliseconds since 1970"),
    key(20, "intervals[].streams[].reorder", "new: TCP_INFO's reordering metric"),
    key(20, "end.streams[].sender.reorder", "new: the last of TCP_INFO's reordering metrics"),
    key(21, "start.test_start.gso", "new: whether datagrams are segmented by the kernel"),
    key(21, "start.test_start.gro", "new: whether datagrams are coalesced by the kernel"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::commands::COMMAND_LINES;
    use crate::golden::difference::Channel;

    #[test]
    fn every_entry_has_a_reason() {
        assert!(ENTRIES.iter().all(|entry| !entry.reason.is_empty()));
    }

    #[test]
    fn a_key_is_found_in_documents_events_and_embedded_output() {
        assert!(is_at("start.test_start.gso", "start.test_start.gso"));
        assert!(is_at("start.data.test_start.gso", "start.test_start"));
        assert!(is_at("server_output_json.start.test_start", "start.test_start"));
        assert!(is_at("interval.data.sum.x", "intervals[].sum"));
        assert!(!is_at("start.test_started", "start.test_start"));
    }

    #[test]
    fn an_entry_excuses_only_references_before_it() {
        let path = "start.test_start.interval".to_owned();
        let found = Difference { channel: Channel::ClientOutput, what: What::KeyAdded { path } };
        let excused = |version| excuse(version, &COMMAND_LINES[0], &found).is_some();
        assert!(excused(Version(3, 12)) && excused(Version(3, 16)));
        assert!(!excused(Version(3, 17)) && !excused(Version(3, 21)));
    }

    #[test]
    fn our_own_key_is_excused_for_all() {
        for path in ["linerate", "end.data.linerate", "linerate.streams[].x"] {
            let what = What::KeyAdded { path: path.to_owned() };
            let found = Difference { channel: Channel::ClientOutput, what };
            let excused = excuse(Version(3, 21), &COMMAND_LINES[0], &found).is_some();
            assert_eq!(excused, path != "end.data.linerate", "{path}");
        }
    }
}
