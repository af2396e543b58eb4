"""What figures were measured on."""

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Facts of this machine; `load_1_min` says whether it was idle."""
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    return {
        "processor": next((line.partition(":")[2].strip() for line in facts if "model name" in line), ""),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "load_1_min": round(os.getloadavg()[0], 1),
        "fsync_p50_ms": round(_fsync_ms(), 2),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "kernel": platform.release(),
    }


def _fsync_ms() -> float:
    times = []
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000
