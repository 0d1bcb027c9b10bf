//! The transition tables of both machines as a reader wants to see them.
//!
//! A row is a state that comes in, a column the phase that it meets, a cell the
//! phase that follows. A dot stands for a state that has no place there, which
//! fails the test. The graphs add what other events do: solid lines are states,
//! dashed lines messages and the calls of the host.

mod support;

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};

use protocol::iperf3::{
    Client, ClientPhase, ErrorCode, Results, Server, ServerPhase, State, stream_id,
};
use support::{
    CLIENT_WAY, SERVER_WAY, START, Step, client_after, framed, framed_results, parameters,
    server_after,
};

#[test]
fn the_clients_table() {
    insta::assert_snapshot!(matrix(&ClientPhase::ALL, ClientPhase::on));
}

#[test]
fn the_servers_table() {
    insta::assert_snapshot!(matrix(&ServerPhase::ALL, ServerPhase::on));
}

#[test]
fn the_clients_graph() {
    let calls: [(&str, Step<Client>); 5] = [
        ("end_test()", |client| client.end_test(START)),
        ("send_results()", |client| client.send_results(&Results::default(), START)),
        ("JSON", |client| client.handle_bytes(&framed_results(), START)),
        ("two numbers", |client| client.handle_bytes(&[0, 0, 0, 121, 0, 0, 0, 0], START)),
        ("deadline", |client| {
            if let Some(deadline) = client.deadline() {
                client.handle_timeout(deadline);
            }
        }),
    ];
    let follow = |phase, call: Step<Client>| {
        let mut client = client_in(phase);
        call(&mut client);
        client.phase()
    };
    insta::assert_snapshot!(graph(&ClientPhase::ALL, ClientPhase::on, &calls, follow));
}

#[test]
fn the_servers_graph() {
    let calls: [(&str, Step<Server>); 7] = [
        ("accept()", |server| server.accept(&parameters(), START)),
        ("refuse()", |server| server.refuse(ErrorCode::STREAM_CONNECT, 0)),
        ("streams_open()", |server| server.streams_open(START)),
        ("request_results()", |server| server.request_results(Vec::new(), START)),
        ("send_results()", |server| server.send_results(&Results::default(), START)),
        ("JSON", |server| server.handle_bytes(&framed(&Results::default().to_json()), START)),
        ("deadline", |server| {
            if let Some(deadline) = server.deadline() {
                server.handle_timeout(deadline);
            }
        }),
    ];
    let follow = |phase, call: Step<Server>| {
        let mut server = server_in(phase);
        call(&mut server);
        server.phase()
    };
    insta::assert_snapshot!(graph(&ServerPhase::ALL, ServerPhase::on, &calls, follow));
}

#[test]
fn the_client_obeys_its_table() {
    // What follows SERVER_ERROR are numbers, not states.
    for phase in ClientPhase::ALL.into_iter().filter(|phase| *phase != ClientPhase::Refused) {
        for state in State::ALL {
            let mut client = client_in(phase);
            client.handle_bytes(&[state.byte()], START);
            let stays = phase == ClientPhase::Done;
            let other = if stays { phase } else { ClientPhase::Failed };
            assert_eq!(client.phase(), phase.on(state).unwrap_or(other), "{state} in {phase:?}");
        }
    }
}

#[test]
fn the_server_obeys_its_table() {
    for phase in ServerPhase::ALL {
        for state in State::ALL {
            let mut server = server_in(phase);
            server.handle_bytes(&[state.byte()], START);
            let stays = phase == ServerPhase::Done;
            let other = if stays { phase } else { ServerPhase::Failed };
            assert_eq!(server.phase(), phase.on(state).unwrap_or(other), "{state} in {phase:?}");
        }
    }
}

#[test]
fn stream_ids_skip_two() {
    let ids: Vec<_> = (0..5).map(stream_id).collect();
    assert_eq!(ids, [1, 3, 4, 5, 6]);
}

fn client_in(phase: ClientPhase) -> Client {
    let mut off_the_way = client_after(0);
    match phase {
        ClientPhase::Failed => off_the_way.terminate(),
        ClientPhase::Refused => off_the_way.handle_bytes(&[State::ServerError.byte()], START),
        _ => {
            let mut way = (0..=CLIENT_WAY.len()).map(client_after);
            return way.find(|client| client.phase() == phase).expect("on the way");
        }
    }
    off_the_way
}

fn server_in(phase: ServerPhase) -> Server {
    if phase == ServerPhase::Failed {
        let mut server = server_after(0);
        server.terminate();
        return server;
    }
    let mut way = (0..=SERVER_WAY.len()).map(server_after);
    way.find(|server| server.phase() == phase).expect("on the way")
}

fn matrix<Phase: Copy + Debug>(phases: &[Phase], on: fn(Phase, State) -> Option<Phase>) -> String {
    let mut rows = vec![row("", phases.iter().map(|phase| format!("{phase:?}")))];
    rows.extend(State::ALL.into_iter().map(|state| {
        let cell = |phase: &Phase| on(*phase, state).map_or(".".to_owned(), |to| format!("{to:?}"));
        row(&state.to_string(), phases.iter().map(cell))
    }));
    rows.join("\n")
}

fn row(head: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: String = cells.map(|cell| format!(" {cell:<9}")).collect();
    format!("{head:<16}{cells}").trim_end().to_owned()
}

/// Edges with the same ends are one line; calls that do nothing are left out.
fn graph<Phase: Copy + Debug + PartialEq, Machine>(
    phases: &[Phase],
    on: fn(Phase, State) -> Option<Phase>,
    calls: &[(&str, Step<Machine>)],
    follow: impl Fn(Phase, Step<Machine>) -> Phase,
) -> String {
    let mut edges: BTreeMap<(usize, usize, &str), Vec<String>> = BTreeMap::new();
    let index = |phase| phases.iter().position(|other| *other == phase).expect("in the list");
    for (from, phase) in phases.iter().enumerate() {
        for state in State::ALL {
            if let Some(to) = on(*phase, state) {
                edges.entry((from, index(to), "solid")).or_default().push(state.to_string());
            }
        }
        for (name, call) in calls {
            let to = index(follow(*phase, *call));
            if to != from {
                edges.entry((from, to, "dashed")).or_default().push((*name).to_owned());
            }
        }
    }
    let mut dot = "digraph {\n".to_owned();
    for ((from, to, style), labels) in edges {
        let (from, to, label) = (&phases[from], &phases[to], labels.join("\\n"));
        writeln!(dot, "  {from:?} -> {to:?} [style={style} label=\"{label}\"]")
            .expect("a string takes all");
    }
    dot + "}"
}
