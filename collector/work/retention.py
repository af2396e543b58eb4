"""Remove what is older than the settings say, a slice at a time, so that nobody waits for the write lock."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from collector.pruning import Limits, Old, PruneStore
from collector.work_store import WorkStore
from schemas.rollups import DAY_NS, QUARTER_S, SECOND_NS

QUARTER_NS = QUARTER_S * SECOND_NS
# A slice holds the write lock for a small part of what an exporter would notice, so that slow ones are still short.
SLICE_S = 0.015
FEWEST, MOST = 20, 500
# What is removed fills SQLite's log fast; whoever commits when it is full writes all of it into the file, which takes a tenth of a second.
SLICES_A_CHECKPOINT = 8
# Free pages that the worker leaves for what comes next, instead of shrinking and growing the file in turn: 16 MiB.
SPARE_PAGES = 4096


class RetentionSettings(Protocol):
    """The settings of retention (schemas/settings.py says what they mean)."""

    @property
    def ancestry_window_s(self) -> int: ...
    @property
    def tool_span_days(self) -> int: ...
    @property
    def call_days(self) -> int: ...
    @property
    def minute_rollup_days(self) -> int: ...
    @property
    def rollup_months(self) -> int: ...


def limits_at(now_ns: int, settings: RetentionSettings) -> Limits:
    """The times before which rows go; a month is 31 days."""

    def days(count: int) -> int:
        start = now_ns - count * DAY_NS
        return start - start % QUARTER_NS

    return Limits(
        ancestry_ns=now_ns - settings.ancestry_window_s * SECOND_NS,
        span_ns=now_ns - settings.tool_span_days * DAY_NS,
        call_ns=days(settings.call_days),
        minute_ns=days(settings.minute_rollup_days),
        rollup_ns=days(settings.rollup_months * 31),
    )


class Slice(NamedTuple):
    """What one step did."""

    what: str
    rows: int


class Retention:
    """Prunes in steps. `clock` gives seconds: slices grow and shrink with the time that they take.

    `rest` waits for some seconds, after each slice for as long as it took. Who waits for the write lock of SQLite looks again and
    again whether it is free: without rests it would hardly ever be.
    """

    def __init__(
        self,
        work: WorkStore,
        store: PruneStore,
        settings: RetentionSettings,
        clock: Callable[[], float],
        rest: Callable[[float], object],
        spare_pages: int = SPARE_PAGES,
    ) -> None:
        self._work = work
        self._store = store
        self._settings = settings
        self._clock = clock
        self._rest = rest
        self._spare_pages = spare_pages
        self._sizes: dict[str, int] = {}
        self._slices = 0

    def step(self, now_ns: int) -> Slice | None:
        """Remove one slice of what is too old. None if there is nothing left."""
        limits = limits_at(now_ns, self._settings)
        store = self._store
        if rows := self._timed("ancestry", partial(self._work.prune_ancestry, limits.ancestry_ns)):
            return Slice("ancestry", rows)
        for work in (store.spans, store.calls, store.minutes, store.rollups, store.others):
            if rows := self._timed(work.__name__, partial(work, limits)):
                return Slice(work.__name__, rows)
        if store.free_pages() > self._spare_pages and (pages := self._timed("pages", store.pages)):
            return Slice("pages", pages)
        return None

    def old(self, now_ns: int) -> list[Old]:
        """What would go, by table."""
        return self._store.old(limits_at(now_ns, self._settings))

    def _timed(self, name: str, work: Callable[[int], int]) -> int:
        size = self._sizes.get(name, 200)
        started = self._clock()
        rows = work(size)
        if rows:
            took = max(self._clock() - started, 1e-4)
            self._sizes[name] = max(FEWEST, min(MOST, 2 * size, round(size * SLICE_S / took)))
            self._slices += 1
            if self._slices % SLICES_A_CHECKPOINT == 0:
                self._store.checkpoint()
            self._rest(took)
        return rows
