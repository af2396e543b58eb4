"""This project's collector and worker as processes on a database, and what they take of the machine."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Place:
    """Where processes run: their data folder, the URL of their database, and the ports of the collector."""

    data: Path
    database_url: str
    http_port: int
    grpc_port: int


def place(data: Path, database_url: str | None) -> Place:
    """Free ports, and SQLite in the folder unless another database is named."""
    return Place(data, database_url or f"sqlite:///{data / 'toolvitals.db'}", free_port(), free_port())


@contextmanager
def process(command: str, here: Place) -> Iterator[Process]:
    """One of this project's processes; ended by SIGTERM, so that it stops in order."""
    variables = {
        "TOOLVITALS_DATA": str(here.data),
        "TOOLVITALS_DATABASE_URL": here.database_url,
        "TOOLVITALS_OTLP_HTTP_PORT": str(here.http_port),
        "TOOLVITALS_OTLP_GRPC_PORT": str(here.grpc_port),
        "TOOLVITALS_LOG_LEVEL": "warning",
    }
    running = subprocess.Popen([sys.executable, "-m", "cli.main", command], cwd=ROOT, env={**os.environ, **variables})
    try:
        yield running
    finally:
        running.terminate()
        running.wait(60)


def wait_until_ready(here: Place, collector: Process) -> None:
    """Wait until the collector takes spans."""
    while collector.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{here.http_port}/readyz", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise SystemExit("the collector did not start")


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def memory_mb(running: Process) -> tuple[int, int]:
    """Memory of a process and its children, now and the sum of their peaks. Pages that they share count for each."""
    now = peak = 0
    for one in _family(running.pid):
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{one}/status").read_text().splitlines())
        now += int(lines["VmRSS"].split()[0])
        peak += int(lines["VmHWM"].split()[0])
    return now // 1024, peak // 1024


def cpu_seconds(running: Process) -> float:
    """Processor time of a process and its children."""
    ticks = 0
    for one in _family(running.pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return round(ticks / os.sysconf("SC_CLK_TCK"), 2)


def _family(pid: int) -> list[int]:
    children = [int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()]
    return [pid, *(one for child in children for one in _family(child))]
