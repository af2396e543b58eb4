"""`toolvitals rebuild` derives the same calls again, from the spans alone."""

from collections.abc import Callable, Iterator

import pytest
from click.testing import Result
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sqlalchemy import Engine, text

import cli.rebuild
from collector.core.decode import Decoder
from collector.store import Store
from collector.work.settle import Settler
from schemas.settings import Settings
from tests.database import engine_of
from tests.end_to_end.load import CALLS_A_TRACE, request

Run = Callable[..., Result]
SPANS = 40
NOW_NS = 1_800_000_000_000_000_000


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """A database with spans, and the calls that were once made of them."""
    settings, engine = Settings(), engine_of(url)
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


def test_calls_are_the_same_again(run: Run, engine: Engine, url: str) -> None:
    first = run("rebuild", f"--database-url={url}")
    assert (first.exit_code, first.stdout) == (0, f"{SPANS // CALLS_A_TRACE} traces rebuilt\n")
    before = calls(engine)
    assert before[-1] == (SPANS,)
    with engine.begin() as connection:
        connection.execute(text("UPDATE call SET outcome = 'deferred'"))
        connection.execute(text("DELETE FROM rollup"))
    assert run("rebuild", f"--database-url={url}").exit_code == 0
    assert calls(engine) == before


@pytest.fixture
def stopped(run: Run, engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A rebuild that ends by Ctrl-C after the first four traces."""
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
        return run("rebuild", f"--database-url={url}")


def test_an_interrupted_rebuild_goes_on_with_the_next_run(run: Run, engine: Engine, url: str, stopped: Result) -> None:
    assert (stopped.exit_code, stopped.stderr) == (130, "stopped after 4 traces; run it again to go on\n")
    rest = run("rebuild", f"--database-url={url}")
    assert (rest.exit_code, rest.stdout) == (0, f"{SPANS // CALLS_A_TRACE - 4} traces rebuilt\n")
    assert "goes on where an earlier run was stopped" in rest.stderr
    assert calls(engine)[-1] == (SPANS,)
    again = run("rebuild", f"--database-url={url}")
    assert (again.stdout, again.stderr) == (f"{SPANS // CALLS_A_TRACE} traces rebuilt\n", "")


@pytest.mark.usefixtures("stopped")
def test_an_interrupted_rebuild_may_begin_anew(run: Run, engine: Engine, url: str) -> None:
    anew = run("rebuild", f"--database-url={url}", "--from-start")
    assert (anew.exit_code, anew.stdout) == (0, f"{SPANS // CALLS_A_TRACE} traces rebuilt\n")
    assert calls(engine)[-1] == (SPANS,)
