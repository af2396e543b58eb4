"""`toolvitals rebuild` derives the same calls again, from the spans alone."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sqlalchemy import Engine, text

import cli.rebuild
from collector.core.decode import Decoder
from collector.store import Store
from collector.work.settle import Settler
from schemas.database import migrate, open_database
from schemas.settings import Settings
from tests.end_to_end.load import CALLS_A_TRACE, request

Run = Callable[..., Result]
SPANS = 40
NOW_NS = 1_800_000_000_000_000_000


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A database with spans, and the calls that were once made of them."""
    settings = Settings(data=tmp_path)
    engine = open_database(settings.sqlalchemy_url)
    migrate(engine)
    store = Store(engine)
    body = ExportTraceServiceRequest.FromString(request(0, 0, SPANS, NOW_NS))
    store.insert([Decoder(settings, store.hash_key()).decode(body, NOW_NS)], NOW_NS)
    yield engine
    engine.dispose()


def calls(engine: Engine) -> list[tuple[object, ...]]:
    """All calls, and what the rollups count."""
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(text("SELECT * FROM call ORDER BY trace_id, call_id"))]
        return [*rows, tuple(connection.execute(text("SELECT SUM(calls) FROM rollup WHERE grain = 2 AND width_s = 60")).one())]


def test_calls_are_the_same_again(run: Run, engine: Engine, tmp_path: Path) -> None:
    first = run("rebuild", f"--data={tmp_path}")
    assert (first.exit_code, first.stdout) == (0, f"{SPANS // CALLS_A_TRACE} traces rebuilt\n")
    before = calls(engine)
    assert before[-1] == (SPANS,)
    with engine.begin() as connection:
        connection.execute(text("UPDATE call SET outcome = 'deferred'"))
        connection.execute(text("DELETE FROM rollup"))
    assert run("rebuild", f"--data={tmp_path}").exit_code == 0
    assert calls(engine) == before


def test_interrupted_rebuild_says_how_to_go_on(run: Run, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.rebuild, "CHUNK", 4)
    settle = Settler.settle
    steps = []

    def interrupted(settler: Settler, now_ns: int) -> int:
        steps.append(now_ns)
        if len(steps) == 2:
            raise KeyboardInterrupt
        return settle(settler, now_ns)

    with monkeypatch.context() as patch:
        patch.setattr(Settler, "settle", interrupted)
        stopped = run("rebuild", f"--data={tmp_path}")
    assert stopped.exit_code == 130
    assert "stopped after 4 traces; go on with: toolvitals rebuild --after 0000000100000000000000000000000" in stopped.stderr
    after = stopped.stderr.split()[-1]
    rest = run("rebuild", f"--data={tmp_path}", "--after", after)
    assert (rest.exit_code, rest.stdout) == (0, f"{SPANS // CALLS_A_TRACE - 4} traces rebuilt\n")
    assert calls(engine)[-1] == (SPANS,)


def test_after_takes_a_trace_id(run: Run, tmp_path: Path) -> None:
    result = run("rebuild", f"--data={tmp_path}", "--after", "first")
    assert result.exit_code == 1
    assert "hexadecimal" in result.stderr
