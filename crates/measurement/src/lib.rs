//! The data types of linerate: units, plan, environment, counters, samples, record, judgement.
//!
//! Data only. Nothing here reads a clock, opens a file or starts a thread, so
//! the same input always gives the same bytes.

#![forbid(unsafe_code)]

pub mod alternation;
pub mod bound;
pub mod bufferbloat;
pub mod comparison;
pub mod copies;
pub mod course;
pub mod delay_variation;
pub mod dut;
pub mod engine;
pub mod environment;
pub mod exchange;
pub mod experiment;
pub mod figure;
pub mod foreign;
mod heading;
pub mod history;
pub mod host;
mod into_map;
pub mod json;
pub mod judgement;
pub mod ladder;
mod limits;
pub mod load_curve;
mod median;
pub mod mesh;
mod order;
pub mod outcome;
pub mod pacing;
pub mod packets;
pub mod page;
pub mod payload_pages;
pub mod plan;
pub mod profile;
pub mod rate_search;
pub mod record;
pub mod remedy;
pub mod responsiveness;
pub mod round_trips;
mod row;
pub mod rule;
pub mod run_event;
pub mod runtime;
pub mod sample;
#[cfg(feature = "schema")]
pub mod schema;
pub mod search;
mod seconds;
pub mod server_status;
mod settings;
mod stream;
mod transport;
pub mod tune;
pub mod units;
pub mod verdict;

pub use alternation::{AbFinding, AbRecord, AbRule, AbSide};
pub use bound::{Bound, Effect};
pub use bufferbloat::Bufferbloat;
pub use comparison::Comparison;
pub use course::Course;
pub use delay_variation::DelayVariation;
pub use engine::{Engine, EngineName, EngineUse, Engines, InPlace, Unusable};
pub use environment::{Environment, Peer};
pub use exchange::{Exchange, Way};
pub use experiment::{Elasticity, Experiment, Hand};
pub use figure::{Figure, Quantity};
pub use foreign::{Foreign, is_shown};
pub use heading::Heading;
pub use history::{Run, RunRow};
pub use host::{ClockOffset, Gap, HostEvidence, Inventory, Role, Series};
pub use into_map::{IntoMap, IntoSet};
pub use judgement::{DirectionAccount, Judgement, Ledger, Pulse, Reason, Stamp, Steady};
pub use ladder::{LadderLatency, LadderRecord, Layer, Rung};
pub use load_curve::{LoadCurve, LoadPoint};
pub use median::upper_median;
pub use mesh::{
    MeshCulprit, MeshEvent, MeshLimit, MeshPair, MeshPart, MeshRate, MeshReading, MeshRecord,
    MeshStage,
};
pub use order::Order;
pub use outcome::{DatagramLedger, DirectionOutcome, Outcome, Throughput};
pub use pacing::{Pacing, PacingReport, PacingWay, Quantiles};
pub use page::Page;
pub use payload_pages::PayloadPages;
pub use plan::{Direction, End, StreamOptions, TestPlan, Transport};
pub use profile::{Profile, ProfileRow, ProfileSource, Task};
pub use rate_search::{RateSearchEnd, RateTrial};
pub use record::{RateSearch, RecordSet, StreamRecord, TestRecord};
pub use remedy::Remedy;
pub use responsiveness::{Grade, Responsiveness};
pub use round_trips::{Loaded, OneWay, Probe, RoundTrips, Spread};
pub use rule::RuleId;
pub use run_event::RunEvent;
pub use runtime::{MpuUse, Runtime};
pub use sample::{Interval, Sample, StreamCounters, StreamSample, TcpSample, UdpSample};
pub use search::{
    GoalEnd, GoalResult, SearchEvent, SearchGoal, SearchLimit, SearchRecord, SearchTrial,
    TrialPurpose,
};
pub use tune::{
    Attempt, AttemptOutcome, Metric, MetricChange, MetricsComparison, TriedChange, TuneRecord,
};
pub use units::{BitRate, ByteSize, PerSecond, Timestamp};
pub use verdict::{Attribution, Certainty, Conclusion, Verdict, Work};
