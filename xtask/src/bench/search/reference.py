"""Searches simulated devices with MLRsearch, the reference implementation on PyPI.

Reads one JSON object on standard input: the law of all devices and a list of them. Writes one
JSON list on standard output: bounds of each goal, trials and seconds of each device.
"""

import json
import random
import sys

from MLRsearch import Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
from MLRsearch import AbstractMeasurer


class Device(AbstractMeasurer):
    """A device that forwards a rate, behind a queue; loads are in datagrams a second."""

    def __init__(self, law, device):
        self.law = law
        self.rate = device["rate"] / law["datagram_bits"]
        self.queue = device["queue_seconds"]
        self.random = random.Random(device["seed"])
        self.trials = 0
        self.seconds = 0.0

    def measure(self, intended_duration, intended_load):
        rate = self.rate * (1.0 + self.law["jitter"] * self.random.gauss(0.0, 1.0))
        sent = int(intended_load * intended_duration)
        excess = max(0.0, (intended_load - rate) * intended_duration)
        lost = max(0, int(excess - self.queue * rate))
        took = intended_duration + self.law["overhead_seconds"]
        self.trials += 1
        self.seconds += took
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=sent,
            loss_count=min(lost, sent),
            duration_with_overheads=took,
        )


def bounds(result, bits):
    both = [result.relevant_lower_bound, result.relevant_upper_bound] if result else [None, None]
    return [float(bound) * bits if bound else None for bound in both]


def main():
    given = json.load(sys.stdin)
    law = given["law"]
    goals = [
        SearchGoal(
            loss_ratio=goal["loss_ratio"],
            exceed_ratio=goal["exceed_ratio"],
            relative_width=goal["width_ratio"],
            initial_trial_duration=goal["initial_trial_seconds"],
            final_trial_duration=goal["final_trial_seconds"],
            duration_sum=goal["duration_sum_seconds"],
            fail_fast=False,
        )
        for goal in law["goals"]
    ]
    config = Config()
    config.goals = goals
    config.min_load = law["min_load"] / law["datagram_bits"]
    config.max_load = law["max_load"] / law["datagram_bits"]
    config.warmup_duration = 0.0
    found = []
    for device in given["devices"]:
        measurer = Device(law, device)
        results = MultipleLossRatioSearch(config).search(measurer=measurer)
        found.append({
            "bounds": [bounds(results[goal], law["datagram_bits"]) for goal in goals],
            "trials": measurer.trials,
            "seconds": measurer.seconds,
        })
    json.dump(found, sys.stdout)


main()
