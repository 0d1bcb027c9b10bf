//! The regular way through each machine, one step at a time.

use std::time::Duration;

use linerate_protocol::iperf3::{
    Announcement, Client, Cookie, Extension, Parameters, Results, Server, State,
};
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, Timestamp, Transport};

/// When every test begins: far from zero, so that a deadline of zero stands out.
pub(crate) const START: Timestamp = Timestamp::from_nanos(1_000_000_000_000);

/// One thing that happens to a machine.
pub(crate) type Step<Machine> = fn(&mut Machine);

/// From the cookie to the last word, in the order of clause 4.3.
pub(crate) const CLIENT_WAY: [Step<Client>; 10] = [
    |client| client.handle_bytes(&[State::ParamExchange.byte()], START),
    |client| client.handle_bytes(&announcement(), START),
    |client| client.handle_bytes(&[State::CreateStreams.byte()], START),
    |client| client.handle_bytes(&[State::TestStart.byte()], START),
    |client| client.handle_bytes(&[State::TestRunning.byte()], START),
    |client| client.end_test(START),
    |client| client.handle_bytes(&[State::ExchangeResults.byte()], START),
    |client| client.send_results(&Results::default(), START),
    |client| client.handle_bytes(&framed_results(), START),
    |client| client.handle_bytes(&[State::DisplayResults.byte()], START),
];

/// From the cookie to the last word, in the order of clause 4.3.
pub(crate) const SERVER_WAY: [Step<Server>; 8] = [
    |server| server.handle_bytes(&framed(&parameters().to_json()), START),
    |server| server.accept(None, START),
    |server| server.streams_open(START),
    |server| server.handle_bytes(&[State::TestEnd.byte()], START),
    |server| server.request_results(Vec::new(), START),
    |server| server.handle_bytes(&framed_results(), START),
    |server| server.send_results(&Results::default(), START),
    |server| server.handle_bytes(&[State::IperfDone.byte()], START),
];

/// A client that took `steps` steps of its way.
pub(crate) fn client_after(steps: usize) -> Client {
    client_of(parameters(), steps)
}

/// The same with other parameters.
pub(crate) fn client_of(parameters: Parameters, steps: usize) -> Client {
    let mut client = Client::new(parameters, &Cookie::from_random([7; 36]), START);
    CLIENT_WAY.iter().take(steps).for_each(|step| step(&mut client));
    client
}

/// A server that took `steps` steps of its way.
pub(crate) fn server_after(steps: usize) -> Server {
    let mut server = Server::new(START);
    SERVER_WAY.iter().take(steps).for_each(|step| step(&mut server));
    server
}

/// A plain TCP test.
pub(crate) fn parameters() -> Parameters {
    let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
    draft.omit = Duration::from_secs(1);
    Parameters::new(&draft.check().expect("a valid plan"), ByteSize::from_bytes(1000))
}

/// A JSON text with its length in front (clause 5.1).
pub(crate) fn framed(json: &serde_json::Value) -> Vec<u8> {
    let text = json.to_string();
    let length = u32::try_from(text.len()).expect("short");
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

/// Results that name no stream.
pub(crate) fn framed_results() -> Vec<u8> {
    framed(&Results::default().to_json())
}

/// A linerate server's answer to the parameters (clause 13.2).
pub(crate) fn announcement() -> Vec<u8> {
    let extension = Extension::Announcement(Announcement::own());
    let json = serde_json::to_value(extension).expect("serialises");
    [vec![State::Extension.byte()], framed(&json)].concat()
}
