"""Measures how long pruning keeps others from writing: python -m bench.retention 1000000 [FOLDER] prunes all and prints JSON.

FOLDER keeps the filled database of bench.pages; a copy of it is pruned, while another process writes a row every few milliseconds and
says how long each took.
"""

import json
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.machine import machine
from bench.pages import END_NS, filled
from collector.pruning import PruneStore
from collector.work.retention import Retention
from collector.work_store import WorkStore
from schemas.database import open_database
from schemas.rollups import DAY_NS
from schemas.settings import Settings

# How often the other process writes, and for how long without pruning.
PAUSE_S = 0.005
ALONE_S = 10
# All that was filled in is older than every setting by then.
LATER_NS = END_NS + 3 * 365 * DAY_NS


def measure(database: Path) -> dict[str, Any]:
    """Rows that went by kind, and how long a small write took in milliseconds: without pruning, and beside it."""
    alone = _writing(database, lambda: time.sleep(ALONE_S))
    removed: dict[str, int] = {}

    def prune() -> None:
        engine = open_database(f"sqlite:///{database}")
        retention = Retention(WorkStore(engine), PruneStore(engine), Settings(), time.perf_counter, time.sleep, spare_pages=0)
        while (done := retention.step(LATER_NS)) is not None:
            removed[done.what] = removed.get(done.what, 0) + done.rows
        engine.dispose()

    started = time.perf_counter()
    beside = _writing(database, prune)
    return {"removed": removed, "seconds": round(time.perf_counter() - started), "write_alone": alone, "write_beside": beside}


def _writing(database: Path, work: Callable[[], None]) -> dict[str, float]:
    """How long small writes of another process take while `work` runs, in milliseconds."""
    ours, theirs = multiprocessing.Pipe()
    writer = multiprocessing.get_context("spawn").Process(target=_write, args=(theirs, database))
    writer.start()
    ours.recv()
    work()
    ours.send(None)
    times = sorted(ours.recv())
    writer.join()
    return {"writes": len(times), "p50_ms": _ms(times, 0.5), "p99_ms": _ms(times, 0.99), "longest_ms": _ms(times, 1)}


def _write(connection: Connection, database: Path) -> None:
    """Write a row every few milliseconds until something is sent, then send how many seconds each took."""
    # As the collector waits for its turn.
    engine = open_database(f"sqlite:///{database}")
    with engine.begin() as setting_up:
        setting_up.exec_driver_sql("CREATE TABLE IF NOT EXISTS probe (number INTEGER)")
    times = []
    connection.send(None)
    while not connection.poll(PAUSE_S):
        started = time.perf_counter()
        with engine.begin() as writing:
            writing.exec_driver_sql("INSERT INTO probe VALUES (1)")
        times.append(time.perf_counter() - started)
    engine.dispose()
    connection.send(times)


def _ms(times: list[float], part: float) -> float:
    return round(times[min(len(times) - 1, int(len(times) * part))] * 1000, 1)


def main(calls: int, folder: Path) -> dict[str, Any]:
    """Fill if need be, prune a copy."""
    with filled(folder, calls) as engine:
        source = Path(str(engine.url.database))
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        return {"machine": machine(), **measure(Path(shutil.copy(source, temporary)))}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as own:
        sys.stdout.write(json.dumps(main(int(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else own)), indent=2) + "\n")
