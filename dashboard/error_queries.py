"""SQL over the newest calls of a question: what its failures are, and how the views of one call differ."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection

from dashboard import fingerprints
from dashboard.call_queries import CALL, newest
from dashboard.filters import Filter
from dashboard.fingerprints import Failure, Fingerprint
from schemas.honest_empties import says_nothing_found

LOOKED_AT = 500


@dataclass(frozen=True, slots=True)
class Errors:
    """The newest `looked_at` matching failures by (category, error type, JSON-RPC code), and by fingerprint; `all`: no others."""

    types: tuple[tuple[str, str | None, str | None, int], ...]
    fingerprints: tuple[Fingerprint, ...]
    looked_at: int
    all: bool

    @property
    def counts(self) -> tuple[tuple[str, str | None, int], ...]:
        """The same by category and error type alone."""
        counts: Counter[tuple[str, str | None]] = Counter()
        for category, error_type, _, calls in self.types:
            counts[category, error_type] += calls
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0][0], item[0][1] or ""))
        return tuple((*key, calls) for key, calls in ordered)

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {"counts": self.counts, "types": self.types, "looked_at": self.looked_at, "all": self.all}


NO_ERRORS = Errors((), (), 0, True)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Calls whose spans say different things: what the caller's side and the server say, the flags, how many."""

    outer: dict[str, Any]
    server: dict[str, Any]
    flags: tuple[str, ...]
    calls: int


@dataclass(frozen=True, slots=True)
class Views:
    """How the views of the newest `looked_at` matching calls differ; `several` of them were told of by two spans or more."""

    disagreements: tuple[Disagreement, ...]
    several: int
    looked_at: int
    all: bool


@dataclass(frozen=True, slots=True)
class MarkedEmpty:
    """Failures of a tool that say that nothing was found and nothing else: an honest empty answer, reported as an error."""

    server: str
    tool: str
    category: str
    fingerprint: str
    message: str | None
    calls: int
    last_ns: int


@dataclass(frozen=True, slots=True)
class MarkedEmpties:
    """Honest empties among the newest `looked_at` matching failures, most first; `all`: there are no other failures."""

    found: tuple[MarkedEmpty, ...]
    looked_at: int
    all: bool


def errors(connection: Connection, question: Filter, now_ns: int) -> Errors:
    """What the newest matching failures are."""
    columns = (CALL.c.start_ns, CALL.c.category, CALL.c.error_type, CALL.c.message, CALL.c.category_decided_by)
    rows = list(newest(connection, question.but(outcome="failure"), now_ns, LOOKED_AT + 1, None, columns))
    failures = [Failure(row[0], row[1] or "unclassified", *row[2:]) for row in rows[:LOOKED_AT]]
    return Errors(fingerprints.types(failures), fingerprints.grouped(failures), len(failures), len(rows) <= LOOKED_AT)


def views(connection: Connection, question: Filter, now_ns: int) -> Views:
    """How the views of the newest matching calls differ."""
    rows = list(newest(connection, question, now_ns, LOOKED_AT + 1, None, (CALL.c.views, CALL.c.flags)))
    several = 0
    found: Counter[tuple[str, ...]] = Counter()
    for views_json, flags in rows[:LOOKED_AT]:
        told = orjson.loads(views_json)
        several += len(told) > 1
        outer, server = told[0], told[-1]
        if len(told) > 1 and (outer["outcome"], outer["category"]) != (server["outcome"], server["category"]):
            found[*_verdict(outer), *_verdict(server), flags] += 1
    disagreements = tuple(
        Disagreement(_as_dict(key[:3]), _as_dict(key[3:6]), tuple(key[6].split()), calls)
        for key, calls in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    )
    return Views(disagreements, several, min(len(rows), LOOKED_AT), len(rows) <= LOOKED_AT)


def _verdict(view: dict[str, Any]) -> tuple[str, str, str]:
    return view["outcome"], view["emptiness"] or "", view["category"] or ""


def _as_dict(verdict: tuple[str, ...]) -> dict[str, Any]:
    outcome, emptiness, category = verdict
    return {"outcome": outcome, "emptiness": emptiness or None, "category": category or None}


def marked_empties(connection: Connection, question: Filter, now_ns: int) -> MarkedEmpties:
    """Honest empties that are marked as errors, among the newest matching failures."""
    names = ("start_ns", "server", "tool", "category", "error_type", "message", "category_decided_by")
    columns = tuple(CALL.c[name] for name in names)
    rows = list(newest(connection, question.but(outcome="failure"), now_ns, LOOKED_AT + 1, None, columns))
    found: dict[tuple[str, str, str, str], list[Any]] = defaultdict(list)
    for row in rows[:LOOKED_AT]:
        if says_nothing_found(row.message, row.category_decided_by):
            alike = fingerprints.fingerprint(row.category, row.error_type, row.message)
            found[row.server, row.tool, row.category or "unclassified", alike].append(row)
    marked = [MarkedEmpty(*key, group[0].message, len(group), group[0].start_ns) for key, group in found.items()]
    return MarkedEmpties(
        tuple(sorted(marked, key=lambda one: (-one.calls, one.server, one.tool))), min(len(rows), LOOKED_AT), len(rows) <= LOOKED_AT
    )
