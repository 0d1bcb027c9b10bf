//! Which workers the streams of a test share.

use dataplane::{Bulk, Spread};

use crate::blocks::DEFAULT_BLOCK;
use crate::setting::Setting;
use crate::sockets::Opened;

/// How the streams of one end are distributed over its workers. Where both ends run on the CPUs of
/// this kernel, streams that copy in bulk leave more in the caches if no worker does it in both
/// directions; elsewhere, and of short blocks, either direction may need all workers.
pub(crate) fn spread(opened: &[Opened], bulk: &Bulk, setting: &Setting) -> Spread {
    let copies_in_bulk = bulk.shares_cpu && bulk.call as u64 >= DEFAULT_BLOCK.bytes();
    let has_both = opened.iter().any(|one| one.sender) && opened.iter().any(|one| !one.sender);
    let peer = || opened.first()?.socket.addresses().ok().map(|(_, peer)| peer.ip());
    let is_candidate = copies_in_bulk && has_both && setting.pinned.is_empty();
    if is_candidate && peer().is_some_and(host::leaves_by_memory) {
        Spread::DirectionsApart
    } else {
        Spread::InTurn
    }
}
