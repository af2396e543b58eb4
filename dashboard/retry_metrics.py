"""The one place that says what each number of retries is: its formula, unit and wording (docs/metrics.md is held against it). Pure."""

from typing import Any, NamedTuple

from dashboard.retrying import Retries
from dashboard.tally import Ratio


class Metric(NamedTuple):
    """A number: its id, its key in JSON (of a ratio the name of the property of Retries too), what it is called, and how it is made."""

    id: str
    key: str
    name: str
    formula: str
    unit: str
    says: str


OF_ATTEMPTS, OF_OPERATIONS, OF_RETRIES = "share of attempts", "share of operations", "share of retries"
METRICS = (
    Metric(
        "R1", "retry_ratio", "retry ratio", "retries / attempts", OF_ATTEMPTS, "How much of the traffic is retries; the budget is 10 %."
    ),
    Metric(
        *("R2", "retries_per_operation", "retries per operation", "retries / operations", "retries an operation"),
        "The same seen from what was asked for; the second budget line is 0.2.",
    ),
    Metric(
        *("R3", "amplification", "amplification", "attempts / operations", "attempts an operation"),
        "What one request costs the tool; 1 without retries.",
    ),
    Metric(
        *("R4", "attempt_success", "attempt success", "attempts that did not fail / attempts", OF_ATTEMPTS),
        "How calls went, one by one.",
    ),
    Metric(
        *("R5", "operation_success", "operation success", "closed operations whose last attempt did not fail / closed operations"),
        *(OF_OPERATIONS, "What the user got in the end."),
    ),
    Metric(
        *("R6", "retry_success_per_attempt", "retry success per attempt", "retries that did not fail / retries", OF_RETRIES),
        "How often trying once more helps.",
    ),
    Metric(
        *("R7", "first_retry_success", "first-retry success"),
        *("operations whose second attempt did not fail / operations of two attempts or more", OF_OPERATIONS),
        "How often the first retry is enough.",
    ),
    Metric(
        *("R8", "retry_success_rate", "retry success rate"),
        "closed operations that failed first, were retried and ended without failure / "
        "closed operations that failed first and were retried",
        *(OF_OPERATIONS, "The headline: what retrying achieves."),
    ),
    Metric(
        *("R9", "recovery_all", "recovery"),
        "closed operations that failed first, were retried and ended without failure / closed operations that failed first",
        *(OF_OPERATIONS, "What of all first failures is made good."),
    ),
    Metric(
        *("R10", "wasted_retry_ratio", "wasted retries", "retries after a failure that is not retryable / retries", OF_RETRIES),
        "Retries that could be known to be useless.",
    ),
    Metric(
        *("R11", "mislabelled_ratio", "mislabelled", "wasted retries that did not fail / wasted retries", "share of wasted retries"),
        "Failures that are called not retryable, and are.",
    ),
    Metric(
        *("R12", "futile_retry_ratio", "futile retries", "retries of closed operations all of whose attempts failed / retries", OF_RETRIES),
        "Retries that were of no use in the end.",
    ),
    Metric(
        *("R13", "early_retry_ratio", "early retries"),
        "retries that start before the time that the failure asked for, or less than 100 ms after its end / retries",
        *(OF_RETRIES, "Retries that give nothing the time to mend; one can be both."),
    ),
    Metric(
        *("R14", "missed_retry_ratio", "missed retries"),
        "closed operations of one attempt that failed retryable and whose session (trace, if it has none) has a call that starts after "
        "they closed / operations whose first attempt failed retryable",
        *(OF_OPERATIONS, "Failures that a retry might have made good."),
    ),
    Metric(
        *("R15", "exhausted_ratio", "exhausted"),
        "closed operations that failed first and in the last of three attempts or more / closed operations that failed first",
        *(OF_OPERATIONS, "Where retrying was given up."),
    ),
    Metric(
        *("R16", "time_to_recovery_p50_s", "time to recovery, median"),
        "median of the time from the end of the first failure to the end of the first attempt that did not fail, over recovered operations",
        *("seconds", "How long a user waits for a retry to help."),
    ),
    Metric("R16", "time_to_recovery_p90_s", "time to recovery, 90 %", "the same, 90th percentile", "seconds", "How long one in ten waits."),
    Metric(
        *("R17", "wasted_time_s", "wasted time", "sum of the durations of retries that are wasted or futile, each once", "seconds"),
        "What useless retries cost.",
    ),
    Metric(
        *("R18", "backoff_p50_s", "backoff, median gap", "median of the time from the end of an attempt to the start of its retry"),
        *("seconds", "How long clients wait before they try again."),
    ),
    Metric(
        *("R18", "backoff_growth", "backoff growth", "median of second gap / first gap, over operations of three attempts or more"),
        *("times", "About 1: no backoff; about 2: exponential backoff."),
    ),
    Metric(
        *("R19", "synchrony", "synchrony"),
        "variance / mean of the numbers of retries in single seconds, over the busiest five minutes (from a full multiple of five "
        "minutes) of the latest 5,000 retries in the range",
        *(
            "times",
            "About 1: retries come by chance; above 3 with 30 retries or more (`synchrony_retries`): they come together, no jitter.",
        ),
    ),
    Metric(
        *("", "repair_success", "repair success", "repairs that did not fail / repairs", "share of repairs"),
        "A call with other arguments after `validation` failed is a repair, not a retry: how often it helps.",
    ),
)
# Those that have a part and a whole.
RATIOS = tuple(one.key for one in METRICS if isinstance(getattr(Retries(), one.key, None), Ratio))


def record(retries: Retries) -> dict[str, Any]:
    """As JSON: every number by its key, null where its whole is 0, and in `of` the part and the whole of each ratio."""
    ratios: dict[str, Ratio] = {name: getattr(retries, name) for name in RATIOS}
    half, most = retries.recoveries.quantiles(50, 90)
    return {
        "attempts": retries.attempts,
        "operations": retries.operations,
        "open_operations": retries.open_operations,
        "retries": retries.retries,
        **{name: ratio.value for name, ratio in ratios.items()},
        "time_to_recovery_p50_s": half,
        "time_to_recovery_p90_s": most,
        "wasted_time_s": retries.wasted_time_s,
        "backoff_p50_s": retries.gaps.quantiles(50)[0],
        "backoff_growth": retries.growths.quantiles(50)[0],
        "synchrony": None if retries.synchrony is None else retries.synchrony.ratio,
        "synchrony_retries": 0 if retries.synchrony is None else retries.synchrony.retries,
        "repairs": retries.counts.repairs,
        "retries_by_strength": retries.retries_by_strength,
        "early_retries": retries.counts.early,
        "hot_retries": retries.counts.hot,
        "recovered": retries.recovered,
        "exhausted": retries.exhausted,
        "abandoned": retries.abandoned,
        "missed": retries.missed,
        "of": {name: [ratio.part, ratio.whole] for name, ratio in ratios.items()},
        "funnel": [one._asdict() for one in retries.funnel],
    }
