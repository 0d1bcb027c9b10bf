//! The manners of a server among other services: metrics, readiness, privileges, its unit.

pub(crate) mod exposition;
mod metrics;
mod privileges;
mod readiness;
mod unit;
