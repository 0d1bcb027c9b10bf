//! The process that changes settings of this host for clients that have the key, as the server sees
//! it. It is started before the server gives up its privileges; the server never reads the key.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use linux::clock;
use measurement::remedy::SettingKind;
use session::server::{LinkMessage, TuningRelay};

use crate::exit::UsageError;
use crate::flags::TuneServeFlags;

mod helper;

pub(crate) use helper::run as helper;

/// The process. It ends when the server does, and undoes before what is not kept.
pub(super) struct Helper {
    process: Child,
}

impl Helper {
    /// Starts the process, if the command line asks for it, and waits until it has its key.
    ///
    /// # Errors
    /// It cannot change settings, or has no key.
    pub(super) fn start(
        flags: &TuneServeFlags,
    ) -> anyhow::Result<Option<(Self, Arc<TuningRelay>)>> {
        let Some(allowed) = &flags.allow_tune else { return Ok(None) };
        let Some(key) = &flags.tune_key else {
            let text = "--allow-tune needs a key that both hosts have: type --tune-key FILE";
            return Err(UsageError(text.to_owned()).into());
        };
        let (mut own, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
        let mut command = Command::new("/proc/self/exe");
        command.arg("tune-helper").arg(&flags.state).arg(key);
        command.args(allowed.kinds().map(SettingKind::name));
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        // Signals of the terminal do not reach it: it ends after the server.
        let process = command.process_group(0).spawn();
        let process = process.context("cannot start the process that changes settings")?;
        let helper = Self { process };
        // What has its descriptor ends the wait when it ends.
        drop(command);
        match first(&mut own) {
            Some(LinkMessage::Ready) => {}
            Some(LinkMessage::Report { text, .. }) => return Err(anyhow!("{text}")),
            _ => return Err(anyhow!("the process that changes settings has ended at once")),
        }
        let relay = TuningRelay::new(own).context("cannot use a pair of sockets")?;
        Ok(Some((helper, Arc::new(relay))))
    }
}

impl Drop for Helper {
    /// Waits until the process has undone what is not kept.
    fn drop(&mut self) {
        let until = clock::monotonic() + UNDOING;
        while matches!(self.process.try_wait(), Ok(None)) && clock::monotonic() < until {
            thread::sleep(EVERY);
        }
    }
}

/// The first message of the process; none: it has ended.
fn first(link: &mut UnixStream) -> Option<LinkMessage> {
    let mut input = Vec::new();
    // No more than the message: what follows is for the relay.
    let mut byte = [0; 1];
    loop {
        if link.read(&mut byte).ok()? == 0 {
            return None;
        }
        input.extend_from_slice(&byte);
        if let Some(message) = LinkMessage::take(&mut input).ok()? {
            return Some(message);
        }
    }
}

const UNDOING: Duration = Duration::from_secs(5);
const EVERY: Duration = Duration::from_millis(10);
