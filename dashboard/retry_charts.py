"""Charts of retries: how much of the traffic they are against both budget lines, amplification, the pauses before them. Pure."""

from collections.abc import Callable, Sequence

from dashboard.charts import SHARES, Figure, over_time, threshold
from dashboard.filters import Filter
from dashboard.retry_queries import RetryBucket
from dashboard.retrying import Retries
from dashboard.tally import Ratio
from dashboard.time_axis import Axis
from dashboard.time_charts import line, share_line
from dashboard.tool_charts import DurationBar, duration_bars, duration_histogram

# Retries may be so much of all attempts (R1), and so many an operation (R2).
ATTEMPT_BUDGET, OPERATION_BUDGET = 0.1, 0.2


def shares(buckets: Sequence[RetryBucket], width_ns: int, starts: Sequence[int], of: Callable[[Retries], Ratio]) -> list[Ratio]:
    """A ratio of each stretch of a width that is a multiple of the buckets', by their starts; 0 of 0 where nothing began."""
    sums: dict[int, Ratio] = {}
    for bucket in buckets:
        start, ratio = bucket.bucket_ns - bucket.bucket_ns % width_ns, of(bucket.retries)
        so_far = sums.get(start, Ratio(0, 0))
        sums[start] = Ratio(so_far.part + ratio.part, so_far.whole + ratio.whole)
    return [sums.get(start, Ratio(0, 0)) for start in starts]


def on_axis(buckets: Sequence[RetryBucket], axis: Axis, of: Callable[[Retries], Ratio]) -> list[Ratio]:
    """A ratio for each slot of an axis."""
    return shares(buckets, axis.width_ns, [slot.bucket_ns for slot in axis.slots], of)


def retry_ratio(buckets: Sequence[RetryBucket], question: Filter, axis: Axis) -> Figure:
    """Retries of attempts and retries an operation, each with its budget line."""
    ratio = on_axis(buckets, axis, lambda retries: retries.retry_ratio)
    per_operation = on_axis(buckets, axis, lambda retries: retries.retries_per_operation)
    lines = [
        share_line("retries of attempts", "var(--bad)", "solid", ratio),
        share_line("retries per operation", "var(--kind-partial)", "dash", per_operation),
    ]
    figure = over_time(lines, question, axis, SHARES)
    threshold(figure, ATTEMPT_BUDGET, "budget: 10 % of attempts")
    threshold(figure, OPERATION_BUDGET, "budget: 20 % of operations")
    return figure


def amplification(buckets: Sequence[RetryBucket], question: Filter, axis: Axis) -> Figure:
    """Attempts an operation by time: 1 where nothing is retried."""
    ratios = on_axis(buckets, axis, lambda retries: retries.amplification)
    said = [f"{ratio.part:,} attempts, {ratio.whole:,} operations" if ratio.whole else "" for ratio in ratios]
    drawn = line("attempts an operation", "var(--accent)", "solid", [ratio.value for ratio in ratios], said, "%{y:.2f} · %{customdata}")
    return over_time([drawn], question, axis, {"tickformat": ".2f", "nticks": 5})


def gap_bars(retries: Retries) -> tuple[DurationBar, ...]:
    """The pauses between the end of an attempt and the start of its retry."""
    return duration_bars({"retries": retries.gaps.packed})


def gap_histogram(bars: Sequence[DurationBar]) -> Figure:
    """How long agents wait before they try again, on a logarithmic axis."""
    figure = duration_histogram(bars, ["retries"])
    for trace in figure["data"]:
        trace["marker"]["color"] = "var(--accent)"
        trace["hovertemplate"] = "%{y:,} retries came after %{customdata}<extra></extra>"
    return figure
