//! TCP engines: implementations of sending ([`SENDERS`]) and receiving ([`RECEIVERS`]) by certain
//! system calls, e.g. sendfile(2). Each is a [`Source`] of the [`Sender`] or a [`Sink`] of the
//! [`Receiver`].

mod engines;
mod file_sink;
mod file_source;
mod low_water;
mod marked;
mod msg_trunc;
mod msg_zerocopy;
mod read;
mod receiver;
mod sender;
mod sendfile;
mod splice;
mod uring_receive;
mod uring_send;
mod vmsplice;
mod write;
mod zerocopy_receive;

pub use engines::{Incoming, MakeSink, MakeSource, Outgoing, ReceiveEngine, SendEngine};
pub use file_sink::FileSink;
pub use file_source::FileSource;
pub use marked::MarkedSource;
pub use msg_trunc::MsgTruncSink;
pub use msg_zerocopy::MsgZerocopySource;
pub use read::ReadSink;
pub use receiver::{Receiver, Sink};
pub use sender::{Sender, Source};
pub use sendfile::SendfileSource;
pub use splice::SpliceSink;
pub use uring_receive::UringSink;
pub use uring_send::UringSource;
pub use vmsplice::VmspliceSource;
pub use write::WriteSource;
pub use zerocopy_receive::ZerocopyReceiveSink;

/// All TCP engines that send and that users choose by name (`--engine`), in the order of
/// [`measurement::engine::ENGINES`]. The first is the default.
pub static SENDERS: &[SendEngine] = &[
    SendEngine::with_source::<WriteSource>(),
    SendEngine::with_source::<SendfileSource>(),
    SendEngine::with_source::<VmspliceSource>(),
    SendEngine::with_source::<MsgZerocopySource>(),
    SendEngine::with_source::<UringSource<false>>(),
    SendEngine::with_source::<UringSource<true>>(),
];

/// All TCP engines that receive and that users choose by name (`--engine`), in the order of
/// [`measurement::engine::ENGINES`]. The first is the default.
pub static RECEIVERS: &[ReceiveEngine] = &[
    ReceiveEngine::with_sink::<ReadSink>(),
    ReceiveEngine::with_sink::<MsgTruncSink>(),
    ReceiveEngine::with_sink::<SpliceSink>(),
    ReceiveEngine::with_sink::<ZerocopyReceiveSink>(),
    ReceiveEngine::with_sink::<UringSink>(),
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
