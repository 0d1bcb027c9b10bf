//! Connects the control connection: the server's addresses one after another.

use std::net::{SocketAddr, TcpStream};

use linux::event::StopSignals;
use linux::tcp::{Keepalive, TcpOptions};

use crate::clock::Clock;
use crate::connect::connect;
use crate::error::SessionError;
use crate::request::{ClientOptions, Request};
use crate::resolve::resolve;

/// Tries the server's addresses one after another.
///
/// # Errors
/// [`SessionError::Resolve`], [`SessionError::Connect`] for the last address that was tried,
/// [`SessionError::BindFamily`] if none can be reached from the address to send from, and
/// [`SessionError::Interrupted`].
pub(crate) fn connect_control(
    request: &Request,
    interrupts: Option<&StopSignals>,
    clock: &dyn Clock,
) -> Result<(TcpStream, SocketAddr), SessionError> {
    let bind = request.bind.map(|bind| SocketAddr::new(bind, 0));
    let usable = |to: &SocketAddr| bind.is_none_or(|bind| bind.is_ipv4() == to.is_ipv4());
    let addresses = resolve(&request.host, request.port, request.family)?;
    let mut last = None;
    for to in addresses.into_iter().filter(usable) {
        // Clause 2.7: from any port, whatever the streams'; never multipath, as with iperf3.
        let device = request.options.device.clone();
        let options = TcpOptions { bind, device, ..TcpOptions::default() };
        match connect(to, &options, request.connect_timeout, (interrupts, clock))? {
            Ok(socket) => {
                linux::tcp::prepare_control(&socket, &control_keepalive(&request.options))
                    .map_err(SessionError::system("the control connection's settings"))?;
                return Ok((socket, to));
            }
            Err(error) => last = Some(SessionError::Connect { to, error }),
        }
    }
    Err(last.unwrap_or_else(|| SessionError::BindFamily { host: request.host.clone() }))
}

/// A time limit of sending holds for the control connection too.
fn control_keepalive(options: &ClientOptions) -> Keepalive {
    let user_timeout = options.send_timeout.unwrap_or(options.keepalive.user_timeout);
    Keepalive { user_timeout, ..options.keepalive }
}
