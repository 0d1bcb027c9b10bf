//! First phase: the control connection is open and the server reads cookie and parameters. It
//! ends when the server asks for the streams, and these are open.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use linux::event::StopSignals;
use linux::tcp::TcpInfo;
use measurement::{ByteSize, Peer};
use protocol::iperf3::{Client, ClientEvent, Cookie, Parameters, ProtocolError};

use super::connect::connect_control;
use super::link::{About, Link};
use super::opened::Opened;
use super::streams;
use crate::batches::BatchedEngines;
use crate::blocks::{block_length, fragmentation};
use crate::clock::Clock;
use crate::control::Control;
use crate::error::SessionError;
use crate::keyed;
use crate::observer::{Introduction, Observer};
use crate::preflight::HostResources;
use crate::request::{Request, Watching};

/// A client that waits to be let in.
pub(super) struct Greeted {
    cookie: Cookie,
    about: About,
    /// Segment size of the control connection in bytes, if the kernel reports it.
    segment: Option<u32>,
    introduction: Due,
}

/// Whether the observer has been introduced to the server.
#[derive(PartialEq, Eq)]
enum Due {
    Pending,
    Done,
}

impl Greeted {
    /// Opens the control connection and sends the cookie.
    ///
    /// # Errors
    /// As for [`connect_control`], and what the kernel refuses.
    pub(super) fn connect<'a>(
        request: &'a Request,
        host: &HostResources,
        (observer, interrupts, clock): (
            &'a mut dyn Observer,
            Option<&'a StopSignals>,
            Arc<dyn Clock>,
        ),
    ) -> Result<(Link<'a>, Self), SessionError> {
        let (socket, server) = connect_control(request, interrupts, &*clock)?;
        let local_address = socket.local_addr().map_err(SessionError::system("an address"))?;
        let random = linux::entropy::random().map_err(SessionError::system("random bytes"))?;
        let cookie = Cookie::from_random(random);
        let key = request.options.key.as_ref();
        let proved = key.map(|key| keyed::prove(&socket, server, key, (interrupts, &*clock)));
        let mut seal = proved.transpose()?;
        let first = seal.as_mut().map(|seal| seal.seal(cookie.as_bytes()));
        let first = first.unwrap_or_else(|| cookie.as_bytes().to_vec());
        // As iperf3: the segment size is the kernel's after the first bytes. One that cannot be
        // sent is told of when the answer is waited for.
        _ = (&socket).write_all(&first);
        // Where the kernel does not report it, the defaults must do.
        let path = linux::tcp::info(&socket).unwrap_or_default();
        let block = block_length(request, server, &path);
        let batched = BatchedEngines::chosen(request, server, block, path.pmtu);
        let parameters = parameters(request, host, block, batched.is_some());
        let machine = Client::after_cookie(parameters, clock.now());
        let about = About {
            peer: Peer { software: "iperf3".to_owned(), address: server, local_address },
            announcement: None,
            batched,
            notes: fragmentation(&request.plan, server, block, path.pmtu).into_iter().collect(),
            started_at: linux::clock::utc_rfc3339(),
        };
        let control = Control::new(socket, machine, Arc::clone(&clock)).sealed(seal);
        let rtt = rtt(&path);
        let request = Cow::Borrowed(request);
        let link = Link { request, observer, interrupts, clock, control, server, rtt };
        let segment = Some(path.snd_mss).filter(|segment| *segment > 0);
        Ok((link, Self { cookie, about, segment, introduction: Due::Pending }))
    }

    /// Waits until the server asks for the streams, and opens them.
    ///
    /// # Errors
    /// Why the server does not want them, or why they cannot be opened.
    pub(super) fn open(mut self, link: &mut Link<'_>) -> Result<Opened, SessionError> {
        loop {
            link.control.pump();
            self.introduce(link);
            while let Some(event) = link.control.machine.poll_event() {
                match event {
                    ClientEvent::PeerAnnounced(announcement) => {
                        self.about.peer.software = format!("linerate {}", announcement.version);
                        let limits = announcement.limits.and_then(|limits| link.keep_to(limits));
                        self.about.notes.extend(limits);
                        self.about.announcement = Some(announcement);
                    }
                    // An experiment is about the test before it.
                    ClientEvent::Waiting(_) if link.request.plan.experiment.is_some() => {
                        return Err(link.failure(ProtocolError::Busy));
                    }
                    ClientEvent::Waiting(place) => {
                        link.observer.waiting(&self.about.peer, place);
                    }
                    ClientEvent::CreateStreams => {
                        let trial = streams::open(link, &self.cookie, &mut self.about)?;
                        return Ok(Opened::new(self.about, trial));
                    }
                    ClientEvent::Failed(error) => return Err(link.failure(error)),
                    // Nothing else comes before the streams are open.
                    _ => {}
                }
            }
            link.wait_for_server()?;
        }
    }

    /// Introduces the server to the observer once the parameters are on their way.
    fn introduce(&mut self, link: &mut Link<'_>) {
        if !link.control.machine.has_sent_parameters() || self.introduction == Due::Done {
            return;
        }
        self.introduction = Due::Done;
        link.observer.introduced(&Introduction {
            peer: &self.about.peer,
            cookie: &self.cookie.text(),
            parameters: link.control.machine.parameters(),
            segment: self.segment,
        });
    }
}

fn rtt(path: &TcpInfo) -> std::time::Duration {
    std::time::Duration::from_micros(path.rtt.into())
}

/// What the server is asked for.
fn parameters(
    request: &Request,
    host: &HostResources,
    block: ByteSize,
    batched: bool,
) -> Parameters {
    let optional = request.options.optional.clone();
    let mut parameters = Parameters::new(&request.plan, block).with_optional(optional);
    if batched {
        parameters.plan = BatchedEngines::put_into(&parameters.plan);
    }
    parameters.counter_width = request.options.counter_width;
    if let Some(announcement) = &mut parameters.announcement {
        announcement.further_ports =
            host.extra_ports(&request.plan, crate::iperf3::MOST_EXTRA_PORTS);
        if request.options.watching == Watching::Nothing {
            *announcement = std::mem::take(announcement).without_evidence();
        }
    }
    parameters
}
