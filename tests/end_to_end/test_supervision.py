"""What is started stays up, and what is stopped is gone, with nothing lost."""

import os
import signal
from pathlib import Path

import pytest

from tests.end_to_end.conftest import SETTLE_WITHIN_S, STOP_WITHIN_S, Running, answers, started, until
from tests.end_to_end.load import export_all, request

pytestmark = pytest.mark.end_to_end

SPANS = 50


def test_stop_settles_what_was_accepted_and_the_next_start_goes_on(tmp_path: Path) -> None:
    bodies = [[request(exporter, nth, SPANS) for nth in range(20)] for exporter in range(2)]
    sent = 2 * 20 * SPANS
    with started(tmp_path / "data", "up") as first:
        export_all(first.http, 2, bodies)
        parts = first.children()
        assert set(parts) == {"collect", "work", "dashboard"}
        assert first.stop(signal.SIGTERM) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in parts.values())
        assert first.rows("SELECT COUNT(*) FROM tool_span") == [(sent,)]
        assert first.rows("SELECT COUNT(*) FROM call") == [(sent,)]
        assert first.rows("SELECT SUM(calls) FROM rollup WHERE grain = 2 AND width_s = 60") == [(sent,)]
    with started(tmp_path / "data", "up") as second:
        export_all(second.http, 2, [[*bodies[0], request(2, 0, SPANS)]])
        status = second.settled(calls=sent + SPANS, tool_spans=sent + SPANS)
        assert status["duplicate_spans"] == sent / 2
        assert status["conflicting_spans"] == 0


def test_killed_parts_start_again_and_nothing_outlives_a_killed_parent(up: Running) -> None:
    before = up.children()
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)

    def all_new() -> bool:
        now = up.children()
        return set(now) == set(before) and not set(now.values()) & set(before.values())

    until(all_new, lambda: f"{before} -> {up.children()}", STOP_WITHIN_S)
    until(lambda: answers(f"{up.http}/readyz") and answers(f"{up.web}/readyz"), lambda: up.log.read_text(), STOP_WITHIN_S)
    export_all(up.http, 1, [[request(0, 0, SPANS)]])
    up.settled(calls=SPANS, tool_spans=SPANS)
    assert up.log.read_text().count("killed by SIGKILL); it starts again in 0.5 s") == 3

    parts = up.children()
    up.process.kill()
    up.process.wait()
    until(lambda: not any(_runs(pid) for pid in parts.values()), lambda: f"still there: {parts}", STOP_WITHIN_S)


def test_demo_shows_every_outcome(tmp_path: Path) -> None:
    with started(tmp_path / "data", "demo", "--pace=20") as demo:
        wanted = {"success", "failure", "cancelled", "partial"}

        def seen() -> bool:
            return wanted <= {row[0] for row in demo.rows("SELECT DISTINCT outcome FROM call")}

        until(seen, lambda: f"{demo.rows('SELECT outcome, COUNT(*) FROM call GROUP BY 1')}", SETTLE_WITHIN_S)
        assert demo.stop(signal.SIGINT) == 0
        assert demo.rows("SELECT COUNT(*) FROM refusal") == [(0,)]
        servers = {row[0] for row in demo.rows("SELECT DISTINCT server FROM call")}
        assert {"orders", "docs-mcp", "payments-mcp"} <= servers


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
