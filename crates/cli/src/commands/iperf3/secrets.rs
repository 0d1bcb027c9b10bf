//! Authentication: keys, users and passwords.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use authentication::{Credentials, Padding, PrivateKey, PublicKey, Users};
use session::Token;
use session::server::Gate;

use super::words::Failure;
use crate::flags::Iperf3Flags;

/// The token by which the server knows this client's user; none: no user was given.
pub(super) fn token(flags: &Iperf3Flags) -> Result<Option<Token>, Failure> {
    let (user, path) = match (&flags.username, &flags.rsa_public_key_path) {
        (None, None) => return Ok(None),
        (Some(user), Some(path)) => (user, path),
        _ => {
            return Err(Failure::Usage(
                "you must specify a username, password, and path to a valid RSA public key"
                    .to_owned(),
            ));
        }
    };
    let key = PublicKey::from_pem(&read(path)?).map_err(|error| wrong_file(path, &error))?;
    let credentials = Credentials::new(user, password()?).map_err(|error| wrong(&error))?;
    let token = key.token(&credentials, now_seconds(), padding(flags));
    token.map(|token| Some(Token(token))).map_err(|error| wrong(&error))
}

/// From the environment, else from the terminal.
fn password() -> Result<String, Failure> {
    if let Ok(password) = std::env::var("IPERF3_PASSWORD") {
        return Ok(password);
    }
    rpassword::prompt_password("Password: ").map_err(|error| {
        let why = session::reason(&error);
        Failure::Usage(format!("the password cannot be asked for ({why}): set IPERF3_PASSWORD"))
    })
}

/// The check of clients' tokens; none: every client may test.
pub(super) fn gate(flags: &Iperf3Flags) -> Result<Option<Arc<dyn Gate>>, Failure> {
    let (key, users) = match (&flags.rsa_private_key_path, &flags.authorized_users_path) {
        (None, None) => return Ok(None),
        (Some(key), Some(users)) => (key, users),
        _ => {
            return Err(Failure::Usage(
                "you must specify a path to a valid RSA private key and a user credential file"
                    .to_owned(),
            ));
        }
    };
    let skew = flags.time_skew_threshold.map_or(SKEW, |skew| skew.0);
    let private = PrivateKey::from_pem(&read(key)?).map_err(|error| wrong_file(key, &error))?;
    // A file that cannot be used is reported now and not with the first client.
    load_users(users).map_err(Failure::Usage)?;
    let gate = authentication::TokenVerifier::new(private, skew, padding(flags));
    Ok(Some(Arc::new(Doorkeeper { gate, users: users.clone() })))
}

/// Reads the file of users again for each client, so that it can change.
struct Doorkeeper {
    gate: authentication::TokenVerifier,
    users: PathBuf,
}

impl Gate for Doorkeeper {
    fn admit(&self, token: Option<&Token>) -> Result<(), String> {
        let users = load_users(&self.users)?;
        let token = token.map(|token| token.0.as_str());
        match self.gate.verify(token, now_seconds(), &users) {
            Ok(_) => Ok(()),
            Err(refusal) => Err(refusal.to_string()),
        }
    }
}

fn load_users(path: &Path) -> Result<Users, String> {
    let about = |why: String| format!("cannot use the file of users {}: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|error| about(session::reason(&error)))?;
    Users::parse(&text).map_err(|error| about(error.to_string()))
}

const fn padding(flags: &Iperf3Flags) -> Padding {
    if flags.use_pkcs1_padding { Padding::Pkcs1 } else { Padding::Oaep }
}

fn now_seconds() -> u64 {
    linux::clock::realtime_millis() / 1000
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        Failure::Usage(format!("cannot read {}: {}", path.display(), session::reason(&error)))
    })
}

fn wrong(error: &authentication::AuthenticationError) -> Failure {
    Failure::Usage(error.to_string())
}

fn wrong_file(path: &Path, error: &authentication::AuthenticationError) -> Failure {
    Failure::Usage(format!("{}: {error}", path.display()))
}

/// iperf3's default.
const SKEW: Duration = Duration::from_secs(10);
