//! The thread of a context that runs what tasks call on the host, one call after another.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

/// The thread, which starts with the first call and ends with the context.
#[derive(Debug, Default)]
pub(crate) struct HostCalls {
    sender: Mutex<Option<Sender<Call>>>,
}

/// A function to be called on the host. It does not panic.
pub(crate) type Call = Box<dyn FnOnce() + Send>;

impl HostCalls {
    /// Hands `call` to the thread. If none can be started, calls it here.
    pub(crate) fn run(&self, call: Call) {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if sender.is_none() {
            *sender = start();
        }
        if let Some(sender) = sender.as_ref() {
            // The thread ends only when there is no sender.
            _ = sender.send(call);
        } else {
            drop(sender);
            call();
        }
    }
}

fn start() -> Option<Sender<Call>> {
    let (sender, calls) = channel::<Call>();
    let thread = std::thread::Builder::new().name("mars-host".to_owned());
    thread.spawn(move || calls.iter().for_each(|call| call())).ok()?;
    Some(sender)
}
