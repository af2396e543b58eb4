"""What the worker's metrics say at a moment: totals of calls and retries since it started, and what waits, fires and failed just now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.alert_counts import MINUTE_NS, RETRY_SUMS, AlertCounts
from collector.alert_store import AlertStore
from collector.core.totals import Count, Place, Totals
from collector.metric_store import MetricStore, RuleEvaluated, Waiting
from collector.series import Series
from schemas.alerting import Alert
from schemas.rollups import DAY_NS, SECOND_NS, Piece, cover

# What is looked at anew each time: what changes in minutes that are older is not counted any more. Wide buckets begin here.
WIDE_NS = 7_200 * SECOND_NS
# An operation whose last attempt failed may still be retried: operations are counted once they are so old.
OPERATIONS_AFTER_NS = 2 * MINUTE_NS

_ATTEMPTS, _, _RETRIES, _WASTED, _FAILED_LAST, _HEADLESS = range(len(RETRY_SUMS))


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found in the database at a moment."""

    at_ns: int
    spans: Mapping[str, int]
    traces: Waiting
    minutes: Waiting
    rules: Sequence[RuleEvaluated]
    alerts: Sequence[Alert]
    deliveries: Mapping[str, Waiting]


class Measuring:
    """Looks at the database every now and then. `totals` names the tools that were called most in the day before it started."""

    def __init__(self, counts: AlertCounts, alerts: AlertStore, store: MetricStore, most_tools: int) -> None:
        self.totals = Totals(most_tools)
        self._counts = counts
        self._alerts = alerts
        self._store = store
        self._series: dict[int, Series] = {}
        self._from_ns: int | None = None

    def look(self, now_ns: int) -> Measured:
        """Bring the totals up to a moment, and say what is so then. Raises SQLAlchemyError: then the totals are as they were."""
        for series in self._counts.series_after(max(self._series, default=0)):
            self._series[series.id] = series
        to_ns = now_ns - now_ns % MINUTE_NS + MINUTE_NS
        live_ns = now_ns - WIDE_NS
        live_ns -= live_ns % WIDE_NS
        if self._from_ns is None:
            self.totals.name(self._busiest(to_ns))
            closed: dict[Count, int] = {}
        else:
            closed = self._found(self._from_ns, live_ns, live_ns)
        live = self._found(live_ns, to_ns, max(live_ns, to_ns - MINUTE_NS - OPERATIONS_AFTER_NS))
        self.totals.look(closed, live)
        self._from_ns = live_ns
        traces, minutes = self._store.pending()
        return Measured(
            *(now_ns, self._store.spans(), traces, minutes, self._store.rules(), self._alerts.open_alerts(), self._store.deliveries())
        )

    def _busiest(self, to_ns: int) -> list[Place]:
        """The places that had calls in the last day, those with the most first."""
        attempts: dict[Place, int] = {}
        for series_id, *sums in self._counts.retry_sums(cover(_up_to_quarter(to_ns - DAY_NS), to_ns)):
            place = _place(self._series.get(series_id))
            if place is not None:
                attempts[place] = attempts.get(place, 0) + sums[_ATTEMPTS]
        return sorted(attempts, key=lambda place: (-attempts[place], place))

    def _found(self, from_ns: int, to_ns: int, operations_to_ns: int) -> dict[Count, int]:
        """Everything that is counted from one time to another; operations up to a time of their own."""
        found: dict[Count, int] = {}

        def add(series: Series | None, measure: str, word: str, value: int) -> None:
            place = _place(series)
            if place is not None and value:
                count = Count(place, measure, word)
                found[count] = found.get(count, 0) + value

        for series_id, calls in self._counts.call_sums(cover(from_ns, to_ns)):
            series = self._series.get(series_id)
            if series is not None:
                add(series, "calls", series.outcome, calls)
                if series.category:
                    add(series, "failures", series.category, calls)
                if series.emptiness:
                    add(series, "results", series.emptiness, calls)
        early, late = cover(from_ns, operations_to_ns), cover(operations_to_ns, to_ns)
        for pieces, whole in ((early, True), (late, False)):
            for series_id, *sums in self._retried(pieces):
                series = self._series.get(series_id)
                add(series, "retries", "", sums[_RETRIES])
                add(series, "wasted_retries", "", sums[_WASTED])
                if whole:
                    operations = sums[_ATTEMPTS] - sums[_RETRIES] + sums[_HEADLESS]
                    add(series, "operations", "failed", sums[_FAILED_LAST])
                    add(series, "operations", "succeeded", max(0, operations - sums[_FAILED_LAST]))
        return found

    def _retried(self, pieces: Sequence[Piece]) -> list[tuple[int, ...]]:
        return self._counts.retry_sums(pieces) if pieces else []


def _place(series: Series | None) -> Place | None:
    return None if series is None else Place(series.environment, series.server, series.tool)


def _up_to_quarter(ns: int) -> int:
    # Minutes of a day ago are as many rows as all quarters since.
    return ns + -ns % (900 * SECOND_NS)
