"""Figures draw what the records say, for no data, one point, and a lot."""

from typing import Any
from zoneinfo import ZoneInfo

import plotly.graph_objects as go
import pytest

from dashboard import charts, time_axis, time_charts, tool_charts
from dashboard.filters import Filter, parse
from dashboard.queries import Bucket, ToolTally
from dashboard.tally import Tally
from schemas.histogram import Percentiles, pack
from tests.seeds import NOW_NS

UTC = ZoneInfo("UTC")
OVER_TIME = (time_charts.outcomes, time_charts.failures, time_charts.failing_and_empty, time_charts.durations)
SOME = Tally(
    calls=30,
    completed=30,
    known=20,
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


def drawn(figure: charts.Figure) -> Any:
    """The figure as Plotly's objects, which refuse what Plotly does not know."""
    return go.Figure(figure)


def hour(query: str = "1h") -> Filter:
    return parse([("range", query)], NOW_NS)


def axis(question: Filter) -> time_axis.Axis:
    return time_axis.axis(question, NOW_NS, UTC)


def buckets(question: Filter, count: int, tally: Tally = SOME) -> list[Bucket]:
    return [Bucket(slot.bucket_ns, tally, Percentiles(30, 3, 9, None)) for slot in axis(question).slots[:count]]


def tools(count: int) -> list[ToolTally]:
    return [ToolTally("s", f"tool_{i}", Tally(calls=i, completed=i, known=i, failure=i, transient=i, empty=i)) for i in range(count)]


@pytest.mark.parametrize("draw", OVER_TIME)
@pytest.mark.parametrize("count", [0, 1, 61])
def test_time_charts_take_any_amount(draw, count: int) -> None:
    question = hour()
    figure = draw(buckets(question, count), question, axis(question))
    assert drawn(figure)
    assert set(figure) == {"data", "layout"}
    assert len(figure["layout"]["meta"]["starts_ms"]) == 61
    for trace in figure["data"]:
        assert len(trace["y"]) == len(figure["layout"]["xaxis"]["categoryarray"]) == 61


@pytest.mark.parametrize("count", [0, 1, 3000])
def test_charts_of_tools_take_any_amount(count: int) -> None:
    assert drawn(tool_charts.failure_mix(tools(count), hour()))
    assert drawn(tool_charts.failure_mix(tools(count), hour(), share=True))
    assert drawn(tool_charts.failing_against_empty(tools(count), hour()))


@pytest.mark.parametrize("counts", [{}, {-200: 1}, dict.fromkeys(range(-900, 1000, 3), 10**6)])
def test_the_histogram_takes_any_amount(counts: dict[int, int]) -> None:
    bars = tool_charts.duration_bars({"success": pack(counts)})
    figure = drawn(tool_charts.duration_histogram(bars, ["success"]))
    assert sum(sum(trace.y) for trace in figure.data) == sum(counts.values())


def test_a_duration_stands_in_the_bar_that_holds_it() -> None:
    # Bucket 0 holds the durations above a second, up to 1.02 s.
    [bar] = tool_charts.duration_bars({"success": pack({0: 3}), "failure": pack({0: 1, 7: 1})})
    assert (bar.from_ns, round(bar.to_ns / 1e9, 3), bar.calls) == (1e9, 1.189, {"success": 3, "failure": 2})
    [nothing] = tool_charts.duration_bars({"success": pack({-958: 1})})
    assert 0 < nothing.from_ns < nothing.to_ns < 2


def test_bars_stack_to_the_number_of_calls() -> None:
    question = hour()
    figure = drawn(time_charts.outcomes(buckets(question, 5), question, axis(question)))
    assert sum(value or 0 for trace in figure.data for value in trace.y) == 5 * SOME.calls
    failures = drawn(time_charts.failures(buckets(question, 5), question, axis(question)))
    assert sum(value or 0 for trace in failures.data for value in trace.y) == 5 * SOME.failure


def test_lines_have_gaps_where_there_is_nothing() -> None:
    question = hour()
    [first, last] = buckets(question, 61)[::60]
    figure = drawn(time_charts.failing_and_empty([first, last], question, axis(question)))
    for trace in figure.data:
        assert [i for i, value in enumerate(trace.y) if value is not None] == [0, 60]
        assert trace.connectgaps is False


def test_the_running_bucket_is_marked_only_if_it_is_in_the_range() -> None:
    live = drawn(time_charts.outcomes([], hour(), axis(hour())))
    assert [note.text for note in live.layout.annotations] == ["partial ▾"]
    past = parse([("from", "-2d"), ("to", "-1d")], NOW_NS)
    assert not drawn(time_charts.outcomes([], past, axis(past))).layout.annotations


@pytest.mark.parametrize(("most", "step"), [(0, 1), (1, 1), (5, 1), (6, 2), (10, 2), (23, 5), (51, 20), (999, 200), (10**6, 200_000)])
def test_counts_have_few_ticks_and_never_half_a_call(most: int, step: int) -> None:
    made = charts.counts(most)["dtick"]
    assert made == step
    assert most / made <= 5


def test_the_mix_shows_the_tools_with_most_failures_and_folds_the_rest() -> None:
    figure = drawn(tool_charts.failure_mix(tools(3000), hour()))
    labels = figure.layout.yaxis.ticktext
    assert labels[0] == "tool_2999"
    assert labels[-1] == "other (2,989 names)"
    assert sum(sum(trace.x) for trace in figure.data) == sum(range(3000))


def test_in_shares_every_bar_of_the_mix_is_as_long() -> None:
    some = [ToolTally("s", name, Tally(failure=n, transient=n - 1, business=1)) for name, n in (("a", 2), ("b", 50))]
    figure = drawn(tool_charts.failure_mix(some, hour(), share=True))
    assert [sum(values) for values in zip(*(trace.x for trace in figure.data), strict=True)] == pytest.approx([1, 1])


def test_the_mix_keeps_equal_names_of_two_servers_apart() -> None:
    both = [ToolTally(server, "search", Tally(calls=2, failure=2, transient=2)) for server in ("a", "b")]
    assert len(set(drawn(tool_charts.failure_mix(both, hour())).layout.yaxis.ticktext)) == 2
    assert drawn(tool_charts.failure_mix([], hour())).data == ()


def test_a_tool_of_which_too_little_is_known_is_no_dot() -> None:
    known = Tally(calls=40, completed=40, known=20, empty=10, failure=4)
    shown = [ToolTally("s", "a", known), ToolTally("s", "b", Tally(calls=40, completed=40, known=19, empty=10)), *tools(1)]
    figure = drawn(tool_charts.failing_against_empty(shown, hour()))
    assert (figure.data[0].x, figure.data[0].y) == ((0.1,), (0.5,))


def test_duration_ticks_have_their_unit() -> None:
    question = hour()
    figure = drawn(time_charts.durations(buckets(question, 3), question, axis(question)))
    assert figure.layout.yaxis.ticktext
    assert all(text.endswith((" ns", " µs", " ms", " s")) for text in figure.layout.yaxis.ticktext)


def test_a_threshold_is_a_line_with_its_name() -> None:
    question = hour()
    figure = time_charts.failing_and_empty([], question, axis(question))
    charts.threshold(figure, 0.1, "10 % of attempts")
    assert drawn(figure).layout.shapes[-1].y0 == 0.1
    assert drawn(figure).layout.annotations[-1].text == "10 % of attempts"
