//! Chooses the engine of each stream: one arm for each, with its name for the record.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dataplane::{Counters, Filling, Kind, Memory, OpenStream, Pacer, Stream, tcp, udp};
use linux::payload::SealedPayload;
use measurement::{BitRate, StreamOptions, Transport};
use protocol::iperf3::{CounterWidth, Parameters};
use tcp::{FromFile, Sendfile, Sink, Source, ToFile, Truncated};
use udp::{Outlet, Segmented, Separate};

use super::{Opened, StreamSocket};
use crate::amount::Amount;
use crate::error::SessionError;

/// What the engines of one test have in common.
pub(crate) struct Workshop {
    transport: Transport,
    options: StreamOptions,
    block: usize,
    width: CounterWidth,
    amount: Amount,
    file: Option<PathBuf>,
    /// What streams send that do not copy.
    sealed: Option<Arc<SealedPayload>>,
}

/// An engine and what records call it.
type Named = (Box<dyn Stream>, &'static str);

impl Workshop {
    /// For the streams of `parameters` at one end; their payload comes from `file`, or
    /// goes to it, if there is one.
    pub(crate) fn new(
        parameters: &Parameters,
        amount: &Amount,
        file: Option<&Path>,
    ) -> Result<Self, SessionError> {
        let plan = &parameters.plan;
        let mut workshop = Self {
            transport: plan.transport,
            options: plan.options.clone(),
            block: usize::try_from(parameters.block().bytes()).unwrap_or(usize::MAX),
            width: parameters.counter_width,
            amount: amount.clone(),
            file: file.map(Path::to_owned).filter(|_| plan.transport == Transport::Tcp),
            sealed: None,
        };
        if plan.transport == Transport::Tcp && plan.options.zero_copy {
            let sealed = workshop.seal().map_err(SessionError::system("a payload in memory"))?;
            workshop.sealed = Some(Arc::new(sealed));
        }
        Ok(workshop)
    }

    fn seal(&self) -> io::Result<SealedPayload> {
        SealedPayload::new(&self.filling().bytes(self.block)?)
    }

    const fn filling(&self) -> Filling {
        if self.options.repeating_payload { Filling::Digits } else { Filling::Random }
    }

    /// What the workers need to run the engines.
    pub(crate) fn memory(&self) -> Memory {
        let kind = match (self.transport, self.options.segmentation_offload) {
            (Transport::Tcp, _) => Kind::Blocks,
            (Transport::Udp, false) => Kind::Datagrams,
            (Transport::Udp, true) => Kind::Segments,
        };
        Memory { kind, block: self.block, filling: self.filling() }
    }

    /// A stream with its engine, ready for a pool, and the engine's name.
    pub(crate) fn equip(&self, one: &Opened) -> Result<(OpenStream, &'static str), SessionError> {
        let counters = Arc::new(Counters::default());
        let published = Arc::clone(&counters);
        let (engine, name) = match (&one.socket, one.sender) {
            (StreamSocket::Tcp { socket, .. }, true) => self.tcp_sender(socket, published)?,
            (StreamSocket::Tcp { socket, .. }, false) => self.tcp_receiver(socket, published)?,
            (StreamSocket::Udp { socket }, true) => self.udp_sender(socket, published),
            (StreamSocket::Udp { socket }, false) => self.udp_receiver(socket, published),
        };
        Ok((OpenStream { id: one.id, sender: one.sender, engine, counters }, name))
    }

    fn tcp_sender(
        &self,
        socket: &Arc<TcpStream>,
        counters: Arc<Counters>,
    ) -> Result<Named, SessionError> {
        Ok(match (&self.file, &self.sealed) {
            (Some(path), _) => {
                let file = FromFile::new(open_to_read(path)?, self.block);
                self.sender_from(file, socket, counters)
            }
            (None, Some(sealed)) => {
                self.sender_from(Sendfile::new(Arc::clone(sealed)), socket, counters)
            }
            (None, None) => self.sender_from(tcp::Written, socket, counters),
        })
    }

    fn sender_from<S: Source + 'static>(
        &self,
        source: S,
        socket: &Arc<TcpStream>,
        counters: Arc<Counters>,
    ) -> Named {
        let block = self.block as u64;
        let sender = tcp::Sender::from_source(source, Arc::clone(socket), block, counters)
            .with_bytes(self.amount.budget.clone())
            .with_pacer(self.pacer(Pacer::of_blocks, 1));
        (Box::new(sender), S::NAME)
    }

    fn tcp_receiver(
        &self,
        socket: &Arc<TcpStream>,
        counters: Arc<Counters>,
    ) -> Result<Named, SessionError> {
        Ok(match &self.file {
            Some(path) => {
                let file = ToFile::new(open_to_write(path)?);
                self.receiver_into(file, socket, counters)
            }
            None if self.options.skip_receive_copy => {
                self.receiver_into(Truncated, socket, counters)
            }
            None => self.receiver_into(tcp::Copied, socket, counters),
        })
    }

    fn receiver_into<S: Sink + 'static>(
        &self,
        sink: S,
        socket: &Arc<TcpStream>,
        counters: Arc<Counters>,
    ) -> Named {
        let receiver = tcp::Receiver::into_sink(sink, Arc::clone(socket), counters);
        (Box::new(receiver.with_goal(self.amount.goal.clone())), S::NAME)
    }

    fn udp_sender(&self, socket: &Arc<UdpSocket>, counters: Arc<Counters>) -> Named {
        let (socket, width) = (Arc::clone(socket), self.width);
        let together = dataplane::segments(self.block);
        if self.options.segmentation_offload
            && together > 1
            && linux::udp::check_segmentation(&socket, self.block).is_ok()
        {
            let sender = udp::Sender::segmented(socket, width, counters);
            return (self.limited(sender, together), Segmented::NAME);
        }
        let name = if self.options.segmentation_offload { NO_SEGMENTS } else { Separate::NAME };
        (self.limited(udp::Sender::new(socket, width, counters), 1), name)
    }

    /// `sender`, which sends `together` datagrams at once, within the plan's limits.
    fn limited<O: Outlet + 'static>(
        &self,
        sender: udp::Sender<O>,
        together: usize,
    ) -> Box<dyn Stream> {
        let pacer = self.pacer(Pacer::of_datagrams, together);
        Box::new(sender.with_datagrams(self.amount.budget.clone()).with_pacer(pacer))
    }

    fn udp_receiver(&self, socket: &Arc<UdpSocket>, counters: Arc<Counters>) -> Named {
        let name = if !self.options.segmentation_offload {
            udp::Receiver::NAME
        } else if linux::udp::coalesce_arrivals(socket).is_ok() {
            udp::Receiver::NAME_COALESCED
        } else {
            NO_COALESCING
        };
        let receiver = udp::Receiver::new(Arc::clone(socket), self.width, counters);
        (Box::new(receiver.with_goal(self.amount.goal.clone())), name)
    }

    /// The pacer as the plan has it, for a sender that sends `together` blocks at once.
    fn pacer(&self, of: fn(BitRate, u64) -> Pacer, together: usize) -> Option<Pacer> {
        let pacer = of(self.options.rate?, self.block as u64).with_pacing(self.options.pacing);
        let pieces = self.options.burst.map(|burst| usize::try_from(burst).unwrap_or(usize::MAX));
        let pacer = match pieces {
            None if together == 1 => pacer,
            pieces => pacer.with_burst(pieces.unwrap_or(1).saturating_mul(together)),
        };
        Some(pacer.centred())
    }
}

fn open_to_read(path: &Path) -> Result<File, SessionError> {
    let readable = || {
        let file = File::open(path)?;
        // The kernel opens a directory, and only then refuses to read it.
        if file.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
    };
    readable().map_err(|error| SessionError::File { doing: "read", path: path.to_owned(), error })
}

/// As iperf3 opens it: for its owner only, and empty.
fn open_to_write(path: &Path) -> Result<File, SessionError> {
    let mut writable = OpenOptions::new();
    let writable = writable.write(true).create(true).truncate(true).mode(0o600);
    writable.open(path).map_err(|error| SessionError::File {
        doing: "write",
        path: path.to_owned(),
        error,
    })
}

/// Segmentation was asked for, and the kernel, or the length of the datagrams, does not
/// allow it; likewise below.
const NO_SEGMENTS: &str = "sendmmsg (no segments)";
const NO_COALESCING: &str = "recvmmsg (no coalescing)";
