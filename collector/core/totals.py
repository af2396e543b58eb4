"""Totals that only grow, as Prometheus expects of counters, made of sums of rollups that are corrected now and then."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from schemas.rollups import OTHER_TOOLS


class Place(NamedTuple):
    """Where calls are counted."""

    environment: str
    server: str
    tool: str


# Where those are counted that came once there was no room left.
ELSEWHERE = Place(OTHER_TOOLS, OTHER_TOOLS, OTHER_TOOLS)


class Count(NamedTuple):
    """What is counted of a place: a measure, such as `failures`, and its word, such as `transient` ('' where it has none)."""

    place: Place
    measure: str
    word: str


class Totals:
    """Counts since this process started, of at most so many places by name. The names are kept, so that no count moves between two.

    What a rollup says of a minute may fall: a call turns out to be a view of another, or a failure to be a success. A counter must
    not: a fall is taken for a restart, and all that was counted before for new. So each total stands still until the truth is past it.
    """

    def __init__(self, most_places: int) -> None:
        self._most = most_places
        self._places: dict[Place, None] = {}
        self._before: Mapping[Count, int] | None = None
        self._true: dict[Count, int] = {}
        self._shown: dict[Count, int] = {}

    def name(self, places: Iterable[Place]) -> None:
        """Give these places names, as long as there is room: the first come first."""
        for place in places:
            if len(self._places) >= self._most:
                return
            self._places.setdefault(place)

    def look(self, closed: Mapping[Count, int], live: Mapping[Count, int]) -> None:
        """Take what is counted since the beginning of the `live` counts of the last look: `closed` is not looked at again, `live` is.

        What the first look finds was there before: it counts as nothing.
        """
        now: dict[Count, int] = dict(closed)
        for count, value in live.items():
            now[count] = now.get(count, 0) + value
        if self._before is not None:
            self.name(count.place for count in now)
            for count in now.keys() | self._before.keys():
                named = count if count.place in self._places else count._replace(place=ELSEWHERE)
                self._true[named] = self._true.get(named, 0) + now.get(count, 0) - self._before.get(count, 0)
            for count, value in self._true.items():
                self._shown[count] = max(value, self._shown.get(count, 0))
        self._before = dict(live)

    def places(self) -> list[Place]:
        """All places that have counts: those with a name, and `ELSEWHERE` if something was counted there."""
        elsewhere = any(count.place == ELSEWHERE for count in self._shown)
        return [*self._places, *([ELSEWHERE] if elsewhere and ELSEWHERE not in self._places else [])]

    def of(self, place: Place, measure: str, word: str = "") -> int:
        """One total; 0 for what was not seen yet, so that its first increase is seen as one."""
        return self._shown.get(Count(place, measure, word), 0)
