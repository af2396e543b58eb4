"""What `/metrics` says, as families of Prometheus: pure functions of records; docs/alerting.md lists the names."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from collector.core.totals import Totals
from collector.work.measuring import Measured
from schemas.alerting import FIRING, SECOND_NS, SEVERITIES
from schemas.calls import CATEGORIES, EMPTINESS, OUTCOMES

PLACE = ("environment", "server", "tool")
# What is counted of each tool: measure, help, the name of its word, and the words.
TOTALS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("calls", "Calls (attempts) by outcome, since this worker started.", "outcome", OUTCOMES),
    ("failures", "Calls that failed, by category of the failure.", "category", CATEGORIES),
    ("results", "Calls that succeeded, by what their result holds.", "emptiness", EMPTINESS),
    ("retries", "Calls that are retries of a failed call.", "", ("",)),
    ("wasted_retries", "Retries after a failure that no retry mends.", "", ("",)),
    (
        "operations",
        "Operations (a call with its retries) by how they ended, two minutes after they began.",
        "outcome",
        ("succeeded", "failed"),
    ),
)
SPANS = {
    "received_spans": "Spans that were received, of every kind.",
    "tool_spans": "Tool spans that were stored.",
    "ignored_spans": "Spans that are no tool spans.",
    "refused_spans": "Spans that were refused.",
    "duplicate_spans": "Copies of tool spans that were stored already.",
    "conflicting_spans": "Tool spans that came twice and differ.",
}
# Alerts that are named one by one, the most urgent first; all are in the counts.
MOST_ALERTS = 500


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker has done since it started."""

    turned_s_ago: float
    settled_traces: int
    evaluations: int
    evaluation_seconds: float
    attempts: Mapping[tuple[str, str], int]
    """Attempts to send, by channel and result (`sent`, `failed`, `given_up`)."""


@dataclass(frozen=True, slots=True)
class Received:
    """What a collector has done since it started, and what it has in work."""

    spans: int
    requests: int
    commits: int
    commit_seconds: float
    failures: Mapping[str, int]
    """Requests that were answered with a failure, by its kind."""
    ignored: Mapping[str, int]
    """Requests of other signals."""
    waiting_requests: int
    work_bytes: int
    work_bytes_limit: int


def of_calls(totals: Totals) -> Iterator[Metric]:
    """Calls, failures, results, retries and operations of each tool that has a name, and of all others together."""
    places = totals.places()
    for measure, says, word_name, words in TOTALS:
        family = CounterMetricFamily(f"toolvitals_{measure}", says, labels=[*PLACE, word_name] if word_name else PLACE)
        for place in places:
            for word in words:
                family.add_metric([*place, word] if word_name else place, totals.of(place, measure, word))
        yield family


def of_database(measured: Measured) -> Iterator[Metric]:
    """What the database says of the intake, of work that waits, of alerts and of deliveries."""
    for name, says in SPANS.items():
        yield CounterMetricFamily(f"toolvitals_{name}", f"{says} Since the database was made.", value=measured.spans.get(name, 0))
    yield GaugeMetricFamily("toolvitals_pending_traces", "Traces that are to be settled.", value=measured.traces.number)
    yield GaugeMetricFamily(
        "toolvitals_pending_buckets", "Minutes (buckets of calls) that are to be counted.", value=measured.minutes.number
    )
    lag_s = _age_s(min((one for one in (measured.traces.since_ns, measured.minutes.since_ns) if one is not None), default=None), measured)
    yield GaugeMetricFamily("toolvitals_settle_lag_seconds", "How long what waits longest has waited to be understood.", value=lag_s)
    yield from _of_alerts(measured)
    waiting = GaugeMetricFamily("toolvitals_deliveries_waiting", "Deliveries that are still to be sent.", labels=["channel"])
    oldest = GaugeMetricFamily("toolvitals_delivery_lag_seconds", "How long the oldest of them has waited.", labels=["channel"])
    for channel, one in sorted(measured.deliveries.items()):
        waiting.add_metric([channel], one.number)
        oldest.add_metric([channel], _age_s(one.since_ns, measured))
    yield from (waiting, oldest)
    yield GaugeMetricFamily("toolvitals_measured_timestamp_seconds", "When the database was looked at.", value=measured.at_ns / SECOND_NS)


def _of_alerts(measured: Measured) -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "toolvitals_alerts", "Alerts that are open, by rule; muted ones are not told.", labels=["rule", "severity", "state", "muted"]
    )
    counted: dict[tuple[str, str, str, str], int] = {}
    for alert in measured.alerts:
        key = (alert.rule, alert.severity, alert.state, "true" if alert.muted_by else "false")
        counted[key] = counted.get(key, 0) + 1
    for key, number in sorted(counted.items()):
        states.add_metric(key, number)
    yield states
    named = GaugeMetricFamily(
        "toolvitals_alert_firing",
        f"1 for each alert that fires and is not muted, {MOST_ALERTS} at most.",
        labels=["rule", "severity", "class", "server", "tool"],
    )
    firing = [alert for alert in measured.alerts if alert.state == FIRING and not alert.muted_by]
    seen: set[tuple[str, ...]] = set()
    for alert in sorted(firing, key=lambda one: (-SEVERITIES.index(one.severity), one.fired_ns or 0, one.id)):
        labels = (alert.rule, alert.severity, alert.class_, alert.label("server") or "", alert.label("tool") or "")
        if len(seen) < MOST_ALERTS and labels not in seen:
            seen.add(labels)
            named.add_metric(labels, 1)
    yield named
    evaluated = GaugeMetricFamily("toolvitals_rule_evaluated_timestamp_seconds", "When a rule was evaluated last.", labels=["rule"])
    failed = GaugeMetricFamily("toolvitals_rule_failed", "1 if a rule could not be evaluated the last time.", labels=["rule"])
    for rule in measured.rules:
        evaluated.add_metric([rule.name], rule.evaluated_ns / SECOND_NS)
        failed.add_metric([rule.name], int(rule.failed))
    yield from (evaluated, failed)


def of_work(work: Work) -> Iterator[Metric]:
    """What this worker has done."""
    yield GaugeMetricFamily("toolvitals_worker_turned_seconds", "How long ago the worker's loop turned last.", value=work.turned_s_ago)
    yield CounterMetricFamily("toolvitals_settled_traces", "Traces that this worker settled.", value=work.settled_traces)
    yield SummaryMetricFamily(
        *("toolvitals_evaluation_seconds", "Evaluations of all alert rules by this worker."),
        count_value=work.evaluations,
        sum_value=work.evaluation_seconds,
    )
    attempts = CounterMetricFamily(
        "toolvitals_delivery_attempts", "Attempts of this worker to tell a channel, by what came of them.", labels=["channel", "result"]
    )
    for (channel, result), number in sorted(work.attempts.items()):
        attempts.add_metric([channel, result], number)
    yield attempts


def of_collector(received: Received) -> Iterator[Metric]:
    """What this collector took, refused and has in work."""
    yield CounterMetricFamily("toolvitals_collector_spans", "Spans of every kind in requests that were stored.", value=received.spans)
    yield CounterMetricFamily("toolvitals_collector_requests", "Requests of spans that were stored.", value=received.requests)
    yield SummaryMetricFamily(
        "toolvitals_collector_commit_seconds",
        "Transactions that stored requests.",
        count_value=received.commits,
        sum_value=received.commit_seconds,
    )
    failures = CounterMetricFamily(
        "toolvitals_collector_failed_requests", "Requests that were answered with a failure, by its kind.", labels=["failure"]
    )
    for kind, number in sorted(received.failures.items()):
        failures.add_metric([kind], number)
    ignored = CounterMetricFamily("toolvitals_collector_ignored_requests", "Requests of other signals.", labels=["signal"])
    for signal, number in sorted(received.ignored.items()):
        ignored.add_metric([signal], number)
    yield from (failures, ignored)
    yield GaugeMetricFamily(
        "toolvitals_collector_waiting_requests", "Requests that wait for their transaction.", value=received.waiting_requests
    )
    yield GaugeMetricFamily("toolvitals_collector_work_bytes", "Bytes of requests in work.", value=received.work_bytes)
    yield GaugeMetricFamily(
        *("toolvitals_collector_work_limit_bytes", "Beyond so many bytes in work exporters are asked to send again later."),
        value=received.work_bytes_limit,
    )


class _Families(Collector):
    """Families that are made when they are asked for."""

    def __init__(self, make: Callable[[], Iterable[Metric]]) -> None:
        self._make = make

    def collect(self) -> Iterable[Metric]:
        return self._make()

    def describe(self) -> Iterable[Metric]:
        # Nothing is made at registration.
        return ()


class Exposition:
    """A registry of its own, with families that are made for each scrape, and what the process itself uses."""

    def __init__(self, make: Callable[[], Iterable[Metric]]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Families(make))
        ProcessCollector(registry=self._registry)

    def answer(self, accept: str) -> tuple[bytes, str]:
        """The body of a scrape and its content type, in the newest form that is accepted."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


def _age_s(since_ns: int | None, measured: Measured) -> float:
    return 0.0 if since_ns is None else max(0, measured.at_ns - since_ns) / SECOND_NS
