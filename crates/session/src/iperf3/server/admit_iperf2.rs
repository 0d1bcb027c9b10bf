//! Takes an iperf2 client's TCP connection in, or closes it.

use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Weak};

use dataplane::Counters;
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, Transport};
use protocol::iperf2::{Asks, BackWay, Opening, Settings};
use protocol::iperf3::{Cookie, CounterWidth};

use super::acceptor::Acceptor;
use super::context::canonical;
use super::iperf2::{Connection, Group, Kind, TCP_BLOCK};
use crate::server::client_prefix::ClientPrefix;
use crate::server::limits;
use crate::server::metrics::Refusal;
use crate::server::test_class::TestClass;
use crate::spec::RunSpec;

impl Acceptor {
    /// Receives what an iperf2 client sends, and sends what it asks for, on a thread of its own. iperf2
    /// has no word for a refusal: the connection is closed.
    pub(super) fn take_iperf2(&mut self, socket: TcpStream, opening: Opening, from: SocketAddr) {
        if let Err(why) = self.admit_iperf2(socket, opening, from) {
            self.refuse(from, why);
            self.context.registry.note_try();
        }
    }

    fn admit_iperf2(
        &mut self,
        socket: TcpStream,
        opening: Opening,
        from: SocketAddr,
    ) -> Result<(), Refusal> {
        let Settings { connections, asks } = match opening {
            Opening::Payload => Settings { connections: 1, asks: Asks::Nothing },
            Opening::Header(settings) => settings,
        };
        let direction = match asks {
            Asks::Refused => return Err(Refusal::Parameters),
            Asks::Nothing => Direction::Send,
            Asks::Answers(_) => Direction::Both,
            Asks::Back(back) => match back.way {
                BackWay::Connect { .. } if !self.context.options.connects_back => {
                    return Err(Refusal::ConnectBack);
                }
                BackWay::Reverse => Direction::Receive,
                BackWay::FullDuplex | BackWay::Connect { .. } => Direction::Both,
            },
        };
        if self.options.key.is_some() || self.context.options.gate.is_some() {
            return Err(Refusal::Authentication);
        }
        let answers = matches!(asks, Asks::Answers(_));
        let kind = Kind { connections, direction, answers };
        let (group, index) = self.group(&socket, kind, from)?;
        let (server, log) = (self.context.clone(), Arc::clone(&self.log));
        let first = Cookie::LENGTH as u64;
        let connection = Connection { socket, index, first, asks };
        let work = move || group.carry(connection, &server, &*log);
        let thread = std::thread::Builder::new().name("session".to_owned());
        let session = thread.stack_size(linux::process::STACK_BYTES).spawn(work);
        self.sessions.push(session.map_err(|_| Refusal::Threads)?);
        Ok(())
    }

    /// The test of which it is a connection, and which one.
    fn group(
        &mut self,
        socket: &TcpStream,
        kind: Kind,
        from: SocketAddr,
    ) -> Result<(Arc<Group>, u32), Refusal> {
        let Kind { connections, direction, .. } = kind;
        let (now, from) = (self.context.clock.now(), canonical(from));
        self.iperf2.retain(|group| group.strong_count() > 0);
        let mut known = self.iperf2.iter().filter_map(Weak::upgrade);
        let joined = known.find_map(|group| Some((group.join(from.ip(), kind, now)?, group)));
        if let Some((index, group)) = joined {
            return index.map(|index| (group, index));
        }
        if self.stops_at.is_some() {
            return Err(Refusal::Stopping);
        }
        if !self.start_rate.admits(ClientPrefix::containing(from.ip()), now) {
            return Err(Refusal::RateLimited);
        }
        let mut draft = PlanDraft::new(Transport::Tcp, direction);
        draft.streams = connections;
        let plan = draft.check().map_err(|_| Refusal::Parameters)?;
        let block = ByteSize::from_bytes(TCP_BLOCK);
        let spec = RunSpec { plan, block, header: CounterWidth::Bits32.into() };
        let mut need = limits::need(&spec, 0, 0);
        // Each connection has a thread and a buffer in each direction, and one that is opened to a
        // client has a descriptor.
        let ways = if direction == Direction::Both { 2 } else { 1 };
        need.each = need.each.plus(crate::server::cost::Cost {
            memory: ways * (TCP_BLOCK + THREAD_BYTES),
            descriptors: ways - 1,
            threads: ways,
        });
        let random = linux::entropy::random().map_err(|_| Refusal::Busy)?;
        let cookie = Cookie::from_random(random);
        let registry = &self.context.registry;
        let ticket = registry.enter(cookie, from.ip(), need, TestClass::Regular)?;
        if ticket.place().is_some() {
            // iperf2 has no word for waiting either.
            return Err(Refusal::Busy);
        }
        // Of further connections only the counters are made before they come: a client may claim any
        // number.
        need.workers.memory += ways * u64::from(connections) * size_of::<Counters>() as u64;
        ticket.grow(need.workers)?;
        let local = canonical(socket.local_addr().unwrap_or(from));
        let group = Arc::new(Group::new((from, local), kind, (ticket, need.each), &self.context)?);
        let index = group.join(from.ip(), kind, now).ok_or(Refusal::Busy)??;
        self.iperf2.push(Arc::downgrade(&group));
        Ok((group, index))
    }
}

/// Memory of a thread's stack as far as it is used.
const THREAD_BYTES: u64 = 64 * 1024;
