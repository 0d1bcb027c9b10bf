"""What the Prometheus exporter edgard/iperf3_exporter reads: these fields, as numbers.

It is a Go program; a field that is not there is 0 for it, and one of another type an
error.
"""

import json
import sys

FIELDS = {
    "sent_seconds": ("sum_sent", "seconds"),
    "sent_bytes": ("sum_sent", "bytes"),
    "sent_bits_per_second": ("sum_sent", "bits_per_second"),
    "retransmits": ("sum_sent", "retransmits"),
    "received_seconds": ("sum_received", "seconds"),
    "received_bytes": ("sum_received", "bytes"),
    "received_bits_per_second": ("sum_received", "bits_per_second"),
}

with open(sys.argv[1], encoding="utf-8") as file:
    end = json.load(file).get("end", {})

values = {name: end.get(part, {}).get(field) for name, (part, field) in FIELDS.items()}
strange = [name for name, value in values.items() if isinstance(value, (str, bool, list, dict))]
if strange:
    sys.exit(f"no number: {strange}")
json.dump(values, sys.stdout)
