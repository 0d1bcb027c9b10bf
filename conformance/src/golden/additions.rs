//! What older versions of iperf3 print otherwise, and what is deliberately not copied
//! from any. Data, each entry with the version that has it so, and its reason.

use Pattern::{Columns, Exit, Key, KeyIn, Misuse, ServerIn, Words};
use Setup::{GivesUp, Interrupted};

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
            Key(key) => format!("key `{key}`"),
            Words(words) => format!("`{words}`"),
            Columns(end) => format!("columns of `...{end}`"),
            Exit(how) => format!("exit with {how}"),
            Misuse => "misuse".to_owned(),
            KeyIn(setup, key) => format!("key `{key}` when {setup:?}"),
            ServerIn(setup) => format!("the server when {setup:?}"),
        }
    }

    fn covers(&self, line: &CommandLine, difference: &Difference) -> bool {
        let what = &difference.what;
        match self.pattern {
            Key(key) => what.path().is_some_and(|path| is_at(path, key)),
            Words(words) => says(what, words),
            Columns(end) => {
                matches!(what, What::Columns(shape) if shape.ends_with(end))
            }
            Exit(how) => matches!(what, What::Exit(change) if change.ours == how),
            Misuse => line.setup == Setup::Misused && what.shape().is_some(),
            KeyIn(setup, key) => {
                line.setup == setup && what.path().is_some_and(|path| is_at(path, key))
            }
            ServerIn(setup) => line.setup == setup && difference.channel.is_of_server(),
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
    let changed = matches!(what, What::KeyChanged(_, change)
        if change.theirs.contains(words) && change.ours.contains(words));
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

/// An entry for every version of iperf3.
const fn always(pattern: Pattern, reason: &'static str) -> Exception {
    Exception { from: OLDEST, since: NEVER, pattern, reason }
}

/// An entry for every version before 3.`minor`.
const fn before(minor: u32, pattern: Pattern, reason: &'static str) -> Exception {
    Exception { from: OLDEST, since: Version(3, minor), pattern, reason }
}

/// An entry for 3.`minor` and every later version.
const fn since(minor: u32, pattern: Pattern, reason: &'static str) -> Exception {
    Exception { from: Version(3, minor), since: NEVER, pattern, reason }
}

/// The oldest version to compare with.
const OLDEST: Version = Version(3, 12);
/// Of entries that hold for every version of iperf3.
const NEVER: Version = Version(u32::MAX, 0);

const PER_STREAM: &str = "stood there once for each stream";
const NO_BUFFERS: &str = "a stream that never was has no buffers to report";

const ENTRIES: &[Exception] = &[
    always(Key("linerate"), "what linerate knows and iperf3 has no name for stands under one key"),
    always(Key("end.data.linerate"), "in a stream of events, it is in the last one"),
    always(
        Key("start.target_bitrate"),
        "an iperf3 server of UDP has it twice in one object, which JSON does not allow for",
    ),
    always(Words("title: Linux"), "iperf3 prints a title twice before the line about the system"),
    always(
        ServerIn(Interrupted),
        "a client that is interrupted ends its test in order, so that both ends have whole \
         results; iperf3's breaks off, and its server prints a time of nonsense",
    ),
    always(
        KeyIn(Interrupted, "end.receiver_tcp_congestion"),
        "of an interrupted test the receiver's word comes too",
    ),
    since(14, KeyIn(GivesUp, "start.sock_bufsize"), NO_BUFFERS),
    since(14, KeyIn(GivesUp, "start.sndbuf_actual"), NO_BUFFERS),
    since(14, KeyIn(GivesUp, "start.rcvbuf_actual"), NO_BUFFERS),
    before(13, Key("start.fq_rate"), "new: what --fq-rate asks"),
    before(13, Key("start.test_start.bidir"), "new: whether the test is bidirectional"),
    before(13, Key("start.test_start.fqrate"), "new: what --fq-rate asks, as the server reads it"),
    before(14, Key("start.sock_bufsize"), PER_STREAM),
    before(14, Key("start.sndbuf_actual"), PER_STREAM),
    before(14, Key("start.rcvbuf_actual"), PER_STREAM),
    before(14, Words("unable to connect to server"), "gives advice since then"),
    before(14, Exit("failure"), "an error reported in JSON was a success before"),
    before(14, Misuse, "shows how to get help; before, it showed all of the help"),
    before(17, Key("start.test_start.interval"), "new: the interval of reports"),
    Exception {
        from: Version(3, 16),
        since: Version(3, 17),
        pattern: Words("pthread_mutex"),
        reason: "one version complains of its own locks when it ends early",
    },
    before(18, Columns("sender"), "one blank less after the retransmissions of a sender"),
    before(19, Words("interrupt - the"), "names the signal since then"),
    before(19, Exit("success"), "the end by a signal is a success since then"),
    before(20, Key("start.timestamp.timemillisecs"), "new: milliseconds since 1970"),
    before(20, Key("intervals[].streams[].reorder"), "new: TCP_INFO's reordering metric"),
    before(
        20,
        Key("end.streams[].sender.reorder"),
        "new: the last of TCP_INFO's reordering metrics",
    ),
    before(21, Key("start.test_start.gso"), "new: whether datagrams are segmented by the kernel"),
    before(21, Key("start.test_start.gro"), "new: whether datagrams are coalesced by the kernel"),
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
        let found = Difference { channel: Channel::ClientOutput, what: What::KeyAdded(path) };
        let excused = |version| excuse(version, &COMMAND_LINES[0], &found).is_some();
        assert!(excused(Version(3, 12)) && excused(Version(3, 16)));
        assert!(!excused(Version(3, 17)) && !excused(Version(3, 21)));
    }

    #[test]
    fn our_own_key_is_excused_for_all() {
        for path in ["linerate", "end.data.linerate", "linerate.streams[].x", "start.linerate"] {
            let what = What::KeyAdded(path.to_owned());
            let found = Difference { channel: Channel::ClientOutput, what };
            let excused = excuse(Version(3, 21), &COMMAND_LINES[0], &found).is_some();
            assert_eq!(excused, path != "start.linerate", "{path}");
        }
    }
}
