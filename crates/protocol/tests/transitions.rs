//! The transition tables of both machines as a reader wants to see them.
//!
//! A row is a state that comes in, a column the phase that it meets, a cell the
//! phase that follows. A dot stands for a state that has no place there, which
//! fails the test. The graphs add what else happens: solid lines are states, dashed
//! lines JSON messages and calls of the host, and a time is how long a phase may
//! last. They leave out the phases of failure, to which all others lead.

mod support;

use std::fmt::Debug;

use linerate_protocol::iperf3::{
    Client, ClientPhase, Results, Server, ServerPhase, State, stream_id,
};
use measurement::Timestamp;
use support::{CLIENT_WAY, SERVER_WAY, START, Step, client_after, framed_results, server_after};

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
    let calls: [(&str, Step<Client>); 3] = [
        ("end_test()", |client| client.end_test(START)),
        ("send_results()", |client| client.send_results(&Results::default(), START)),
        ("JSON", |client| client.handle_bytes(&framed_results(), START)),
    ];
    let mut graph = Graph::default();
    for phase in ClientPhase::ALL {
        graph.node(phase, client_in(phase).deadline());
        graph.states(phase, |state| phase.on(state));
        for (name, call) in calls {
            let mut client = client_in(phase);
            call(&mut client);
            graph.call(phase, name, client.phase());
        }
    }
    insta::assert_snapshot!(graph.without(&[ClientPhase::Refused, ClientPhase::Failed]));
}

#[test]
fn the_servers_graph() {
    let calls: [(&str, Step<Server>); 5] = [
        ("accept()", |server| server.accept(None, START)),
        ("streams_open()", |server| server.streams_open(START)),
        ("request_results()", |server| server.request_results(Vec::new(), START)),
        ("send_results()", |server| server.send_results(&Results::default(), START)),
        ("JSON", |server| server.handle_bytes(&framed_results(), START)),
    ];
    let mut graph = Graph::default();
    for phase in ServerPhase::ALL {
        graph.node(phase, server_in(phase).deadline());
        graph.states(phase, |state| phase.on(state));
        for (name, call) in calls {
            let mut server = server_in(phase);
            call(&mut server);
            graph.call(phase, name, server.phase());
        }
    }
    insta::assert_snapshot!(graph.without(&[ServerPhase::Failed]));
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
    let cells: Vec<_> = cells.map(|cell| format!("{cell:<9}")).collect();
    format!("{head:<16} {}", cells.join(" ")).trim_end().to_owned()
}

/// What a phase leads to. Each phase is labelled with the time that it may last.
#[derive(Default)]
struct Graph {
    lines: Vec<String>,
}

impl Graph {
    fn node(&mut self, phase: impl Debug, deadline: Option<Timestamp>) {
        let limit = deadline.map(|deadline| deadline.since(START).as_secs());
        let limit = limit.map_or(String::new(), |seconds| format!(" [xlabel=\"{seconds} s\"]"));
        self.lines.push(format!("  {phase:?}{limit}"));
    }

    fn states<Phase: Debug>(&mut self, from: Phase, on: impl Fn(State) -> Option<Phase>) {
        for state in State::ALL {
            if let Some(to) = on(state) {
                self.lines.push(format!("  {from:?} -> {to:?} [label=\"{state}\"]"));
            }
        }
    }

    fn call<Phase: Copy + Debug + PartialEq>(&mut self, from: Phase, name: &str, to: Phase) {
        if from != to {
            self.lines.push(format!("  {from:?} -> {to:?} [label=\"{name}\" style=dashed]"));
        }
    }

    /// As a file of dot(1), without the phases that every other one leads to.
    fn without(&self, phases: &[impl Debug]) -> String {
        let names: Vec<_> = phases.iter().map(|phase| format!("{phase:?}")).collect();
        let kept = self.lines.iter().filter(|line| !names.iter().any(|name| line.contains(name)));
        let lines: Vec<_> = kept.map(String::as_str).collect();
        format!("digraph {{\n{}\n}}", lines.join("\n"))
    }
}
