//! The rates to which traffic control of an interface is configured (tc(8)).

use measurement::BitRate;
use measurement::host::{Interface, Queueing};

/// A configured rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shaper<'a> {
    /// Kind of the queueing discipline, e.g. `tbf`, or `policer`.
    pub(crate) kind: &'a str,
    pub(crate) rate: BitRate,
    pub(crate) scope: Scope,
    /// Its parameters in words.
    pub(crate) parameters: String,
}

/// The packets of an interface to which a configured rate applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All packets that the interface sends, or all that no filter puts elsewhere.
    Sent,
    /// Packets that the interface sends and that a filter selects.
    Selected,
    /// Each flow that the interface sends.
    Flow,
    /// Packets that the interface receives.
    Received,
}

impl Scope {
    /// The packets that are held to the rate, in words: `what it sends`.
    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            Self::Sent => "what it sends",
            Self::Selected => "what filters select of what it sends",
            Self::Flow => "each flow that it sends",
            Self::Received => "what it receives",
        }
    }
}

/// All configured rates of an interface.
pub(crate) fn shapers(interface: &Interface) -> Vec<Shaper<'_>> {
    let rates = interface.queueing.iter().filter_map(of_rate);
    let flows = interface.queueing.iter().filter_map(of_flow);
    let classes = interface.queueing.iter().filter_map(|one| of_classes(interface, one));
    rates.chain(flows).chain(classes).chain(of_policer(interface)).collect()
}

fn of_rate(queueing: &Queueing) -> Option<Shaper<'_>> {
    let rate = queueing.rate?;
    let part = |name: &str, bytes: Option<u64>| {
        bytes.map(|bytes| format!(", {name} {} bytes", crate::words::count(bytes)))
    };
    let parts = [part("burst", queueing.burst_bytes), part("queue", queueing.limit_bytes)];
    let parts = parts.into_iter().flatten().collect::<String>();
    let parameters = format!("{} {} rate {rate}{parts}", queueing.kind, queueing.handle);
    Some(Shaper { kind: &queueing.kind, rate, scope: Scope::Sent, parameters })
}

fn of_flow(queueing: &Queueing) -> Option<Shaper<'_>> {
    let rate = queueing.flow_rate?;
    let parameters = format!("{} {} maxrate {rate}", queueing.kind, queueing.handle);
    Some(Shaper { kind: &queueing.kind, rate, scope: Scope::Flow, parameters })
}

/// The class of packets that no filter matches is held to the lowest ceiling above it. Without
/// such a class only what filters select is held, to no more than its highest ceiling.
fn of_classes<'a>(interface: &'a Interface, queueing: &'a Queueing) -> Option<Shaper<'a>> {
    if !matches!(queueing.kind.as_str(), "htb" | "hfsc") {
        return None;
    }
    let kind = queueing.kind.as_str();
    let default = queueing.default_class.as_deref();
    let shaper = |rate, scope, class: &str| {
        let parameters = format!("{kind} class {class} with those above it, ceiling {rate}");
        Shaper { kind, rate, scope, parameters }
    };
    if let Some((class, rate)) = default.and_then(|class| Some((class, ceiling(interface, class)?)))
    {
        return Some(shaper(rate, Scope::Sent, class));
    }
    let major = queueing.handle.as_str();
    let own = interface.classes.iter().filter(|class| class.handle.starts_with(major));
    let ceilings =
        own.filter_map(|class| Some((&class.handle, ceiling(interface, &class.handle)?)));
    let (class, rate) = ceilings.max_by_key(|(_, rate)| *rate)?;
    Some(shaper(rate, Scope::Selected, class))
}

/// The lowest ceiling of a class and of the classes above it.
fn ceiling(interface: &Interface, handle: &str) -> Option<BitRate> {
    let find = |handle: &str| interface.classes.iter().find(|class| class.handle == handle);
    let chain = std::iter::successors(find(handle), |class| find(&class.parent));
    chain.take(DEEPEST).filter_map(|class| class.ceiling).min()
}

fn of_policer(interface: &Interface) -> Option<Shaper<'_>> {
    let lowest = interface.policers.iter().min_by_key(|policer| policer.rate)?;
    let parameters = format!("action police of a filter {}, rate {}", lowest.filter, lowest.rate);
    Some(Shaper { kind: "policer", rate: lowest.rate, scope: Scope::Received, parameters })
}

/// More levels than the kernel has (`TC_HTB_MAXDEPTH`, `net/sched/sch_htb.c`).
const DEEPEST: usize = 16;

#[cfg(test)]
mod tests {
    use measurement::host::{Policer, QueueingClass};

    use super::*;

    fn rate(bits_per_second: u64) -> BitRate {
        BitRate::from_bits_per_second(bits_per_second)
    }

    fn htb(default: Option<&str>) -> Interface {
        let class = |handle: &str, parent: &str, ceiling| QueueingClass {
            handle: handle.to_owned(),
            parent: parent.to_owned(),
            ceiling: Some(rate(ceiling)),
        };
        let queueing = Queueing {
            handle: "1:".to_owned(),
            kind: "htb".to_owned(),
            default_class: default.map(str::to_owned),
            ..Queueing::default()
        };
        Interface {
            queueing: vec![queueing],
            classes: vec![class("1:1", "root", 8_000), class("1:10", "1:1", 9_000)],
            ..Interface::default()
        }
    }

    #[test]
    fn the_default_class_is_held_to_the_lowest_ceiling_above_it() {
        let interface = htb(Some("1:10"));
        let [shaper] = &shapers(&interface)[..] else { panic!("one shaper") };
        assert_eq!((shaper.rate, shaper.scope), (rate(8_000), Scope::Sent));
        assert_eq!(shaper.parameters, "htb class 1:10 with those above it, ceiling 8.000 kbit/s");
    }

    #[test]
    fn without_a_default_class_only_what_filters_select_is_held() {
        for default in [None, Some("1:99")] {
            let interface = htb(default);
            assert_eq!(shapers(&interface)[0].scope, Scope::Selected);
        }
    }

    #[test]
    fn classes_that_are_above_themselves_have_an_end() {
        let mut interface = htb(Some("1:10"));
        interface.classes[0].parent = "1:10".to_owned();
        assert_eq!(shapers(&interface)[0].rate, rate(8_000));
    }

    #[test]
    fn a_policer_and_a_flow_rate_are_told_with_what_they_hold() {
        let fq = Queueing { flow_rate: Some(rate(5)), ..Queueing::default() };
        let policer = Policer { filter: "matchall".to_owned(), rate: rate(7) };
        let interface =
            Interface { queueing: vec![fq], policers: vec![policer], ..Interface::default() };
        let scopes: Vec<_> = shapers(&interface).iter().map(|one| (one.scope, one.rate)).collect();
        assert_eq!(scopes, [(Scope::Flow, rate(5)), (Scope::Received, rate(7))]);
    }
}
