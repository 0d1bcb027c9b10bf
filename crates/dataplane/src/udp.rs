//! UDP engines: one machine that sends and one that receives, batch by batch, and the ways
//! in which a batch is handed to the kernel and taken from it.

mod books;
mod called;
mod coalesced;
mod engines;
mod jitter;
mod naps;
mod receive;
mod ring_received;
mod ring_sent;
mod segmented;
mod send;
mod separate;
mod sequence;
mod single;

pub use called::Called;
pub use coalesced::Coalesced;
pub use engines::{Incoming, Outgoing, ReceiveEngine, SendEngine};
pub use receive::{Inlet, Receiver};
pub use ring_received::RingReceived;
pub use ring_sent::RingSent;
pub use segmented::Segmented;
pub use send::{Outlet, Sender};
pub use separate::Separate;
pub use sequence::Sequence;
pub use single::Single;

/// All engines that send; the order is that of [`measurement::engine::ENGINES`].
pub static SENDERS: &[SendEngine] = &[
    SendEngine::through_outlet::<Separate>(),
    SendEngine::through_outlet::<Single>(),
    SendEngine::through_outlet::<Segmented>(),
    SendEngine::through_outlet::<RingSent>(),
];

/// All engines that receive; the order is that of [`measurement::engine::ENGINES`].
pub static RECEIVERS: &[ReceiveEngine] = &[
    ReceiveEngine::through_inlet::<Called>(),
    ReceiveEngine::through_inlet::<Coalesced>(),
    ReceiveEngine::through_inlet::<RingReceived>(),
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
