//! Both roles together, and each against OpenSSL and iperf3.

mod foreign;
mod keys;
mod properties;
mod support;
mod verifier;
