//! What the plan of a test is on the wire.

use measurement::{Direction, End, TestPlan};
use protocol::iperf2::{ClientHeader, HeaderAmount, HeaderWay};

use super::{ConnectBack, Iperf2Options};
use crate::request::Request;

/// The header by which the server is told of the test.
pub(super) fn header(request: &Request, asked: Iperf2Options) -> ClientHeader {
    let (plan, port) = (&request.plan, request.port);
    let options = &plan.options;
    ClientHeader {
        connections: plan.streams,
        port,
        length: options.block.map(|block| u32::try_from(block.bytes()).unwrap_or(u32::MAX)),
        amount: amount(plan),
        way: match (plan.direction, asked.back) {
            (Direction::Receive, _) => HeaderWay::Server,
            (_, Some(ConnectBack { port, at_once })) => HeaderWay::ServerConnects { port, at_once },
            (Direction::Both, None) => HeaderWay::Both,
            (Direction::Send, None) => HeaderWay::Client,
        },
        type_of_service: options.type_of_service,
        rate: options.rate.map(measurement::BitRate::bits_per_second),
        trip_times_from: asked.trip_times.then(linux::clock::realtime),
    }
}

fn amount(plan: &TestPlan) -> HeaderAmount {
    let time = |units: u128| HeaderAmount::Centiseconds(u32::try_from(units).unwrap_or(u32::MAX));
    match plan.end {
        End::Time(length) => time(length.as_millis() / 10),
        End::Bytes(bytes) => HeaderAmount::Bytes(bytes.bytes() / u64::from(plan.streams.max(1))),
        End::Blocks(_) | End::Open => time(u128::MAX),
    }
}
