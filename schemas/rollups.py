"""How calls are counted ahead of the question: widths of buckets, dimensions at each grain, and what covers a range of time."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

SECOND_NS = 10**9
DAY_NS = 86_400 * SECOND_NS

# Every width divides the next. Minutes and quarters of an hour are what pages draw (15 minutes cut every time zone's weeks); the
# wider ones only make long ranges cheap, at some ten thousand rows that a page may read: 30 days are 2,880 quarters of an hour.
MINUTE_S, QUARTER_S = 60, 900
WIDTHS_S = (MINUTE_S, QUARTER_S, 7_200, 86_400)

# What a row counts apart. A page that asks nothing of clients and channels reads a tenth of the rows at the coarser grain, and one
# that asks for kinds of calls alone a hundredth; each call is counted once at each grain.
KINDS = ("outcome", "emptiness", "category", "retryable")
DIMENSIONS = ("environment", "server", "client", "tool", *KINDS, "channel")
GRAINS: Sequence[tuple[str, ...]] = (DIMENSIONS, ("environment", "server", "tool", *KINDS), ("environment", *KINDS))
# Attempts, retries and operations have no kinds, but a grain more, so that a page of many tools and many clients reads the sum of
# both and not their product.
PLACES = ("environment", "server", "client", "tool")
RETRY_GRAINS: Sequence[tuple[str, ...]] = (
    *(tuple(name for name in names if name in PLACES) for names in GRAINS),
    ("environment", "client"),
)
# The grains that have histograms of durations too.
DURATION_GRAINS = (0, 1)

# The name in rollups of tools beyond NAMES_A_DAY (docs/interfaces.md has the rule); the calls keep their own.
OTHER_TOOLS = "(other)"
NAMES_A_DAY = 2_000


class Piece(NamedTuple):
    """Some buckets of one width: from the one that starts at `from_ns` to before `to_ns`."""

    width_s: int
    from_ns: int
    to_ns: int


def grain_of(needed: Iterable[str], grains: Sequence[tuple[str, ...]] = GRAINS) -> int:
    """The coarsest grain that keeps some dimensions apart."""
    wanted = set(needed)
    return min((grain for grain, names in enumerate(grains) if wanted <= set(names)), key=lambda grain: len(grains[grain]))


def cover(from_ns: int, to_ns: int, widest_s: int = WIDTHS_S[-1]) -> tuple[Piece, ...]:
    """A range of whole minutes as the fewest buckets, in order of time: wide ones within, narrower ones at the edges."""
    for width_s in reversed([one for one in WIDTHS_S if one <= widest_s]):
        first, last = _up(from_ns, width_s), to_ns - to_ns % (width_s * SECOND_NS)
        if first < last:
            return (*cover(from_ns, first, width_s), Piece(width_s, first, last), *cover(last, to_ns, width_s))
    return ()


def widest_in(width_ns: int) -> int:
    """The widest bucket that fits whole times into a bar of a chart."""
    return max(one for one in WIDTHS_S if width_ns % (one * SECOND_NS) == 0)


def _up(ns: int, width_s: int) -> int:
    return ns + -ns % (width_s * SECOND_NS)
