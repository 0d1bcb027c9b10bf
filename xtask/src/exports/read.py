"""Reads what `linerate export` writes by the readers of others; exits with 1 at the first thing that is not right.

Usage: read.py LINERATE RECORDS LATENCY FOLDER
"""

import csv
import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from jinja2 import Template
from line_protocol_parser import parse_line
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

LINERATE, RECORDS, LATENCY, FOLDER = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
RATE = "linerate_test_rate_bits_per_second"


def export(records: str, name: str, file: str) -> Path:
    path = FOLDER / file
    subprocess.run([LINERATE, "export", records, "--format", name, "-o", path], check=True)
    return path


def records(path: str) -> list[dict]:
    return json.loads(Path(path).read_text())["records"]


def rates() -> list[int]:
    """Delivered rates, as the file of records has them."""
    outcomes = [one for record in records(RECORDS) for one in record["outcome"]["directions"]]
    of = lambda one: one["rate_bits_per_second"] if "rate_bits_per_second" in one else one["rate"]
    return sorted(of(one.get("delivered") or one["acknowledged"]) for one in outcomes)


def samples(families, name: str) -> list[float]:
    return sorted(s.value for family in families for s in family.samples if s.name == name)


def check_metrics() -> None:
    text = export(RECORDS, "openmetrics", "a.om").read_text()
    assert samples(list(openmetrics(text)), RATE) == rates(), text
    text = export(RECORDS, "prometheus", "a.prom").read_text()
    assert samples(list(prometheus(text)), RATE) == rates(), text


def check_textfile_collector() -> str:
    program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if program is None:
        return "not run: there is no node_exporter (Debian: prometheus-node-exporter)"
    folder = FOLDER / "textfile"
    folder.mkdir(exist_ok=True)
    export(RECORDS, "prometheus", "textfile/a.prom")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    options = ["--collector.disable-defaults", "--collector.textfile"]
    options += [f"--collector.textfile.directory={folder}", f"--web.listen-address={address}"]
    exporter = subprocess.Popen([program, *options], stderr=subprocess.DEVNULL)
    try:
        families = list(prometheus(get(f"http://{address}/metrics")))
    finally:
        exporter.kill()
        exporter.wait()
    assert samples(families, "node_textfile_scrape_error") == [0]
    assert samples(families, RATE) == rates()
    return "read by node_exporter"


def get(url: str) -> str:
    for _ in range(100):
        try:
            return urllib.request.urlopen(url, timeout=5).read().decode()
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{url} does not answer")


def check_influx() -> None:
    text = export(RECORDS, "influx", "a.influx").read_text()
    points = [parse_line(line) for line in text.splitlines()]
    found = [p["fields"]["rate_bits_per_second"] for p in points if p["measurement"] == "linerate_test"]
    assert sorted(found) == rates(), found
    assert all(p["time"] > 10**18 and p["tags"]["row"] for p in points), points


def check_histograms() -> None:
    path = export(LATENCY, "hdr-log", "a.hlog")
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000_000, 3))
    found = []
    while (histogram := reader.get_next_interval_histogram()) is not None:
        found.append(histogram.get_total_count())
    parts = []
    for record in records(LATENCY):
        outcome = record["outcome"]
        probed = outcome.get("latency") or {}
        parts += [outcome.get("round_trips"), probed.get("idle"), probed.get("loaded")]
    counts = [sum(count for _, count in part["histogram"]) for part in parts if part]
    assert found == counts and found, (found, counts)


def check_intervals() -> None:
    with export(RECORDS, "csv-intervals", "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    directions = [one for record in records(RECORDS) for one in record["intervals"]]
    assert len(rows) == sum(len(one["intervals"]) for one in directions), rows


def check_flent() -> None:
    for records_of, series in [(RECORDS, "TCP upload"), (LATENCY, "Ping (ms) TCP")]:
        path = export(records_of, "flent", "a.flent.gz")
        flent = [Path(sys.executable).with_name("flent"), "-i", path]
        table = FOLDER / "flent.csv"
        for name in ("csv", "summary"):
            run = subprocess.run([*flent, "-f", name, "-o", table], capture_output=True, text=True)
            assert run.returncode == 0 and "ERROR" not in run.stderr, run.stderr
            text = table.read_text()
            assert series in text, (run.stderr, text)
        own = json.loads(gzip.decompress(path.read_bytes()))["results"][series]
        mean = sum(v for v in own if v is not None) / sum(v is not None for v in own)
        line = next(line for line in text.splitlines() if series in line)
        assert any(abs(float(w) / mean - 1) < 0.05 for w in line.split() if number(w)), line


def check_mqtt() -> None:
    """A broker that knows one user keeps the messages, and gives them to who subscribes later."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    passwords, config = FOLDER / "mosquitto.passwords", FOLDER / "mosquitto.conf"
    passwords.unlink(missing_ok=True)
    subprocess.run(["mosquitto_passwd", "-b", "-c", passwords, "nas", "secret"], check=True)
    passwords.chmod(0o644)
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {passwords}\n")
    broker = subprocess.Popen(["mosquitto", "-c", config], stderr=subprocess.DEVNULL, cwd=FOLDER)
    try:
        await_port(port)
        refused = publish(f"mqtt://127.0.0.1:{port}", "")
        assert refused.returncode == 1 and "refused the user" in refused.stderr, refused
        done = publish(f"mqtt://nas@127.0.0.1:{port}/net", "secret")
        assert done.returncode == 0 and not done.stderr, done
        subscribe = ["mosquitto_sub", "-p", str(port), "-u", "nas", "-P", "secret", "-t", "#", "-v"]
        run = subprocess.run([*subscribe, "--retained-only", "-W", "3"], capture_output=True, text=True)
    finally:
        broker.kill()
        broker.wait()
    messages = dict(line.split(" ", 1) for line in run.stdout.splitlines())
    results = {topic: json.loads(text) for topic, text in messages.items() if topic.startswith("net/")}
    assert sorted(one["rate_bits_per_second"] for one in results.values()) == rates(), results
    sensors = [json.loads(text) for topic, text in messages.items() if topic.startswith("homeassistant/sensor/")]
    assert len(sensors) + len(results) == len(messages) and sensors, messages
    for sensor in sensors:
        # Home Assistant renders templates by jinja2.
        value = Template(sensor["value_template"]).render(value_json=results[sensor["state_topic"]])
        assert value and value != "None", (sensor, value)
        if "device_class" in sensor and sensor["device_class"] == "data_rate":
            rate = results[sensor["state_topic"]]["rate_bits_per_second"]
            assert abs(float(value) * 1e6 - rate) < 1e4, (sensor, value)


def publish(broker: str, password: str) -> subprocess.CompletedProcess:
    command = [LINERATE, "export", RECORDS, "--mqtt", broker]
    environment = os.environ | {"LINERATE_MQTT_PASSWORD": password}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def await_port(port: int) -> None:
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"no broker listens on port {port}")


def number(word: str) -> bool:
    try:
        return float(word) > 0
    except ValueError:
        return False


for check in [check_metrics, check_influx, check_histograms, check_intervals, check_flent, check_mqtt]:
    check()
print("textfile collector:", check_textfile_collector())
