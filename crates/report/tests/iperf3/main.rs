//! Tests as iperf3 would print them, from courses made by hand.

mod json;
mod scene;
mod text;
