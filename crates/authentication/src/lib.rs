//! iperf3's authentication of users, both roles: a client proves to a server that it knows
//! a password.
//!
//! The client encrypts user name, password and time of day with the server's public RSA key
//! and sends them as a token ([`PublicKey::token`]). The server decrypts it with the private key
//! and compares it with its file of [`Users`]. A [`TokenVerifier`] does that, and records what it
//! accepted, so that a token serves once.
//!
//! ```
//! use std::time::Duration;
//!
//! use linerate_authentication::{
//!     Credentials, Padding, PrivateKey, PublicKey, TokenVerifier, Users,
//! };
//!
//! # let public = include_str!("../tests/fixtures/test-only-public.pem");
//! # let private = include_str!("../tests/fixtures/test-only-private.pem");
//! # let users = "alice,27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f";
//! # let now_seconds = 1_700_000_000;
//! let credentials = Credentials::new("alice", String::from("secret"))?;
//! let token = PublicKey::from_pem(public)?.token(&credentials, now_seconds, Padding::Oaep)?;
//!
//! let key = PrivateKey::from_pem(private)?;
//! let verifier = TokenVerifier::new(key, Duration::from_secs(10), Padding::Oaep);
//! let admitted = verifier.verify(Some(&token), now_seconds, &Users::parse(users)?);
//! assert_eq!(admitted.expect("the password is right").as_str(), "alice");
//! # Ok::<(), linerate_authentication::AuthenticationError>(())
//! ```
//!
//! It authenticates one message, once. It does not encrypt a test, does not authenticate the
//! server, and does not detect changes of other messages. It reads no file and no clock.

#![forbid(unsafe_code)]

mod claim;
mod credentials;
mod error;
mod key;
mod refusal;
mod replay_cache;
mod token;
mod users;
mod verifier;

pub use credentials::{Credentials, UserName};
pub use error::AuthenticationError;
pub use key::{Padding, PrivateKey, PublicKey};
pub use refusal::{Clock, Refusal};
pub use users::Users;
pub use verifier::TokenVerifier;
