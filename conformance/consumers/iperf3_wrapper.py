"""What the wrapper `iperf3` understands: the attributes of its TestResult."""

import json
import sys

from iperf3 import TestResult

with open(sys.argv[1], encoding="utf-8") as file:
    result = TestResult(file.read())

values = {name: value for name, value in vars(result).items() if name not in ("text", "json")}
if result.error is None:
    values |= {"reverse": result.reverse, "type": result.type}
json.dump(values, sys.stdout)
