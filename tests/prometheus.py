"""Debian's Prometheus for tests: its checker of metrics and rules, and a server that scrapes what a test serves."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.ports import reserved_ports

# CI sets it, so that nothing is left out there unseen.
REQUIRED_VARIABLE = "REQUIRE_PROMETHEUS"


def program(name: str) -> str:
    """The path of `prometheus` or `promtool`; skips where it is not installed."""
    found = shutil.which(name)
    if found is None:
        reason = "Prometheus is not installed here (Debian: apt-get install prometheus)"
        (pytest.fail if os.environ.get(REQUIRED_VARIABLE) else pytest.skip)(reason)
    return str(found)


def promtool(*words: str, given: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run promtool; what it says is in stdout."""
    told = subprocess.run([program("promtool"), *words], input=given, stdout=-1, stderr=-2, cwd=cwd, check=False, timeout=500)
    return subprocess.CompletedProcess(told.args, told.returncode, told.stdout.decode(), "")


class Prometheus:
    """A running server."""

    def __init__(self, url: str) -> None:
        self._url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What an expression gives now."""
        answer = httpx.get(f"{self._url}/api/v1/query", params={"query": expression}, timeout=30, trust_env=False)
        found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]["result"]
        return found

    def targets(self) -> dict[str, tuple[str, str]]:
        """The health and last error of each job."""
        answer = httpx.get(f"{self._url}/api/v1/targets", timeout=30, trust_env=False).raise_for_status().json()
        return {one["labels"]["job"]: (one["health"], one["lastError"]) for one in answer["data"]["activeTargets"]}


@contextmanager
def scraping(folder: Path, targets: Mapping[str, str]) -> Iterator[Prometheus]:
    """A Prometheus that scrapes these addresses (by job) every second."""
    jobs = [{"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()]
    config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    with reserved_ports(1) as [port], (folder / "prometheus.log").open("wb") as log:
        address = f"127.0.0.1:{port}"
        words = (f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address={address}")
        process = subprocess.Popen([program("prometheus"), *words], stdout=log, stderr=log, cwd=folder)
        try:
            yield Prometheus(f"http://{address}")
        finally:
            process.terminate()
            process.wait()
