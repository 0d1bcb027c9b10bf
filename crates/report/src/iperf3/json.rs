//! Builds the JSON object of iperf3 (`--json`), and the events of its parts (`--json-stream`).

use std::net::IpAddr;

use measurement::{BitRate, ByteSize, Course, Direction, End, StreamRecord, TestPlan, Transport};

use super::figures::{Progress, Step, congestion, is_reverse, totals};
use super::tree::{Tree, event};
use super::{Contact, DiskFile, PeerResults, Role, ServerOutput, VERSION, date, without_mapping};

mod members;

use members::{interval, push_sums, stream};

/// The JSON object of a test, as iperf3 3.21 prints it, built up while the test runs.
#[derive(Clone, Debug)]
pub struct Json {
    role: Role,
    start: Start,
    intervals: Vec<Tree>,
    keeps_intervals: bool,
    end: Tree,
    error: Option<String>,
    title: Option<String>,
    extra_data: Option<String>,
    server: Option<(&'static str, Tree)>,
    truth: Option<Tree>,
    progress: Progress,
    file: Option<DiskFile>,
}

/// The parts of `start`, which come in another order than they stand.
#[derive(Clone, Debug, Default)]
struct Start {
    connected: Vec<Tree>,
    host: Vec<(&'static str, Tree)>,
    agreed: Vec<(&'static str, Tree)>,
    window: u64,
    buffers: Vec<(&'static str, Tree)>,
    are_buffers_first: bool,
    test: Option<Tree>,
}

impl Json {
    /// Makes the object of a test that has not begun, as the end `role` reports it. `system_info`
    /// has the fields of uname(2) on one line.
    pub fn new(role: Role, system_info: &str) -> Self {
        let host = vec![("version", VERSION.into()), ("system_info", system_info.into())];
        Self {
            role,
            start: Start { host, ..Start::default() },
            intervals: Vec::new(),
            keeps_intervals: true,
            end: Tree::Object(Vec::new()),
            error: None,
            title: None,
            extra_data: None,
            server: None,
            truth: None,
            progress: Progress::new(),
            file: None,
        }
    }

    /// Sets whether the member `intervals` is filled; it is by default. With `--json-stream`, which
    /// prints each interval as an event, it is filled only with `--json-stream-full-output`, and at
    /// a server whose client requested its output.
    pub const fn keep_intervals(&mut self, keep: bool) {
        self.keeps_intervals = keep;
    }

    /// Adds the user's texts to the object (`--title`, `--extra-data`); none: not given.
    pub fn annotate(&mut self, title: Option<&str>, extra_data: Option<&str>) {
        self.title = title.map(str::to_owned);
        self.extra_data = extra_data.map(str::to_owned);
    }

    /// Sets the file that is sent or written (`-F`), by its name and size in bytes.
    pub fn file(&mut self, name: &str, size: u64) {
        self.file = Some(DiskFile { name: name.to_owned(), size });
    }

    /// Records that both ends have agreed on the test `plan`: the first members of `start`.
    pub fn contact(&mut self, contact: &Contact<'_>, plan: &TestPlan) {
        self.start.agreed = agreed(contact, plan);
        self.start.window = plan.options.window.map_or(0, ByteSize::bytes);
        // A server has its listening socket before it hears of a client.
        self.start.are_buffers_first =
            contact.role == Role::Server && plan.transport == Transport::Tcp;
    }

    /// Records that the server refused a test by `plan`.
    pub fn refused(&mut self, plan: &TestPlan) {
        if let Some(rate) = plan.options.rate.map(BitRate::bits_per_second).filter(|rate| *rate > 0)
        {
            self.start.agreed = vec![("target_bitrate", rate.into())];
        }
    }

    /// Records that the streams of the test are open: their addresses and socket buffers.
    pub fn opened(&mut self, streams: &[StreamRecord]) {
        self.start.connected.extend(streams.iter().map(connection));
        if let Some(first) = streams.first() {
            let bytes = |buffer: Option<ByteSize>| buffer.map_or(0, ByteSize::bytes);
            self.start.buffers = vec![
                ("sock_bufsize", self.start.window.into()),
                ("sndbuf_actual", bytes(first.send_buffer).into()),
                ("rcvbuf_actual", bytes(first.receive_buffer).into()),
            ];
        }
    }

    /// Records that the test runs; `block` is the length of a write or of a datagram's payload.
    /// Returns the data of the event `start` of `--json-stream`.
    pub fn started(&mut self, plan: &TestPlan, block: ByteSize) -> Tree {
        self.start.test = Some(test_start(plan, block));
        self.start.tree()
    }

    /// Adds the intervals that are new since the last call, and returns the data of an event
    /// `interval` of `--json-stream` for each.
    pub fn sampled(&mut self, course: &Course<'_>) -> Vec<Tree> {
        let steps = self.progress.advance(self.role, course);
        let shown = steps.iter().filter_map(|step| match step {
            Step::Shown(ways) => Some(interval(self.role, course.plan.direction, ways)),
            Step::OmitOver => None,
        });
        let intervals: Vec<_> = shown.collect();
        if self.keeps_intervals {
            self.intervals.extend(intervals.iter().cloned());
        }
        intervals
    }

    /// Sets the member `end`, the summary of the test. Returns the data of an event `interval` of
    /// `--json-stream` for each interval that is new since [`Self::sampled`].
    pub fn summary(&mut self, course: &Course<'_>, peer: &PeerResults<'_>) -> Vec<Tree> {
        let intervals = self.sampled(course);
        let totals = totals(self.role, course, peer);
        let transport = course.plan.transport;
        let streams = totals.iter().flat_map(|total| {
            total.streams.iter().map(|one| stream(transport, total, one, self.file.as_ref()))
        });
        let mut end = Tree::object([("streams", Tree::List(streams.collect()))]);
        for total in &totals {
            let is_reverse = is_reverse(self.role, course.plan.direction, total.sender);
            push_sums(&mut end, transport, total, if is_reverse { "_bidir_reverse" } else { "" });
        }
        end.push("cpu_utilization_percent", cpu(course, peer));
        // The names are those of the direction printed last.
        let sender = totals.last().is_some_and(|total| total.sender);
        push_congestion(&mut end, course, peer, sender);
        self.end = end;
        intervals
    }

    /// Adds the output of the server, which the client requested by `--get-server-output`.
    pub fn server_output(&mut self, said: &ServerOutput<'_>) {
        self.server = Some(match said {
            ServerOutput::Text(text) => ("server_output_text", (*text).into()),
            ServerOutput::Json(json) => ("server_output_json", (*json).into()),
        });
    }

    /// Sets the reason for which the test failed, member `error`; a later reason is ignored.
    pub fn error(&mut self, text: &str) {
        self.error.get_or_insert_with(|| text.to_owned());
    }

    /// Adds the member `linerate`, with data that have no field in iperf3's format.
    pub fn truth(&mut self, linerate: &serde_json::Value) {
        self.truth = Some(linerate.into());
    }

    /// The data of the event `end` of `--json-stream`; an empty object before [`Self::summary`].
    pub const fn end(&self) -> &Tree {
        &self.end
    }

    /// The events that end a `--json-stream`, in order: `error` if the test failed, the output of
    /// the server if it was requested, `end`, whose last member is `linerate`.
    pub fn last_events(&self) -> Vec<Tree> {
        let error = self.error.iter().map(|error| event("error", &error.as_str().into()));
        let server = self.server.iter().map(|(name, said)| event(name, said));
        let mut end = self.end.clone();
        if let Some(truth) = self.truth.as_ref().filter(|_| end != Tree::Object(Vec::new())) {
            end.push("linerate", truth.clone());
        }
        error.chain(server).chain([event("end", &end)]).collect()
    }

    /// The object up to now, which a server sends to a client that requested its output.
    pub fn so_far(&self) -> Tree {
        self.clone().finish()
    }

    /// The complete JSON object of the test, to be printed at the end of the run.
    pub fn finish(self) -> Tree {
        let mut top = Tree::object([
            ("start", self.start.tree()),
            ("intervals", Tree::List(self.intervals)),
            ("end", self.end),
        ]);
        let texts = [("error", self.error), ("title", self.title), ("extra_data", self.extra_data)];
        let texts = texts.into_iter().filter_map(|(key, text)| Some((key, Tree::Text(text?))));
        let truth = self.truth.map(|truth| ("linerate", truth));
        for (key, value) in texts.chain(self.server).chain(truth) {
            top.push(key, value);
        }
        top
    }
}

impl Start {
    fn tree(&self) -> Tree {
        let (before, after) = if self.are_buffers_first {
            (&self.buffers[..], &[][..])
        } else {
            (&[][..], &self.buffers[..])
        };
        let parts = [&self.host[..], before, &self.agreed, after];
        let mut start = Tree::object([("connected", Tree::List(self.connected.clone()))]);
        for (key, value) in parts.into_iter().flatten() {
            start.push(key, value.clone());
        }
        if let Some(test) = &self.test {
            start.push("test_start", test.clone());
        }
        start
    }
}

fn agreed(contact: &Contact<'_>, plan: &TestPlan) -> Vec<(&'static str, Tree)> {
    let (name, host) = match contact.role {
        Role::Client => ("connecting_to", contact.host),
        Role::Server => ("accepted_connection", without_mapping(contact.host)),
    };
    let host = Tree::object([("host", host.into()), ("port", Tree::Whole(contact.port.into()))]);
    let mut agreed = vec![
        ("timestamp", timestamp(contact.wall_millis)),
        (name, host),
        ("cookie", contact.cookie.into()),
    ];
    if plan.transport == Transport::Tcp {
        agreed.push(match contact.mss_asked {
            Some(mss) => ("tcp_mss", mss.into()),
            None => ("tcp_mss_default", contact.mss_default.unwrap_or(0).into()),
        });
    }
    agreed.push(("target_bitrate", target(plan).into()));
    agreed.push(("fq_rate", socket_rate(plan).into()));
    agreed
}

fn timestamp(wall_millis: u64) -> Tree {
    Tree::object([
        ("time", date::rfc1123(wall_millis).as_str().into()),
        ("timesecs", (wall_millis / 1000).into()),
        ("timemillisecs", Tree::from(wall_millis)),
    ])
}

/// Bits per second of each stream; 0: unlimited.
fn target(plan: &TestPlan) -> u64 {
    plan.options.rate.map_or(0, BitRate::bits_per_second)
}

fn socket_rate(plan: &TestPlan) -> u64 {
    plan.options.socket_rate.map_or(0, BitRate::bits_per_second)
}

fn connection(stream: &StreamRecord) -> Tree {
    let host = |ip: IpAddr| Tree::Text(ip.to_canonical().to_string());
    let mut members = vec![("socket", stream.socket.unwrap_or_default().into())];
    let ends =
        [("local_host", "local_port", stream.local), ("remote_host", "remote_port", stream.peer)];
    for (address, port, end) in ends {
        if let Some(end) = end {
            members.push((address, host(end.ip())));
            members.push((port, Tree::Whole(end.port().into())));
        }
    }
    Tree::object(members)
}

fn test_start(plan: &TestPlan, block: ByteSize) -> Tree {
    let (duration, bytes, blocks) = match plan.end {
        End::Time(time) => (time.as_secs_f64(), 0, 0),
        End::Bytes(size) => (0.0, size.bytes(), 0),
        End::Blocks(count) => (0.0, 0, count),
        End::Open => (0.0, 0, 0),
    };
    let flag = |flag: bool| Tree::Whole(flag.into());
    let offload = flag(plan.options.segmentation_offload);
    Tree::object([
        ("protocol", plan.transport.to_string().as_str().into()),
        ("num_streams", Tree::Whole(plan.streams.into())),
        ("blksize", block.bytes().into()),
        ("omit", plan.omit.as_secs().into()),
        ("duration", duration.into()),
        ("bytes", bytes.into()),
        ("blocks", blocks.into()),
        ("reverse", flag(plan.direction == Direction::Receive)),
        ("tos", Tree::Whole(plan.options.type_of_service.into())),
        ("target_bitrate", target(plan).into()),
        ("bidir", flag(plan.direction == Direction::Both)),
        ("fqrate", socket_rate(plan).into()),
        ("interval", plan.interval.as_secs_f64().into()),
        ("gso", offload.clone()),
        ("gro", offload),
    ])
}

fn cpu(course: &Course<'_>, peer: &PeerResults<'_>) -> Tree {
    let (host, remote) = (course.cpu, peer.cpu.unwrap_or_default());
    Tree::object([
        ("host_total", host.total.into()),
        ("host_user", host.user.into()),
        ("host_system", host.system.into()),
        ("remote_total", remote.total.into()),
        ("remote_user", remote.user.into()),
        ("remote_system", Tree::from(remote.system)),
    ])
}

fn push_congestion(end: &mut Tree, course: &Course<'_>, peer: &PeerResults<'_>, sender: bool) {
    if course.plan.transport == Transport::Udp {
        return;
    }
    let (sending, receiving) = congestion(course, peer, sender);
    let names = [("sender_tcp_congestion", sending), ("receiver_tcp_congestion", receiving)];
    for (key, name) in names {
        if let Some(name) = name {
            end.push(key, name);
        }
    }
}
