//! linerate: `latency`.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::figures::Told;
use super::{Dialect, Exchange, PORT, Task};

/// linerate.
pub(super) struct Linerate;

impl Dialect for Linerate {
    fn server(&self, task: &Task) -> String {
        format!("serve --bind {} --port {PORT} --quiet", task.address)
    }

    fn client(&self, task: &Task) -> String {
        let Task { exchange, address, seconds, size } = task;
        format!(
            "latency {address} -p {PORT} --json --only {exchange} -t {seconds}s \
             --request {size} --response {size}"
        )
    }

    fn read(&self, _task: &Task, printed: &str) -> Result<Told> {
        let document: Value = serde_json::from_str(printed).ok().context("it printed no JSON")?;
        let outcome = document.get("outcome").context("a record without outcome")?;
        if let Some(error) = outcome.pointer("/ending/error").and_then(Value::as_str) {
            bail!("{error}");
        }
        read(outcome).context("a record without round trips")
    }

    fn takes(&self, _exchange: Exchange) -> bool {
        true
    }
}

/// Times are in seconds.
fn read(outcome: &Value) -> Option<Told> {
    let trips = outcome.get("round_trips")?;
    let number = |name: &str| trips.get(name)?.as_f64();
    let microseconds = |name| number(name).map(|seconds| seconds * 1e6);
    Some(Told {
        count: number("count")?,
        rate: number("rate")?,
        mean: microseconds("mean"),
        p50: microseconds("p50"),
        p99: microseconds("p99"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::TASK;
    use super::*;

    const PRINTED: &str = r#"{"schema": "linerate/record/1", "outcome": {
        "round_trips": {"count": 9000, "lost": 0, "seconds": 3.0, "rate": 3000.0, "min": 0.125,
            "mean": 0.25, "p50": 0.25, "p90": 0.5, "p99": 0.5, "p999": 1.0, "max": 2.0}}}"#;

    #[test]
    fn a_task_is_a_command_line() {
        let line = "latency 127.0.0.1 -p 5201 --json --only connect -t 3s --request 64 \
                    --response 64";
        assert_eq!(Linerate.client(&Task { exchange: Exchange::Connect, ..TASK }), line);
    }

    #[test]
    fn the_round_trips_are_read() {
        let told = Linerate.read(&TASK, PRINTED).expect("complete");
        assert_eq!((told.count, told.rate), (9_000.0, 3_000.0));
        assert_eq!((told.mean, told.p50, told.p99), (Some(2.5e5), Some(2.5e5), Some(5e5)));
        assert!(Linerate.read(&TASK, "{\"records\": []}").is_err());
    }
}
