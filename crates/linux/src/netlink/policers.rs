//! Policers: actions of filters at the ingress of an interface that drop what exceeds a rate
//! (tc-police(8)).

use std::io;

use super::RouteSocket;
use super::kernel::{self, TrafficControlMessage};
use super::message::{attribute, attributes, text, u32_at};
use super::qdisc_options::rate;

/// A policer at the ingress of an interface (tc-police(8)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policer {
    /// Kind of the filter that sends packets to the policer, e.g. `matchall`.
    pub filter: String,
    /// Rate in bytes per second.
    pub rate: u64,
}

impl RouteSocket {
    /// Lists the policers at the ingress of an interface that has a qdisc there (`RTM_GETTFILTER`).
    ///
    /// # Errors
    /// The errors of sendto(2) and recv(2), such as `ENOBUFS`; `EINVAL` if the interface has no
    /// qdisc at its ingress.
    pub fn ingress_policers(&mut self, index: u32) -> io::Result<Vec<Policer>> {
        let body = TrafficControlMessage {
            index: index.cast_signed(),
            parent: kernel::TC_H_CLSACT_INGRESS,
        };
        let filters = self.dump(libc::RTM_GETTFILTER, &body.encode(), |filter| {
            Some(policers(filter.get(TrafficControlMessage::BYTES..)?))
        })?;
        Ok(filters.into_iter().flatten().collect())
    }
}

/// Decodes the policers of a tc(8) filter from the attributes of its `RTM_NEWTFILTER` message.
pub fn policers(filter: &[u8]) -> Vec<Policer> {
    let kind = attribute(filter, kernel::TCA_KIND).and_then(text).unwrap_or_default();
    let options = attribute(filter, kernel::TCA_OPTIONS).unwrap_or_default();
    let Some(layout) = LAYOUTS.into_iter().find(|layout| layout.filter == kind) else {
        return Vec::new();
    };
    let actions = attribute(options, layout.actions).unwrap_or_default();
    let of_action = |action| {
        let is_police = attribute(action, kernel::TCA_ACT_KIND) == Some(b"police\0");
        attribute(action, kernel::TCA_ACT_OPTIONS).filter(|_| is_police)
    };
    let newer = attributes(actions).filter_map(|(_, action)| of_action(action));
    let older = layout.police.and_then(|police| attribute(options, police));
    let rates = newer.chain(older).filter_map(police_rate);
    rates.map(|rate| Policer { filter: kind.clone(), rate }).collect()
}

/// `tcf_police_dump`, `net/sched/act_police.c`.
fn police_rate(options: &[u8]) -> Option<u64> {
    let parameters = attribute(options, kernel::TCA_POLICE_TBF)?;
    let narrow = u32_at(parameters, kernel::POLICE_RATE);
    rate(narrow, attribute(options, kernel::TCA_POLICE_RATE64))
}

/// Attributes of a kind of filter that have its actions (`linux/pkt_cls.h`).
struct Layout {
    filter: &'static str,
    actions: u16,
    /// The older way: one policer without the action around it.
    police: Option<u16>,
}

const LAYOUTS: [Layout; 6] = [
    Layout { filter: "matchall", actions: 2, police: None },
    Layout { filter: "flower", actions: 3, police: None },
    Layout { filter: "u32", actions: 7, police: Some(6) },
    Layout { filter: "basic", actions: 3, police: Some(4) },
    Layout { filter: "fw", actions: 4, police: Some(2) },
    Layout { filter: "bpf", actions: 1, police: Some(2) },
];

#[cfg(test)]
mod tests {
    use super::super::message::{HEADER_BYTES, Message};
    use super::*;

    fn filter(kind: &[u8], options: impl FnOnce(Message) -> Message) -> Vec<u8> {
        let message = Message::new(libc::RTM_NEWTFILTER, 0, &[])
            .attribute(kernel::TCA_KIND, kind)
            .nested(kernel::TCA_OPTIONS, options);
        message.finish(1)[HEADER_BYTES..].to_vec()
    }

    fn parameters(rate: u32) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[kernel::POLICE_RATE].copy_from_slice(&rate.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_policer_is_read_from_the_actions_of_its_filter() {
        let message = filter(b"matchall\0", |options| {
            options.nested(2, |actions| {
                actions.nested(1, |action| {
                    action
                        .attribute(kernel::TCA_ACT_KIND, b"police\0")
                        .nested(kernel::TCA_ACT_OPTIONS, |police| {
                            police.attribute(kernel::TCA_POLICE_TBF, &parameters(125_000))
                        })
                })
            })
        });
        let expected = Policer { filter: "matchall".to_owned(), rate: 125_000 };
        assert_eq!(policers(&message), [expected]);
        for length in 0..message.len() {
            let _ = policers(&message[..length]);
        }
    }

    #[test]
    fn a_policer_without_an_action_is_read_too() {
        let message = filter(b"u32\0", |options| {
            options.nested(6, |police| police.attribute(kernel::TCA_POLICE_TBF, &parameters(1_000)))
        });
        assert_eq!(policers(&message), [Policer { filter: "u32".to_owned(), rate: 1_000 }]);
    }
}
