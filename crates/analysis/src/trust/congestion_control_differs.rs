//! `congestion-control-differs`: the server used another congestion control than was asked.

use measurement::Role;
use measurement::remedy::Setting;

use super::{Finding, Page, Rule, RuleId, Test};

pub(crate) const PAGE: Page = Page {
    id: RuleId::CongestionControlDiffers,
    title: "Congestion control differs from the request",
    what: "It sends with another one.",
    why: "The result is of that one.",
    evidence: "What it read back from its sockets; `net.ipv4.tcp_available_congestion_control` and \
               `net.ipv4.tcp_allowed_congestion_control` there.",
    remedy: "Load it there (`modprobe tcp_bbr`), or allow it: a server gives up `CAP_NET_ADMIN`, also \
             if root started it, so that it needs the name in \
             `net.ipv4.tcp_allowed_congestion_control`.",
    source: "tcp(7), ip-sysctl.rst",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let plan = &test.record.plan;
    let asked = plan.options.congestion.as_deref().filter(|_| plan.direction.receives());
    let used = test.record.reported.congestion.as_deref();
    let Some((asked, used)) = asked.zip(used).filter(|(asked, used)| asked != used) else {
        return Vec::new();
    };
    let sentence = format!(
        "the server sends with congestion control {used}, not {asked}: {}",
        remedy(test, asked)
    );
    vec![Finding::suspect(Some(&Role::Peer), sentence)]
}

/// What the server lacks: the module, or the permission. A server gives up `CAP_NET_ADMIN`, with
/// which root may use those that are not allowed too.
fn remedy(test: &Test<'_>, asked: &str) -> String {
    let setting = |name| test.host(&Role::Peer)?.evidence.inventory.settings.get(name);
    let names = |setting: &String, name| setting.split_whitespace().any(|one| one == name);
    let (available, allowed) = (setting(AVAILABLE), setting(ALLOWED));
    if available.is_some_and(|available| !names(available, asked)) {
        return format!("it is not loaded there; modprobe tcp_{asked}");
    }
    match allowed.filter(|_| available.is_some()) {
        Some(allowed) if !names(allowed, asked) => {
            let value = format!("{} {asked}", allowed.trim());
            let allow = Setting::Sysctl { name: ALLOWED.to_owned(), value };
            format!("it is not allowed without CAP_NET_ADMIN; {allow}")
        }
        _ => format!("load it there (modprobe tcp_{asked}), or allow it ({ALLOWED})"),
    }
}

const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";
const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";

#[cfg(test)]
mod tests {
    use measurement::Direction;

    use super::*;
    use crate::test_record;

    #[test]
    fn another_control_than_was_asked_makes_it_suspect() {
        let mut record = test_record::tcp();
        record.reported.congestion = Some("cubic".to_owned());
        assert_eq!(test_record::found(&RULE, &record), []);
        record.plan = test_record::plan_with(&record.plan, |draft| {
            draft.direction = Direction::Receive;
            draft.options.congestion = Some("bbr".to_owned());
        });
        assert!(
            test_record::suspected(&RULE, &record).contains("congestion control cubic, not bbr")
        );
        record.reported.congestion = Some("bbr".to_owned());
        assert_eq!(test_record::found(&RULE, &record), []);
    }

    #[test]
    fn what_is_loaded_and_not_allowed_is_to_be_allowed() {
        let mut record = test_record::tcp();
        record.reported.congestion = Some("bbr".to_owned());
        record.plan = test_record::plan_with(&record.plan, |draft| {
            draft.direction = Direction::Receive;
            draft.options.congestion = Some("cubic".to_owned());
        });
        let settings = &mut test_record::host(&mut record, &Role::Peer).inventory.settings;
        settings.insert(ALLOWED.to_owned(), "reno bbr".to_owned());
        settings.insert(AVAILABLE.to_owned(), "reno bbr cubic".to_owned());
        let text = test_record::suspected(&RULE, &record);
        let command = "sysctl -w 'net.ipv4.tcp_allowed_congestion_control=reno bbr cubic'";
        assert!(text.ends_with(command), "{text}");
        let settings = &mut test_record::host(&mut record, &Role::Peer).inventory.settings;
        settings.insert(AVAILABLE.to_owned(), "reno bbr".to_owned());
        assert!(test_record::suspected(&RULE, &record).ends_with("modprobe tcp_cubic"));
    }
}
