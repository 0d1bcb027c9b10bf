"""The package against real servers, over the loopback interface."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Iterator

import pytest

import linerate


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with linerate.serve(bind="127.0.0.1") as server:
        yield server.port


def test_tcp_in_both_directions_is_a_rate(port: int) -> None:
    for reverse in (False, True):
        record = linerate.test("127.0.0.1", port=port, reverse=reverse, seconds=1)
        assert record.transport == "tcp"
        assert record.way == ("receive" if reverse else "send")
        assert record.delivered is not None and record.delivered.bytes > 1_000_000
        assert record.stamp in ("VALID", "SUSPECT", "INVALID")
        assert record.intervals and record.intervals[0].bytes > 0
        assert record.sentence


def test_datagrams_are_counted(port: int) -> None:
    record = linerate.test("127.0.0.1", port=port, udp=True, rate="10M", seconds=1)
    assert record.datagrams is not None and record.datagrams.sent >= 50
    assert 0.0 <= record.datagrams.lost_ratio <= 1.0
    assert record.asked_bits_per_second == 10_000_000
    assert record.retransmits is None


def test_both_directions_have_their_own_numbers(port: int) -> None:
    record = linerate.test("127.0.0.1", port=port, bidirectional=True, rate="20M", seconds=1)
    assert {record.way, record.direction(1).way} == {"send", "receive"}
    assert record.direction(1).delivered is not None


def test_a_record_is_kept_and_read(port: int, tmp_path: pathlib.Path) -> None:
    record = linerate.test("127.0.0.1", port=port, rate="10M", seconds=1)
    path = tmp_path / "record.json"
    record.save(path)
    again = linerate.Record.load(path)
    assert again.delivered == record.delivered
    assert json.loads(record.to_json())["schema"] == record.data["schema"]
    explained = subprocess.run(
        [linerate.program(), "explain", str(path)], capture_output=True, check=True, text=True
    )
    assert "TCP send" in explained.stdout
    for text in ["no JSON", "[]", '{"records": []}', '{"schema": 1}']:
        path.write_text(text)
        with pytest.raises(linerate.UsageError, match="no record"):
            linerate.Record.load(path)


def test_errors_are_exceptions_by_exit_code(port: int) -> None:
    with pytest.raises(linerate.UsageError) as usage:
        linerate.test("127.0.0.1", port=port, rate="many")
    assert usage.value.exit_code == 2 and usage.value.message
    with pytest.raises(linerate.TestFailed) as unreachable:
        linerate.test("127.0.0.1", port=1, seconds=1)
    assert unreachable.value.kind == "unreachable"
    with pytest.raises(linerate.TestFailed):
        linerate.test("--version", port=port, seconds=1)
    with pytest.raises(linerate.RequirementMissed) as missed:
        linerate.test(
            "127.0.0.1", port=port, rate="10M", seconds=1, options=["--min-rate", "1T"]
        )
    assert missed.value.records[0].delivered is not None
    with pytest.raises(FileNotFoundError):
        linerate.test("127.0.0.1", program="/nowhere/linerate")


def test_a_busy_server_is_told(tmp_path: pathlib.Path) -> None:
    with linerate.serve(bind="127.0.0.1", options=["--one-at-a-time"]) as server:
        done: "list[linerate.Record]" = []

        def long() -> None:
            done.append(linerate.test("127.0.0.1", port=server.port, rate="1M", seconds=4))

        other = threading.Thread(target=long)
        other.start()
        time.sleep(1.5)
        with pytest.raises(linerate.BusyError):
            linerate.test("127.0.0.1", port=server.port, rate="1M", seconds=0.2)
        other.join()
        assert done and done[0].delivered is not None


def test_a_server_that_cannot_listen_says_why(port: int) -> None:
    with pytest.raises(linerate.LinerateError) as taken:
        linerate.serve(port=port, bind="127.0.0.1")
    assert "in use" in taken.value.message


def test_a_server_ends_with_its_block() -> None:
    with linerate.serve(bind="127.0.0.1") as server:
        pid = server.pid
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_iperf3_is_another_end(port: int) -> None:
    iperf3 = shutil.which("iperf3")
    if iperf3 is None:
        pytest.skip("no iperf3 here")
    words = ["-c", "127.0.0.1", "-p", str(port), "-t", "1", "-b", "10M"]
    subprocess.run([iperf3, *words], check=True, capture_output=True)


def test_an_interrupt_has_the_partial_result(port: int) -> None:
    code = (
        "import linerate\n"
        "try:\n"
        f"    linerate.test('127.0.0.1', port={port}, rate='1M', seconds=20)\n"
        "except linerate.Interrupted as stopped:\n"
        "    print(stopped.exit_code, len(stopped.records))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert out.split() == ["130", "1"]


def test_intervals_are_a_table(port: int) -> None:
    pytest.importorskip("pandas")
    record = linerate.test("127.0.0.1", port=port, rate="10M", seconds=2)
    frame = record.to_pandas()
    assert frame["bytes"].sum() > 1_000_000
    assert frame.index.name == "from_seconds"


def test_the_module_is_the_command() -> None:
    out = subprocess.run(
        [sys.executable, "-m", "linerate", "-V"], capture_output=True, check=True, text=True
    )
    assert out.stdout.startswith("linerate ")
