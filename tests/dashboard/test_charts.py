"""Figures draw what the records say, for no data, one point, and a lot."""

import pytest

from dashboard import charts
from dashboard.filters import Filter, parse
from dashboard.queries import WIDTHS_NS, Bucket, ToolTally, bucket_width
from dashboard.tally import Tally
from tests.seeds import MINUTE_NS, NOW_NS

OVER_TIME = (charts.outcomes_over_time, charts.failures_over_time, charts.failures_and_empties, charts.durations)
SOME = Tally(
    calls=30,
    success=20,
    data=15,
    empty=5,
    failure=10,
    transient=4,
    business=6,
    timed=30,
    duration_sum_us=90,
    duration_min_ns=1,
    duration_max_ns=9,
)


def hour(query: str = "1h") -> Filter:
    return parse([("range", query)], NOW_NS)


def buckets(question: Filter, count: int) -> list[Bucket]:
    width = bucket_width(question)
    start = question.from_ns - question.from_ns % width
    return [Bucket(start + i * width, SOME) for i in range(count)]


@pytest.mark.parametrize("draw", OVER_TIME)
@pytest.mark.parametrize("count", [0, 1, 61])
def test_time_charts_take_any_amount(draw, count: int) -> None:
    question = hour()
    figure = charts.figure_json(draw(buckets(question, count), question, NOW_NS))
    assert set(figure) == {"data", "layout"}
    assert figure["layout"]["meta"]["width_ms"] == 60_000


def test_bars_stack_to_the_number_of_calls() -> None:
    question = hour()
    figure = charts.outcomes_over_time(buckets(question, 5), question, NOW_NS)
    assert sum(sum(trace.y) for trace in figure.data) == 5 * SOME.calls
    failures = charts.failures_over_time(buckets(question, 5), question, NOW_NS)
    assert sum(sum(trace.y) for trace in failures.data) == 5 * SOME.failure


def test_lines_have_gaps_where_there_is_nothing() -> None:
    question = hour()
    [first, last] = buckets(question, 61)[::60]
    figure = charts.failures_and_empties([first, last], question, NOW_NS)
    for trace in figure.data:
        assert [i for i, value in enumerate(trace.y) if value is not None] == [0, 60]
        assert trace.connectgaps is False


def test_the_running_bucket_is_marked_only_if_it_is_in_the_range() -> None:
    live = charts.outcomes_over_time([], hour(), NOW_NS)
    assert [note.text for note in live.layout.annotations] == ["running ▾"]
    past = parse([("from", "-2d"), ("to", "-1d")], NOW_NS)
    assert not charts.outcomes_over_time([], past, NOW_NS).layout.annotations


@pytest.mark.parametrize(("query", "minutes"), [("30m", 1), ("1h", 1), ("6h", 5), ("24h", 15), ("7d", 120), ("30d", 360)])
def test_the_width_of_a_bar_follows_from_the_range(query: str, minutes: int) -> None:
    assert bucket_width(hour(query)) == minutes * MINUTE_NS


def test_the_longest_range_has_the_widest_bars() -> None:
    assert bucket_width(Filter(0, 10**19)) == WIDTHS_NS[-1]


def test_the_mix_shows_the_tools_with_most_failures_and_folds_the_rest() -> None:
    tools = [ToolTally("s", f"tool_{i}", Tally(calls=i, failure=i, transient=i)) for i in range(3000)]
    figure = charts.failure_mix(tools, hour())
    labels = figure.layout.yaxis.ticktext
    assert labels[0] == "tool_2999"
    assert labels[-1] == "other (2,989 names)"
    assert sum(sum(trace.x) for trace in figure.data) == sum(range(3000))


def test_the_mix_keeps_equal_names_of_two_servers_apart() -> None:
    tools = [ToolTally(server, "search", Tally(calls=2, failure=2, transient=2)) for server in ("a", "b")]
    assert len(set(charts.failure_mix(tools, hour()).layout.yaxis.ticktext)) == 2
    assert charts.failure_mix([], hour()).data == ()


def test_duration_ticks_have_their_unit() -> None:
    question = hour()
    figure = charts.durations(buckets(question, 3), question, NOW_NS)
    assert figure.layout.yaxis.ticktext
    assert all(text.endswith((" ns", " µs", " ms", " s")) for text in figure.layout.yaxis.ticktext)
