//! What the plan of a test is on the wire.

use measurement::{Direction, End, TestPlan};
use protocol::iperf2::{ClientHeader, HeaderAmount, HeaderWay};

/// The header by which a server at `port` is told of `plan`.
pub(super) fn header(plan: &TestPlan, port: u16) -> ClientHeader {
    let options = &plan.options;
    ClientHeader {
        connections: plan.streams,
        port,
        length: options.block.map(|block| u32::try_from(block.bytes()).unwrap_or(u32::MAX)),
        amount: amount(plan),
        way: match plan.direction {
            Direction::Receive => HeaderWay::Server,
            Direction::Send | Direction::Both => HeaderWay::Client,
        },
        type_of_service: options.type_of_service,
        rate: options.rate.map(measurement::BitRate::bits_per_second),
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
