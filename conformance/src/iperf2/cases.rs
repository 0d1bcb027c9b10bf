//! Command lines that people type, with the length of each test cut to a second.

/// One test.
pub(super) struct Case {
    /// Those of the client.
    pub(super) options: &'static str,
    /// The version of iperf2 that has them first.
    pub(super) since: (u32, u32, u32),
    /// Largest difference between the amounts that the two ends tell, as a share.
    pub(super) tolerance: f64,
    /// KBytes under way at the end of the test, which only one end counts.
    pub(super) under_way: f64,
    /// Amount that has to be moved, in KBytes; none: any.
    pub(super) kilobytes: Option<f64>,
    pub(super) short: bool,
    /// A version whose own two ends do not agree either: they have to move something.
    pub(super) miscounts: Option<(u32, u32, u32)>,
}

impl Case {
    pub(super) fn is_udp(&self) -> bool {
        self.has("-u")
    }

    /// Whether the server sends over the client's own flow, whose end it does not report.
    pub(super) fn is_over_one_flow(&self) -> bool {
        self.is_udp() && (self.has("-R") || self.has("--full-duplex"))
    }

    fn has(&self, option: &str) -> bool {
        self.options.split(' ').any(|word| word == option)
    }

    const fn of(options: &'static str) -> Self {
        Self {
            options,
            since: (2, 0, 0),
            tolerance: CLOSE,
            under_way: 0.0,
            kilobytes: None,
            short: false,
            miscounts: None,
        }
    }

    const fn of_bytes(options: &'static str, kilobytes: f64) -> Self {
        Self { kilobytes: Some(kilobytes), ..Self::of(options) }
    }

    const fn in_short(self) -> Self {
        Self { short: true, ..self }
    }

    /// This case for iperf 2.0.13 and later alone: the server of 2.0.5 sends without an end then.
    const fn of_2_0_13(self) -> Self {
        Self { since: (2, 0, 13), ..self }
    }

    /// This case for iperf 2.1 and later alone.
    const fn of_2_1(self) -> Self {
        Self { since: (2, 1, 0), ..self }
    }

    /// One end goes on when the other has closed its account.
    const fn loose(self) -> Self {
        Self { tolerance: LOOSE, ..self }
    }
}

pub(super) const CASES: [Case; 22] = [
    Case::of("-t 1"),
    Case::of_bytes("-n 3M", 3_072.0).in_short(),
    Case::of_bytes("-n 2M -w 256K -l 8K", 2_048.0),
    Case::of_bytes("-n 1M -P 4", 4_096.0),
    Case::of("-t 1 -P 2 -M 1000"),
    Case { miscounts: Some((2, 0, 13)), ..Case::of("-t 1 -d -P 2").loose() },
    Case::of_bytes("-n 3M -d", 6_144.0).of_2_0_13().in_short(),
    Case::of("-t 1 -r"),
    Case::of_bytes("-n 2M -r", 4_096.0).of_2_0_13(),
    Case::of("-u -t 1 -b 20M").in_short(),
    Case::of("-u -t 1 -b 5M -P 2 -l 1000"),
    Case::of("-t 1 -b 50M").of_2_1(),
    Case::of("-t 1 -R").of_2_1().loose(),
    Case::of_bytes("-n 2M -R", 2_048.0).of_2_1().in_short(),
    Case::of("-t 1 --full-duplex -b 50M").of_2_1().loose(),
    Case { under_way: EXCHANGE, ..Case::of("-t 1 --bounceback").of_2_1().in_short() },
    Case::of("-t 1 --trip-times -b 50M -l 16K").of_2_1(),
    Case::of("-u -t 1 --trip-times -b 10M").of_2_1(),
    Case::of("-u -t 1 -R -b 5M -l 1000").of_2_1().loose().in_short(),
    Case::of("-u -t 1 --full-duplex -b 5M").of_2_1().loose(),
    Case::of("-u -t 1 -d -b 5M").of_2_1().loose(),
    Case::of("-u -t 1 -r -b 5M").of_2_1().loose(),
];

/// A request and its response, of 100 bytes each: the default of `--bounceback`.
const EXCHANGE: f64 = 0.2;
const CLOSE: f64 = 0.02;
const LOOSE: f64 = 0.15;
