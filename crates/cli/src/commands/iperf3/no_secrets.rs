//! A linerate that was built without authentication.

use std::sync::Arc;

use session::Token;
use session::server::Gate;

use super::words::Failure;
use crate::flags::Iperf3Flags;

/// Refuses authentication, which this build does not have.
pub(super) fn token(flags: &Iperf3Flags) -> Result<Option<Token>, Failure> {
    refuse(flags.username.is_some() || flags.rsa_public_key_path.is_some()).map(|()| None)
}

/// Refuses authentication, which this build does not have.
pub(super) fn gate(flags: &Iperf3Flags) -> Result<Option<Arc<dyn Gate>>, Failure> {
    let asked = flags.rsa_private_key_path.is_some() || flags.authorized_users_path.is_some();
    refuse(asked).map(|()| None)
}

fn refuse(asked: bool) -> Result<(), Failure> {
    if asked {
        Err(Failure::Run(
            "this linerate was built without authentication: build it with the feature of that \
             name"
                .to_owned(),
        ))
    } else {
        Ok(())
    }
}
