"""Runs tests."""

import json
import signal
import subprocess
from typing import Any, Mapping, Optional, Sequence, Union

from ._command import program as find
from ._errors import error
from ._record import Record

#: A rate in bit/s, or as the command takes it: ``100M``.
Rate = Union[int, str]


def test(
    host: str,
    *,
    port: Optional[int] = None,
    udp: bool = False,
    reverse: bool = False,
    bidirectional: bool = False,
    seconds: Optional[float] = None,
    rate: Optional[Rate] = None,
    streams: Optional[int] = None,
    require_valid: bool = False,
    options: Sequence[str] = (),
    program: Optional[str] = None,
) -> Record:
    """One test with ``linerate serve`` or ``iperf3 -s`` at ``host``: TCP to it, unless asked
    otherwise.

    ``rate`` is for each stream, ``options`` are those of ``linerate test``. Raises a
    ``LinerateError``.
    """
    way = "--bidir" if bidirectional else "--receive" if reverse else "--send"
    words = ["--udp" if udp else "--tcp", way]
    words += _worded("--port", port) + _worded("--rate", rate) + _worded("--streams", streams)
    words += _time(seconds)
    records = _run(host, [*words, *options], program)
    if not records:
        raise error(1, "the run left no record")
    record = records[0]
    if require_valid and record.stamp == "INVALID":
        why = [one.text for one in record.reasons if one.stamp == "INVALID"]
        raise error(3, why[0] if why else "the result is INVALID", records=records)
    return record


#: pytest: it is no test.
setattr(test, "__test__", False)


def rows(
    host: str,
    *,
    port: Optional[int] = None,
    seconds: Optional[float] = None,
    options: Sequence[str] = (),
    program: Optional[str] = None,
) -> Sequence[Record]:
    """The tests of ``linerate test HOST``: TCP and UDP, to it and from it. Raises a
    ``LinerateError``."""
    return _run(host, [*_worded("--port", port), *_time(seconds), *options], program)


def _time(seconds: Optional[float]) -> list[str]:
    return [] if seconds is None else ["--time", f"{seconds}s"]


def _worded(name: str, value: Optional[Union[int, str]]) -> list[str]:
    return [] if value is None else [name, str(value)]


def _run(host: str, words: Sequence[str], given: Optional[str]) -> Sequence[Record]:
    # A host is never an option, whatever it begins with.
    command = [find(given), "test", "--json", "--quiet", *words, "--", host]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            out, told = process.communicate()
        except KeyboardInterrupt:
            # It has the partial result.
            process.send_signal(signal.SIGINT)
            out, told = process.communicate()
            result = _parsed(out)
            raise error(130, "interrupted", records=_records(result)) from None
    return _judged(process.returncode, _parsed(out), told)


def _parsed(out: str) -> Mapping[str, Any]:
    try:
        parsed = json.loads(out)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _records(result: Mapping[str, Any]) -> Sequence[Record]:
    """One record is not in a list."""
    if "plan" in result:
        return [Record(result)]
    return [Record(one) for one in result.get("records", [])]


def _judged(exit_code: int, result: Mapping[str, Any], told: str) -> Sequence[Record]:
    records = _records(result)
    failure = result.get("error")
    if failure:
        raise error(failure["exit_code"], failure["message"], failure["kind"], records)
    # A result that is INVALID is a result.
    if exit_code in (0, 3) and records:
        return records
    lines = told.strip().splitlines()
    raise error(exit_code, lines[-1] if lines else f"exit code {exit_code}", records=records)
