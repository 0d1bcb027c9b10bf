//! What iperf2 peers send: the first bytes of a connection, requests, the datagrams of a flow and the
//! report that ends it.

use crate::memory;
use protocol::iperf2::{
    Asks, Back, Bounce, FlowDatagram, FlowStart, Opening, SequenceWidth, ServerReport, Settings,
    end_for_old_server,
};
use protocol::iperf3::Cookie;

/// Judges one input.
pub(super) fn run(bytes: &[u8]) {
    memory::bounded(bytes.len(), || judge(bytes));
}

fn judge(bytes: &[u8]) {
    if let Some(opening) = Opening::recognise(bytes) {
        if let Opening::Header(Settings { asks: Asks::Back(back), .. }) = opening {
            let rest = bytes.get(Opening::LENGTH..).unwrap_or_default();
            let read = Back::rate(rest.get(..back.rest).unwrap_or_default());
            assert!(read.is_none() || back.rest > 0);
        }
        if let Opening::Header(Settings { asks: Asks::Answers(bounce), .. }) = opening {
            answer(bounce, bytes);
        }
        let is_cookie = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_lowercase);
        assert!(!bytes.get(..Cookie::LENGTH - 1).is_some_and(is_cookie));
    }
    if let Some(report) = ServerReport::read(bytes) {
        let again =
            ServerReport::read(&report.answer(SequenceWidth::Bits64, 256).expect("there is room"));
        // Times on the wire may have more microseconds than a second.
        let counts = |report: ServerReport| (report.bytes, report.datagrams, report.lost);
        assert_eq!(again.map(counts), Some(counts(report)));
    }
    let mut end = [0x80; DATAGRAM];
    end_for_old_server(bytes, &mut end);
    let mut datagrams = bytes.chunks(DATAGRAM);
    let Some(first) = datagrams.next() else { return };
    let Some(flow) = FlowStart::recognise(first) else { return };
    for datagram in std::iter::once(first).chain(datagrams) {
        let Some(answer) = flow.answer(&ServerReport::default(), datagram.len()) else { continue };
        assert!(answer.len() <= datagram.len(), "a forged source address gains nothing");
        assert_eq!(flow.read(&answer), FlowDatagram::Other, "no answer is answered");
    }
}

/// As a server answers a request whose bytes are those that came, and then silence.
fn answer(bounce: Bounce, bytes: &[u8]) {
    assert!((Bounce::LEAST..=Bounce::MOST).contains(&bounce.length()));
    let mut request: Vec<u8> = bytes.iter().copied().take(bounce.length()).collect();
    request.resize(request.len().max(Bounce::LEAST), 0);
    assert_eq!(request[..Opening::LENGTH], bounce.opening()[..]);
    let hold = Bounce::hold(&request);
    Bounce::answer(&mut request, hold, hold);
    assert_eq!(Bounce::hold(&request), hold);
}

const DATAGRAM: usize = 48;
