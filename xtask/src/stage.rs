//! Hosts, a server on one of them, and a client whose record is read.

pub(crate) mod plant;

pub(crate) use testbed::noise as quiet;

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use lab::{Host, Impairment, Link, LinkSpec, Rate, Relayed, Routed, Shape};
use measurement::judgement::{Drop as Dropped, Place};
use measurement::{Judgement, Ledger, TestRecord};

/// Prepares to make hosts, or says why there can be none; to be called before the first thread
/// starts.
pub(crate) fn prepare() -> Option<String> {
    match lab::prepare() {
        lab::Access::Forbidden { reason } => Some(reason),
        _ => None,
    }
}

/// Who plays.
pub(crate) struct Troupe {
    pub(crate) program: PathBuf,
    pub(crate) short: bool,
}

/// The way from client to server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Loopback of one host.
    Loopback,
    /// A virtual Ethernet pair between two hosts.
    Veth,
}

/// Hosts that exist for one scene.
pub(crate) struct Stage<'a> {
    troupe: &'a Troupe,
    way: Way,
    ground: Ground,
}

/// What joins them.
enum Ground {
    Cable(Link),
    Router(Box<Routed>),
    Relay(Box<Relayed>),
}

impl<'a> Stage<'a> {
    /// An unshaped way.
    pub(crate) fn new(troupe: &'a Troupe, way: Way) -> Result<Self> {
        let link = Link::create(&LinkSpec::default()).context("cannot make the hosts")?;
        Ok(Self { troupe, way, ground: Ground::Cable(link) })
    }

    /// A link that lets so many Mbit/s through.
    pub(crate) fn shaped(troupe: &'a Troupe, mbps: u64) -> Result<Self> {
        Self::with_cable(troupe, &limited(mbps)?)
    }

    /// A router between the hosts, which lets so many Mbit/s through.
    pub(crate) fn routed(troupe: &'a Troupe, mbps: u64) -> Result<Self> {
        Self::with_router(troupe, &limited(mbps)?)
    }

    /// A router between the hosts.
    pub(crate) fn with_router(troupe: &'a Troupe, spec: &LinkSpec) -> Result<Self> {
        let routed = Routed::create(spec).context("cannot make the hosts")?;
        Ok(Self { troupe, way: Way::Veth, ground: Ground::Router(Box::new(routed)) })
    }

    /// A relay between the hosts, and what it does to what the client sends, and the server.
    pub(crate) fn with_relay(
        troupe: &'a Troupe,
        spec: &LinkSpec,
        there: Impairment,
        back: Impairment,
    ) -> Result<Self> {
        let relayed = Relayed::create(spec, there, back, SEED).context("cannot make the hosts")?;
        Ok(Self { troupe, way: Way::Veth, ground: Ground::Relay(Box::new(relayed)) })
    }

    /// A cable between the hosts.
    pub(crate) fn with_cable(troupe: &'a Troupe, spec: &LinkSpec) -> Result<Self> {
        let link = Link::create(spec).context("cannot make the hosts")?;
        Ok(Self { troupe, way: Way::Veth, ground: Ground::Cable(link) })
    }

    /// Where the client runs.
    pub(crate) fn near(&self) -> &Host {
        match &self.ground {
            Ground::Cable(link) => &link.near,
            Ground::Router(routed) => &routed.near,
            Ground::Relay(relayed) => &relayed.near,
        }
    }

    /// Where the server runs.
    pub(crate) fn far(&self) -> &Host {
        match (self.way, &self.ground) {
            (Way::Loopback, _) => self.near(),
            (Way::Veth, Ground::Cable(link)) => &link.far,
            (Way::Veth, Ground::Router(routed)) => &routed.far,
            (Way::Veth, Ground::Relay(relayed)) => &relayed.far,
        }
    }

    /// The router's end towards the client, and that towards the server.
    pub(crate) fn router(&self) -> Result<(&Host, &Host)> {
        match &self.ground {
            Ground::Cable(_) | Ground::Relay(_) => bail!("there is no router"),
            Ground::Router(routed) => Ok((&routed.router_near, &routed.router_far)),
        }
    }

    /// Where the server listens.
    pub(crate) fn address(&self) -> Ipv4Addr {
        match self.way {
            Way::Loopback => Ipv4Addr::LOCALHOST,
            Way::Veth => self.far().ipv4(),
        }
    }

    /// A command of the client's host, as the scenes use it: `linerate test` with these
    /// words behind it.
    pub(crate) fn client(&self, words: &str) -> Command {
        let mut command = self.near().command(&self.troupe.program);
        command.args(["test", &self.address().to_string(), "--json", "--quiet"]);
        command.args(words.split_whitespace());
        clean(&mut command);
        command
    }

    /// A server on the far host, with these words.
    pub(crate) fn serve(&self, words: &str) -> Result<Server> {
        self.serve_on(self.far(), self.address(), words)
    }

    /// The same on the router.
    pub(crate) fn serve_on_router(&self, words: &str) -> Result<Server> {
        let (router, _) = self.router()?;
        self.serve_on(router, router.ipv4(), words)
    }

    fn serve_on(&self, host: &Host, address: Ipv4Addr, words: &str) -> Result<Server> {
        let mut command = host.command(&self.troupe.program);
        command.args(["serve", "--quiet"]).args(words.split_whitespace());
        clean(&mut command);
        self.started(command, SocketAddr::from((address, port_of(words)?)))
    }

    /// A program of another host, once it answers at `address`.
    pub(crate) fn started(&self, mut command: Command, address: SocketAddr) -> Result<Server> {
        let server = Server(command.spawn().context("cannot start the server")?);
        self.near().run(|| wait_for(address))??;
        Ok(server)
    }

    /// A program of the far host that answers where a server does.
    pub(crate) fn answers(&self, command: Command) -> Result<Server> {
        self.started(command, SocketAddr::from((self.address(), port_of("")?)))
    }

    /// Runs one test with a server of its own.
    pub(crate) fn play(&self, words: &str) -> Result<TestRecord> {
        let _server = self.serve("")?;
        record_of(self.client(words))
    }

    /// What a command of the far host prints.
    pub(crate) fn far_prints(&self, program: &str, words: &str) -> Result<String> {
        crate::command::output(self.far().command(program).args(words.split_whitespace()))
    }

    /// What a command of the near host prints.
    pub(crate) fn near_prints(&self, program: &str, words: &str) -> Result<String> {
        crate::command::output(self.near().command(program).args(words.split_whitespace()))
    }
}

/// A link of so many Mbit/s.
fn limited(mbps: u64) -> Result<LinkSpec> {
    let rate = Rate::from_bits_per_second(mbps * 1_000_000).context("a rate above zero")?;
    Ok(LinkSpec { shape: Some(Shape::with_rate(rate)), ..LinkSpec::default() })
}

/// Nothing of the caller's settings is meant for these programs.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LINERATE_") {
            command.env_remove(name);
        }
    }
}

fn port_of(words: &str) -> Result<u16> {
    let mut words = words.split_whitespace();
    match words.find(|word| *word == "--port") {
        Some(_) => words.next().context("a port")?.parse().context("a port"),
        None => Ok(5201),
    }
}

/// Runs a client that prints one record to its end; an INVALID result is one too.
pub(crate) fn record_of(command: Command) -> Result<TestRecord> {
    let played = played(command, Duration::ZERO, || Ok(()))?;
    ensure!(matches!(played.code, 0 | 3), "the client ended with {}", played.code);
    Ok(played.record)
}

/// What came of a client.
pub(crate) struct Played {
    pub(crate) record: TestRecord,
    /// What it ended with.
    pub(crate) code: i32,
}

/// Runs a client to its end, and does something when it has run for a while; one that fails
/// leaves a record as well.
pub(crate) fn played(
    mut command: Command,
    after: Duration,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<Played> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let client = command.spawn().context("cannot start the client")?;
    std::thread::sleep(after);
    let done = meanwhile();
    let output = client.wait_with_output().context("cannot wait for the client")?;
    done?;
    let code = output.status.code().unwrap_or(-1);
    let record = serde_json::from_slice(&output.stdout).with_context(|| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        format!("the client prints no record and ends with {code}: {}", complaint.trim())
    })?;
    Ok(Played { record, code })
}

/// What was judged of a record.
pub(crate) fn judgement(record: &TestRecord) -> Result<&Judgement> {
    record.judgement.as_ref().context("nobody judged the record")
}

/// Where the datagrams of its one direction went.
pub(crate) fn ledger(record: &TestRecord) -> Result<&Ledger> {
    let account = judgement(record)?.directions.first().context("no direction")?;
    account.ledger.as_ref().context("no ledger")
}

/// Datagrams lost in one place.
pub(crate) fn lost_in(ledger: &Ledger, place: Place) -> u64 {
    let own = ledger.drops.iter().filter(|dropped| dropped.place == place);
    own.map(|dropped: &Dropped| dropped.datagrams).sum()
}

/// A server, or whatever else runs beside a test; it ends with this value.
pub(crate) struct Server(pub(crate) Child);

impl Server {
    /// Lets it stand still for so long.
    pub(crate) fn pause(&self, time: Duration) -> Result<()> {
        let tell = |signal: &str| {
            let id = self.0.id().to_string();
            crate::command::output(Command::new("kill").args([signal, id.as_str()])).map(drop)
        };
        tell("-STOP")?;
        std::thread::sleep(time);
        tell("-CONT")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody left to tell.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn wait_for(address: SocketAddr) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() >= deadline => {
                return Err(error).context("the server does not answer");
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
/// The same decisions in each run.
const SEED: u64 = 20_260_101;
