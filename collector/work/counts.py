"""The counts that one evaluation of alerting looks at: windows that end now, of every tool, each read no more often than it changes."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import TypeVar

import numpy as np

from collector.alert_counts import MINUTE_NS, RETRY_SUMS, AlertCounts, Table
from collector.core.ratios import Kind, Sums
from collector.core.stats import dispersion
from collector.core.storms import Baseline
from collector.work.by_tool import ByTool, RetriedByTool, Tool
from schemas.rollups import SECOND_NS, Piece, cover

Found = TypeVar("Found")

DAY_S = 86_400
# A window is read again after the twentieth part of it, a quarter of an hour at most.
FRESH_PART, FRESH_MOST_S = 20, 900
# Where a window may begin: the longer it is, the less it matters, and the fewer rows it has.
BEGINS_S = ((3 * DAY_S, 7_200), (21_600, 900), (0, 60))
FIVE_MINUTES_S = 300


class Counts:
    """Measures of every tool at one moment after the other; `at` says when.

    `replaying` looks at the past as it was then: of the minute that ran, it takes as much of the calls as it had gone by.
    """

    def __init__(self, store: AlertCounts, environments: Iterable[str] = ("*",), *, replaying: bool = False) -> None:
        self.store = store
        self.now_ns = 0
        self._environments = tuple(environments)
        self.replaying = replaying
        self._of_tool: dict[Tool, list[int]] = {}
        self._last_series = 0
        # Tools and kinds in the order in which they came, and by the number of a series which of them it counts; -1 for none.
        self._rows: dict[Tool, int] = {}
        self._columns: dict[Kind, int] = {}
        self._row_of, self._column_of = np.full(1, -1), np.full(1, -1)
        self._kept: dict[object, tuple[int, int, object]] = {}

    def at(self, now_ns: int) -> None:
        """From now on everything is as of this moment."""
        self.now_ns = now_ns
        new = self.store.series_after(self._last_series)
        if new:
            self._last_series = new[-1].id
            more = np.full(self._last_series + 1 - len(self._row_of), -1)
            self._row_of, self._column_of = np.concatenate((self._row_of, more)), np.concatenate((self._column_of, more))
        for series in new:
            if any(fnmatchcase(series.environment, pattern) for pattern in self._environments):
                tool, kind = (series.server, series.tool), Kind(*series[4:])
                self._of_tool.setdefault(tool, []).append(series.id)
                self._row_of[series.id] = self._rows.setdefault(tool, len(self._rows))
                self._column_of[series.id] = self._columns.setdefault(kind, len(self._columns))
        self._kept = {key: kept for key, kept in self._kept.items() if kept[0] <= now_ns < kept[1]}

    def begin_ns(self, window_s: int, ago_s: int = 0) -> int:
        """When a window begins: so long before the end of the running minute, by whole minutes or more."""
        grid_ns = next(width for least, width in BEGINS_S if max(window_s, ago_s) >= least) * SECOND_NS
        begin = self.now_ns - self.now_ns % MINUTE_NS + MINUTE_NS - (window_s + ago_s) * SECOND_NS
        return begin - begin % grid_ns

    def seconds(self, window_s: int) -> float:
        """How long a window that ends now is."""
        return (self.now_ns - self.begin_ns(window_s)) / SECOND_NS

    def retried(self, window_s: int, ago_s: int = 0) -> RetriedByTool:
        """Attempts, retries and operations of every tool in a window that ended so long ago."""

        def read() -> RetriedByTool:
            table = self._ranged(self.store.retry_table, window_s, ago_s)
            sums = np.zeros((len(self._rows), len(RETRY_SUMS)), dtype=np.int64)
            np.add.at(sums, self._row_of[table[:, 0]], table[:, 1:])
            return RetriedByTool(self._rows, sums)

        return self._fresh(("retried", window_s, ago_s), max(window_s, ago_s), read)

    def calls(self, window_s: int, ago_s: int = 0) -> Sums:
        """Calls of every tool by kind, in a window that ended so long ago."""

        def read() -> Sums:
            table = self._ranged(self.store.call_table, window_s, ago_s)
            counts = np.zeros((len(self._rows), len(self._columns)), dtype=np.int64)
            np.add.at(counts, (self._row_of[table[:, 0]], self._column_of[table[:, 0]]), table[:, 1])
            return Sums(tuple(self._rows), tuple(self._columns), counts)

        return self._fresh(("calls", window_s, ago_s), window_s, read)

    def chosen(self, window_s: int, choose: Callable[[Kind], bool], name: str, ago_s: int = 0) -> ByTool:
        """How many calls of each tool are of some kinds; `name` tells the choice from others."""

        def read() -> ByTool:
            sums = self.calls(window_s, ago_s)
            return ByTool(self._rows, sums.counts @ np.array([choose(kind) for kind in sums.kinds], dtype=np.int64))

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

    def _ranged(self, sums: Callable[[Iterable[Piece]], Table], window_s: int, ago_s: int) -> Table:
        """(series, *counts) of a window that ended so long ago, of the series that are watched; a series may come several times."""
        running = self.now_ns - self.now_ns % MINUTE_NS
        begin, end = self.begin_ns(window_s, ago_s), running + MINUTE_NS - ago_s * SECOND_NS
        if ago_s > window_s:
            # Long ago there may be no minutes any longer: as long a window from where it may begin.
            end = begin + window_s * SECOND_NS
        if self.replaying and end > running:
            gone = sums(cover(running, end))
            gone[:, 1:] = gone[:, 1:] * (self.now_ns - running) // MINUTE_NS
            found = np.concatenate((sums(cover(begin, running)), gone))
        else:
            found = sums(cover(begin, end))
        # A series that was not there when they were read is looked at in the next round.
        found = found[found[:, 0] < len(self._row_of)]
        return found[self._row_of[found[:, 0]] >= 0]

    def keep(self, key: object, lasts_s: int, read: Callable[[], Found], *, anew: bool = False) -> Found:
        """What was read under a key within so many seconds, or within this round; or else, and `anew`, what `read` says now."""
        kept = self._kept.get(key)
        if kept is None or anew:
            kept = self._kept[key] = (self.now_ns, self.now_ns + max(1, lasts_s * SECOND_NS), read())
        return kept[2]  # type: ignore[return-value]

    def _fresh(self, key: object, window_s: int, read: Callable[[], Found]) -> Found:
        return self.keep(key, min(window_s // FRESH_PART, FRESH_MOST_S), read)
