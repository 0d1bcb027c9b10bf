//! The queueing discipline at the root of an interface: read whole, replaced, deleted.

use std::io;

use super::kernel::{self, TrafficControlMessage};
use super::message::{Message, attribute, text, u32_at};
use super::{Parameters, QdiscHandle, QdiscParent, RouteSocket};

/// The queueing discipline at the root of an interface, with what hangs below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootQdisc {
    /// Kind of the queueing discipline, e.g. `fq_codel`.
    pub kind: String,
    /// Handle of the queueing discipline; `0:` if the kernel attached it.
    pub handle: QdiscHandle,
    /// All its parameters; none: not all are known here.
    pub parameters: Option<Parameters>,
    /// Kinds of the queueing disciplines below it, each with its handle: of mq one a queue.
    pub children: Vec<(String, QdiscHandle)>,
    /// Whether filters are attached to it (tc(8)).
    pub has_filters: bool,
}

impl RouteSocket {
    /// Reads the queueing discipline at the root of the interface `name` (`RTM_GETQDISC`). None: it
    /// has none, as one that was never up.
    ///
    /// # Errors
    /// `ENODEV` if there is no link of that name.
    pub fn whole_root_qdisc(&mut self, name: &str) -> io::Result<Option<RootQdisc>> {
        let index = self.interface_index(name)?;
        let body = TrafficControlMessage { index: 0, parent: 0 }.encode();
        let all = self.dump(libc::RTM_GETQDISC, &body, |message| one(message, index))?;
        let is_root = |one: &One| one.parent == QdiscParent::Root;
        let Some(root) = all.iter().find(|one| is_root(one)) else { return Ok(None) };
        let below = all.iter().filter(|one| matches!(one.parent, QdiscParent::Class(_)));
        Ok(Some(RootQdisc {
            kind: root.kind.clone(),
            handle: root.handle,
            parameters: Parameters::read(&root.kind, &root.options),
            children: below.map(|one| (one.kind.clone(), one.handle)).collect(),
            has_filters: self.has_filters(index, root.handle)?,
        }))
    }

    /// Replaces the queueing discipline at the root of the interface `name` by one of this kind with
    /// its default parameters (`tc qdisc replace dev IF root KIND`).
    ///
    /// # Errors
    /// `ENOENT` if the kernel has no such kind, `ENODEV` if there is no such link, `EPERM` without
    /// `CAP_NET_ADMIN`.
    pub fn replace_root_qdisc(&mut self, name: &str, kind: &str) -> io::Result<()> {
        let message = self.replacement(name, kind, QdiscHandle(0))?;
        self.request(message)
    }

    /// Makes a queueing discipline at the root of the interface `name` as it was read, with this
    /// handle.
    ///
    /// # Errors
    /// Those of [`Self::replace_root_qdisc`].
    pub fn restore_root_qdisc(
        &mut self,
        name: &str,
        handle: QdiscHandle,
        parameters: &Parameters,
    ) -> io::Result<()> {
        let message = self.replacement(name, parameters.kind(), handle)?;
        self.request(parameters.append(message, kernel::TCA_OPTIONS))
    }

    /// Deletes the queueing discipline at the root of the interface `name`, so that the kernel
    /// attaches its default (`tc qdisc del dev IF root`).
    ///
    /// # Errors
    /// `ENOENT` if it is the kernel's, `ENODEV` if there is no such link, `EPERM` without
    /// `CAP_NET_ADMIN`.
    pub fn delete_root_qdisc(&mut self, name: &str) -> io::Result<()> {
        let index = self.signed_index(name)?;
        let body = TrafficControlMessage { index, parent: kernel::TC_H_ROOT };
        self.request(Message::new(libc::RTM_DELQDISC, 0, &body.encode()))
    }

    fn replacement(&mut self, name: &str, kind: &str, handle: QdiscHandle) -> io::Result<Message> {
        let flags = kernel::NLM_F_CREATE | kernel::NLM_F_REPLACE;
        let index = self.signed_index(name)?;
        let body = TrafficControlMessage { index, parent: kernel::TC_H_ROOT };
        let body = body.encode_with_handle(handle.0);
        let message = Message::new(libc::RTM_NEWQDISC, flags, &body);
        Ok(message.attribute(kernel::TCA_KIND, format!("{kind}\0").as_bytes()))
    }

    /// A qdisc that takes no filters refuses the question.
    fn has_filters(&mut self, index: u32, handle: QdiscHandle) -> io::Result<bool> {
        let body = TrafficControlMessage { index: index.cast_signed(), parent: handle.0 };
        match self.dump(libc::RTM_GETTFILTER, &body.encode(), |_| Some(())) {
            Ok(filters) => Ok(!filters.is_empty()),
            Err(error) if super::errno(&error) == Some(libc::EINVAL) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A qdisc of the interface.
struct One {
    kind: String,
    handle: QdiscHandle,
    parent: QdiscParent,
    options: Vec<u8>,
}

fn one(message: &[u8], index: u32) -> Option<One> {
    if u32_at(message, TrafficControlMessage::INDEX)? != index {
        return None;
    }
    let attributes = message.get(TrafficControlMessage::BYTES..)?;
    Some(One {
        kind: text(attribute(attributes, kernel::TCA_KIND)?)?,
        handle: QdiscHandle(u32_at(message, TrafficControlMessage::HANDLE)?),
        parent: QdiscParent::from_number(u32_at(message, TrafficControlMessage::PARENT)?),
        options: attribute(attributes, kernel::TCA_OPTIONS).unwrap_or_default().to_vec(),
    })
}
