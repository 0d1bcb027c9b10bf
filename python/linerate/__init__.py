"""Measures a network path, names what limits it, and says whether to trust the result.

The functions run the command ``linerate``, which is installed with this package.
"""

from ._command import program
from ._errors import (
    BusyError,
    Interrupted,
    InvalidResult,
    LinerateError,
    RequirementMissed,
    TestFailed,
    UsageError,
)
from ._record import Datagrams, Interval, Reason, Record, Stamp, Throughput
from ._serve import Server, serve
from ._test import rows, test

__all__ = [
    "BusyError",
    "Datagrams",
    "Interrupted",
    "Interval",
    "InvalidResult",
    "LinerateError",
    "Reason",
    "Record",
    "RequirementMissed",
    "Server",
    "Stamp",
    "TestFailed",
    "Throughput",
    "UsageError",
    "program",
    "rows",
    "serve",
    "test",
]
