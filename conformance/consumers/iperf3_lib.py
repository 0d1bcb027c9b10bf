"""What `iperf3-lib` understands: its flows, streams and intervals, and its error.

Only the module that reads results is loaded; the rest needs a compiled libiperf. It has
one statement that Python before 3.12 does not know, an alias of a type.
"""

import dataclasses
import importlib.util
import json
import pathlib
import re
import sys
import types

folder = importlib.util.find_spec("iperf3_lib").submodule_search_locations[0]
source = (pathlib.Path(folder) / "result.py").read_text(encoding="utf-8")
if sys.version_info < (3, 12):
    source = re.sub(r"(?m)^type (\w+) = .*$", r"\1 = object", source)
module = types.ModuleType("result")
sys.modules["result"] = module
exec(compile(source, "result.py", "exec"), module.__dict__)

with open(sys.argv[1], encoding="utf-8") as file:
    result = module.result_from_iperf_json(json.load(file), reporting_role="client")

names = ("ok", "error", "protocol", "bidirectional", "end", "flows", "streams", "intervals", "cpu")
everything = dataclasses.asdict(result)
json.dump({name: everything[name] for name in names}, sys.stdout)
