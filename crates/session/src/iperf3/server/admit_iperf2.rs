//! Takes an iperf2 client's TCP connection in, or closes it.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;

use measurement::{Direction, Transport};
use protocol::iperf2::{Asks, Back, BackWay, Opening, Settings};
use protocol::iperf3::Cookie;

use super::acceptor::Acceptor;
use crate::iperf2::server::{self as iperf2, Client, Gathering, Test};
use crate::server::client_prefix::ClientPrefix;
use crate::server::context::canonical;
use crate::server::cost::{Cost, Need};
use crate::server::limits;
use crate::server::metrics::Refusal;
use crate::server::registry::{Numbering, Ticket};
use crate::server::test_class::TestClass;

impl Acceptor {
    /// Takes a connection of an iperf2 client into its test, which runs on a thread of its own. iperf2
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
        let mut settings = match opening {
            Opening::Payload => Settings { connections: 1, asks: Asks::Nothing },
            Opening::Header(settings) => settings,
        };
        match settings.asks {
            Asks::Refused => return Err(Refusal::Parameters),
            Asks::Back(Back { way: BackWay::Connect { .. }, .. })
                if !self.context.options.connects_back =>
            {
                // Its client says best what is missing if it can send for its part.
                self.refuse(from, Refusal::ConnectBack);
                settings.asks = Asks::Nothing;
            }
            Asks::Nothing | Asks::Answers(_) | Asks::Back(_) => {}
        }
        if self.options.key.is_some() || self.context.options.gate.is_some() {
            return Err(Refusal::Authentication);
        }
        let address = canonical(from);
        let Some(socket) = self.joined(socket, address.ip(), &settings) else { return Ok(()) };
        let local_address = canonical(socket.local_addr().unwrap_or(from));
        let ticket = self.enter_iperf2(address.ip(), &settings)?;
        let test = ticket.id();
        let client = Client { ticket, address, local_address, settings };
        let client = Test::new(client, &self.context)?;
        let offered = self.context.registry.offer(&test, socket);
        offered.map_err(|_| Refusal::Busy)?;
        if settings.connections > 1 {
            self.iperf2.push(Gathering { client: address.ip(), settings, test });
        }
        let (server, log) = (self.context.clone(), Arc::clone(&self.log));
        let work = move || client.serve(&server, &*log);
        let thread = std::thread::Builder::new().name("session".to_owned());
        let session = thread.stack_size(linux::process::STACK_BYTES).spawn(work);
        self.sessions.push(session.map_err(|_| Refusal::Threads)?);
        Ok(())
    }

    /// Hands the connection to the test of which it is one; gives it back if it begins another.
    fn joined(
        &mut self,
        mut socket: TcpStream,
        client: IpAddr,
        settings: &Settings,
    ) -> Option<TcpStream> {
        let registry = &self.context.registry;
        self.iperf2.retain(|one| registry.awaits(&one.test));
        let is_same = |one: &&Gathering| one.client == client && one.settings == *settings;
        for one in self.iperf2.iter().filter(is_same) {
            socket = registry.offer(&one.test, socket).err()?;
        }
        Some(socket)
    }

    /// A place for a new test.
    fn enter_iperf2(&mut self, client: IpAddr, settings: &Settings) -> Result<Ticket, Refusal> {
        if self.stops_at.is_some() {
            return Err(Refusal::Stopping);
        }
        let now = self.context.clock.now();
        if !self.start_rate.admits(ClientPrefix::containing(client), now) {
            return Err(Refusal::RateLimited);
        }
        let plan = iperf2::plan(Transport::Tcp, settings).map_err(|_| Refusal::Parameters)?;
        let random = linux::entropy::random().map_err(|_| Refusal::Busy)?;
        // A client may claim any number of connections: each is booked when it comes.
        let need = need(limits::need(&iperf2::receiving(&plan), 0, 0), plan.direction);
        let cookie = Cookie::from_random(random);
        let ticket = self.context.registry.enter(cookie, client, need, TestClass::Regular)?;
        if ticket.place().is_some() {
            // iperf2 has no word for waiting either.
            return Err(Refusal::Busy);
        }
        ticket.open_tcp(settings.connections, Numbering::ByArrival);
        Ok(ticket)
    }
}

/// A connection in both directions has a descriptor for each.
const fn need(of_one_way: Need, direction: Direction) -> Need {
    let more = if matches!(direction, Direction::Both) { 1 } else { 0 };
    let each = of_one_way.each.plus(Cost { memory: 0, descriptors: more, threads: 0 });
    Need { each, ..of_one_way }
}
