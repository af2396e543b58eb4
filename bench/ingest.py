"""Measures how many tool spans a second are accepted durably (and settled into calls), and what it costs.

    python -m bench.ingest --spans 1000000 --batch 512 [--protocol http|grpc] [--connections 4] [--settle] [--rate 5000] [--json]
    python -m bench.ingest --postgresql                       on a private PostgreSQL cluster, of the installed programs
    python -m bench.ingest --url http://127.0.0.1:4318        a collector that runs already
    python -m bench.ingest --data FOLDER                      keep the database, or measure on one that is full

Starts this project's collector (and with --settle its worker) as processes, on SQLite with synchronous=FULL in a temporary folder.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

from bench.machine import machine
from bench.processes import ROOT, Place, Process, cpu_seconds, memory_mb, place, process, wait_until_ready
from schemas.database import open_database
from tests.postgres import running


def main() -> None:
    """Measure, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=500_000)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--protocol", choices=("http", "grpc"), default="http")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--rate", type=int, default=0, help="spans a second; as fast as they are taken if not given")
    parser.add_argument("--mix", choices=("plain", "captured"), default="plain", help="tool spans alone, or what instrumentations send")
    parser.add_argument("--url", help="endpoint of a collector that runs already (host:port for grpc)")
    parser.add_argument("--data", type=Path, help="folder of the database; kept")
    parser.add_argument("--postgresql", action="store_true", help="on a private PostgreSQL cluster")
    parser.add_argument("--settle", action="store_true", help="run the worker beside it, and wait until all is settled")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    if asked.url:
        found = summary(load(asked, asked.url))
    else:
        with database(asked) as here:
            found = measure(asked, here)
    found["machine"] = machine()
    sys.stdout.write(json.dumps(found, indent=2) + "\n" if asked.json else as_text(found))


@contextmanager
def database(asked: argparse.Namespace) -> Iterator[Place]:
    """A place with a database of the kind that is asked for."""
    with tempfile.TemporaryDirectory() as temporary:
        data = asked.data or Path(temporary)
        if asked.postgresql:
            with running(durable=True) as cluster:
                yield place(data, cluster.url(cluster.create()))
        else:
            yield place(data, None)


def measure(asked: argparse.Namespace, here: Place) -> dict[str, Any]:
    """Start the processes, send, look into the database."""
    engine = open_database(here.database_url.replace("postgresql://", "postgresql+psycopg://"))
    with process("collect", here) as collector:
        wait_until_ready(here, collector)
        before = counted(engine)
        if asked.settle:
            with process("work", here) as worker:
                found = while_settling(asked, here, engine, worker)
        else:
            found = summary(load(asked, address(asked, here)))
        found["collector_rss_mb"], found["collector_peak_mb"] = memory_mb(collector)
        found["collector_cpu_s"] = cpu_seconds(collector)
    after = counted(engine)
    new = {name: number - before.get(name, 0) for name, number in after.items()}
    found["tool_spans"] = new["tool_spans"]
    found["stored_exactly"] = new["received_spans"] == found["spans"] and count(engine, "tool_span") == after["tool_spans"]
    found["spans_before"] = before.get("received_spans", 0)
    found["database_bytes_a_span"] = round(size(engine) / after["received_spans"])
    engine.dispose()
    return found


def while_settling(asked: argparse.Namespace, here: Place, engine: Engine, worker: Process) -> dict[str, Any]:
    """Send while a worker settles, sampling how old the oldest waiting trace is; then wait until none waits."""
    lags: list[float] = []
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.5):
            oldest = value(engine, "SELECT min(noted_ns) FROM pending_trace")
            lags.append(0.0 if oldest is None else time.time() - oldest / 10**9)

    sampler = threading.Thread(target=sample)
    sampler.start()
    sent = load(asked, address(asked, here))
    while value(engine, "SELECT count(*) FROM (SELECT 1 FROM pending_trace LIMIT 1) AS one") and worker.poll() is None:
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
    found["calls"] = count(engine, "call")
    found["worker_rss_mb"], found["worker_peak_mb"] = memory_mb(worker)
    found["worker_cpu_s"] = cpu_seconds(worker)
    return found


def load(asked: argparse.Namespace, to: str) -> dict[str, Any]:
    """Run the generator."""
    numbers = [str(one) for one in (asked.spans, asked.batch, asked.connections, asked.rate)]
    command = [sys.executable, "-m", "bench.load", to, asked.protocol, *numbers, asked.mix]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
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


def address(asked: argparse.Namespace, here: Place) -> str:
    """Where the generator sends."""
    return f"http://127.0.0.1:{here.http_port}" if asked.protocol == "http" else f"127.0.0.1:{here.grpc_port}"


def value(engine: Engine, question: str) -> Any:
    """One value, read beside the processes that write."""
    with engine.connect().execution_options(read_only=True) as connection:
        return connection.execute(text(question)).scalar()


def counted(engine: Engine) -> dict[str, int]:
    """The totals of spans since the database was made."""
    with engine.connect().execution_options(read_only=True) as connection:
        return {row.name: row.value for row in connection.execute(text("SELECT name, value FROM counter"))}


def count(engine: Engine, table: str) -> int:
    """Rows of a table."""
    rows: int = value(engine, f'SELECT count(*) FROM "{table}"')
    return rows


def size(engine: Engine) -> int:
    """Bytes of the database, with its indexes, once everything is in its place."""
    if engine.dialect.name == "postgresql":
        return int(value(engine, "SELECT pg_database_size(current_database())"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT", read_only=True) as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(engine.url.database or "").stat().st_size


def as_text(found: dict[str, Any]) -> str:
    """One figure a line."""
    lines = [f"{name:24} {value}" for name, value in found.items() if name != "machine"]
    return "\n".join([*lines, "machine                  " + ", ".join(f"{k} {v}" for k, v in found["machine"].items())]) + "\n"


if __name__ == "__main__":
    main()
