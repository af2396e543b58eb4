"""Measures how many tool spans a second are accepted durably (and settled into calls), and what it costs.

    python bench/ingest.py --spans 1000000 --batch 512 [--protocol http|grpc] [--connections 4] [--settle] [--rate 5000] [--json]
    python bench/ingest.py --url http://127.0.0.1:4318        a collector that runs already
    python bench/ingest.py --data FOLDER                      keep the database, or measure on one that is full

Starts this project's collector (and with --settle its worker) as processes on a temporary folder, on SQLite with synchronous=FULL.
"""

import argparse
import json
import os
import platform
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Measure, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=500_000)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--protocol", choices=("http", "grpc"), default="http")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--rate", type=int, default=0, help="spans a second; as fast as they are taken if not given")
    parser.add_argument("--url", help="endpoint of a collector that runs already (host:port for grpc)")
    parser.add_argument("--data", type=Path, help="folder of the database; kept")
    parser.add_argument("--settle", action="store_true", help="run the worker beside it, and wait until all is settled")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    found = measured_elsewhere(asked) if asked.url else measured_here(asked)
    found["machine"] = machine()
    sys.stdout.write(json.dumps(found, indent=2) + "\n" if asked.json else as_text(found))


def measured_elsewhere(asked: argparse.Namespace) -> dict[str, Any]:
    """What can be seen from outside."""
    return summary(load(asked, asked.url))


def measured_here(asked: argparse.Namespace) -> dict[str, Any]:
    """Start the processes, send, look into the database."""
    with tempfile.TemporaryDirectory() as temporary:
        data = asked.data or Path(temporary)
        http, grpc = free_port(), free_port()
        with process("collect", data, http, grpc) as collector:
            wait_until_ready(http, collector)
            database = data / "toolvitals.db"
            before = count(database, "tool_span")
            if asked.settle:
                with process("work", data, http, grpc) as worker:
                    found = while_settling(asked, http, grpc, database, worker)
            else:
                found = summary(load(asked, address(asked, http, grpc)))
            found["collector_rss_mb"], found["collector_peak_mb"] = memory(collector.pid)
            found["collector_cpu_s"] = cpu_seconds(collector.pid)
        stored = count(database, "tool_span")
        found["stored_exactly"] = stored - before == found["spans"]
        found["rows_before"] = before
        with sqlite3.connect(database) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        found["database_bytes_a_span"] = round(database.stat().st_size / stored)
        return found


def while_settling(asked: argparse.Namespace, http: int, grpc: int, database: Path, worker: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Send while a worker settles, sampling how old the oldest waiting trace is; then wait until none waits."""
    lags: list[float] = []
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.5):
            oldest = value(database, "SELECT min(noted_ns) FROM pending_trace")
            lags.append(0.0 if oldest is None else time.time() - oldest / 10**9)

    sampler = threading.Thread(target=sample)
    sampler.start()
    sent = load(asked, address(asked, http, grpc))
    while value(database, "SELECT count(*) FROM (SELECT 1 FROM pending_trace LIMIT 1)") and worker.poll() is None:
        time.sleep(0.2)
    seconds = time.time() - sent["began_ns"] / 10**9
    done.set()
    sampler.join()
    found = summary(sent)
    found["settled"] = worker.poll() is None
    found["settled_spans_s"] = round(sent["spans"] / seconds)
    found["settled_after_last_s"] = round(seconds - (sent["ended_ns"] - sent["began_ns"]) / 10**9, 2)
    found["settle_lag_p50_s"] = round(statistics.median(lags), 2)
    found["settle_lag_max_s"] = round(max(lags), 2)
    found["calls"] = count(database, "call")
    found["worker_rss_mb"], found["worker_peak_mb"] = memory(worker.pid)
    found["worker_cpu_s"] = cpu_seconds(worker.pid)
    return found


def load(asked: argparse.Namespace, to: str) -> dict[str, Any]:
    """Run the generator."""
    numbers = [str(one) for one in (asked.spans, asked.batch, asked.connections, asked.rate)]
    command = [sys.executable, str(ROOT / "bench" / "load.py"), to, asked.protocol, *numbers]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def summary(sent: dict[str, Any]) -> dict[str, Any]:
    """The figures of one run of the generator."""
    latencies = sorted(sent["latencies"])
    at = {part: latencies[min(len(latencies) - 1, int(len(latencies) * part))] * 1000 for part in (0.5, 0.99)}
    return {
        "spans": sent["spans"],
        "seconds": round(sent["seconds"], 2),
        "accepted_spans_s": round(sent["spans"] / sent["seconds"]),
        "request_p50_ms": round(at[0.5], 1),
        "request_p99_ms": round(at[0.99], 1),
        "request_max_ms": round(latencies[-1] * 1000, 1),
        "retries": sent["retries"],
        "wire_bytes_a_span": round(sent["bytes_a_span"]),
        "generator_cpu_s": round(sent["generator_cpu_s"], 2),
    }


def address(asked: argparse.Namespace, http: int, grpc: int) -> str:
    """Where the generator sends."""
    return f"http://127.0.0.1:{http}" if asked.protocol == "http" else f"127.0.0.1:{grpc}"


@contextmanager
def process(command: str, data: Path, http: int, grpc: int) -> "Iterator[subprocess.Popen[bytes]]":
    """One of this project's processes; ended by SIGTERM, so that it stops in order."""
    variables = {
        "TOOLVITALS_DATA": str(data),
        "TOOLVITALS_OTLP_HTTP_PORT": str(http),
        "TOOLVITALS_OTLP_GRPC_PORT": str(grpc),
        "TOOLVITALS_LOG_LEVEL": "warning",
    }
    running = subprocess.Popen([sys.executable, "-m", "cli.main", command], cwd=ROOT, env={**os.environ, **variables})
    try:
        yield running
    finally:
        running.terminate()
        running.wait(60)


def wait_until_ready(port: int, collector: "subprocess.Popen[bytes]") -> None:
    """Wait until the collector takes spans."""
    while collector.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise SystemExit("the collector did not start")


def value(database: Path, question: str) -> Any:
    """One value, read beside the processes that write."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)
    try:
        return connection.execute(question).fetchone()[0]
    finally:
        connection.close()


def count(database: Path, table: str) -> int:
    """Rows of a table."""
    rows: int = value(database, f"SELECT count(*) FROM {table}")
    return rows


def family(pid: int) -> list[int]:
    """A process and its children."""
    children = [int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()]
    return [pid, *(one for child in children for one in family(child))]


def memory(pid: int) -> tuple[int, int]:
    """Memory of a process and its children, now and the sum of their peaks, in MB. Pages that they share count for each."""
    now = peak = 0
    for one in family(pid):
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{one}/status").read_text().splitlines())
        now += int(lines["VmRSS"].split()[0])
        peak += int(lines["VmHWM"].split()[0])
    return now // 1024, peak // 1024


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its children."""
    ticks = 0
    for one in family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return round(ticks / os.sysconf("SC_CLK_TCK"), 2)


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def machine() -> dict[str, Any]:
    """What the figures were measured on; `load` says whether it was idle."""
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in facts if "model name" in line), "")
    with tempfile.NamedTemporaryFile(dir=tempfile.gettempdir()) as file:
        times = []
        for _ in range(50):
            file.write(b"x" * 4096)
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "load_1_min": round(os.getloadavg()[0], 1),
        "fsync_p50_ms": round(statistics.median(times) * 1000, 2),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "kernel": platform.release(),
    }


def as_text(found: dict[str, Any]) -> str:
    """One figure a line."""
    lines = [f"{name:24} {value}" for name, value in found.items() if name != "machine"]
    return "\n".join([*lines, "machine                  " + ", ".join(f"{k} {v}" for k, v in found["machine"].items())]) + "\n"


if __name__ == "__main__":
    main()
