"""Whatever a span says, its rows fit into the columns of either engine, and the worker can go on with them."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.vocabulary import ALIASES
from tests.database import Database
from tests.spans import request, span, tool_span

NAMES = sorted({name for names in ALIASES.values() for name in names})
TEXTS = ("", "\0", "a\0b", "1e999", "9" * 400, "-9223372036854775809", "3000000000", "x" * 20_000, '{"a\\u0000": "\\ud800"}')
NUMBERS = (0, -1, 2**31, 2**40, 2**63 - 1, -(2**63), 1e308, float("nan"), float("inf"))
TIMES = (0, 1, 2**63 - 1, 2**63, 2**64 - 1, 9_214_646_400 * 10**9 - 1)


@st.composite
def extremes(draw: st.DrawFn, number: int) -> Any:
    """A span that says the most or the least that can be said."""
    said = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from((*TEXTS, *NUMBERS, True)), max_size=6))
    made = tool_span(number=number, attributes=said) if draw(st.booleans()) else span(number=number, parent=1, attributes=said)
    if draw(st.booleans()):
        made.start_time_unix_nano = draw(st.sampled_from(TIMES))
    if draw(st.booleans()):
        made.end_time_unix_nano = draw(st.sampled_from(TIMES))
    made.name += draw(st.sampled_from(("", "\0")))
    made.kind = draw(st.sampled_from((0, 3, 2**31 - 1)))
    made.status.code = draw(st.sampled_from((0, 2, 2**31 - 1)))
    made.status.message = draw(st.sampled_from(TEXTS))
    return made


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(given_spans=st.tuples(*(extremes(number) for number in range(1, 25))), service=st.sampled_from(TEXTS))
def test_nothing_that_a_span_says_stops_the_collector_or_the_worker(database: Database, given_spans: Any, service: str) -> None:
    before = database.counters().get("received_spans", 0)
    database.insert(request(*given_spans, service=service, scope=service, version=service))
    database.settle()
    found = database.counters()
    assert found["received_spans"] == before + len(given_spans)
    kinds = ("tool_spans", "ignored_spans", "refused_spans", "duplicate_spans", "conflicting_spans")
    assert sum(found[kind] for kind in kinds) == found["received_spans"]
    assert database.work.pending_count() == 0
    assert database.rollup() == database.rollup_as_it_must_be()
