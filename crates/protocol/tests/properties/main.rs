//! What holds for both machines whatever a peer sends and whenever the host calls.

mod any_order;
mod conversations;
mod documents;
mod machine;
mod memory;
#[path = "../support/mod.rs"]
mod support;
