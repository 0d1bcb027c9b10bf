//! TCP engines: one machine that sends and one that receives, and the ways in which each
//! moves its bytes.

mod copied;
mod emptied;
mod engines;
mod from_file;
mod in_place;
mod mapped;
mod receive;
mod ring_received;
mod ring_sent;
mod send;
mod sendfile;
mod spliced;
mod to_file;
mod truncated;
mod written;

pub use copied::Copied;
pub use emptied::Emptied;
pub use engines::{Incoming, MakeSink, MakeSource, Outgoing, ReceiveEngine, SendEngine};
pub use from_file::FromFile;
pub use in_place::{InPlace, InPlaceTally};
pub use mapped::Mapped;
pub use receive::{Receiver, Sink};
pub use ring_received::RingReceived;
pub use ring_sent::RingSent;
pub use send::{Sender, Source};
pub use sendfile::Sendfile;
pub use spliced::Spliced;
pub use to_file::ToFile;
pub use truncated::Truncated;
pub use written::Written;

/// All engines that send; the order is that of [`measurement::engine::ENGINES`].
pub static SENDERS: &[SendEngine] = &[
    SendEngine::from_source::<Written>(),
    SendEngine::from_source::<Sendfile>(),
    SendEngine::from_source::<Spliced>(),
    SendEngine::from_source::<InPlace>(),
    SendEngine::from_source::<RingSent<false>>(),
    SendEngine::from_source::<RingSent<true>>(),
];

/// All engines that receive; the order is that of [`measurement::engine::ENGINES`].
pub static RECEIVERS: &[ReceiveEngine] = &[
    ReceiveEngine::into_sink::<Copied>(),
    ReceiveEngine::into_sink::<Truncated>(),
    ReceiveEngine::into_sink::<Emptied>(),
    ReceiveEngine::into_sink::<Mapped>(),
    ReceiveEngine::into_sink::<RingReceived>(),
];

#[cfg(test)]
mod tests {
    use measurement::Transport;
    use measurement::engine::{Engine, EngineRole};

    use super::{RECEIVERS, SENDERS};

    #[test]
    fn every_engine_that_users_can_choose_is_here() {
        let known = |role| Engine::all_for(Transport::Tcp, role);
        assert!(SENDERS.iter().map(|one| one.engine).eq(known(EngineRole::Sender)));
        assert!(RECEIVERS.iter().map(|one| one.engine).eq(known(EngineRole::Receiver)));
    }
}
