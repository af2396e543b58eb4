"""A mistake of this program in one span or one trace costs that one alone."""

import pytest

import collector.core.decode
import collector.work.settle
from tests.database import Database
from tests.spans import request, tool_span

GOOD, BAD = "0" * 31 + "1", "0" * 31 + "2"


def test_a_trace_that_cannot_be_understood_does_not_hold_up_the_others(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted among the refusals, its calls so far stay, and a rebuild takes it up again."""
    fold = collector.work.settle.fold

    def failing(spans, *rest):  # type: ignore[no-untyped-def]
        if spans[0].trace_id.hex() == BAD:
            raise KeyError("a mistake")
        return fold(spans, *rest)

    monkeypatch.setattr(collector.work.settle, "fold", failing)
    calls = database.take(request(tool_span(trace=GOOD), tool_span(number=2, trace=BAD)))
    assert [call["trace_id"].hex() for call in calls] == [GOOD]
    assert database.rows("SELECT reason, count FROM refusal") == [
        {"reason": "toolvitals could not understand the trace (KeyError)", "count": 1}
    ]
    monkeypatch.undo()
    database.rebuild()
    assert len(database.calls()) == 2


def test_a_span_that_cannot_be_read_does_not_cost_its_neighbours(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused alone, with the kind of mistake and nothing of its content."""
    evidence_of = collector.core.decode.evidence_of

    def failing(given, *rest):  # type: ignore[no-untyped-def]
        if given.name == "tools/call bad":
            raise ValueError("secret text")
        return evidence_of(given, *rest)

    monkeypatch.setattr(collector.core.decode, "evidence_of", failing)
    decoded = database.decoded(request(tool_span("good"), tool_span("bad", 2)))
    assert len(decoded.tool_spans) == 1
    [refusal] = decoded.refusals
    assert (refusal.reason, refusal.count) == ("toolvitals could not read it (ValueError)", 1)
