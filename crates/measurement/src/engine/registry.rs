//! The ways to move payload that linerate knows, with what the rest of the program asks of
//! them: one line each. Not the code that moves it; that is a file each in `dataplane`.

use super::ArrivalClock;
use crate::transport::Transport;

use PayloadHandling::{Discarded, ZeroCopy};

/// Properties of an engine: an implementation of sending or receiving for one transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Unique name on the command line, in records and on the wire (clause 13.17 of
    /// docs/protocol/iperf3.md).
    pub name: &'static str,
    /// Short description of how the engine sends or receives.
    pub summary: &'static str,
    /// Transport that the engine supports.
    pub transport: Transport,
    /// Whether the engine sends or receives.
    pub role: EngineRole,
    /// How users choose the engine.
    pub choice: EngineChoice,
    /// How the payload is handled between the program and the socket.
    pub payload: PayloadHandling,
    /// How many datagrams the kernel handles as one packet.
    pub batching: Batching,
    /// UDP receivers: clock of the arrival times; none: it depends on the socket, and is read back.
    pub arrivals: Option<ArrivalClock>,
    /// Whether the packets pass the kernel's network stack and are counted there.
    pub stack: NetworkStack,
}

/// Whether an engine (an implementation of sending or receiving) sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineRole {
    /// The engine sends.
    Sender,
    /// The engine receives.
    Receiver,
}

/// How users choose an engine (an implementation of sending or receiving).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// By name, or by a trial with `auto`.
    ByName,
    /// By naming a file as source or target of the payload.
    ByFile,
}

/// How payload is handled between the program and the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadHandling {
    /// The payload is copied.
    Copied,
    /// The pages of the payload are passed on; the kernel may copy them nevertheless.
    ZeroCopy,
    /// The kernel discards the payload.
    Discarded,
}

/// How many datagrams the kernel handles as one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batching {
    /// One, even if a system call handles several.
    PerDatagram,
    /// Several, by GSO or GRO. They share one time of sending or arrival, and may count as one in
    /// the kernel's counters.
    ManyInOne,
}

/// Whether packets pass the kernel's network stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkStack {
    /// The packets pass the kernel's network stack.
    Kernel,
    /// The packets bypass it (AF_XDP and the like), so that the counters of IP and UDP do not
    /// include them.
    Bypassed,
}

impl Engine {
    /// Finds an engine by its name on the command line, in a record or on the wire. None: this
    /// version does not know the name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ENGINES.iter().copied().find(|engine| name == engine.name)
    }

    /// The engines for a transport and role that users choose by name, the default first.
    pub fn all_for(transport: Transport, role: EngineRole) -> impl Iterator<Item = &'static Self> {
        let fits = move |engine: &&Self| (engine.transport, engine.role) == (transport, role);
        choosable_engines().filter(fits)
    }

    /// The default UDP engine with this role and batching. None: users can choose no such engine.
    pub fn usual_for_datagrams(role: EngineRole, batching: Batching) -> Option<&'static Self> {
        Self::all_for(Transport::Udp, role).find(|engine| engine.batching == batching)
    }

    /// Whether the engine passes several datagrams to or from the kernel as one packet (GSO, GRO).
    pub const fn is_batched(&self) -> bool {
        matches!(self.batching, Batching::ManyInOne)
    }

    const fn new(
        (name, summary): (&'static str, &'static str),
        transport: Transport,
        role: EngineRole,
    ) -> Self {
        Self {
            name,
            summary,
            transport,
            role,
            choice: EngineChoice::ByName,
            payload: PayloadHandling::Copied,
            batching: Batching::PerDatagram,
            arrivals: None,
            stack: NetworkStack::Kernel,
        }
    }

    const fn tcp_sender(name: &'static str, summary: &'static str) -> Self {
        Self::new((name, summary), Transport::Tcp, EngineRole::Sender)
    }

    const fn tcp_receiver(name: &'static str, summary: &'static str) -> Self {
        Self::new((name, summary), Transport::Tcp, EngineRole::Receiver)
    }

    const fn udp_sender(name: &'static str, summary: &'static str) -> Self {
        Self::new((name, summary), Transport::Udp, EngineRole::Sender)
    }

    const fn udp_receiver(name: &'static str, summary: &'static str) -> Self {
        Self::new((name, summary), Transport::Udp, EngineRole::Receiver)
    }

    const fn payload(self, payload: PayloadHandling) -> Self {
        Self { payload, ..self }
    }

    /// Many datagrams are one packet; those that arrive so have the arrival time of the packet.
    const fn batched(self) -> Self {
        let arrivals = match self.role {
            EngineRole::Sender => None,
            EngineRole::Receiver => Some(ArrivalClock::Coalesced),
        };
        Self { batching: Batching::ManyInOne, arrivals, ..self }
    }

    const fn by_file(self) -> Self {
        Self { choice: EngineChoice::ByFile, ..self }
    }
}

/// The engines that users choose by name (not by a file); for each transport and role the default
/// comes first.
pub fn choosable_engines() -> impl Iterator<Item = &'static Engine> {
    ENGINES.iter().copied().filter(|engine| engine.choice == EngineChoice::ByName)
}

/// Declares an engine as a static of its own and as an entry of [`ENGINES`].
macro_rules! engines {
    ($($NAME:ident = $make:ident($name:literal, $summary:literal)$(.$with:ident($($value:expr)?))*;)+) => {
        $(
            #[doc = concat!("Engine `", $name, "` (`", stringify!($make), "`): ", $summary, ".")]
            pub static $NAME: Engine = Engine::$make($name, $summary)$(.$with($($value)?))*;
        )+

        /// All engines (implementations of sending or receiving); for each transport and role the
        /// default comes first.
        pub static ENGINES: &[&Engine] = &[$(&$NAME),+];
    };
}

engines! {
    WRITE = tcp_sender("write", "every byte copied by sendmsg(2)");
    SENDFILE = tcp_sender("sendfile", "pages of a file in memory, by sendfile(2)").payload(ZeroCopy);
    VMSPLICE = tcp_sender("vmsplice", "pages of memory through a pipe, by vmsplice(2) and splice(2)").payload(ZeroCopy);
    ZEROCOPY = tcp_sender("zerocopy", "pages of memory, by send(2) with MSG_ZEROCOPY").payload(ZeroCopy);
    URING = tcp_sender("uring", "every byte copied by io_uring(7)");
    URING_ZEROCOPY = tcp_sender("uring-zerocopy", "pages of memory, by io_uring(7)").payload(ZeroCopy);
    FILE_TO_WRITE = tcp_sender("read file, write", "a file, block by block").by_file();

    READ = tcp_receiver("read", "every byte copied by recvmsg(2)");
    MSG_TRUNC = tcp_receiver("msg-trunc", "dropped in the kernel, by recv(2) with MSG_TRUNC").payload(Discarded);
    SPLICE = tcp_receiver("splice", "pages through a pipe to nowhere, by splice(2)").payload(ZeroCopy);
    ZEROCOPY_RECEIVE = tcp_receiver("zerocopy-receive", "pages mapped into memory, by TCP_ZEROCOPY_RECEIVE").payload(ZeroCopy);
    URING_MULTISHOT = tcp_receiver("uring-multishot", "every byte copied by one request to io_uring(7)");
    READ_TO_FILE = tcp_receiver("read, write file", "into a file, as bytes come").by_file();

    SENDMMSG = udp_sender("sendmmsg", "many datagrams in a call, each on its own, by sendmmsg(2)");
    SEND = udp_sender("send", "one datagram in a call, by send(2)");
    GSO = udp_sender("gso", "many datagrams in one packet, by UDP_SEGMENT").batched();
    URING_SEND = udp_sender("uring-send", "many datagrams in a call, each on its own, by io_uring(7)");

    RECVMMSG = udp_receiver("recvmmsg", "many datagrams in a call, each on its own, by recvmmsg(2)");
    GRO = udp_receiver("gro", "many datagrams in one packet, by UDP_GRO").batched();
    URING_RECEIVE = udp_receiver("uring-receive", "each datagram on its own, by io_uring(7) multishot");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_engines_share_a_name() {
        let names: BTreeSet<_> = ENGINES.iter().map(|engine| engine.name).collect();
        assert_eq!(names.len(), ENGINES.len());
        assert_eq!(Engine::named("af-xdp"), None);
    }

    #[test]
    fn each_role_has_a_usual_engine_for_each_kind_of_datagram_handling() {
        let usual =
            |role, batching| Engine::usual_for_datagrams(role, batching).map(|engine| engine.name);
        let both = |role| [usual(role, Batching::PerDatagram), usual(role, Batching::ManyInOne)];
        assert_eq!(both(EngineRole::Sender), ["sendmmsg", "gso"].map(Some));
        assert_eq!(both(EngineRole::Receiver), ["recvmmsg", "gro"].map(Some));
    }

    #[test]
    fn names_fit_the_wire() {
        // Clause 13.17: 32 characters at most.
        assert!(ENGINES.iter().all(|engine| engine.name.len() <= 32));
    }
}
