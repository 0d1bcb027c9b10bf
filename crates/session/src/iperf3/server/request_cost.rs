//! What a client's parameters ask of this server, in numbers that [`crate::server`] understands,
//! and what a refusal is in iperf3's numbers.

use measurement::Transport;
use protocol::iperf3::{Announcement, ErrorCode, Parameters, Results};

use crate::preflight::has_few_files;
use crate::server::cost::Need;
use crate::server::limits;
use crate::server::metrics::Refusal;
use crate::spec::RunSpec;

/// What both ends run, as the client asked for it.
pub(super) fn run_spec(parameters: &Parameters) -> RunSpec {
    let header = parameters.counter_width.into();
    RunSpec { plan: parameters.plan.clone(), block: parameters.block(), header }
}

/// What a test takes of the server.
pub(super) fn need(parameters: &Parameters) -> Need {
    let results = Results::most_memory(parameters.plan.streams_in_all());
    let need = limits::need(&run_spec(parameters), extra_ports(parameters), results);
    let announced = parameters.announcement.as_ref().map(Announcement::shared);
    if announced.is_some_and(|known| known.knows_evidence()) && !has_few_files() {
        return Need { workers: need.workers.plus(limits::SAMPLER), ..need };
    }
    need
}

/// Extra ports that are opened for a test: those it asks for, but no more than it can
/// have a use for. One that does not know of many streams has none.
pub(super) fn extra_ports(parameters: &Parameters) -> usize {
    let plan = &parameters.plan;
    let peer = parameters.announcement.as_ref().filter(|peer| peer.knows_many_streams());
    let asked = peer.map_or(0, |peer| peer.further_ports);
    let useful = if plan.transport == Transport::Tcp { plan.streams / LEAST_AT_A_PORT } else { 0 };
    u32::from(asked).min(useful) as usize
}

/// The number with which iperf3 says the same (clause 6.6).
pub(super) const fn error_code(why: Refusal) -> ErrorCode {
    match why {
        Refusal::Streams => ErrorCode::STREAMS,
        Refusal::Rate => ErrorCode::TOTAL_RATE,
        // iperf3 has no number of its own for bytes.
        Refusal::Bytes | Refusal::Duration => ErrorCode::SERVER_DURATION,
        Refusal::Memory | Refusal::Descriptors | Refusal::Threads | Refusal::Displaced => {
            ErrorCode::RESOURCES
        }
        Refusal::Idle => ErrorCode::NOTHING_RECEIVED,
        Refusal::Overtime => ErrorCode::TIME_IS_UP,
        Refusal::Authentication => ErrorCode::AUTHENTICATION,
        _ => ErrorCode::PARAMETERS,
    }
}

/// Streams for which an extra port is worth its while.
const LEAST_AT_A_PORT: u32 = 16;

#[cfg(test)]
mod tests {
    use measurement::plan::{MAX_STREAMS, PlanDraft};
    use measurement::{ByteSize, Direction};

    use super::*;
    use crate::preflight::stream_bytes;

    #[test]
    fn further_ports_are_for_those_who_know_many_streams() {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
        draft.streams = 64;
        let plan = draft.check().expect("a plan");
        let mut parameters = Parameters::new(&plan, ByteSize::from_bytes(1_000));
        assert_eq!(extra_ports(&parameters), 0, "an iperf3");
        let mut peer = Announcement { further_ports: 15, ..Announcement::own() };
        parameters.announcement = Some(peer.clone());
        assert_eq!(extra_ports(&parameters), 4, "one for each 16 streams");
        peer.extensions.retain(|extension| extension != "many-streams");
        parameters.announcement = Some(peer);
        assert_eq!(extra_ports(&parameters), 0);
    }

    #[test]
    fn what_a_peer_may_make_of_its_results_is_booked() {
        let memory = |streams| {
            let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
            draft.streams = streams;
            let plan = draft.check().expect("a plan");
            need(&Parameters::new(&plan, ByteSize::from_bytes(1000))).whole().memory
        };
        for streams in [1, 128, 10_000, MAX_STREAMS] {
            let results = Results::most_memory(streams);
            let sockets = u64::from(streams) * stream_bytes(Transport::Tcp);
            assert!(memory(streams) >= results + sockets, "{streams}");
        }
        assert!(Results::most_memory(1) < 512 * 1024, "many tests of one stream are possible");
    }

    #[test]
    fn a_refusal_has_the_number_that_iperf3_gives_it() {
        assert_eq!(error_code(Refusal::Duration), ErrorCode::SERVER_DURATION);
        assert_eq!(error_code(Refusal::Bytes), ErrorCode::SERVER_DURATION);
        assert_eq!(error_code(Refusal::Rate), ErrorCode::TOTAL_RATE);
        assert_eq!(error_code(Refusal::Streams), ErrorCode::STREAMS);
        assert_eq!(error_code(Refusal::Threads), ErrorCode::RESOURCES);
        assert_eq!(error_code(Refusal::Authentication), ErrorCode::AUTHENTICATION);
    }
}
