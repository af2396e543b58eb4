"""SQL on how well each instrumentation can be understood, by looking at the newest calls: rollups do not know who sent what."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection

from dashboard.call_queries import CALL, newest
from dashboard.filters import Filter
from dashboard.tally import Ratio

# So many failures and as many successes are looked at: a share of a thousand is known to three points.
LOOKED_AT = 1000

Scope = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Understanding:
    """What the newest calls that an instrumentation told of leave open: failures of no category, successes of unknown content."""

    scope: str
    scope_version: str
    unclassified: Ratio
    unknown: Ratio

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "scope": self.scope,
            "scope_version": self.scope_version,
            "failures": self.unclassified.whole,
            "unclassified": self.unclassified.part,
            "unclassified_ratio": self.unclassified.value,
            "successes": self.unknown.whole,
            "unknown": self.unknown.part,
            "unknown_ratio": self.unknown.value,
        }


def understanding(connection: Connection, question: Filter, now_ns: int) -> tuple[Understanding, ...]:
    """By instrumentation, those that leave most open first. A call that several told of counts for each of them."""
    failures = _open(connection, question.but(outcome="failure"), now_ns, CALL.c.category, (None, "", "unclassified"))
    successes = _open(connection, question.but(outcome="success"), now_ns, CALL.c.emptiness, (None, "", "unknown"))
    unclassified, unknown = _ratios(failures), _ratios(successes)
    none = Ratio(0, 0)
    found = [
        Understanding(*scope, unclassified.get(scope, none), unknown.get(scope, none)) for scope in unclassified.keys() | unknown.keys()
    ]
    return tuple(sorted(found, key=lambda one: (-one.unclassified.part - one.unknown.part, one.scope, one.scope_version)))


def _open(
    connection: Connection, question: Filter, now_ns: int, told: ColumnElement[Any], nothing: Iterable[Any]
) -> Iterator[tuple[Scope, bool]]:
    """Each emitter of each call, and whether the call leaves open what is asked."""
    for views, value in newest(connection, question, now_ns, LOOKED_AT, None, (CALL.c.views, told)):
        for scope in {(view["scope"], view["scope_version"]) for view in orjson.loads(views)}:
            yield scope, value in nothing


def _ratios(calls: Iterable[tuple[Scope, bool]]) -> dict[Scope, Ratio]:
    counts: dict[Scope, list[int]] = defaultdict(lambda: [0, 0])
    for scope, left_open in calls:
        counts[scope][0] += left_open
        counts[scope][1] += 1
    return {scope: Ratio(part, whole) for scope, (part, whole) in counts.items()}
