"""The counts that one evaluation of alerting looks at: windows that end now, of every tool, each read no more often than it changes."""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

import numpy as np

from collector.alert_counts import MINUTE_NS, RETRY_SUMS, AlertCounts
from collector.core.ratios import Kind, Sums
from collector.core.stats import dispersion
from collector.core.storms import Baseline
from collector.series import Series
from schemas.rollups import SECOND_NS, Piece, cover

Tool = tuple[str, str]
Found = TypeVar("Found")

DAY_S = 86_400
# A window is read again after the twentieth part of it, a quarter of an hour at most.
FRESH_PART, FRESH_MOST_S = 20, 900
# Where a window may begin: the longer it is, the less it matters, and the fewer rows it has.
BEGINS_S = ((3 * DAY_S, 7_200), (21_600, 900), (0, 60))
FIVE_MINUTES_S = 300


class Retried(NamedTuple):
    """Sums over the attempts and operations of a tool, in the order of RETRY_SUMS."""

    attempts: int = 0
    failures: int = 0
    retries: int = 0
    wasted: int = 0
    failed_last: int = 0
    headless: int = 0

    @property
    def operations(self) -> int:
        """How many operations begin here; one whose first attempt was not received begins with the first that was."""
        return self.attempts - self.retries + self.headless

    def plus(self, other: tuple[int, ...]) -> "Retried":
        """Both together."""
        return Retried(*(one + more for one, more in zip(self, other, strict=True)))


NOTHING = Retried()


class Counts:
    """Measures of every tool at one moment after the other; `at` says when.

    `replaying` looks at the past as it was then: of the minute that ran, it takes as much of the calls as it had gone by.
    """

    def __init__(self, store: AlertCounts, environments: Iterable[str] = ("*",), *, replaying: bool = False) -> None:
        self.store = store
        self.now_ns = 0
        self._environments = tuple(environments)
        self._replaying = replaying
        self._series: dict[int, Series] = {}
        self._of_tool: dict[Tool, list[int]] = {}
        self._last_series = 0
        self._kept: dict[object, tuple[int, int, object]] = {}

    def at(self, now_ns: int) -> None:
        """From now on everything is as of this moment."""
        self.now_ns = now_ns
        for series in self.store.series_after(self._last_series):
            self._last_series = series.id
            if any(fnmatchcase(series.environment, pattern) for pattern in self._environments):
                self._series[series.id] = series
                self._of_tool.setdefault((series.server, series.tool), []).append(series.id)
        self._kept = {key: kept for key, kept in self._kept.items() if kept[0] <= now_ns < kept[1]}

    def begin_ns(self, window_s: int, ago_s: int = 0) -> int:
        """When a window begins: so long before the end of the running minute, by whole minutes or more."""
        grid_ns = next(width for least, width in BEGINS_S if max(window_s, ago_s) >= least) * SECOND_NS
        begin = self.now_ns - self.now_ns % MINUTE_NS + MINUTE_NS - (window_s + ago_s) * SECOND_NS
        return begin - begin % grid_ns

    def seconds(self, window_s: int) -> float:
        """How long a window that ends now is."""
        return (self.now_ns - self.begin_ns(window_s)) / SECOND_NS

    def retried(self, window_s: int, ago_s: int = 0) -> Mapping[Tool, Retried]:
        """Attempts, retries and operations of every tool in a window that ended so long ago."""

        def read() -> dict[Tool, Retried]:
            sums: dict[Tool, Retried] = {}
            for series_id, counts in self._ranged(self.store.retry_sums, len(RETRY_SUMS), window_s, ago_s).items():
                series = self._series.get(series_id)
                if series is not None:
                    tool = (series.server, series.tool)
                    sums[tool] = sums.get(tool, NOTHING).plus(counts)
            return sums

        return self._fresh(("retried", window_s, ago_s), max(window_s, ago_s), read)

    def calls(self, window_s: int, ago_s: int = 0) -> Sums:
        """Calls of every tool by kind, in a window that ended so long ago."""

        def read() -> Sums:
            tools: dict[Tool, int] = {}
            kinds: dict[Kind, int] = {}
            cells = []
            for series_id, (calls,) in self._ranged(self.store.call_sums, 1, window_s, ago_s).items():
                series = self._series.get(series_id)
                if series is not None:
                    row = tools.setdefault((series.server, series.tool), len(tools))
                    cells.append((row, kinds.setdefault(Kind(*series[4:]), len(kinds)), calls))
            counts = np.zeros((len(tools), len(kinds)), dtype=np.int64)
            if cells:
                rows, columns, values = np.array(cells, dtype=np.int64).T
                np.add.at(counts, (rows, columns), values)
            return Sums(tuple(tools), tuple(kinds), counts)

        return self._fresh(("calls", window_s, ago_s), window_s, read)

    def chosen(self, window_s: int, choose: Callable[[Kind], bool], name: str, ago_s: int = 0) -> Mapping[Tool, int]:
        """How many calls of each tool are of some kinds; `name` tells the choice from others."""

        def read() -> dict[Tool, int]:
            sums = self.calls(window_s, ago_s)
            found = sums.counts @ np.array([choose(kind) for kind in sums.kinds], dtype=np.int64)
            return dict(zip(sums.tools, found.tolist(), strict=True))

        return self._fresh((name, window_s, ago_s), window_s, read)

    def baseline(self, tools: tuple[Tool, ...], without: Iterable[tuple[int, int | None]]) -> Baseline:
        """The retries of some tools together in the 24 hours before the last quarter of an hour, but for some stretches."""
        stretches = tuple(without)

        def read() -> Baseline:
            to_ns = self.begin_ns(FIVE_MINUTES_S)
            to_ns -= to_ns % (900 * SECOND_NS)
            from_ns, width_ns = to_ns - DAY_S * SECOND_NS, FIVE_MINUTES_S * SECOND_NS
            counts = dict.fromkeys(range(from_ns, to_ns, width_ns), 0)
            for bucket_ns, retries, _ in self.store.retry_minutes(self.series_of(tools), from_ns, to_ns):
                counts[bucket_ns - (bucket_ns - from_ns) % width_ns] += retries
            quiet = [
                retries
                for bucket_ns, retries in counts.items()
                if not any(bucket_ns + width_ns > start and (end is None or bucket_ns < end) for start, end in stretches)
            ]
            # A day of nothing but storm says nothing of quiet ones.
            return Baseline(sum(quiet), max(1, len(quiet)) * FIVE_MINUTES_S, dispersion(quiet))

        return self._fresh(("baseline", tools, stretches), FRESH_PART * FRESH_MOST_S, read)

    def series_of(self, tools: Iterable[Tool]) -> list[int]:
        """The series of some tools."""
        return sorted(one for tool in tools for one in self._of_tool.get(tool, []))

    def tools_of(self, server: str) -> list[str]:
        """The tools of a server that were ever called."""
        return sorted(tool for name, tool in self._of_tool if name == server)

    def window_of(self, tools: Iterable[Tool], from_ns: int) -> tuple[int, int]:
        """Retries and attempts of some tools in the whole minutes from a time on."""
        rows = self.store.retry_minutes(self.series_of(tools), from_ns, self.now_ns)
        return sum(row[1] for row in rows), sum(row[2] for row in rows)

    def _ranged(
        self, sums: Callable[[Iterable[Piece]], list[tuple[int, ...]]], width: int, window_s: int, ago_s: int
    ) -> dict[int, tuple[int, ...]]:
        """Sums by series of a window that ended so long ago."""
        running = self.now_ns - self.now_ns % MINUTE_NS
        begin, end = self.begin_ns(window_s, ago_s), running + MINUTE_NS - ago_s * SECOND_NS
        if ago_s > window_s:
            # Long ago there may be no minutes any longer: as long a window from where it may begin.
            end = begin + window_s * SECOND_NS
        partly = self._replaying and end > running
        found: dict[int, tuple[int, ...]] = {}
        for series_id, *counts in sums(cover(begin, running if partly else end)):
            known = found.get(series_id)
            # Most series come once.
            found[series_id] = tuple(counts) if known is None else tuple(map(sum, zip(known, counts, strict=True)))
        if partly:
            gone = self.now_ns - running
            for series_id, *counts in sums(cover(running, end)):
                some = tuple(count * gone // MINUTE_NS for count in counts)
                found[series_id] = tuple(map(sum, zip(found.get(series_id, (0,) * width), some, strict=True)))
        return found

    def _fresh(self, key: object, window_s: int, read: Callable[[], Found]) -> Found:
        kept = self._kept.get(key)
        if kept is None:
            lasts_ns = min(window_s // FRESH_PART, FRESH_MOST_S) * SECOND_NS
            kept = self._kept[key] = (self.now_ns, self.now_ns + max(1, lasts_ns), read())
        return kept[2]  # type: ignore[return-value]
