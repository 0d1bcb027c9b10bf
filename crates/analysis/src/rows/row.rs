//! One direction of one record, as patterns over the rows of a run look at it.

use measurement::plan::PlanDraft;
use measurement::verdict::Finding;
use measurement::{
    BitRate, Certainty, Conclusion, Direction, DirectionAccount, DirectionOutcome, Role, RuleId,
    TestPlan, TestRecord, Transport, Verdict,
};

use crate::bottleneck::is_about_cpu;
use crate::evidence::sender;
use crate::framing;
use crate::words::share;

/// One direction of one record.
pub(crate) struct DirectionRow<'a> {
    /// Index of its record.
    pub(crate) record: usize,
    pub(crate) test: &'a TestRecord,
    pub(crate) plan: &'a TestPlan,
    pub(crate) outcome: &'a DirectionOutcome,
    account: Option<&'a DirectionAccount>,
    verdict: Option<&'a Verdict>,
    /// Payload that arrived, in bits per second.
    pub(crate) delivered: f64,
    /// Payload and headers that arrived, in bits per second, as queueing disciplines count them.
    pub(crate) on_wire: f64,
}

/// The rows of records, in their order.
pub(crate) fn rows(records: &[TestRecord]) -> Vec<DirectionRow<'_>> {
    let all = records.iter().enumerate();
    all.flat_map(|(index, record)| {
        let directions = record.outcome.directions.iter();
        directions.filter_map(move |outcome| row(index, record, outcome))
    })
    .collect()
}

fn row<'a>(
    index: usize,
    record: &'a TestRecord,
    outcome: &'a DirectionOutcome,
) -> Option<DirectionRow<'a>> {
    let delivered = outcome.delivered.or(outcome.acknowledged)?.rate.bits_per_second() as f64;
    let on_wire = framing::on_wire(record, delivered)?;
    let judgement = record.judgement.as_ref()?;
    let mut accounts = judgement.directions.iter();
    Some(DirectionRow {
        record: index,
        test: record,
        plan: &record.plan,
        outcome,
        account: accounts.find(|account| account.direction == outcome.direction),
        verdict: judgement.verdict.as_ref(),
        delivered,
        on_wire,
    })
}

impl DirectionRow<'_> {
    pub(crate) fn is_tcp(&self) -> bool {
        self.plan.transport == Transport::Tcp
    }

    pub(crate) const fn direction(&self) -> Direction {
        self.outcome.direction
    }

    /// The headline, where the row alone has one.
    pub(crate) fn headline(&self) -> Option<&Finding> {
        let verdict = self.verdict.filter(|one| one.conclusion == Conclusion::Limited)?;
        verdict.findings.first()
    }

    /// Something of a host was found to limit this row.
    pub(crate) fn is_limited_by_a_host(&self) -> bool {
        self.headline().is_some_and(|finding| finding.host.is_some())
    }

    /// Something of a host that is not its CPUs was found to limit this row.
    pub(crate) fn is_limited_at_a_host(&self) -> bool {
        let is_there = |one: &Finding| one.host.is_some() && !is_about_cpu(one.rule);
        self.headline().is_some_and(is_there)
    }

    /// Everything that was asked arrived.
    pub(crate) fn is_delivered(&self) -> bool {
        self.verdict.is_some_and(|verdict| verdict.conclusion == Conclusion::Delivered)
    }

    /// What a rule found in this row.
    pub(crate) fn found(&self, rule: RuleId) -> Option<&Finding> {
        let findings = self.verdict.map_or(&[][..], |verdict| &verdict.findings);
        findings.iter().find(|one| one.rule == rule)
    }

    /// The evidence of this row alone speaks for the path.
    pub(crate) fn points_at_the_path(&self) -> bool {
        let findings = self.verdict.map_or(&[][..], |verdict| &verdict.findings);
        findings.iter().any(|one| one.host.is_none() && one.certainty > Certainty::Note)
    }

    /// The evidence of this row alone does not show what limits.
    pub(crate) fn is_undecided(&self) -> bool {
        self.verdict.is_some_and(|verdict| verdict.conclusion == Conclusion::Undecided)
    }

    /// The measurement that would decide, by its verdict.
    pub(crate) fn would_decide(&self) -> Option<&str> {
        self.verdict?.would_decide.as_deref()
    }

    /// The rate of payload that was requested, in bits per second; none: as much as goes.
    pub(crate) fn asked(&self) -> Option<f64> {
        Some(self.outcome.asked?.bits_per_second() as f64)
    }

    /// The rate that the sender kept: the requested one, or that which a search found.
    pub(crate) fn paced(&self) -> Option<BitRate> {
        self.test.paced(self.direction())
    }

    /// The rate at which datagrams stop, with headers: what arrived, or what a search saw to pass at
    /// most.
    pub(crate) fn limit_on_wire(&self) -> f64 {
        let headline = self.headline().filter(|_| self.is_searched());
        let bound = headline.and_then(|finding| finding.effect.bound());
        let most = bound.map_or(self.delivered, |bound| bound.to.bits_per_second() as f64);
        self.on_wire / self.delivered.max(1.0) * most.max(self.delivered)
    }

    /// A search found the rate: it shows what the path passes of UDP.
    pub(crate) const fn is_searched(&self) -> bool {
        self.test.trials.rate.is_some()
    }

    /// The rate of payload that was sent, in bits per second.
    pub(crate) fn offered(&self) -> Option<f64> {
        Some(self.outcome.offered?.rate.bits_per_second() as f64)
    }

    /// Datagrams that were sent.
    pub(crate) fn datagrams(&self) -> f64 {
        self.outcome.datagrams.map_or(0.0, |datagrams| datagrams.sent as f64)
    }

    /// Share of what was sent that is missing, wherever it was lost: datagrams of UDP, bytes of TCP.
    pub(crate) fn loss(&self) -> f64 {
        self.outcome.datagrams.map_or_else(|| self.path_loss(), |datagrams| datagrams.loss())
    }

    /// Share of what was sent that no host counts as dropped: datagrams of UDP, and of TCP bytes
    /// that had to be retransmitted.
    pub(crate) fn path_loss(&self) -> f64 {
        let Some(account) = self.account else { return 0.0 };
        let of_udp = account
            .ledger
            .as_ref()
            .map(|ledger| share(ledger.remainder_least.min(ledger.remainder), ledger.sent));
        let of_tcp = account.tcp.as_ref().map(|tcp| {
            let sent = tcp.acknowledged.saturating_add(tcp.retransmitted);
            let spurious = share(tcp.spurious_segments, tcp.retransmitted_segments).min(1.0);
            share(tcp.retransmitted, sent) * (1.0 - spurious)
        });
        of_udp.or(of_tcp).unwrap_or_default()
    }

    /// Share of the time in which the senders of TCP waited for their congestion window.
    pub(crate) fn waited_for_the_path(&self) -> f64 {
        let shares = self.account.and_then(|account| account.tcp.as_ref()?.shares);
        shares.map_or(0.0, |shares| shares.congestion_window)
    }

    /// Whether another row is one of UDP in the same direction.
    pub(crate) fn has_datagrams_in(&self, other: &Self) -> bool {
        !other.is_tcp() && other.direction() == self.direction() && other.record != self.record
    }

    /// Whether another row has the same plan after `change` of that, but for its duration.
    pub(crate) fn is_like(&self, other: &Self, change: impl FnOnce(&mut PlanDraft)) -> bool {
        let mut draft = PlanDraft::from(other.plan.clone());
        (draft.end, draft.omit, draft.interval) =
            (self.plan.end, self.plan.omit, self.plan.interval);
        change(&mut draft);
        other.record != self.record && draft == **self.plan
    }

    /// Bytes of payload of its largest packets; none: not known.
    pub(crate) fn payload(&self) -> Option<u64> {
        let stream = self.test.streams.first()?;
        match self.plan.transport {
            Transport::Tcp => stream.mss.map(u64::from),
            Transport::Udp => Some(stream.block.bytes()),
        }
    }
}

/// From which end to which in words: `from this host to the server`.
pub(crate) fn way(direction: Direction) -> &'static str {
    match sender(direction) {
        Role::Here => "from this host to the server",
        Role::Peer | Role::Observed(_) => "from the server to this host",
    }
}
