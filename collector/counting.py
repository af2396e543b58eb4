"""From groups of like calls to the measures of each series at each grain. Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from schemas import histogram
from schemas.rollups import DIMENSIONS, GRAINS, OTHER_TOOLS

# The grain whose rows are fewest: calls are counted there.
COUNTED = len(GRAINS) - 1
# The values of DIMENSIONS and the strength of a series: '' where one does not apply.
Series = tuple[str, ...]
_VALUES = itemgetter(*range(len(DIMENSIONS)))
_SERVER, _TOOL, _OUTCOME = (DIMENSIONS.index(name) for name in ("server", "tool", "outcome"))


class Group(NamedTuple):
    """Calls of one bucket that are alike in the dimensions and in the bucket of their duration (None: it is not known)."""

    environment: str
    server: str
    client: str
    tool: str
    outcome: str
    emptiness: str
    category: str
    retryable: str
    channel: str
    duration_idx: int | None
    calls: int
    first_ns: int
    last_ns: int
    duration_sum_us: int
    duration_min_ns: int | None
    duration_max_ns: int
    repairs: int


class Measures(NamedTuple):
    """What a row of rollup says of its calls."""

    calls: int
    last_ns: int
    timed: int
    duration_sum_us: int
    duration_min_ns: int | None
    duration_max_ns: int


class Summed(Protocol):
    """Measures of a series that can be added up."""

    def merge(self, other: Self) -> None:
        """Add those of another series."""

    def measures(self) -> tuple[Any, ...]:
        """As the row of the rollup has them."""

    def packed(self) -> tuple[bytes, ...]:
        """As the row of the histograms has them."""


AnySum = TypeVar("AnySum", bound=Summed)


@dataclass(slots=True)
class Sum:
    """Measures while they are added up, and how many calls lie in each bucket of durations."""

    calls: int = 0
    repairs: int = 0
    last_ns: int = 0
    timed: int = 0
    sum_us: int = 0
    min_ns: int | None = None
    max_ns: int = 0
    counts: dict[int, int] = field(default_factory=dict)

    def add(self, group: Group) -> None:
        """Add the calls of a group."""
        self.calls += group.calls
        self.repairs += group.repairs
        self.last_ns = max(self.last_ns, group.last_ns)
        if group.duration_idx is None:
            return
        self.timed += group.calls
        self.sum_us += group.duration_sum_us
        self.min_ns = _least(self.min_ns, group.duration_min_ns)
        self.max_ns = max(self.max_ns, group.duration_max_ns)
        self.counts[group.duration_idx] = self.counts.get(group.duration_idx, 0) + group.calls

    def merge(self, other: "Sum") -> None:
        """Add the calls of another sum."""
        self.calls += other.calls
        self.repairs += other.repairs
        self.last_ns = max(self.last_ns, other.last_ns)
        self.timed += other.timed
        self.sum_us += other.sum_us
        self.min_ns = _least(self.min_ns, other.min_ns)
        self.max_ns = max(self.max_ns, other.max_ns)
        for index, calls in other.counts.items():
            self.counts[index] = self.counts.get(index, 0) + calls

    def measures(self) -> Measures:
        """As the row has them."""
        return Measures(self.calls, self.last_ns, self.timed, self.sum_us, self.min_ns, self.max_ns)

    def packed(self) -> tuple[bytes]:
        """As the row of duration has them."""
        return (histogram.pack(self.counts),)


@dataclass(frozen=True, slots=True)
class Name:
    """What a bucket says of a tool name."""

    first_ns: int
    succeeded: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """A bucket's calls by series with their true names, and its tool names by (server, tool)."""

    sums: Mapping[Series, Sum]
    names: Mapping[tuple[str, str], Name]


def likeness(environment: str, server: str, client: str, tool: str, *rest: str | bool | int | None) -> int:
    """A 64-bit number that calls share if they are one Group: a hash of the values that they are grouped by."""
    told = "\0".join(map(str, (environment, server, client, tool, *rest)))
    return int.from_bytes(blake2b(told.encode(), digest_size=8).digest(), "big", signed=True)


def count(groups: Iterable[Group]) -> Counted:
    """Add groups up that differ in the bucket of their duration alone."""
    found: dict[Series, Sum] = defaultdict(Sum)
    first_ns: dict[Series, int] = {}
    for group in groups:
        values: Series = (*_VALUES(group), "")
        found[values].add(group)
        first_ns[values] = min(first_ns.get(values, group.first_ns), group.first_ns)
    names: dict[tuple[str, str], Name] = {}
    for values, start in first_ns.items():
        name, succeeded = (values[_SERVER], values[_TOOL]), values[_OUTCOME] in ("success", "partial")
        known = names.get(name, Name(start, False))
        names[name] = Name(min(known.first_ns, start), known.succeeded or succeeded)
    return Counted(dict(found), names)


def at_every_grain(
    sums: Mapping[Series, AnySum],
    empty: Callable[[], AnySum],
    folded: Collection[tuple[str, str]] = (),
    names_of: Sequence[tuple[str, ...]] = GRAINS,
) -> tuple[dict[Series, AnySum], ...]:
    """The sums of each grain (by the dimensions that it has) and series; `folded` are the (server, tool) that share one name."""
    kept_of = [(*(name in names for name in DIMENSIONS), True) for names in names_of]
    grains: list[dict[Series, AnySum]] = [defaultdict(empty) for _ in names_of]
    for values, one in sums.items():
        shown = list(values)
        if (shown[_SERVER], shown[_TOOL]) in folded:
            shown[_TOOL] = OTHER_TOOLS
        for grain, kept in enumerate(kept_of):
            grains[grain][tuple(value if keep else "" for value, keep in zip(shown, kept, strict=True))].merge(one)
    return tuple(dict(grain) for grain in grains)


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
