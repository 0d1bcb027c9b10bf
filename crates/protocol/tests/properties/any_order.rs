//! Any order of events ends in one end.

use std::time::Duration;

use linerate_protocol::iperf3::{
    Client, ClientEvent, CounterWidth, ErrorCode, Header, Hello, ProtocolError, Results, Server,
    State, is_reply,
};
use measurement::Timestamp;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

use crate::machine::Machine;
use crate::support::{
    CLIENT_WAY, SERVER_WAY, START, announcement, client_after, framed, framed_results, parameters,
    server_after,
};

/// What can happen to a machine.
#[derive(Clone, Debug)]
enum Happening {
    Bytes(Vec<u8>),
    Close { reset: bool },
    Timeout { later: Duration },
    Call(Index),
}

type Call<Machine> = fn(&mut Machine, Timestamp);

const CLIENT_CALLS: [Call<Client>; 4] = [
    |client, now| client.end_test(now),
    |client, now| client.send_results(&Results::default(), now),
    |client, _| client.terminate(),
    |client, _| drop(client.take_output()),
];

const SERVER_CALLS: [Call<Server>; 7] = [
    |server, now| server.accept(None, now),
    |server, _| server.refuse(ErrorCode::STREAM_CONNECT, 0),
    |server, now| server.streams_open(now),
    |server, now| server.request_results(Vec::new(), now),
    |server, now| server.send_results(&Results::default(), now),
    |server, _| server.terminate(),
    |server, _| drop(server.take_output()),
];

/// Lets it all happen to `machine`, then ends it, and checks what always holds.
fn live_through<M: Machine>(mut machine: M, happenings: &[Happening], calls: &[Call<M>]) {
    let mut now = START;
    let mut terminal = machine.events().iter().filter(|event| M::is_terminal(event)).count();
    for happening in happenings {
        let was_over = machine.is_over();
        drop(machine.output());
        match happening {
            Happening::Bytes(bytes) => machine.bytes(bytes, now),
            Happening::Close { reset } => machine.close(*reset),
            Happening::Timeout { later } => {
                now = now.after(*later);
                machine.timeout(now);
            }
            Happening::Call(index) => calls[index.index(calls.len())](&mut machine, now),
        }
        let events = machine.events();
        terminal += events.iter().filter(|event| M::is_terminal(event)).count();
        assert_eq!(terminal, usize::from(machine.is_over()), "after {happening:?}");
        if was_over {
            assert!(events.is_empty(), "it goes on after its end");
            assert!(machine.output().is_empty(), "it talks after its end");
        }
        // Without a deadline a silent peer could hold it for ever.
        let may_wait = machine.is_over() || machine.is_patient();
        assert_eq!(machine.due().is_none(), may_wait, "after {happening:?}");
    }
    terminal += end(&mut machine);
    assert_eq!(terminal, 1, "it ends once");
    assert!(machine.due().is_none());
}

/// Ends a machine at its deadline, not before, or by a close if it has none.
fn end<M: Machine>(machine: &mut M) -> usize {
    let was_over = machine.is_over();
    match machine.due() {
        Some(due) => {
            machine.timeout(Timestamp::from_nanos(due.nanos() - 1));
            assert!(!machine.is_over(), "it gave up too early");
            machine.timeout(due);
        }
        None => machine.close(false),
    }
    assert!(machine.is_over());
    let terminal = machine.events().iter().filter(|event| M::is_terminal(event)).count();
    assert_eq!(terminal, usize::from(!was_over));
    terminal
}

fn happening() -> impl Strategy<Value = Happening> {
    let json = [framed_results(), framed(&parameters().to_json()), framed(&json!({}))];
    let messages: Vec<_> = State::ALL
        .iter()
        .map(|state| vec![state.byte()])
        .chain(json)
        .chain([announcement(), vec![0; 8], vec![State::TestStart.byte(); 3]])
        .collect();
    prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..24).prop_map(Happening::Bytes),
        6 => select(messages).prop_map(Happening::Bytes),
        1 => any::<bool>().prop_map(|reset| Happening::Close { reset }),
        1 => (0_u64..20_000).prop_map(|millis| {
            Happening::Timeout { later: Duration::from_millis(millis) }
        }),
        6 => any::<Index>().prop_map(Happening::Call),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8192))]

    #[test]
    fn a_client_ends_once_whatever_happens(
        steps in 0..=CLIENT_WAY.len(),
        happenings in prop::collection::vec(happening(), 0..12),
    ) {
        live_through(client_after(steps), &happenings, &CLIENT_CALLS);
    }

    #[test]
    fn a_server_ends_once_whatever_happens(
        steps in 0..=SERVER_WAY.len(),
        happenings in prop::collection::vec(happening(), 0..12),
    ) {
        live_through(server_after(steps), &happenings, &SERVER_CALLS);
    }

    #[test]
    fn bytes_of_a_stranger_do_no_harm(
        steps in 0..=CLIENT_WAY.len(),
        bytes in prop::collection::vec(any::<u8>(), 0..256),
        now in any::<u64>(),
    ) {
        client_after(steps).handle_bytes(&bytes, Timestamp::from_nanos(now));
        server_after(steps).handle_bytes(&bytes, Timestamp::from_nanos(now));
        for width in [CounterWidth::Bits32, CounterWidth::Bits64] {
            let whole = bytes.len() >= width.header_length();
            prop_assert_eq!(Header::read(width, &bytes).is_some(), whole);
        }
        let start = &bytes[..bytes.len().min(4)];
        prop_assert!(!(is_reply(start) && Hello::recognise(start).is_some()));
    }
}

#[test]
fn a_close_or_a_word_of_the_host_ends_every_phase() {
    for steps in 0..=CLIENT_WAY.len() {
        for finish in [Client::terminate, |c: &mut Client| c.handle_close(true)] {
            let mut client = client_after(steps);
            finish(&mut client);
            assert!(client.is_over(), "after {steps} steps");
        }
    }
    for steps in 0..=SERVER_WAY.len() {
        for finish in [Server::terminate, Server::handle_close] {
            let mut server = server_after(steps);
            finish(&mut server);
            assert!(server.is_over(), "after {steps} steps");
        }
    }
}

#[test]
fn a_servers_error_is_read_whatever_the_host_does_meanwhile() {
    for steps in 0..CLIENT_WAY.len() {
        let mut client = client_after(steps);
        client.events();
        client.handle_bytes(&[State::ServerError.byte(), 0, 0], START);
        client.end_test(START);
        client.send_results(&Results::default(), START);
        assert!(client.due().is_some(), "after {steps} steps");
        client.handle_bytes(&[0, 27, 0, 0, 0, 5], START);
        let error = ProtocolError::ServerError { code: ErrorCode(27), errno: 5, why: None };
        assert_eq!(client.events(), [ClientEvent::Failed(error)], "after {steps} steps");
    }
}

#[test]
fn the_errno_may_be_missing_from_a_servers_error() {
    // Clause 11.4: some versions close after the first of the two numbers.
    let mut client = client_after(1);
    client.handle_bytes(&[State::ServerError.byte(), 0, 0, 0, 142], START);
    client.handle_close(false);
    let error = ProtocolError::ServerError { code: ErrorCode(142), errno: 0, why: None };
    assert_eq!(client.events(), [ClientEvent::Failed(error)]);
}

#[test]
fn a_reset_in_place_of_an_answer_means_busy() {
    // Clause 2.5: the close of a busy server can overtake its answer.
    let busy = ClientEvent::Failed(ProtocolError::Busy);
    for steps in 0..CLIENT_WAY.len() {
        for reset in [false, true] {
            let mut client = client_after(steps);
            client.handle_close(reset);
            assert_eq!(client.events().contains(&busy), reset && steps == 0, "{steps} steps");
        }
    }
}

#[test]
fn the_end_of_a_test_is_told_once() {
    // Clause 4.4: a TEST_START from the client means nothing, at any time.
    for steps in 1..SERVER_WAY.len() {
        let mut server = server_after(steps);
        server.events();
        let phase = server.phase();
        server.handle_bytes(&[State::TestStart.byte(); 2], START);
        assert_eq!(server.phase(), phase);
        assert_eq!(server.events(), []);
    }
}
