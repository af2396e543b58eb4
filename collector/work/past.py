"""Counts of the past by the minute, read in bulk and summed ahead, so that going through history asks the database seldom."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from collector.alert_counts import MINUTE_NS, RETRY_SUMS, AlertCounts, Table
from collector.series import Series
from schemas.rollups import SECOND_NS, Piece

Read = Callable[[Iterable[Piece]], Table]
# So much is read at once, and so much before it: what baselines look back, and the longest window of which minutes matter.
BLOCK_NS, BEFORE_NS = 24 * 3_600 * SECOND_NS, 26 * 3_600 * SECOND_NS


class _Block:
    """The sums of every series up to each minute of a stretch: what lies between two of them is one subtraction."""

    def __init__(self, rows: Sequence[tuple[int, ...]], width: int, from_ns: int, to_ns: int, kept_ns: int) -> None:
        self.from_ns, self.to_ns = from_ns, to_ns
        self._known_ns = max(from_ns, kept_ns)
        table = np.array(rows, dtype=np.int64).reshape(-1, 2 + width)
        self.series, places = np.unique(table[:, 1], return_inverse=True)
        self.place = {series_id: place for place, series_id in enumerate(self.series.tolist())}
        counts = np.zeros(((to_ns - from_ns) // MINUTE_NS + 1, len(self.series), width), dtype=np.int64)
        counts[(table[:, 0] - from_ns) // MINUTE_NS + 1, places] = table[:, 2:]
        self.until = np.cumsum(counts, axis=0)

    def covers(self, from_ns: int, to_ns: int) -> bool:
        """Whether all minutes of a range are known: of long ago there are only wider buckets."""
        return self._known_ns <= from_ns and to_ns <= self.to_ns

    def between(self, from_ns: int, to_ns: int) -> Table:
        """(series, *counts) of every series."""
        sums = self.until[(to_ns - self.from_ns) // MINUTE_NS] - self.until[(from_ns - self.from_ns) // MINUTE_NS]
        return np.column_stack((self.series, sums))

    def minutes(self, series_ids: Iterable[int], from_ns: int, to_ns: int) -> npt.NDArray[np.int64]:
        """The counts of some series together in each minute of a range."""
        places = [self.place[one] for one in series_ids if one in self.place]
        first, last = (from_ns - self.from_ns) // MINUTE_NS, (to_ns - self.from_ns) // MINUTE_NS
        found: npt.NDArray[np.int64] = np.diff(self.until[first : last + 1, places].sum(axis=1), axis=0)
        return found


class PastCounts(AlertCounts):
    """The database as alerting measures it, for going forward through its past. Not to be shared between threads."""

    _retried: _Block | None = None
    _called: _Block | None = None

    def at(self, now_ns: int) -> None:
        """From now on it is asked of what was before this moment, or little after."""
        if self._retried is None or not self._retried.from_ns <= now_ns < self._retried.to_ns - 2 * MINUTE_NS:
            from_ns = now_ns - now_ns % MINUTE_NS - BEFORE_NS
            stretch = (from_ns, from_ns + BEFORE_NS + BLOCK_NS)
            kept_ns = self.first_minute(from_ns)
            self._retried = _Block(self.retried_minutes(*stretch), len(RETRY_SUMS), *stretch, kept_ns)
            self._called = _Block(self.called_minutes(*stretch), 1, *stretch, kept_ns)

    def series_after(self, last: int) -> list[Series]:
        """As AlertCounts has it; what was first counted after the first question is not of this past."""
        return [] if last else super().series_after(last)

    def retry_table(self, pieces: Iterable[Piece]) -> Table:
        """As AlertCounts has it."""
        return self._within(self._retried, pieces, super().retry_table)

    def call_table(self, pieces: Iterable[Piece]) -> Table:
        """As AlertCounts has it."""
        return self._within(self._called, pieces, super().call_table)

    def retry_minutes(self, series_ids: Sequence[int], from_ns: int, to_ns: int) -> list[tuple[int, int, int]]:
        """As AlertCounts has it."""
        from_ns, to_ns = from_ns - from_ns % MINUTE_NS, to_ns + -to_ns % MINUTE_NS
        if self._retried is None or not self._retried.covers(from_ns, to_ns):
            return super().retry_minutes(series_ids, from_ns, to_ns)
        counts = self._retried.minutes(series_ids, from_ns, to_ns)[:, [RETRY_SUMS.index("retries"), RETRY_SUMS.index("attempts")]]
        some = np.flatnonzero(np.any(counts, axis=1))
        found = zip((from_ns + some * MINUTE_NS).tolist(), counts[some].tolist(), strict=True)
        return [(bucket_ns, retries, attempts) for bucket_ns, (retries, attempts) in found]

    def _within(self, block: _Block | None, pieces: Iterable[Piece], read: Read) -> Table:
        """Neighbours that the block covers in one subtraction, the others from the database."""
        outside: list[Piece] = []
        inside: list[Piece] = []
        for piece in pieces:
            (inside if block is not None and block.covers(piece.from_ns, piece.to_ns) else outside).append(piece)
        if block is None or not inside:
            return read(outside)
        # The pieces of a range follow each other, and those inside come last.
        found = block.between(inside[0].from_ns, inside[-1].to_ns)
        return np.concatenate((read(outside), found)) if outside else found
