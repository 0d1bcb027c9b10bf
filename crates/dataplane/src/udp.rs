//! UDP engines: implementations of sending ([`SENDERS`]) and receiving ([`RECEIVERS`]) by certain
//! system calls, e.g. sendmmsg(2). Each is a [`SendMethod`] of the [`Sender`] or a
//! [`ReceiveMethod`] of the [`Receiver`].

mod account;
mod engines;
mod gro;
mod gso;
pub(crate) mod handshake;
mod header;
mod iperf2_flow;
mod jitter;
mod poll_backoff;
mod receiver;
mod recvmmsg;
mod send_call;
mod sender;
mod sendmmsg;
mod sequence;
mod uring_receive;
mod uring_send;

pub use engines::{Incoming, Outgoing, ReceiveEngine, SendEngine};
pub use gro::Gro;
pub use gso::Gso;
pub use header::{DatagramHeader, ReceivedHeader};
pub use iperf2_flow::{EarlyDatagram, Iperf2Flow};
pub use receiver::{ReceiveMethod, Receiver};
pub use recvmmsg::Recvmmsg;
pub use send_call::SendCall;
pub use sender::{SendMethod, Sender};
pub use sendmmsg::Sendmmsg;
pub use sequence::{Arrival, Sequence};
pub use uring_receive::UringReceive;
pub use uring_send::UringSend;

/// All UDP engines that send, in the order of [`measurement::engine::ENGINES`]. The first is the
/// default.
pub static SENDERS: &[SendEngine] = &[
    SendEngine::with_engine::<Sendmmsg>(),
    SendEngine::with_engine::<SendCall>(),
    SendEngine::with_engine::<Gso>(),
    SendEngine::with_engine::<UringSend>(),
];

/// All UDP engines that receive, in the order of [`measurement::engine::ENGINES`]. The first is the
/// default.
pub static RECEIVERS: &[ReceiveEngine] = &[
    ReceiveEngine::with_engine::<Recvmmsg>(),
    ReceiveEngine::with_engine::<Gro>(),
    ReceiveEngine::with_engine::<UringReceive>(),
];

#[cfg(test)]
mod tests {
    use measurement::Transport;
    use measurement::engine::{Engine, EngineRole};

    use super::{RECEIVERS, SENDERS};

    #[test]
    fn every_engine_that_users_can_choose_is_here() {
        let known = |role| Engine::all_for(Transport::Udp, role);
        assert!(SENDERS.iter().map(|one| one.engine).eq(known(EngineRole::Sender)));
        assert!(RECEIVERS.iter().map(|one| one.engine).eq(known(EngineRole::Receiver)));
    }
}
