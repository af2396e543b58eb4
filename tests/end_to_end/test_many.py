"""Several collectors and workers on one PostgreSQL: killed in the middle, they lose nothing, count nothing twice, and go on."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests import operations
from tests.database import NewDatabase, on_postgresql
from tests.end_to_end.conftest import SETTLE_WITHIN_S, START_WITHIN_S, STOP_WITHIN_S, answers, until
from tests.end_to_end.load import deliver, request
from tests.ports import reserved_ports

pytestmark = pytest.mark.end_to_end

EXPORTERS, REQUESTS, SPANS = 4, 25, 40
SENT = EXPORTERS * REQUESTS * SPANS


class Part:
    """A `toolvitals` process that a test starts, kills and starts again."""

    def __init__(self, log: Path, *words: str) -> None:
        self._log = log
        self._command = [sys.executable, "-P", "-m", "cli.main", *words]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLVITALS_", "OTEL_"))}
        with self._log.open("ab") as sink:
            self._process = subprocess.Popen(self._command, stdout=sink, stderr=sink, env=environment, cwd=self._log.parent)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end; the exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(STOP_WITHIN_S)

    def end(self) -> None:
        """Let nothing of it be left."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def said(self) -> str:
        """What it logged."""
        return self._log.read_text()


@contextmanager
def ending(*parts: Part) -> Iterator[None]:
    """Start these, and see that none outlives the block."""
    try:
        for part in parts:
            part.start()
        yield
    finally:
        for part in parts:
            part.end()


@pytest.fixture
def ports() -> Iterator[list[int]]:
    with reserved_ports(4) as ports:
        yield ports


@on_postgresql
def test_two_collectors_and_two_workers_share_the_work_and_survive_a_kill(
    new_database: NewDatabase, tmp_path: Path, ports: list[int]
) -> None:
    database, calm = new_database(), new_database()
    bodies = [[request(exporter, number, SPANS, sessions=8) for number in range(REQUESTS)] for exporter in range(EXPORTERS)]
    where = f"--database-url={database.url}"
    http, grpc = ports[:2], ports[2:]
    collectors = [
        Part(tmp_path / f"collector-{number}.log", "collect", where, f"--otlp-http-port={http[number]}", f"--otlp-grpc-port={grpc[number]}")
        for number in range(2)
    ]
    workers = [Part(tmp_path / f"worker-{number}.log", "work", where, "--worker-port=0") for number in range(2)]
    acknowledged, killed = threading.Semaphore(0), threading.Event()

    def export(exporter: int) -> int:
        attempts = 0
        with httpx.Client(timeout=30, trust_env=False) as client:
            for body in bodies[exporter]:
                # Whoever is fast keeps one back for a collector that is down.
                assert body is not bodies[exporter][-1] or killed.wait(60)
                attempts += deliver(client, f"http://127.0.0.1:{http[exporter % 2]}", body)
                acknowledged.release()
        return attempts

    with ending(*collectors, *workers), ThreadPoolExecutor(EXPORTERS) as pool:
        for port in http:
            until(lambda port=port: answers(f"http://127.0.0.1:{port}/readyz"), lambda: collectors[0].said(), START_WITHIN_S)
        for worker in workers:
            until(lambda worker=worker: "worker ready" in worker.said(), worker.said, START_WITHIN_S)
        exporters = [pool.submit(export, number) for number in range(EXPORTERS)]
        for _ in range(EXPORTERS * REQUESTS // 3):
            assert acknowledged.acquire(timeout=60)
        for one in (collectors[0], workers[0]):
            assert one.stop(signal.SIGKILL) == -signal.SIGKILL
            killed.set()
            one.start()
        assert sum(one.result() for one in exporters) > EXPORTERS * REQUESTS, "the kill came too late to matter"
        until(
            lambda: database.work.pending_count() == 0,
            lambda: f"{database.work.pending_count()} are still pending",
            SETTLE_WITHIN_S,
        )
        assert [part.stop() for part in (*collectors, *workers)] == [0] * 4
    assert database.rows("SELECT count(*) AS n FROM tool_span") == [{"n": SENT}]
    assert database.counters()["tool_spans"] == SENT
    assert len(database.calls()) == SENT
    assert database.rollup() == database.rollup_as_it_must_be() != []
    operations.check(database)
    # Nobody waited in a circle.
    assert not any("trying again" in worker.said() for worker in workers)
    assert not any("does not take spans" in collector.said() for collector in collectors)
    # Nor does what is said depend on who settled what when.
    calm.insert_together((ExportTraceServiceRequest.FromString(body) for own in bodies for body in own), time.time_ns())
    calm.settle()
    assert database.calls() == calm.calls()
    assert database.rollup() == calm.rollup()
