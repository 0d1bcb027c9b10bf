//! Formats the text output of iperf3.
//!
//! Every piece ends with a newline and goes to standard output; nothing here is for
//! standard error.

use measurement::outcome::CpuUse;
use measurement::{BitRate, ByteSize, Course, Direction, End, StreamRecord, TestPlan, Transport};

use super::figures::{Progress, Step, Way, congestion, totals};
use super::unit::UnitFormat;
use super::{Contact, DiskFile, PeerResults, Role, ServerOutput, VERSION, date, without_mapping};

mod rows;

use rows::{Printer, id};

/// The text of a test, as iperf3 3.21 prints it, in pieces while the test runs.
#[derive(Clone, Debug)]
pub struct Text {
    role: Role,
    verbose: bool,
    unit: UnitFormat,
    progress: Progress,
    is_headed: bool,
    file: Option<DiskFile>,
}

impl Text {
    /// Makes the text of a test that has not begun, as the end `role` reports it. `verbose` is
    /// `-V`, and `unit` is the unit of rates (`-f`).
    pub const fn new(role: Role, verbose: bool, unit: UnitFormat) -> Self {
        let progress = Progress::new();
        Self { role, verbose, unit, progress, is_headed: false, file: None }
    }

    /// The first lines with `-V`: the version, and `system_info`, the fields of uname(2) on one
    /// line. Empty without `-V`.
    pub fn version(&self, system_info: &str) -> String {
        self.if_verbose(|| format!("{VERSION}\n{system_info}\n"))
    }

    /// The lines of a server that waits on `port` for a test; `test_number` counts from 1.
    pub fn listening(port: u16, test_number: u64) -> String {
        format!("{RULE}Server listening on {port} (test #{test_number})\n{RULE}")
    }

    /// With `-V`, the lines of a client whose control connection is open: the segment size in
    /// bytes, and for UDP the payload of a datagram if the client chose that itself. Empty without
    /// `-V`.
    pub fn connected(&self, segment: Option<u32>, datagram: Option<ByteSize>) -> String {
        self.if_verbose(|| {
            let block = |size: ByteSize| format!("Setting UDP block size to {}\n", size.bytes());
            format!("Control connection MSS {}\n", segment.unwrap_or(0))
                + &datagram.map_or_else(String::new, block)
        })
    }

    /// Sets the file that is sent or written (`-F`), by its name and size in bytes.
    pub fn file(&mut self, name: &str, size: u64) {
        self.file = Some(DiskFile { name: name.to_owned(), size });
    }

    /// The lines that are printed when both ends have agreed on the test `plan`: the addresses, and
    /// details with `-V`.
    pub fn contact(&mut self, contact: &Contact<'_>, plan: &TestPlan) -> String {
        let time = || format!("Time: {}\n", date::rfc1123(contact.wall_millis));
        self.if_verbose(time)
            + &greeting(contact, plan.direction)
            + &self.if_verbose(|| agreed(contact, plan))
    }

    /// The lines that are printed when the streams are open: local and remote address and port of
    /// each.
    pub fn opened(&mut self, streams: &[StreamRecord]) -> String {
        streams.iter().map(connection).collect()
    }

    /// With `-V`, the line for the start of the test; `block` is the length of a write or of a
    /// datagram's payload. Empty without `-V`.
    pub fn started(&mut self, plan: &TestPlan, block: ByteSize) -> String {
        self.if_verbose(|| {
            format!(
                "Starting Test: protocol: {}, {} streams, {} byte blocks, omitting {} seconds, \
                 {}, tos {}\n",
                plan.transport,
                plan.streams,
                block.bytes(),
                plan.omit.as_secs(),
                extent(plan.end),
                plan.options.type_of_service
            )
        })
    }

    /// The rows of the intervals that are new since the last call. Empty: there are none.
    pub fn sampled(&mut self, course: &Course<'_>) -> String {
        let mut out = String::new();
        for step in self.progress.advance(self.role, course) {
            match step {
                Step::Shown(ways) => out += &self.interval(course.plan, &ways),
                Step::OmitOver => {
                    out += &self
                        .if_verbose(|| "Finished omit period, starting real test\n".to_owned());
                }
            }
        }
        out
    }

    /// The summary of the test, after the rows of intervals that were not printed yet. A server
    /// prints it before it has the results of the client.
    pub fn summary(&mut self, course: &Course<'_>, peer: &PeerResults<'_>) -> String {
        let totals = totals(self.role, course, peer);
        let mut out = self.sampled(course) + SEPARATOR;
        out += &self.if_verbose(|| "Test Complete. Summary Results:\n".to_owned());
        out += &summary_header(course.plan, totals.iter().any(|total| total.has_retransmits));
        for total in &totals {
            let printer = self.printer(course.plan, total.sender);
            out += &printer.total(course.plan, total);
            out += &self.if_verbose(|| {
                cpu(course, peer, total.sender) + &congestion_lines(course, peer, total.sender)
            });
        }
        out
    }

    /// The lines with the output of the server, which the client requested by
    /// `--get-server-output`.
    pub fn server_output(&self, said: &ServerOutput<'_>) -> String {
        match said {
            ServerOutput::Text(text) => format!("\nServer output:\n{text}\n"),
            ServerOutput::Json(json) => {
                format!("\nServer JSON output:\n{}\n", super::pretty(&(*json).into()))
            }
        }
    }

    /// The last line of a client whose test did not fail: `iperf Done.`, after an empty line.
    pub const fn done() -> &'static str {
        "\niperf Done.\n"
    }

    fn if_verbose(&self, text: impl FnOnce() -> String) -> String {
        if self.verbose { text() } else { String::new() }
    }

    fn interval(&mut self, plan: &TestPlan, ways: &[Way]) -> String {
        let mut out = if !std::mem::replace(&mut self.is_headed, true) {
            interval_header(plan, ways)
        } else if plan.streams > 1 {
            SEPARATOR.to_owned()
        } else {
            String::new()
        };
        for way in ways {
            let printer = self.printer(plan, way.sender);
            out += &way.rows.iter().map(|row| printer.row(row)).collect::<String>();
            if plan.streams > 1 {
                out += &printer.row_sum(&way.sum);
            }
        }
        out
    }

    fn printer(&self, plan: &TestPlan, sender: bool) -> Printer<'_> {
        Printer::new(self, plan.direction, sender)
    }
}

fn greeting(contact: &Contact<'_>, direction: Direction) -> String {
    let (host, port) = (contact.host, contact.port);
    match (contact.role, direction) {
        (Role::Client, Direction::Receive) => format!(
            "Connecting to host {host}, port {port}\n\
             Reverse mode, remote host {host} is sending\n"
        ),
        (Role::Client, _) => format!("Connecting to host {host}, port {port}\n"),
        (Role::Server, _) => {
            format!("Accepted connection from {}, port {port}\n", without_mapping(host))
        }
    }
}

/// The parameters of the test, with `-V`.
fn agreed(contact: &Contact<'_>, plan: &TestPlan) -> String {
    let cookie = format!("      Cookie: {}\n", contact.cookie);
    let segment = match (plan.transport, contact.mss_asked) {
        (Transport::Udp, _) => String::new(),
        (Transport::Tcp, Some(mss)) => format!("      TCP MSS: {mss}\n"),
        (Transport::Tcp, None) => {
            format!("      TCP MSS: {} (default)\n", contact.mss_default.unwrap_or(0))
        }
    };
    let rate = plan.options.rate.map_or(0, BitRate::bits_per_second);
    let target = if rate > 0 { format!("      Target Bitrate: {rate}\n") } else { String::new() };
    cookie + &segment + &target
}

fn connection(stream: &StreamRecord) -> String {
    let id = id(stream.socket.unwrap_or_default());
    let (Some(local), Some(peer)) = (stream.local, stream.peer) else {
        return format!("{id} connected\n");
    };
    format!(
        "{id} local {} port {} connected to {} port {}\n",
        local.ip().to_canonical(),
        local.port(),
        peer.ip().to_canonical(),
        peer.port()
    )
}

/// The extent of a test, in words.
fn extent(end: End) -> String {
    match end {
        End::Time(time) => format!("{} second test", time.as_secs_f64()),
        End::Bytes(size) => format!("{} bytes to send", size.bytes()),
        End::Blocks(count) => format!("{count} blocks to send"),
        End::Open => "0 second test".to_owned(),
    }
}

fn interval_header(plan: &TestPlan, ways: &[Way]) -> String {
    let sends = ways.iter().any(|way| way.sender);
    let receives = ways.iter().any(|way| !way.sender);
    let columns = match plan.transport {
        Transport::Tcp if sends => "         Retr  Cwnd",
        Transport::Tcp => "",
        Transport::Udp if receives => "         Jitter    Lost/Total Datagrams",
        Transport::Udp => "         Total Datagrams",
    };
    header(plan, columns)
}

fn summary_header(plan: &TestPlan, has_retransmits: bool) -> String {
    let columns = match plan.transport {
        Transport::Tcp if has_retransmits => "         Retr",
        Transport::Tcp => "",
        Transport::Udp => "         Jitter    Lost/Total Datagrams",
    };
    header(plan, columns)
}

fn header(plan: &TestPlan, columns: &str) -> String {
    let role = if plan.direction == Direction::Both { "[Role]" } else { "" };
    format!("[ ID]{role} Interval           Transfer     Bitrate{columns}\n")
}

/// The line with the CPU use, which goes with the rows of the payload that this end sent; where
/// both ends send, a line for each role of this one.
fn cpu(course: &Course<'_>, peer: &PeerResults<'_>, sender: bool) -> String {
    if !sender {
        return String::new();
    }
    let remote = peer.cpu.unwrap_or_default();
    let line = |here, there| {
        format!(
            "CPU Utilization: local/{here} {}, remote/{there} {}\n",
            share(&course.cpu),
            share(&remote)
        )
    };
    let mut out = line("sender", "receiver");
    if course.plan.direction == Direction::Both {
        out += &line("receiver", "sender");
    }
    out
}

fn share(cpu: &CpuUse) -> String {
    format!("{:.1}% ({:.1}%u/{:.1}%s)", cpu.total, cpu.user, cpu.system)
}

fn congestion_lines(course: &Course<'_>, peer: &PeerResults<'_>, sender: bool) -> String {
    if course.plan.transport == Transport::Udp {
        return String::new();
    }
    let (sending, receiving) = congestion(course, peer, sender);
    let line = |name: Option<&str>, end| {
        name.map_or_else(String::new, |name| format!("{end}_tcp_congestion {name}\n"))
    };
    line(sending, "snd") + &line(receiving, "rcv")
}

const SEPARATOR: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";
const RULE: &str = "-----------------------------------------------------------\n";
