"""What `piperf3` understands: its model of a result, every field of which has a type.

Only the models are loaded; the rest of the package draws plots.
"""

import importlib
import importlib.util
import sys
import types

package = types.ModuleType("piperf3")
package.__path__ = importlib.util.find_spec("piperf3").submodule_search_locations
sys.modules["piperf3"] = package
models = importlib.import_module("piperf3.models")

with open(sys.argv[1], encoding="utf-8") as file:
    result = models.Iperf3JsonResult.model_validate_json(file.read())

print(result.model_dump_json())
