//! `socket-buffer-differs`: socket buffers are not what was asked.

use measurement::record::StreamRecord;
use measurement::{ByteSize, Role};

use super::{Finding, Page, Rule, RuleId, Test};
use crate::words::count;

pub(crate) const PAGE: Page = Page {
    id: RuleId::SocketBufferDiffers,
    title: "Socket buffers differ from the request",
    what: "The kernel gave less than `-w` asked for; with TCP `-w` turns autotuning off.",
    why: "A window that is too small limits TCP and overflows with UDP, and the one that was \
           asked for is in no result.",
    evidence: "`SO_SNDBUF` and `SO_RCVBUF` read back, which the kernel doubles (socket(7)), and the \
           setting that clamps them.",
    remedy: "Raise it, or do without `-w`.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let Some(asked) = test.record.plan.options.window else { return Vec::new() };
    let here = here(test, asked);
    let there = there(test, asked);
    let tuning = (!test.is_udp()).then(|| {
        let sentence = format!(
            "-w {} turns TCP buffer autotuning off; leave it out to see what autotuning reaches",
            asked.bytes()
        );
        Finding::note(None, sentence)
    });
    here.into_iter().chain(there).chain(tuning).collect()
}

fn here(test: &Test<'_>, asked: ByteSize) -> Option<Finding> {
    let buffer = |stream: &StreamRecord| {
        if stream.sender { stream.send_buffer } else { stream.receive_buffer }
    };
    let known = test.record.streams.iter();
    let mut known = known.filter_map(|stream| Some((stream, buffer(stream)?.bytes() / 2)));
    let (stream, got) = known.find(|(_, got)| *got < asked.bytes())?;
    let name = if stream.sender { "net.core.wmem_max" } else { "net.core.rmem_max" };
    let most = test.host(&Role::Here).and_then(|host| host.setting(name));
    let got = ByteSize::from_bytes(got);
    let why = most.map_or_else(String::new, |most| format!(" ({name} = {})", count(most)));
    let sentence = format!(
        "asked for a socket buffer of {}, the kernel gave {}{why}; sysctl -w {name}={} on this host",
        asked.expanded(),
        got.expanded(),
        asked.bytes()
    );
    Some(Finding::suspect(Some(&Role::Here), sentence))
}

/// The server's buffers are not told, but what it may have at most is.
fn there(test: &Test<'_>, asked: ByteSize) -> Option<Finding> {
    let host = test.host(&Role::Peer)?;
    let sends = test.flows.iter().any(|flow| flow.sender() == Role::Peer);
    let name = if sends { "net.core.wmem_max" } else { "net.core.rmem_max" };
    let most = host.setting(name).filter(|most| *most < asked.bytes())?;
    let sentence = format!(
        "asked for a socket buffer of {}, the server's kernel gives {} at most ({name}); sysctl -w \
         {name}={} there",
        asked.expanded(),
        ByteSize::from_bytes(most).expanded(),
        asked.bytes()
    );
    Some(Finding::suspect(Some(&Role::Peer), sentence))
}

#[cfg(test)]
mod tests {
    use measurement::TestRecord;

    use super::*;
    use crate::test_record;

    fn asking(mut record: TestRecord, window: u64) -> TestRecord {
        record.plan = test_record::plan_with(&record.plan, |draft| {
            draft.options.window = Some(ByteSize::from_bytes(window));
        });
        record
    }

    #[test]
    fn a_buffer_that_was_clamped_names_the_setting() {
        let mut record = asking(test_record::udp(), 4 << 20);
        record.streams[0].send_buffer = Some(ByteSize::from_bytes(425_984));
        let text = test_record::suspected(&RULE, &record);
        let begin = "asked for a socket buffer of 4,194,304 bytes, the kernel gave 212,992 bytes \
                     (net.core.wmem_max = 8,388,608)";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.contains("; sysctl -w net.core.wmem_max=4194304 on this host"), "{text}");
    }

    #[test]
    fn a_server_that_cannot_give_so_much_is_named() {
        let mut record = asking(test_record::udp(), 4 << 20);
        record.streams[0].send_buffer = Some(ByteSize::from_bytes(8 << 20));
        assert_eq!(test_record::found(&RULE, &record), []);
        let settings = &mut test_record::host(&mut record, &Role::Peer).inventory.settings;
        settings.insert("net.core.rmem_max".to_owned(), "212992".to_owned());
        assert!(test_record::suspected(&RULE, &record).contains("gives 212,992 bytes at most"));
    }

    #[test]
    fn a_window_stops_tuning_and_none_does_not() {
        let mut record = asking(test_record::tcp(), 100_000);
        record.streams[0].send_buffer = Some(ByteSize::from_bytes(200_000));
        assert!(
            test_record::noted(&RULE, &record)
                .starts_with("-w 100000 turns TCP buffer autotuning off")
        );
        assert_eq!(test_record::found(&RULE, &test_record::tcp()), []);
    }
}
