//! Between the first phase and the second: opens the streams and puts them under workers.

use std::net::SocketAddr;
use std::time::Duration;

use linux::event::StopSignals;
use linux::tcp::TcpOptions;
use measurement::{Direction, TestPlan, Way};
use protocol::iperf3::{Announcement, Cookie, Hello, Parameters, stream_id};

use super::link::{About, Link};
use crate::batches::BatchedEngines;
use crate::error::SessionError;
use crate::host_sampler::Interest;
use crate::iperf3::opening::Opener;
use crate::iperf3::opening::parallel::{OpenedStreams, Order, ParallelOpener};
use crate::measured::Side;
use crate::preflight::has_few_files;
use crate::request::Watching;
use crate::setting::{Amounts, Calls, FallbackPolicy, Iperf2Parts, Setting};
use crate::socket_options::tcp_options;
use crate::sockets::{Opened, StreamSocket};
use crate::spec::RunSpec;
use crate::trial::Trial;

/// Opens every stream of the test and prepares the trial.
///
/// # Errors
/// [`SessionError::NoAnswers`] and [`SessionError::NoPort`] if the server cannot do what the
/// plan asks, [`SessionError::Window`] if buffers are smaller than they have to be, the
/// server's own reason if it ended the test, else why a stream cannot be opened.
pub(super) fn open(
    link: &mut Link<'_>,
    cookie: &Cookie,
    about: &mut About,
) -> Result<Trial, SessionError> {
    refuse_without_exchange(link, about)?;
    let calls = calls(link, about.announcement.as_ref())?;
    let sockets = sockets(link, cookie, about, calls.is_some())?;
    // Clause 7.5: client to server first.
    let sending = link.request.plan.sending_streams();
    let numbered = (0..).zip(sockets);
    let streams = numbered
        .map(|(index, socket)| Opened { id: stream_id(index), sender: index < sending, socket })
        .collect();
    let setting = setting(link, about, calls);
    let spec = spec(link.control.machine.parameters(), about);
    let interrupts = link.interrupts;
    let mut is_wanted = || !interrupts.is_some_and(StopSignals::arrived);
    let trial = Trial::prepare(spec, streams, setting, &mut is_wanted)?;
    if let Some((asked, got)) = trial.clamped_window().filter(|_| link.request.options.exact_window)
    {
        return Err(SessionError::Window { asked, got });
    }
    link.observer.opened(trial.streams());
    Ok(trial)
}

/// What the trial runs. Engines that were not asked for are left out where the peer knows nothing
/// of engines.
fn spec(parameters: &Parameters, about: &mut About) -> RunSpec {
    let is_iperf3 = about.announcement.is_none();
    let plan: TestPlan = if about.batched.take_if(|_| is_iperf3).is_some() {
        BatchedEngines::taken_out_of(&parameters.plan)
    } else {
        parameters.plan.clone()
    };
    RunSpec { plan, block: parameters.block(), header: parameters.counter_width.into() }
}

fn refuse_without_exchange(link: &Link<'_>, about: &About) -> Result<(), SessionError> {
    let knows = about.announcement.as_ref().is_some_and(Announcement::knows_exchange);
    if link.request.plan.exchange.is_some() && !knows {
        let (to, software) = (link.server, about.peer.software.clone());
        return Err(SessionError::NoAnswers { to, software });
    }
    Ok(())
}

/// The stream sockets in order: many at a time to a server that knows of that, else one after
/// another.
fn sockets(
    link: &mut Link<'_>,
    cookie: &Cookie,
    about: &mut About,
    has_calls: bool,
) -> Result<Vec<StreamSocket>, SessionError> {
    let request = &link.request;
    let plan = &request.plan;
    let count = plan.streams_in_all();
    let peer = about.announcement.as_ref();
    let mut opener = Opener {
        control: &mut link.control,
        interrupts: link.interrupts,
        clock: &*link.clock,
        server: link.server,
        bind: request.bind,
        further_binds: &request.further_binds,
        cookie,
        stream: &plan.options,
        options: &request.options,
        connect_timeout: request.connect_timeout,
        both_ways: plan.direction == Direction::Both,
        peer_is_linerate: peer.is_some(),
        hello: Hello::own(peer.and_then(|peer| peer.hello_token)),
        rtt: link.rtt,
    };
    let many = peer.filter(|peer| peer.knows_many_streams());
    let sockets = match many.and_then(|peer| Some((peer, peer.under_way?))) {
        Some((peer, under_way)) => {
            // Those of calls are not for streams.
            let ports = if has_calls { Vec::new() } else { peer.ports.clone() };
            let token = peer.hello_token;
            let order = Order { transport: plan.transport, count, under_way, token, ports };
            let result = in_parallel(&mut opener, order, |open| link.observer.opening(open, count));
            result.map(|OpenedStreams { sockets, shut }| {
                about.notes.extend(shut_ports(link.server, &shut));
                sockets
            })
        }
        None => opener.one_after_another(plan.transport, count),
    };
    // The server's own reason, if it gave one, is the better one.
    sockets.map_err(|error| match error {
        SessionError::Interrupted => SessionError::Interrupted,
        error => opener.reason().unwrap_or(error),
    })
}

/// Opens many streams at a time; `progress` hears now and then how many are open.
fn in_parallel(
    opener: &mut Opener<'_>,
    order: Order,
    mut progress: impl FnMut(u32),
) -> Result<OpenedStreams, SessionError> {
    let clock = opener.clock;
    let mut reported = clock.now();
    ParallelOpener::new(opener, order)?.open(|open| {
        if clock.now() >= reported.after(REPORT_EVERY) {
            reported = clock.now();
            progress(open);
        }
    })
}

fn setting(link: &Link<'_>, about: &About, calls: Option<Calls>) -> Setting {
    let request = &link.request;
    let is_linerate = about.announcement.is_some();
    let is_sampled = request.options.watching == Watching::Hosts && !has_few_files();
    // Engines that were not asked for are no reason to fail.
    let batched = about.batched.is_some();
    Setting {
        side: Side::Client,
        pinned: request.cpus.clone(),
        rtt: link.rtt,
        amounts: if is_linerate { Amounts::Any } else { Amounts::WholeBlocks },
        fallback: if batched { FallbackPolicy::Substitute } else { FallbackPolicy::Fail },
        watched: true,
        file: request.options.file.clone(),
        calls,
        sampled: is_sampled.then_some(Interest::Towards(link.server.ip())),
        perf: request.options.perf.clone(),
        iperf2: Iperf2Parts::default(),
    }
}

/// Where requests with a connection each go; none: they go otherwise.
fn calls(link: &Link<'_>, peer: Option<&Announcement>) -> Result<Option<Calls>, SessionError> {
    let request = &link.request;
    if request.plan.exchange.is_none_or(|exchange| exchange.way != Way::Connection) {
        return Ok(None);
    }
    let mut to = link.server;
    let port = peer.and_then(|peer| peer.ports.first().copied());
    to.set_port(port.ok_or(SessionError::NoPort { to })?);
    let options = TcpOptions {
        bind: request.bind.map(|bind| SocketAddr::new(bind, 0)),
        device: request.options.device.clone(),
        no_delay: true,
        ..tcp_options(&request.plan.options)
    };
    Ok(Some(Calls::To(to, options)))
}

/// Extra ports that could not be reached, each with the reason; one sentence for all.
fn shut_ports(server: SocketAddr, shut: &[(u16, std::io::Error)]) -> Option<String> {
    let (_, error) = shut.first()?;
    let (why, own) = (crate::error::reason(error), server.port());
    let numbers: Vec<_> = shut.iter().map(|(port, _)| port.to_string()).collect();
    let ports = if shut.len() == 1 { "port" } else { "ports" };
    Some(format!(
        "{ports} {} of the server cannot be reached ({why}); does a firewall let only port {own} \
         through?",
        numbers.join(", ")
    ))
}

/// How often the observer hears how many streams are open.
const REPORT_EVERY: Duration = Duration::from_millis(100);
