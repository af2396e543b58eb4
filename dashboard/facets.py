"""What a list of calls divides into, each part a link: values to click instead of names to type. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.filters import Filter
from dashboard.tally import Tally

# The dimensions offered, of the coarser grain so that a month is cheap; the outcome decides which of the next are of use.
DIMENSIONS = ("server", "tool", "outcome", "emptiness", "category", "retryable")
MOST_VALUES = 8


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a dimension, the calls that have it, and the filters that list them."""

    word: str
    calls: int
    filters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of a dimension that is not filtered yet, most calls first; `others` are values that are left out."""

    name: str
    values: tuple[Value, ...]
    others: int


def facets(tallies: Mapping[tuple[str, ...], Tally], question: Filter) -> tuple[Facet, ...]:
    """The dimensions in which the matching calls differ. Tallies are by DIMENSIONS; the sum of each facet is the number of calls."""
    found = []
    for at, name in enumerate(DIMENSIONS):
        if getattr(question, name) is not None:
            continue
        counts: dict[tuple[str, ...], int] = {}
        for key, tally in tallies.items():
            # A tool's name means something only together with its server.
            values = (key[at - 1], key[at]) if name == "tool" else (key[at],)
            if tally.calls and (values[-1] or name in ("server", "tool")):
                counts[values] = counts.get(values, 0) + tally.calls
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if len(ordered) > 1:
            shown = tuple(Value(values[-1], calls, _filters(name, values)) for values, calls in ordered[:MOST_VALUES])
            found.append(Facet(name, shown, len(ordered) - len(shown)))
    return tuple(found)


def _filters(name: str, values: tuple[str, ...]) -> Mapping[str, str]:
    if name == "tool":
        return {"server": values[0], "tool": values[1]}
    return {name: values[0]}
