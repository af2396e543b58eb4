"""The chart of how often calls come back empty, fail, or cannot be told, over time. Records to Plotly figures, pure."""

from collections.abc import Sequence

from dashboard import words
from dashboard.charts import SHARES, Figure, over_time
from dashboard.filters import Filter
from dashboard.queries import Bucket
from dashboard.tally import Ratio, Tally
from dashboard.time_axis import Axis
from dashboard.time_charts import line


def shares(buckets: Sequence[Bucket], question: Filter, axis: Axis) -> Figure:
    """Known-empty, failure and unknown share by time, each with its 95 % interval (Wilson); gaps where there is nothing to divide by."""
    tallies = [bucket.tally if bucket else Tally() for bucket in axis.placed(buckets)]
    lines = [
        _with_interval("known-empty share", "var(--kind-empty)", "dash", [tally.empty_ratio for tally in tallies]),
        _with_interval("failure share", "var(--bad)", "solid", [tally.failure_ratio for tally in tallies]),
        _with_interval("unknown share", "var(--muted)", "dot", [tally.unknown_ratio for tally in tallies]),
    ]
    return over_time(lines, question, axis, SHARES)


def _with_interval(name: str, colour: str, dash: str, ratios: Sequence[Ratio]) -> Figure:
    drawn = line(name, colour, dash, [ratio.value for ratio in ratios], [said(ratio) for ratio in ratios], "%{customdata}")
    ends = [(ratio.interval, ratio.value) for ratio in ratios]
    drawn["error_y"] = {
        "type": "data",
        "symmetric": False,
        "array": [interval[1] - value if interval and value is not None else None for interval, value in ends],
        "arrayminus": [value - interval[0] if interval and value is not None else None for interval, value in ends],
        "color": colour,
        "thickness": 1,
        "width": 2,
    }
    return drawn


def said(ratio: Ratio) -> str:
    """A share with its counts and its interval; '' for 0 of 0."""
    if ratio.interval is None:
        return ""
    low, high = ratio.interval
    return f"{words.percent(ratio.value)} · {ratio.part:,} of {ratio.whole:,} · {words.percent(low)} to {words.percent(high)}"
