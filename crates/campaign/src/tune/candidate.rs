//! Changes of a finding that can be tried ([`Candidate`]): settings of this host, and options of the
//! test.

use measurement::host::Role;
use measurement::plan::PlanDraft;
use measurement::remedy::{self, Change, Setting};
use measurement::tune::TriedChange;
use measurement::verdict::Finding;
use measurement::{Pacing, TestPlan};

use crate::search::PlannedRow;
use crate::tuner::{Outlook, Tuner};

/// Changes that are tried together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    /// The changes, with the current values.
    pub(super) changes: Vec<TriedChange>,
    /// Risks of the changes, and programs that may write the settings again, each once.
    pub(super) cautions: Vec<String>,
    /// The row with them.
    pub(super) row: PlannedRow,
}

impl Candidate {
    /// By what changes are told from others that were tried; none: the finding has no change, or
    /// one that is no tuning.
    pub(super) fn key(finding: &Finding) -> Option<String> {
        let changes = &finding.remedy.changes;
        let is_longer = |change: &Change| matches!(change.setting, Setting::Seconds(_));
        if changes.is_empty() || changes.iter().any(is_longer) {
            return None;
        }
        let one = |change: &Change| format!("{:?} {}", change.host, change.setting);
        Some(changes.iter().map(one).collect::<Vec<_>>().join("; "))
    }

    /// The changes of a finding that can be made here, on top of those that `row` has.
    ///
    /// # Errors
    /// Why none is to be tried: a sentence without a full stop.
    pub(super) fn of(
        finding: &Finding,
        row: &PlannedRow,
        tuners: &mut (impl Tuners + ?Sized),
    ) -> Result<Self, String> {
        let (changes, cautions) = (Vec::new(), Vec::new());
        let mut candidate = Self { changes, cautions, row: row.clone() };
        let mut is_elsewhere = true;
        for change in &finding.remedy.changes {
            if let Some(tuner) = tuners.of(&change.host) {
                is_elsewhere = false;
                candidate.add(change, tuner)?;
            }
        }
        if is_elsewhere {
            return Err(elsewhere(finding));
        }
        if candidate.changes.is_empty() {
            return Err("it is in effect already".to_owned());
        }
        Ok(candidate)
    }

    /// Adds a change, unless it is in effect already.
    fn add(&mut self, change: &Change, tuner: &mut dyn Tuner) -> Result<(), String> {
        let is_here = change.host == Role::Here;
        if let (Setting::Cpus(cpus), true) = (&change.setting, is_here) {
            let cpus = cpus.cpus().filter_map(|cpu| usize::try_from(cpu).ok());
            self.row.cpus = Some(cpus.collect());
            self.changes.push(TriedChange::not_made(change.clone()));
            return Ok(());
        }
        if change.setting.is_option() && is_here {
            self.row.plan = with_option(&self.row.plan, &change.setting)?;
            self.changes.push(TriedChange::not_made(change.clone()));
            return Ok(());
        }
        let outlook = tuner.look(&change.setting)?;
        if !outlook.is_in_effect {
            self.warn(change, &outlook, tuner);
            self.make(change, outlook);
        }
        Ok(())
    }

    fn make(&mut self, change: &Change, outlook: Outlook) {
        self.row.set(change);
        self.changes.push(TriedChange {
            undo: outlook.undo,
            ..TriedChange::not_made(change.clone().replacing(outlook.current))
        });
    }

    /// Notes what a change risks. A service that would write the setting again is stopped first, if
    /// it has no other task and can be started again.
    fn warn(&mut self, change: &Change, outlook: &Outlook, tuner: &mut dyn Tuner) {
        for risk in &outlook.risks {
            self.caution(risk.clone());
        }
        for name in &outlook.rewriters {
            if !(name == IRQBALANCE && self.is_stopped(&change.host, name, tuner)) {
                self.caution(format!("{name} may write it again"));
            }
        }
    }

    /// Adds that a service of that host is stopped; whether it is.
    fn is_stopped(&mut self, host: &Role, service: &str, tuner: &mut dyn Tuner) -> bool {
        let change = Change::new(host, Setting::StoppedService { service: service.to_owned() });
        if self.row.has(&change) {
            return true;
        }
        let Ok(outlook) = tuner.look(&change.setting) else { return false };
        if outlook.is_in_effect {
            // Somebody started the program, and not the service.
            return false;
        }
        self.make(&change, outlook);
        true
    }

    fn caution(&mut self, text: String) {
        if !self.cautions.contains(&text) {
            self.cautions.push(text);
        }
    }
}

impl PlannedRow {
    /// Adds a setting of a host, in place of another value of it.
    fn set(&mut self, change: &Change) {
        let new = change.setting.target();
        if change.host == Role::Here {
            self.settings.retain(|other| other.target() != new);
            self.settings.push(change.setting.clone());
        } else {
            let is_same =
                |other: &Change| other.host == change.host && other.setting.target() == new;
            self.elsewhere.retain(|other| !is_same(other));
            self.elsewhere.push(change.clone());
        }
    }

    /// Whether the setting of that host is made.
    fn has(&self, change: &Change) -> bool {
        let is_it = |other: &Change| other.host == change.host && other.setting == change.setting;
        match change.host {
            Role::Here => self.settings.contains(&change.setting),
            _ => self.elsewhere.iter().any(is_it),
        }
    }
}

/// The [`Tuner`] of each host.
pub(super) trait Tuners {
    /// None: nobody makes settings of that host.
    fn of(&mut self, host: &Role) -> Option<&mut dyn Tuner>;
}

/// Whose setting it is.
fn elsewhere(finding: &Finding) -> String {
    let host = finding.remedy.changes.first().map(|change| &change.host);
    match host {
        Some(Role::Observed(name)) => format!("it is a setting of {name}: run linerate tune there"),
        _ => "it is a setting of the server: run linerate tune there".to_owned(),
    }
}

/// A plan with an option in place of the one that it has.
fn with_option(plan: &TestPlan, option: &Setting) -> Result<TestPlan, String> {
    let mut draft = PlanDraft::from(plan.clone());
    match option {
        Setting::Length(bytes) => draft.options.block = Some(*bytes),
        Setting::SegmentSize(bytes) => draft.options.mss = Some(*bytes),
        Setting::Window(bytes) => {
            draft.options.window = (bytes.bytes() > 0).then_some(*bytes);
        }
        Setting::Congestion(name) => draft.options.congestion = Some(name.clone()),
        Setting::Engine(name) => draft.options.engines.push(name.clone()),
        Setting::Streams(count) => draft.streams = *count,
        Setting::Pacing(remedy::Pacing::Even) => draft.options.pacing = Pacing::Even,
        Setting::Pacing(remedy::Pacing::Smooth) => draft.options.pacing = Pacing::Smooth,
        other => return Err(format!("{other} is no option that a test can change")),
    }
    draft.check().map_err(|error| error.to_string())
}

/// It writes nothing but the CPUs of interrupts, so that it can be stopped for them.
const IRQBALANCE: &str = "irqbalance";

#[cfg(test)]
pub(super) mod tests {
    use measurement::plan::PlanDraft;
    use measurement::remedy::{Remedy, Switch};
    use measurement::{ByteSize, Certainty, Direction, Effect, RuleId, Transport};

    use super::*;

    /// A host on which GRO is on already, LRO cannot be changed, and irqbalance runs, as a service
    /// or not.
    struct Host {
        has_service: bool,
    }

    /// Such hosts.
    struct Hosts(Vec<(Role, Host)>);

    impl Hosts {
        fn of(all: &[Role]) -> Self {
            Self(all.iter().map(|role| (role.clone(), Host { has_service: true })).collect())
        }
    }

    impl Tuners for Hosts {
        fn of(&mut self, host: &Role) -> Option<&mut dyn Tuner> {
            let found = self.0.iter_mut().find(|(role, _)| role == host)?;
            Some(&mut found.1)
        }
    }

    impl Tuner for Host {
        fn look(&mut self, setting: &Setting) -> Result<Outlook, String> {
            let command = setting.to_string();
            if command.contains(" lro ") {
                return Err("lro cannot be changed".to_owned());
            }
            if command.contains("systemctl") && !self.has_service {
                return Err("systemctl is not there".to_owned());
            }
            let is_in_effect = command.contains(" gro ");
            let undo = vec![command.replace(" on", " off")];
            let is_irq = command.contains("/proc/irq");
            let rewriters = if is_irq { vec!["irqbalance".to_owned()] } else { Vec::new() };
            let risks = vec!["it holds for the whole host".to_owned()];
            Ok(Outlook { current: "off".to_owned(), is_in_effect, undo, risks, rewriters })
        }

        fn set(&mut self, _: &[Setting]) -> Result<(), String> {
            Ok(())
        }

        fn effective(&self, _: &Setting) -> Option<String> {
            None
        }
    }

    fn feature(name: &str) -> Setting {
        let (interface, feature) = ("eth0".to_owned(), name.to_owned());
        Setting::Feature { interface, feature, state: Switch::On }
    }

    fn sysctl(value: u32) -> Setting {
        Setting::Sysctl { name: "net.core.rmem_max".to_owned(), value: value.to_string() }
    }

    pub(in crate::tune) fn finding(changes: &[(Role, Setting)]) -> Finding {
        let change = |(host, setting): &(Role, Setting)| Change::new(host, setting.clone());
        Finding {
            rule: RuleId::TsoOff,
            certainty: Certainty::Limit,
            share: 0.5,
            effect: Effect::Unknown,
            host: None,
            direction: None,
            text: "something is off".to_owned(),
            evidence: Vec::new(),
            remedy: Remedy {
                sentence: "switch it on".to_owned(),
                changes: changes.iter().map(change).collect(),
            },
        }
    }

    fn row() -> PlannedRow {
        PlannedRow::of_plan(
            PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan"),
        )
    }

    fn candidate(changes: &[(Role, Setting)]) -> Result<Candidate, String> {
        Candidate::of(&finding(changes), &row(), &mut Hosts::of(&[Role::Here]))
    }

    #[test]
    fn settings_and_options_of_a_finding_are_made_together() {
        let window = Setting::Window(ByteSize::from_bytes(1 << 20));
        let both = [(Role::Here, sysctl(1)), (Role::Here, window)];
        let Candidate { changes, row, .. } = candidate(&both).expect("a candidate");
        assert_eq!(row.settings, [sysctl(1)]);
        assert_eq!(row.plan.options.window, Some(ByteSize::from_bytes(1 << 20)));
        assert_eq!(changes.len(), 2);
        assert_eq!(changes[0].change.from.as_deref(), Some("off"));
        assert!(!changes[0].undo.is_empty() && changes[1].undo.is_empty());
    }

    #[test]
    fn what_is_not_of_this_host_or_cannot_be_made_is_refused() {
        let refused = |host: Role, setting| candidate(&[(host, setting)]).expect_err("refused");
        assert!(refused(Role::Peer, feature("tso")).contains("of the server"));
        let router = Role::Observed("router".to_owned());
        assert!(refused(router, feature("tso")).contains("of router"));
        assert_eq!(refused(Role::Here, feature("lro")), "lro cannot be changed");
        assert_eq!(refused(Role::Here, feature("gro")), "it is in effect already");
        let both = [(Role::Peer, feature("tso")), (Role::Here, feature("tso"))];
        assert_eq!(candidate(&both).map(|it| it.changes.len()), Ok(1));
    }

    #[test]
    fn a_host_that_joined_has_settings_of_its_own() {
        let mut tuners = Hosts::of(&[Role::Here, Role::Peer]);
        let both = finding(&[(Role::Peer, sysctl(1)), (Role::Here, sysctl(1))]);
        let Candidate { changes, row, .. } =
            Candidate::of(&both, &row(), &mut tuners).expect("a candidate");
        assert_eq!(changes.len(), 2);
        assert_eq!((row.settings.len(), row.elsewhere.len()), (1, 1));
        let further = finding(&[(Role::Peer, sysctl(2))]);
        let Candidate { row, .. } = Candidate::of(&further, &row, &mut tuners).expect("one");
        assert_eq!(row.settings, [sysctl(1)]);
        assert_eq!(row.elsewhere, [Change::new(&Role::Peer, sysctl(2))]);
        let router = finding(&[(Role::Observed("router".to_owned()), sysctl(1))]);
        assert!(Candidate::of(&router, &row, &mut tuners).is_err());
    }

    #[test]
    fn a_further_value_of_a_setting_takes_the_place_of_the_one_before() {
        let before = PlannedRow { settings: vec![sysctl(1), feature("tso")], ..row() };
        let further = finding(&[(Role::Here, sysctl(2))]);
        let mut hosts = Hosts::of(&[Role::Here]);
        let Candidate { row, .. } = Candidate::of(&further, &before, &mut hosts).expect("one");
        assert_eq!(row.settings, [feature("tso"), sysctl(2)]);
    }

    #[test]
    fn irqbalance_is_stopped_before_interrupts_are_moved() {
        let irq = |irq| Setting::IrqAffinity { irq, cpus: [1].into_iter().collect() };
        let both = finding(&[(Role::Here, irq(1)), (Role::Here, irq(2))]);
        let moved = |has_service| {
            let mut hosts = Hosts(vec![(Role::Here, Host { has_service })]);
            let candidate = Candidate::of(&both, &row(), &mut hosts);
            let Candidate { row, cautions, changes } = candidate.expect("a candidate");
            let settings: Vec<_> = row.settings.iter().map(Setting::to_string).collect();
            assert_eq!(changes.len(), settings.len());
            (settings, cautions)
        };
        let [one, other] = [irq(1).to_string(), irq(2).to_string()];
        let whole = "it holds for the whole host".to_owned();
        let stop = "systemctl stop irqbalance".to_owned();
        assert_eq!(moved(true), (vec![stop, one.clone(), other.clone()], vec![whole.clone()]));
        let again = "irqbalance may write it again".to_owned();
        assert_eq!(moved(false), (vec![one, other], vec![whole, again]));
    }

    #[test]
    fn advice_and_a_longer_test_are_no_candidates() {
        assert_eq!(Candidate::key(&finding(&[])), None);
        assert_eq!(Candidate::key(&finding(&[(Role::Here, Setting::Seconds(30))])), None);
        let key = |host| Candidate::key(&finding(&[(host, feature("tso"))]));
        assert_ne!(key(Role::Here), key(Role::Peer));
    }
}
