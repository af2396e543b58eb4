"""A real Prometheus scrapes collector and worker, and answers what came through them."""

from pathlib import Path

import httpx
import pytest

from tests.end_to_end.conftest import Running, until
from tests.end_to_end.load import export_all, request
from tests.prometheus import promtool, scraping

pytestmark = pytest.mark.end_to_end


def test_prometheus_scrapes_both_and_knows_what_came(up: Running, tmp_path: Path) -> None:
    export_all(up.http, 1, [[request(0, 0, 3)]])
    up.settled(received_spans=3)
    for url in (up.http, up.work):
        scraped = httpx.get(f"{url}/metrics", timeout=10, trust_env=False).raise_for_status()
        told = promtool("check", "metrics", given=scraped.content)
        assert (told.returncode, told.stdout) == (0, ""), url
    targets = {"collector": up.http.removeprefix("http://"), "worker": up.work.removeprefix("http://")}
    with scraping(tmp_path, targets) as prometheus:

        def answered() -> bool:
            try:
                received = prometheus.query("toolvitals_collector_spans_total")
                calls = prometheus.query('sum(toolvitals_calls_total{outcome="success"})')
            except httpx.HTTPError:
                return False
            return [one["value"][1] for one in (*received, *calls)] == ["3", "3"]

        until(answered, (tmp_path / "prometheus.log").read_text, 60)
        assert prometheus.targets() == {"collector": ("up", ""), "worker": ("up", "")}
        [healthy] = prometheus.query("toolvitals_worker_turned_seconds < 120")
        assert healthy["metric"]["job"] == "worker"
