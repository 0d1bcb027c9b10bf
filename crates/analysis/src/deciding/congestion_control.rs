//! TCP loses, and its congestion control takes each loss for congestion: does one that does not
//! get more?

use measurement::{Role, RuleId};

use super::{Deciding, again};
use crate::evidence::sender;
use crate::rows::DirectionRow;

pub(super) fn asked(row: &DirectionRow<'_>, _rows: &[DirectionRow<'_>]) -> Option<Deciding> {
    let loses = row.found(RuleId::TcpPathLoss).is_some();
    let is_its_limit = row.is_undecided() || row.headline()?.rule == RuleId::TcpPathLoss;
    if !loses || !is_its_limit || !takes_loss_for_congestion(row) || !may_use_bbr(row) {
        return None;
    }
    let plan = again(row, |draft| draft.options.congestion = Some(BBR.to_owned()))?;
    Some(Deciding { plan, question: "does BBR get more through with this loss?" })
}

fn takes_loss_for_congestion(row: &DirectionRow<'_>) -> bool {
    let name = match sender(row.direction()) {
        Role::Here => row.test.streams.iter().find_map(|stream| stream.congestion.as_deref()),
        Role::Peer | Role::Observed(_) => row.test.reported.congestion.as_deref(),
    };
    name.is_some_and(|name| BY_LOSS.contains(&name))
}

/// The sender's kernel lets everybody choose it (tcp(7)).
fn may_use_bbr(row: &DirectionRow<'_>) -> bool {
    let role = sender(row.direction());
    let host = row.test.hosts.iter().find(|host| host.role == role);
    let allowed = host.and_then(|host| host.inventory.settings.get(ALLOWED));
    allowed.is_some_and(|names| names.split_ascii_whitespace().any(|name| name == BBR))
}

const BBR: &str = "bbr";
const BY_LOSS: [&str; 2] = ["cubic", "reno"];
const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";
