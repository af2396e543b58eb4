"""Charts over time: outcomes, failures by category, failing against empty, durations. Records to Plotly figures, pure."""

import math
from collections.abc import Callable, Sequence
from urllib.parse import urlencode

from dashboard import kinds, words
from dashboard.charts import SHARES, Figure, counts, over_time
from dashboard.filters import Filter
from dashboard.queries import Bucket
from dashboard.tally import Ratio, Tally
from dashboard.time_axis import Axis


def outcomes(buckets: Sequence[Bucket], question: Filter, axis: Axis) -> Figure:
    """All calls by kind, stacked; the sum of all bars is the number of calls."""
    return _stack(buckets, question, axis, kinds.ALL)


def failures(buckets: Sequence[Bucket], question: Filter, axis: Axis) -> Figure:
    """Failures by category, stacked, on an axis of their own: among thousands of successes they would not show."""
    return _stack(buckets, question, axis, kinds.FAILED)


def _stack(buckets: Sequence[Bucket], question: Filter, axis: Axis, drawn: Sequence[kinds.Kind]) -> Figure:
    placed = axis.placed(buckets)
    bars = [
        {
            "type": "bar",
            "name": kind.label,
            # Nothing is drawn, and nothing said on hover, where there is nothing.
            "y": [(kind.of(bucket.tally) or None) if bucket else None for bucket in placed],
            "marker": {"color": kind.colour, "line": {"width": 0}},
            "hovertemplate": "%{y:,}",
            "meta": {"query": urlencode(kind.filters)},
        }
        for kind in drawn
        if any(kind.of(bucket.tally) for bucket in buckets)
    ]
    most = max((sum(kind.of(bucket.tally) for kind in drawn) for bucket in buckets), default=0)
    figure = over_time(bars, question, axis, counts(most))
    figure["layout"]["barmode"] = "stack"
    return figure


def failing_and_empty(buckets: Sequence[Bucket], question: Filter, axis: Axis) -> Figure:
    """Failure share and known-empty share by time, with gaps where there is nothing to divide by."""
    tallies = [bucket.tally if bucket else Tally() for bucket in axis.placed(buckets)]
    lines = [
        share_line("failure share", "var(--bad)", "solid", [tally.failure_ratio for tally in tallies]),
        share_line("known-empty share", "var(--kind-empty)", "dash", [tally.empty_ratio for tally in tallies]),
    ]
    return over_time(lines, question, axis, SHARES)


def durations(buckets: Sequence[Bucket], question: Filter, axis: Axis) -> Figure:
    """Median, 95th percentile and longest duration by time, in seconds, on a logarithmic axis; gaps where too few are known."""
    placed = axis.placed(buckets)

    def of(name: str, colour: str, dash: str, get: Callable[[Bucket], float | None]) -> Figure:
        values = [get(bucket) if bucket else None for bucket in placed]
        # A logarithmic axis has no place for 0: a microsecond stands for less.
        seconds = [None if value is None else max(value, 1000) / 1e9 for value in values]
        return line(name, colour, dash, seconds, [words.duration(value) for value in values], "%{customdata}")

    lines = [
        of("p50", "var(--accent)", "solid", lambda bucket: bucket.times.p50_ns),
        of("p95", "var(--kind-partial)", "dash", lambda bucket: bucket.times.p95_ns),
        of("longest", "var(--muted)", "dot", lambda bucket: bucket.tally.max_ns),
    ]
    known = [value for one in lines for value in one["y"] if value is not None]
    return over_time(lines, question, axis, duration_axis(min(known, default=1.0), max(known, default=1.0)))


def duration_axis(least_s: float, most_s: float) -> dict[str, object]:
    """A logarithmic axis of seconds whose few labels are whole numbers of a unit."""
    # Powers of ten, and between them a 3 where the range is short.
    powers = range(math.floor(math.log10(least_s)), math.ceil(math.log10(most_s)) + 1)
    steps = (1, 3) if len(powers) <= 4 else (1,)
    ticks = [float(f"{step}e{power}") for power in powers for step in steps]
    return {"type": "log", "tickmode": "array", "tickvals": ticks, "ticktext": [words.duration(tick * 1e9) for tick in ticks]}


def line(name: str, colour: str, dash: str, values: Sequence[float | None], said: Sequence[str], hover: str) -> Figure:
    """A line with a value for each slot, gaps where there is none, and what a hover says of each."""
    return {
        "type": "scatter",
        "name": name,
        "y": list(values),
        "mode": "lines+markers",
        "line": {"color": colour, "dash": dash, "width": 2, "shape": "linear"},
        "marker": {"size": 4},
        "connectgaps": False,
        "customdata": list(said),
        "hovertemplate": hover,
    }


def share_line(name: str, colour: str, dash: str, ratios: Sequence[Ratio]) -> Figure:
    """A line of shares with their counts; a gap for 0 of 0."""
    said = [f"{ratio.part:,} of {ratio.whole:,}" if ratio.whole else "" for ratio in ratios]
    return line(name, colour, dash, [ratio.value for ratio in ratios], said, "%{y:.1%} · %{customdata}")
