"""The kinds that calls are drawn as, in one order everywhere: label, colour token, and the filter that lists them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dashboard.tally import Tally


@dataclass(frozen=True, slots=True)
class Kind:
    """One slice of calls. `name` is a field of Tally and the colour token --kind-<name>; all kinds together are all calls."""

    name: str
    label: str
    filters: Mapping[str, str]

    def of(self, tally: Tally) -> int:
        """How many calls of a tally are of this kind."""
        calls: int = getattr(tally, self.name)
        return calls

    @property
    def colour(self) -> str:
        """The colour as CSS writes it; the browser resolves it for the theme."""
        return f"var(--kind-{self.name})"


def _success(emptiness: str, label: str) -> Kind:
    return Kind(emptiness, label, {"outcome": "success", "emptiness": emptiness})


def _failure(category: str) -> Kind:
    return Kind(category, category, {"outcome": "failure", "category": category})


ANSWERED = (
    _success("data", "data"),
    _success("empty", "empty"),
    _success("unknown", "unknown content"),
    Kind("partial", "partial", {"outcome": "partial"}),
)
FAILED = tuple(_failure(category) for category in ("transient", "validation", "business", "permission", "unclassified"))
APART = (
    Kind("cancelled", "cancelled", {"outcome": "cancelled"}),
    Kind("deferred", "deferred", {"outcome": "deferred"}),
)
ALL = ANSWERED + FAILED + APART


def present(drawn: Iterable[Kind], tally: Tally) -> tuple[Kind, ...]:
    """Those of which there are any."""
    return tuple(kind for kind in drawn if kind.of(tally))
