"""What `throughpy` finds in the text of a client: the rows that end in a rate."""

import json
import sys
import types

from throughpy import throughpy_data

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()

# It runs iperf3 itself; here it gets the text.
throughpy_data.check_output = lambda *_, **__: text
options = types.SimpleNamespace(server="127.0.0.1", time=1, data=None)
streams = 2 if "[SUM]" in text else 1
rows = throughpy_data.get_data(streams, options)
json.dump({"rows": rows}, sys.stdout)
