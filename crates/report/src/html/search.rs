//! A search for throughput as data of the page: goals, trials, and what limits.

use measurement::{BitRate, GoalEnd, GoalResult, SearchLimit, SearchRecord, SearchTrial, Stamp};
use serde::Serialize;

use super::command;
use crate::verdict::percent;

/// A search.
#[derive(Debug, Serialize)]
pub(super) struct Search {
    title: String,
    ends: String,
    seconds: f64,
    limit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    remarks: Vec<String>,
    goals: Vec<Goal>,
    trials: Vec<TrialRow>,
    command: String,
}

#[derive(Debug, Serialize)]
struct Goal {
    loss: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_bits_per_second: Option<BitRate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_bits_per_second: Option<BitRate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    throughput_bits_per_second: Option<BitRate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<String>,
    trials: u32,
    end: &'static str,
}

#[derive(Debug, Serialize)]
struct TrialRow {
    purpose: String,
    load_bits_per_second: BitRate,
    offered_bits_per_second: BitRate,
    arrived_bits_per_second: BitRate,
    lost_ratio: f64,
    delay_seconds: f64,
    seconds: f64,
    stamp: Stamp,
    disturbed: bool,
}

impl Search {
    pub(super) fn new(record: &SearchRecord) -> Self {
        let peer = record.heading.peer.as_ref();
        let ends = peer.map(|peer| format!("{} -> {}", peer.local_address.ip(), peer.address.ip()));
        Self {
            title: record.plan.row(),
            ends: ends.unwrap_or_default(),
            seconds: record.took.as_secs_f64(),
            limit: limit(record.limit),
            verdict: record.verdict.clone(),
            remarks: record.remarks.clone(),
            goals: record.goals.iter().map(goal).collect(),
            trials: record.trials.iter().map(trial).collect(),
            command: command::of_search(record),
        }
    }

    pub(super) fn ends(&self) -> String {
        self.ends.clone()
    }
}

const fn limit(limit: SearchLimit) -> &'static str {
    match limit {
        SearchLimit::Knee => "knee: what was offered above it was lost, or queued up",
        SearchLimit::Ceiling => "ceiling: the sender offered no more",
        SearchLimit::None => "no load failed",
    }
}

fn goal(result: &GoalResult) -> Goal {
    Goal {
        loss: percent(result.goal.loss_ratio),
        lower_bits_per_second: result.lower,
        upper_bits_per_second: result.upper,
        throughput_bits_per_second: result.throughput,
        width: result.width().map(|width| format!("{:.2} %", 100.0 * width)),
        trials: result.trials,
        end: match result.end {
            GoalEnd::Width => "bounds as close as asked",
            GoalEnd::Budget => "time used up",
            GoalEnd::Stopped => "the search ended early",
            GoalEnd::MaxLoad => "the highest load is a lower bound",
            GoalEnd::MinLoad => "the lowest load is an upper bound",
            GoalEnd::FewDatagrams => "too few datagrams to see that loss",
        },
    }
}

fn trial(trial: &SearchTrial) -> TrialRow {
    TrialRow {
        purpose: trial.purpose.to_string(),
        load_bits_per_second: trial.intended,
        offered_bits_per_second: trial.offered,
        arrived_bits_per_second: trial.sustained.unwrap_or(trial.delivered),
        lost_ratio: trial.lost_ratio,
        delay_seconds: trial.delay.as_secs_f64(),
        seconds: trial.duration.as_secs_f64(),
        stamp: trial.stamp,
        disturbed: trial.disturbed,
    }
}
