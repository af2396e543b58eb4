"""Measures everything and writes docs/performance.json and the tables of docs/performance.md: python -m bench.report [FOLDER].

FOLDER keeps the filled databases of the pages for the next run (a few gigabytes); without it they are made anew.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import pages
from bench.machine import machine
from bench.processes import ROOT

JSON = ROOT / "docs" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- figures: written by `make bench` -->", "<!-- end of figures -->"
# Runs of each kind: the machine's speed varies, so the median is told, and between what it lay.
RUNS = 3
ACCEPT = ("--spans", "400000", "--connections", "16")
STEADY = ("--spans", "300000", "--connections", "4", "--settle", "--rate", "5000")
BURST = ("--spans", "100000", "--connections", "4", "--settle")
SIZES = (10**6, 10**7)


def ingest(*options: str) -> list[dict[str, Any]]:
    """The figures of some runs, the slowest first."""
    command = [sys.executable, "-m", "bench.ingest", "--json", *options]
    runs = [json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout) for _ in range(RUNS)]
    assert all(run["stored_exactly"] for run in runs)
    return sorted(runs, key=lambda run: run["accepted_spans_s"])


def ingest_figures(*options: str) -> dict[str, Any]:
    """What one kind of database takes: spans a second, milliseconds, MB, bytes, seconds."""
    accepted = ingest(*ACCEPT, *options)
    burst = sorted(ingest(*BURST, *options), key=lambda run: run["settled_spans_s"])
    steady = sorted(ingest(*STEADY, *options), key=lambda run: run["settle_lag_max_s"])
    middle = accepted[RUNS // 2]
    return {
        "accepted_per_s": middle["accepted_spans_s"],
        "accepted_per_s_between": [accepted[0]["accepted_spans_s"], accepted[-1]["accepted_spans_s"]],
        "settled_per_s": burst[RUNS // 2]["settled_spans_s"],
        "settle_lag_max_s_at_5000_per_s": steady[RUNS // 2]["settle_lag_max_s"],
        "p50_ms": middle["request_p50_ms"],
        "p99_ms": middle["request_p99_ms"],
        "rss_mb": middle["collector_peak_mb"],
        "worker_rss_mb": burst[RUNS // 2]["worker_peak_mb"],
        "bytes_per_span": middle["database_bytes_a_span"],
        "bytes_per_settled_span": burst[RUNS // 2]["database_bytes_a_span"],
    }


def tables(found: dict[str, Any]) -> str:
    """The figures as Markdown."""
    facts = found["machine"]
    lines = [
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB, fsync {facts['fsync_p50_ms']} ms, "
        f"Python {facts['python']}, SQLite {facts['sqlite']}, load before {facts['load_1_min']}.",
        "",
        "| receiving and settling | " + " | ".join(found["ingest"]) + " |",
        "|---|" + "---|" * len(found["ingest"]),
    ]
    names = next(iter(found["ingest"].values()))
    lines += [f"| {name} | " + " | ".join(_figure(one[name]) for one in found["ingest"].values()) + " |" for name in names]
    lines += ["", "| page, ms at 1 M / 10 M calls | " + " | ".join(pages.RANGES) + " |", "|---|" + "---|" * len(pages.RANGES)]
    for page, ranges in found["pages"].items():
        cells = [" / ".join(str(ms) for ms in ranges[name].values()) if name in ranges else "" for name in pages.RANGES]
        lines.append(f"| {page} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _figure(value: Any) -> str:
    return " to ".join(_figure(one) for one in value) if isinstance(value, list) else f"{value:,}"


def main(folder: Path) -> None:
    """Measure, and write it down."""
    found = {
        "machine": machine(),
        "ingest": {"sqlite": ingest_figures(), "postgresql": ingest_figures("--postgresql")},
        "pages": pages.main(list(SIZES), folder),
    }
    JSON.write_text(json.dumps(found, indent=2) + "\n")
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(found)}\n\n{END}{rest.split(END)[1]}")
    sys.stdout.write(tables(found) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
