//! The consumers. Data only.

/// One program that reads iperf3's output.
#[derive(Debug)]
pub(crate) struct Consumer {
    pub(crate) name: &'static str,
    pub(crate) input: Input,
    /// A script that reads the file that is its argument.
    pub(crate) script: &'static str,
    /// What it understood, and where the document says so.
    pub(crate) values: &'static [(&'static str, &'static str)],
    /// It compares `start.version` with a list of exact texts, and takes less from the
    /// document of a version that is not there. Ours never is.
    pub(crate) knows_versions: bool,
}

/// What it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The document of `-J`.
    Json,
    /// What people read.
    Text,
}

/// What is installed with all that it needs.
pub(crate) const PACKAGES: &[&str] =
    &["iperf3==0.1.11", "throughpy==0.1", "pydantic==2.14.3", "pydantic-settings==2.16.3"];
/// What is installed alone: of these only the part is used that reads results. They ask
/// for a newer Python than that part needs.
pub(crate) const PACKAGES_ALONE: &[&str] = &["piperf3==0.0.11", "iperf3-lib==0.4.1"];

pub(crate) const CONSUMERS: &[Consumer] = &[
    Consumer {
        name: "iperf3 0.1.11",
        knows_versions: false,
        input: Input::Json,
        script: include_str!("../../consumers/iperf3_wrapper.py"),
        values: &[
            ("/error", "/error"),
            ("/protocol", "/start/test_start/protocol"),
            ("/num_streams", "/start/test_start/num_streams"),
            ("/remote_port", "/start/connected/0/remote_port"),
            ("/sent_bytes", "/end/sum_sent/bytes"),
            ("/sent_bps", "/end/sum_sent/bits_per_second"),
            ("/received_bytes", "/end/sum_received/bytes"),
            ("/received_bps", "/end/sum_received/bits_per_second"),
            ("/retransmits", "/end/sum_sent/retransmits"),
            ("/bytes", "/end/sum/bytes"),
            ("/bps", "/end/sum/bits_per_second"),
            ("/jitter_ms", "/end/sum/jitter_ms"),
            ("/packets", "/end/sum/packets"),
            ("/lost_packets", "/end/sum/lost_packets"),
            ("/lost_percent", "/end/sum/lost_percent"),
            ("/local_cpu_total", "/end/cpu_utilization_percent/host_total"),
        ],
    },
    Consumer {
        name: "piperf3 0.0.11",
        knows_versions: false,
        input: Input::Json,
        script: include_str!("../../consumers/piperf3.py"),
        values: &[
            ("/start/version", "/start/version"),
            ("/start/test_start/interval", "/start/test_start/interval"),
            ("/intervals/0/sum/bytes", "/intervals/0/sum/bytes"),
            ("/intervals/0/streams/0/rtt", "/intervals/0/streams/0/rtt"),
            ("/end/streams/0/sender/bytes", "/end/streams/0/sender/bytes"),
            ("/end/streams/0/receiver/bytes", "/end/streams/0/receiver/bytes"),
            ("/end/sum_sent/bytes", "/end/sum_sent/bytes"),
            ("/end/sum_received/bytes", "/end/sum_received/bytes"),
        ],
    },
    Consumer {
        name: "iperf3-lib 0.4.1",
        knows_versions: true,
        input: Input::Json,
        script: include_str!("../../consumers/iperf3_lib.py"),
        values: &[
            ("/error", "/error"),
            ("/end/sum_sent/bytes", "/end/sum_sent/bytes"),
            ("/end/sum_sent/bits_per_second", "/end/sum_sent/bits_per_second"),
            ("/end/sum_received/bytes", "/end/sum_received/bytes"),
            ("/end/sum_received/packets", "/end/sum_received/packets"),
            ("/end/sum_received/lost_packets", "/end/sum_received/lost_packets"),
        ],
    },
    Consumer {
        name: "edgard/iperf3_exporter",
        knows_versions: false,
        input: Input::Json,
        script: include_str!("../../consumers/prometheus_exporter.py"),
        values: &[
            ("/sent_seconds", "/end/sum_sent/seconds"),
            ("/sent_bytes", "/end/sum_sent/bytes"),
            ("/sent_bits_per_second", "/end/sum_sent/bits_per_second"),
            ("/retransmits", "/end/sum_sent/retransmits"),
            ("/received_seconds", "/end/sum_received/seconds"),
            ("/received_bytes", "/end/sum_received/bytes"),
            ("/received_bits_per_second", "/end/sum_received/bits_per_second"),
        ],
    },
    Consumer {
        name: "throughpy 0.1",
        knows_versions: false,
        input: Input::Text,
        script: include_str!("../../consumers/throughpy.py"),
        values: &[],
    },
];
