//! The ledger, the reason for a stamp and the verdict are one account: none names another place
//! than the ledger gives most of the loss to.

use measurement::judgement::Place;
use measurement::{Certainty, DirectionAccount, Judgement, Role, RuleId, TestRecord};

use crate::{bottleneck, judge, test_record};

/// Where the ledger says that most was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Site {
    Sender,
    Receiver,
    Observed,
    Path,
}

const fn site(place: Place) -> Site {
    match place {
        Place::Sender | Place::SenderQueue | Place::SenderInterface => Site::Sender,
        Place::ObservedIngress
        | Place::ObservedForward
        | Place::ObservedQueue
        | Place::ObservedInterface => Site::Observed,
        _ => Site::Receiver,
    }
}

/// None: nothing was lost, or no place has more than half of it for certain.
fn most(account: &DirectionAccount) -> Option<Site> {
    let ledger = account.ledger.as_ref().filter(|ledger| ledger.lost() > LEAST_LOSS)?;
    let is_most = |datagrams: u64| datagrams.saturating_mul(2) > ledger.lost();
    if is_most(ledger.remainder_least) && ledger.sender_told && ledger.receiver_told {
        return Some(Site::Path);
    }
    ledger.drops.iter().find(|drop| is_most(drop.least)).map(|drop| site(drop.place))
}

/// Where a rule of loss says that it happened; none: it is not about loss.
fn blamed(rule: RuleId, host: Option<&Role>) -> Option<Site> {
    let is_of_loss = matches!(
        rule,
        RuleId::IngressDrops
            | RuleId::InputDrops
            | RuleId::ForwardDrops
            | RuleId::UdpPathLoss
            | RuleId::UdpReceiveBuffer
            | RuleId::RxRingOverrun
            | RuleId::SoftnetBacklogOverflow
            | RuleId::TxDrops
    );
    let at = |host: Option<&Role>| match host {
        None => Site::Path,
        Some(Role::Here) => Site::Sender,
        Some(Role::Peer) => Site::Receiver,
        Some(Role::Observed(_)) => Site::Observed,
    };
    is_of_loss.then(|| at(host))
}

/// What contradicts the ledger of a test that sends to the server.
fn contradictions(judgement: &Judgement) -> Vec<String> {
    let Some(most) = judgement.directions.first().and_then(most) else { return Vec::new() };
    let findings = judgement.verdict.iter().flat_map(|verdict| &verdict.findings);
    let limits = findings.filter(|one| one.certainty == Certainty::Limit);
    let headline = limits.clone().next().and_then(|one| {
        let blamed = blamed(one.rule, one.host.as_ref())?;
        (blamed != most).then(|| format!("{most:?}: headline {}", one.text))
    });
    let on_path = limits.filter(|one| one.text == "packet loss on the path" && most != Site::Path);
    let on_path = on_path.map(|one| format!("{most:?}: {}", one.text));
    let reasons = judgement.reasons.iter().filter(|one| one.rule == RuleId::LossLocation);
    let reasons = reasons.filter(|one| {
        let is_all = one.text.starts_with("all of ");
        is_all && one.text.contains("on the path") != (most == Site::Path)
    });
    let reasons = reasons.map(|one| format!("{most:?}: reason {}", one.text));
    headline.into_iter().chain(on_path).chain(reasons).collect()
}

#[test]
fn no_fixture_contradicts_its_ledger() {
    for (rule, record) in bottleneck::firing_records() {
        assert_eq!(contradictions(&judge(&record)), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn no_record_with_loss_in_one_place_contradicts_its_ledger() {
    for (place, lose) in PLACES {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 5_000);
        lose(&mut record);
        let judgement = judge(&record);
        assert_eq!(most(&judgement.directions[0]), Some(place), "{judgement:?}");
        assert_eq!(contradictions(&judgement), Vec::<String>::new(), "{place:?}");
    }
}

/// Loses 5,000 datagrams somewhere.
type Lose = fn(&mut TestRecord);

/// Ways to lose them.
const PLACES: [(Site, Lose); 6] = [
    (Site::Path, |_| {}),
    (Site::Receiver, |record| test_record::drop_in_sockets(record, 5_000)),
    (Site::Receiver, |record| test_record::vanish_at_ingress(record, 5_000)),
    (Site::Receiver, |record| test_record::filter(record, &Role::Peer, 5_000)),
    (Site::Observed, |record| {
        test_record::observe(record, "router");
        test_record::filter(record, &Role::Observed("router".to_owned()), 5_000);
    }),
    (Site::Sender, |record| test_record::drop_in_queue(record, 5_000)),
];
/// Less is not worth a headline.
const LEAST_LOSS: u64 = 100;
