//! The command that repeats a test, from its plan: as typed on the host that wrote the record.

use measurement::plan::StreamOptions;
use measurement::{Direction, End, Peer, SearchRecord, TestPlan, TestRecord, Transport};

/// `linerate test 10.0.0.2 --udp --send -t 5s -b 100M`. Of a test with requests that of all of its
/// rows.
pub(super) fn of_test(record: &TestRecord) -> String {
    let plan = &record.plan;
    let mut words = match plan.exchange {
        Some(_) => vec!["linerate latency".to_owned(), host(record.peer.as_ref())],
        None => vec!["linerate test".to_owned(), host(record.peer.as_ref())],
    };
    if plan.exchange.is_none() {
        words.extend(rows(plan));
    }
    words.extend(amount(plan));
    words.extend(options(plan, record.trials.rate.is_some()));
    if record.outcome.latency.is_some() {
        words.push("--latency".to_owned());
    }
    words.join(" ")
}

/// `linerate search 10.0.0.2`.
pub(super) fn of_search(record: &SearchRecord) -> String {
    let plan = &record.plan;
    let mut words = vec!["linerate search".to_owned(), host(record.heading.peer.as_ref())];
    words.extend((plan.transport == Transport::Tcp).then(|| "--tcp".to_owned()));
    words.extend((plan.direction == Direction::Receive).then(|| "--receive".to_owned()));
    words.join(" ")
}

/// As the command line takes it: an address of IPv6 in brackets, the port where it is not 5201.
fn host(peer: Option<&Peer>) -> String {
    let Some(peer) = peer else { return "HOST".to_owned() };
    if peer.address.port() == USUAL_PORT {
        return peer.address.ip().to_string();
    }
    peer.address.to_string()
}

fn rows(plan: &TestPlan) -> [String; 2] {
    let transport = match plan.transport {
        Transport::Tcp => "--tcp",
        Transport::Udp => "--udp",
    };
    let direction = match plan.direction {
        Direction::Send => "--send",
        Direction::Receive => "--receive",
        Direction::Both => "--bidir",
    };
    [transport, direction].map(str::to_owned)
}

fn amount(plan: &TestPlan) -> Vec<String> {
    let end = match plan.end {
        End::Time(time) => Some(format!("-t {}s", time.as_secs_f64())),
        End::Bytes(size) => Some(format!("-n {}", size.bytes())),
        End::Blocks(count) => Some(format!("-k {count}")),
        End::Open => None,
    };
    let omit = (!plan.omit.is_zero()).then(|| format!("-O {}s", plan.omit.as_secs_f64()));
    let streams = (plan.streams > 1).then(|| format!("-P {}", plan.streams));
    [end, omit, streams].into_iter().flatten().collect()
}

/// The options that were set. A rate that a search `found` is found again.
fn options(plan: &TestPlan, found: bool) -> Vec<String> {
    let options: &StreamOptions = &plan.options;
    let rate = options.rate.filter(|_| !found).map(|rate| rate.bits_per_second().to_string());
    let flood = plan.transport == Transport::Udp && plan.exchange.is_none() && !found;
    let rate = rate.or_else(|| flood.then(|| "0".to_owned()));
    let engines: Vec<_> = options.engines.iter().map(ToString::to_string).collect();
    let tos = Some(options.type_of_service).filter(|tos| *tos > 0);
    let with = |name: &str, value: Option<String>| value.map(|value| format!("{name} {value}"));
    [
        with("-b", rate),
        with("-l", options.block.map(|size| size.bytes().to_string())),
        with("-w", options.window.map(|size| size.bytes().to_string())),
        with("-M", options.mss.map(|mss| mss.to_string())),
        with("-C", options.congestion.as_deref().map(quoted)),
        with("--engine", (!engines.is_empty()).then(|| engines.join(","))),
        with("--tos", tos.map(|tos| tos.to_string())),
        with("--ttl", options.hop_limit.map(|hops| hops.to_string())),
        options.no_delay.then(|| "--no-delay".to_owned()),
        options.multipath.then(|| "--mptcp".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A word of the shell: a name that a record states may be anything.
fn quoted(word: &str) -> String {
    let is_plain =
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The port of iperf3, which is the default.
const USUAL_PORT: u16 = 5201;

#[cfg(test)]
mod tests {
    use measurement::plan::PlanDraft;
    use measurement::{BitRate, ByteSize};

    use super::*;

    fn command(change: fn(&mut PlanDraft)) -> String {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
        change(&mut draft);
        of_test(&TestRecord::imported(draft.check().expect("a plan"), "a log"))
    }

    #[test]
    fn a_command_has_the_options_that_were_set() {
        assert_eq!(command(|_| {}), "linerate test HOST --tcp --send -t 10s");
        let full = command(|draft| {
            (draft.transport, draft.direction) = (Transport::Udp, Direction::Both);
            draft.streams = 4;
            draft.options.rate = Some(BitRate::from_bits_per_second(100_000_000));
            draft.options.block = Some(ByteSize::from_bytes(1400));
        });
        assert_eq!(full, "linerate test HOST --udp --bidir -t 10s -P 4 -b 100000000 -l 1400");
        assert!(command(|draft| draft.transport = Transport::Udp).ends_with(" -b 0"));
    }

    #[test]
    fn a_name_of_a_record_is_one_word_of_the_shell() {
        let text = command(|draft| draft.options.congestion = Some("a; rm b'c".to_owned()));
        assert!(text.ends_with("-C 'a; rm b'\\''c'"), "{text}");
    }
}
