//! A client and a server back to back, with their bytes cut in any way.

use std::collections::VecDeque;
use std::time::Duration;

use linerate_protocol::iperf3::{
    Announcement, Client, ClientEvent, ClockReading, Cookie, CounterWidth, FinalStream, Parameters,
    Results, Server, ServerEvent, StreamResult, stream_id,
};
use measurement::plan::{IPERF3_STREAMS, PlanDraft};
use measurement::{BitRate, ByteSize, Direction, End, Pacing, StreamOptions, TestPlan, Transport};
use proptest::prelude::*;
use proptest::sample::select;

use crate::machine::Machine;
use crate::support::{START, parameters};

/// A client and a server wired back to back, with hosts that do what they are told.
struct Conversation {
    client: Client,
    server: Server,
    asked: Parameters,
    upward: VecDeque<u8>,
    downward: VecDeque<u8>,
    story: Story,
}

/// What both hosts saw.
#[derive(Debug, Default, PartialEq)]
struct Story {
    client: Vec<ClientEvent>,
    server: Vec<ServerEvent>,
}

impl Conversation {
    fn new(asked: &Parameters) -> Self {
        let cookie = Cookie::from_random([7; 36]);
        let mut client = Client::new(asked.clone(), &cookie, START);
        // The listener takes the cookie off before there is a server.
        assert_eq!(client.take_output(), cookie.as_bytes());
        Self {
            client,
            server: Server::new(START),
            asked: asked.clone(),
            upward: VecDeque::new(),
            downward: VecDeque::new(),
            story: Story::default(),
        }
    }

    /// Carries pieces of these sizes, upward and downward in turn, until nobody has more to say.
    fn tell(mut self, pieces: &[usize]) -> Story {
        let mut sizes = pieces.iter().copied().cycle();
        loop {
            self.upward.extend(self.client.take_output());
            self.downward.extend(self.server.take_output());
            if self.upward.is_empty() && self.downward.is_empty() {
                return self.story;
            }
            let piece = cut(&mut self.upward, sizes.next());
            self.server.handle_bytes(&piece, START);
            self.serve();
            let piece = cut(&mut self.downward, sizes.next());
            self.client.handle_bytes(&piece, START);
            self.ask();
        }
    }

    fn ask(&mut self) {
        for event in self.client.events() {
            match &event {
                ClientEvent::CreateStreams => self.server.streams_open(START),
                ClientEvent::Run => self.client.end_test(START),
                ClientEvent::ResultsWanted => {
                    self.client.send_results(&results(&self.asked, 1), START);
                }
                _ => {}
            }
            self.story.client.push(event);
        }
    }

    fn serve(&mut self) {
        for event in self.server.events() {
            match &event {
                ServerEvent::Asked(_) => self.server.accept(None, START),
                ServerEvent::Ended => self.server.request_results(sent(&self.asked), START),
                ServerEvent::Results(_) => {
                    self.server.send_results(&results(&self.asked, 2), START);
                }
                _ => {}
            }
            self.story.server.push(event);
        }
    }
}

fn cut(bytes: &mut VecDeque<u8>, size: Option<usize>) -> Vec<u8> {
    let size = size.unwrap_or(usize::MAX).min(bytes.len());
    bytes.drain(..size).collect()
}

/// One result for each stream (clause 10.9), different for each `end`.
pub(crate) fn results(asked: &Parameters, end: u32) -> Results {
    let stream = |id| StreamResult {
        id,
        bytes: u64::from(id) << 33,
        retransmits: i64::from(end) - 2,
        jitter: 0.125,
        omitted_errors: Some(0),
        packets: u64::from(id * end),
        omitted_packets: Some(0),
        seconds: 1.5,
        ..StreamResult::default()
    };
    Results { streams: ids(asked).map(stream).collect(), ..Results::default() }
}

/// The streams that the server sends: the last ones (clause 7.5).
fn sent(asked: &Parameters) -> Vec<FinalStream> {
    let first = if asked.plan.direction.sends() { asked.plan.streams as usize } else { 0 };
    ids(asked).skip(first).map(|id| FinalStream { id, bytes: 1 << 40, datagrams: 9 }).collect()
}

fn ids(asked: &Parameters) -> impl Iterator<Item = u32> {
    let ways = if asked.plan.direction == Direction::Both { 2 } else { 1 };
    (0..asked.plan.streams * ways).map(stream_id)
}

fn plan() -> impl Strategy<Value = TestPlan> {
    let transport = select(vec![Transport::Tcp, Transport::Udp]);
    let direction = select(vec![Direction::Send, Direction::Receive, Direction::Both]);
    let end = prop_oneof![
        (1..86_400_u64).prop_map(|seconds| End::Time(Duration::from_secs(seconds))),
        (1..1_u64 << 53).prop_map(|bytes| End::Bytes(ByteSize::from_bytes(bytes))),
        (1..1_u64 << 53).prop_map(End::Blocks),
        Just(End::Open),
    ];
    let omit = (0..600_u64).prop_map(Duration::from_secs);
    (transport, direction, 1..=IPERF3_STREAMS, end, omit, options()).prop_map(
        |(transport, direction, streams, end, omit, options)| {
            let interval = Duration::from_secs(1);
            PlanDraft {
                transport,
                direction,
                streams,
                end,
                omit,
                interval,
                options,
                exchange: None,
                experiment: None,
            }
            .check()
            .expect("every field is in range")
        },
    )
}

/// Each of them at some rates.
fn paced_like(rate: BitRate) -> Pacing {
    Pacing::ALL[usize::try_from(rate.bits_per_second() % 4).unwrap_or(0)]
}

fn options() -> impl Strategy<Value = StreamOptions> {
    let rate = prop::option::of((1..1_u64 << 53).prop_map(BitRate::from_bits_per_second));
    let window = prop::option::of((1_u64..1 << 29).prop_map(ByteSize::from_bytes));
    let mss = prop::option::of(88_u32..9000);
    let congestion = prop::option::of("[a-z]{1,15}");
    let block = (16..65_507_u64).prop_map(|bytes| Some(ByteSize::from_bytes(bytes)));
    (block, rate, window, mss, congestion, any::<bool>(), rarer()).prop_map(
        |(block, rate, window, mss, congestion, no_delay, rarer)| StreamOptions {
            block,
            rate,
            pacing: rate.map_or(Pacing::Smooth, paced_like),
            window,
            mss,
            congestion,
            no_delay,
            ..rarer
        },
    )
}

/// The options that few tests set.
fn rarer() -> impl Strategy<Value = StreamOptions> {
    let burst = prop::option::of(1_u32..=1000);
    let socket_rate = prop::option::of((1..1_u64 << 53).prop_map(BitRate::from_bits_per_second));
    let flow_label = prop::option::of(1_u32..=0xF_FFFF);
    let hop_limit = prop::option::of(1_u8..);
    (burst, socket_rate, any::<u8>(), hop_limit, flow_label, any::<[bool; 5]>()).prop_map(
        |(burst, socket_rate, type_of_service, hop_limit, flow_label, switches)| StreamOptions {
            burst,
            socket_rate,
            type_of_service,
            hop_limit,
            flow_label,
            dont_fragment: switches[0],
            zero_copy: switches[1],
            skip_receive_copy: switches[2],
            repeating_payload: switches[3],
            pages: None,
            multipath: switches[4],
            ..StreamOptions::default()
        },
    )
}

/// What a linerate, or an iperf3 with these optional, asks for.
pub(crate) fn asked() -> impl Strategy<Value = Parameters> {
    (plan(), any::<bool>()).prop_map(|(plan, plain)| {
        let block = plan.options.block.expect("always set");
        let mut asked = Parameters::new(&plan, block);
        if plain {
            let mut draft = PlanDraft::clone(&plan);
            // An iperf3 knows but one, which keeps the mean, and no time to live.
            let paced = draft.options.rate.map(|_| Pacing::Average);
            draft.options.pacing = paced.unwrap_or_default();
            draft.options.hop_limit = None;
            asked = Parameters::new(&draft.check().expect("still valid"), block);
            asked.announcement = None;
            asked.counter_width = CounterWidth::Bits32;
        }
        asked
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_conversation_is_the_same_however_its_bytes_are_cut(
        asked in asked(),
        pieces in prop::collection::vec(prop_oneof![0..8_usize, 0..2000_usize], 1..40),
    ) {
        prop_assume!(pieces.iter().step_by(2).any(|size| *size > 0));
        prop_assume!(pieces.iter().skip(1).step_by(2).any(|size| *size > 0) || pieces.len() % 2 == 1);
        let whole = Conversation::new(&asked).tell(&[usize::MAX]);
        prop_assert_eq!(&whole, &regular(&asked));
        prop_assert_eq!(&Conversation::new(&asked).tell(&[1]), &whole);
        prop_assert_eq!(&Conversation::new(&asked).tell(&pieces), &whole);
    }

    #[test]
    fn parameters_survive_the_wire_and_are_short(asked in asked()) {
        let text = asked.to_json().to_string();
        // Clause 5.4.
        prop_assert!(text.len() < 4096, "{} bytes", text.len());
        prop_assert_eq!(Parameters::from_json(text.as_bytes()), Ok(asked));
    }
}

/// What the hosts must see in a test where nothing goes wrong.
fn regular(asked: &Parameters) -> Story {
    let mut story = Story::default();
    story.client.push(ClientEvent::CreateStreams);
    story.client.extend([ClientEvent::Start, ClientEvent::Run, ClientEvent::ResultsWanted]);
    if asked.announcement.is_some() {
        let now = START.nanos();
        let clock = Some(ClockReading { heard: now, said: now });
        let own = Announcement { clock, ..Announcement::own() };
        story.client.insert(0, ClientEvent::PeerAnnounced(own));
        story.client.insert(4, ClientEvent::FinalStreams(sent(asked)));
    }
    story.client.extend([ClientEvent::Results(results(asked, 2)), ClientEvent::Done]);
    story.server.extend([
        ServerEvent::Asked(Box::new(asked.clone())),
        ServerEvent::Ended,
        ServerEvent::Results(results(asked, 1)),
        ServerEvent::Done,
    ]);
    story
}

#[test]
fn only_what_both_ends_know_is_used() {
    // Clause 13.2; 13.3 is not for a client that did not name it.
    let mut asked = parameters();
    asked.announcement = Some(Announcement { version: "9".to_owned(), ..Announcement::default() });
    let story = Conversation::new(&asked).tell(&[usize::MAX]);
    let answer = Announcement { extensions: Vec::new(), ..Announcement::own() };
    assert_eq!(story.client[0], ClientEvent::PeerAnnounced(answer));
    assert!(!story.client.iter().any(|event| matches!(event, ClientEvent::FinalStreams(_))));
    assert_eq!(story.client.last(), Some(&ClientEvent::Done));
}
