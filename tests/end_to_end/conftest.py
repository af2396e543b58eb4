"""`toolvitals up` as a user starts it: a process of its own, on free ports, with a database of its own."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ports import reserved_ports

# Nothing is measured by these: so long a loaded machine may take.
START_WITHIN_S = 120.0
STOP_WITHIN_S = 120.0
SETTLE_WITHIN_S = 180.0
# Printed once all parts answer.
READY = "OTLP/gRPC"


@dataclass(frozen=True, slots=True)
class Running:
    """A running `toolvitals`, and where it is reached."""

    process: subprocess.Popen[bytes]
    data: Path
    log: Path
    http: str
    grpc: str
    web: str
    work: str

    def status(self) -> dict[str, Any]:
        """What /api/v1/status says."""
        answer: dict[str, Any] = httpx.get(f"{self.web}/api/v1/status", timeout=60, trust_env=False).raise_for_status().json()
        return answer

    def settled(self, **expected: int) -> dict[str, Any]:
        """Wait until nothing is pending and the counts are as expected; fail with the last status."""

        def as_expected() -> dict[str, Any] | None:
            status = self.status()
            done = status["pending_traces"] == 0 and all(status[name] == value for name, value in expected.items())
            return status if done else None

        return until(as_expected, lambda: f"{expected}, but: {self.status()}", SETTLE_WITHIN_S)

    def children(self) -> dict[str, int]:
        """The process of each part, by the command that started it."""
        found = {}
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if "cli.main" in words:
                found[words[words.index("cli.main") + 1]] = int(pid)
        return found

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop as an orchestrator does; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOP_WITHIN_S)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database holds, read behind the program's back."""
        with closing(sqlite3.connect(f"file:{self.data / 'toolvitals.db'}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()


def until(condition: Callable[[], Any], what: Callable[[], str], within_s: float) -> Any:
    """Wait for something that will happen; fail with what did not."""
    deadline_s = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, f"did not happen: {what()}"
        time.sleep(0.05)
    return found


def answers(url: str) -> bool:
    """Whether a server is ready."""
    try:
        return httpx.get(url, timeout=30, trust_env=False).is_success
    except httpx.TransportError:
        return False


@contextmanager
def started(folder: Path, *words: str) -> Iterator[Running]:
    """Run a command on free ports, wait until it is ready, and let nothing of it outlive the block."""
    with reserved_ports(4) as (http, grpc, web, work):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLVITALS_", "OTEL_"))}
        options = (f"--otlp-http-port={http}", f"--otlp-grpc-port={grpc}", f"--port={web}", f"--worker-port={work}")
        command = [sys.executable, "-P", "-m", "cli.main", *words, f"--data={folder}", *options]
        log = folder.with_suffix(".log")
        before = log.read_text().count(READY) if log.exists() else 0
        with log.open("ab") as sink:
            process = subprocess.Popen(command, stdout=sink, stderr=sink, env=environment, cwd=folder.parent)
        running = Running(
            process, folder, log, f"http://127.0.0.1:{http}", f"127.0.0.1:{grpc}", f"http://127.0.0.1:{web}", f"http://127.0.0.1:{work}"
        )
        try:
            until(lambda: log.read_text().count(READY) > before or process.poll() is not None, log.read_text, START_WITHIN_S)
            assert process.poll() is None, log.read_text()
            yield running
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(STOP_WITHIN_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Running]:
    """`toolvitals up` with an empty database."""
    with started(tmp_path / "data", "up") as running:
        yield running
