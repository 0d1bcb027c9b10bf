//! Connected sockets on the loopback, and pools that are built stream by stream.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;

use linerate_dataplane::{
    BufferKind, BufferPlan, Counters, OpenStream, PayloadPattern, Pool, Spread, Stream,
};
use measurement::StreamCounters;
pub(crate) use testbed::wait::eventually;

/// Bytes of a TCP block in these tests.
pub(crate) const BLOCK: usize = 16 * 1024;
/// Bytes of a datagram in these tests.
pub(crate) const DATAGRAM: usize = 200;

/// The streams of a pool that is being built. They are numbered from 1.
pub(crate) struct Setup {
    memory: BufferPlan,
    workers: usize,
    streams: Vec<OpenStream>,
}

impl Setup {
    /// For TCP streams with blocks of [`BLOCK`].
    pub(crate) fn tcp() -> Self {
        Self::with_buffers(BufferKind::Blocks, PayloadPattern::Random)
    }

    /// For UDP streams with datagrams of [`DATAGRAM`].
    pub(crate) fn udp() -> Self {
        Self::with_buffers(BufferKind::Datagrams, PayloadPattern::Random)
    }

    /// For streams of blocks or datagrams, as above, that consist of `pattern`.
    pub(crate) fn with_buffers(kind: BufferKind, pattern: PayloadPattern) -> Self {
        let block = if kind == BufferKind::Blocks { BLOCK } else { DATAGRAM };
        Self {
            memory: BufferPlan { kind, block, pattern, pages: None },
            workers: 1,
            streams: Vec::new(),
        }
    }

    /// Deals the streams out to `workers` threads instead of one.
    pub(crate) fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Adds a stream that sends.
    pub(crate) fn sender<E: Stream + 'static>(
        self,
        engine: impl FnOnce(Arc<Counters>) -> E,
    ) -> Self {
        self.stream(true, |counters| Box::new(engine(counters)))
    }

    /// Adds a stream that receives.
    pub(crate) fn receiver<E: Stream + 'static>(
        self,
        engine: impl FnOnce(Arc<Counters>) -> E,
    ) -> Self {
        self.stream(false, |counters| Box::new(engine(counters)))
    }

    /// The pool, not started.
    pub(crate) fn prepare(self) -> Pool {
        let cpus: Vec<usize> = (0..self.workers).collect();
        Pool::prepare(self.streams, self.memory, &cpus, false, Spread::InTurn, &mut || true)
            .expect("prepared")
    }

    /// The pool, started.
    pub(crate) fn start(self) -> Pool {
        let pool = self.prepare();
        pool.start();
        pool
    }

    /// Adds a stream whose engine was made by name.
    pub(crate) fn stream(
        mut self,
        sender: bool,
        engine: impl FnOnce(Arc<Counters>) -> Box<dyn Stream>,
    ) -> Self {
        let counters = Arc::new(Counters::default());
        let id = u32::try_from(self.streams.len() + 1).expect("few streams");
        let engine = engine(Arc::clone(&counters));
        self.streams.push(OpenStream { id, sender, engine, counters });
        self
    }
}

/// Two ends of a TCP connection; neither blocks.
pub(crate) fn tcp_pair() -> (Arc<TcpStream>, Arc<TcpStream>) {
    let listener = linux::tcp::listen(any_port(), false).expect("listens");
    listener.set_nonblocking(false).expect("blocks");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    let (far, _) = listener.accept().expect("accepted");
    for socket in [&near, &far] {
        socket.set_nonblocking(true).expect("does not block");
    }
    (Arc::new(near), Arc::new(far))
}

/// Two UDP sockets connected to each other; neither blocks.
pub(crate) fn udp_pair() -> (Arc<UdpSocket>, Arc<UdpSocket>) {
    let [near, far] = [(); 2].map(|()| linux::udp::bind(any_port(), false, false).expect("bound"));
    near.connect(far.local_addr().expect("bound")).expect("connected");
    far.connect(near.local_addr().expect("bound")).expect("connected");
    for socket in [&near, &far] {
        linux::udp::request_receive_buffer(socket, RECEIVE_BUFFER).expect("widened");
    }
    (Arc::new(near), Arc::new(far))
}

/// Counters of stream `id`.
pub(crate) fn counters(pool: &Pool, id: u32) -> StreamCounters {
    let found = pool.read().find_map(|(other, _, counters)| (other == id).then_some(counters));
    found.expect("a stream with this id")
}

fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

const RECEIVE_BUFFER: usize = 4 * 1024 * 1024;
