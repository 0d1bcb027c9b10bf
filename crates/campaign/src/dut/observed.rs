//! Observation of the device by a linerate on it, during an overload.

use std::thread;
use std::time::Duration;

use measurement::dut::DeviceSeen;
use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::verdict::Work;
use measurement::{
    BitRate, Certainty, DatagramLedger, Direction, DirectionOutcome, Judgement, Role, TestRecord,
    Throughput, Transport,
};
use packets::PacketError;
use session::SessionError;
use session::client::Request;

use super::path::{Load, Seen};
use super::{DutStep, RowRun};
use crate::runner::{ObservedHost, run_observed};

/// The device as a host on which `linerate serve --observe` runs.
#[derive(Clone, Debug)]
pub struct DeviceWatch {
    /// Where it is asked.
    pub host: ObservedHost,
    /// How the connection is made; its host and plan do not count.
    pub request: Request,
}

impl RowRun<'_> {
    /// Offers a load while the device watches itself, and has its evidence judged.
    pub(super) fn observe(
        &mut self,
        watch: &DeviceWatch,
        load: BitRate,
    ) -> Result<DeviceSeen, PacketError> {
        // A table of connections that the search has filled lets no new one in before its entries
        // expire.
        let patience = linux::clock::monotonic() + EXPIRY;
        (self.show)(DutStep::Observed);
        while !watch.host.answers(CONNECT) && linux::clock::monotonic() < patience {
            if self.path.is_stopped() {
                break;
            }
            thread::sleep(PAUSE);
        }
        let rate = load.bits_per_second() as f64 / self.path.bits_per_frame();
        let load = Load { rate: Some(rate), duration: self.plan.latency * 3, frames: None };
        let mut failure = None;
        let mut frames = 0;
        let observed = run_observed(
            std::slice::from_ref(&watch.host),
            &watch.request,
            None,
            &mut || match self.path.run(&load) {
                Ok(seen) => {
                    frames = seen.arrived;
                    Ok(record(&seen))
                }
                Err(error) => {
                    failure = Some(error);
                    Err(SessionError::Interrupted)
                }
            },
        );
        if let Some(error) = failure {
            return Err(error);
        }
        let name = watch.host.host.clone();
        Ok(match observed {
            Ok(record) => seen(name, record, self.path.bits_per_frame() / 8.0),
            Err(error) => {
                DeviceSeen { name, notes: vec![error.to_string()], ..DeviceSeen::default() }
            }
        })
    }
}

/// The trial as a record that rules can judge.
fn record(seen: &Seen) -> TestRecord {
    let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
    draft.options.rate = Some(seen.offered());
    let plan = draft.check().unwrap_or_else(|_| request_plan());
    let mut record = TestRecord::imported(plan, "frames through a device");
    record.outcome.ending = Ending::Completed;
    record.outcome.directions = vec![DirectionOutcome {
        offered: Some(Throughput::over(seen.sent_bytes, seen.span)),
        delivered: Some(Throughput::over(seen.arrived_bytes, seen.span)),
        datagrams: Some(DatagramLedger {
            sent: seen.sent,
            received: seen.arrived,
            lost: seen.sent.saturating_sub(seen.arrived),
            ..DatagramLedger::default()
        }),
        ..DirectionOutcome::unknown(Direction::Send)
    }];
    record
}

fn request_plan() -> measurement::TestPlan {
    PlanDraft::new(Transport::Udp, Direction::Send).check().expect("a plan without options")
}

/// Findings on the device, and the cost of its filters, by the record.
fn seen(name: String, mut record: TestRecord, bytes_per_frame: f64) -> DeviceSeen {
    crate::judge(&mut record);
    let judgement = record.judgement.unwrap_or_default();
    DeviceSeen { notes: record.outcome.notes, ..of_device(name, &judgement, bytes_per_frame) }
}

/// Findings on the device `name` and the cost of its filters, by `judgement`.
fn of_device(name: String, judgement: &Judgement, bytes_per_frame: f64) -> DeviceSeen {
    let role = Role::Observed(name.clone());
    let verdict = judgement.verdict.iter();
    let findings = verdict.flat_map(|verdict| &verdict.findings);
    let of_device = findings.filter(|finding| {
        finding.host.as_ref() == Some(&role) && finding.certainty > Certainty::Note
    });
    let findings = of_device.map(|finding| finding.text.clone()).collect();
    let filters = judgement.attributions.iter().find(|one| one.host == role);
    let filters = filters.and_then(|one| one.work.get(&Work::Filters));
    let per_frame = |nanos: f64| nanos * bytes_per_frame / 1024.0;
    DeviceSeen {
        name,
        findings,
        filter_share: filters.map(|cost| cost.share),
        filter_nanos_per_frame: filters.and_then(|cost| cost.nanos_per_kib).map(per_frame),
        notes: Vec::new(),
    }
}

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(500);
/// `nf_conntrack_udp_timeout` is 30 s (Documentation/networking/nf_conntrack-sysctl.rst).
const EXPIRY: Duration = Duration::from_secs(40);

#[cfg(test)]
mod tests {
    use measurement::profile::ProfileSource;
    use measurement::verdict::{Attribution, Cost};

    use super::*;

    fn attribution(host: Role, share: f64) -> Attribution {
        let cost = Cost { share, nanos_per_kib: Some(20_000.0) };
        Attribution {
            host,
            source: ProfileSource::Sampled,
            samples: 1_000,
            labelled: 0.9,
            work: [(Work::Filters, cost)].into(),
            cpus: Vec::new(),
            what_if: Vec::new(),
        }
    }

    #[test]
    fn the_cost_of_filters_is_that_of_the_device_for_each_frame() {
        let device = || Role::Observed("gateway".to_owned());
        let attributions = vec![attribution(Role::Here, 0.1), attribution(device(), 0.4)];
        let judgement = Judgement { attributions, ..Judgement::default() };
        let seen = of_device("gateway".to_owned(), &judgement, 64.0);
        assert_eq!((seen.filter_share, seen.filter_nanos_per_frame), (Some(0.4), Some(1_250.0)));
        let seen = of_device("another".to_owned(), &judgement, 64.0);
        assert_eq!((seen.filter_share, seen.filter_nanos_per_frame), (None, None));
    }
}
