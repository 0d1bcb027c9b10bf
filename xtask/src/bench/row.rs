//! What is compared.

/// A row of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Its name in the table.
    pub(super) name: &'static str,
    /// What is sent.
    pub(super) traffic: Traffic,
    /// Whether the server sends.
    pub(super) reverse: bool,
    /// Parallel streams.
    pub(super) streams: u32,
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traffic {
    /// TCP as fast as it goes.
    Tcp,
    /// Datagrams of [`PAYLOAD`] as fast as they go.
    Udp,
}

/// The row that a promise is about.
pub(super) const TCP_ONE_STREAM: &str = "TCP one stream";

/// Payload of a datagram: with its headers it fits an Ethernet frame.
pub(super) const PAYLOAD: u32 = 1460;

/// All rows.
pub(super) const ROWS: [Row; 4] = [
    Row { name: TCP_ONE_STREAM, traffic: Traffic::Tcp, reverse: false, streams: 1 },
    Row { name: "TCP reverse", traffic: Traffic::Tcp, reverse: true, streams: 1 },
    Row { name: "TCP four streams", traffic: Traffic::Tcp, reverse: false, streams: 4 },
    Row { name: "UDP 1460 B unlimited", traffic: Traffic::Udp, reverse: false, streams: 1 },
];
