"""Every SQL statement on silent suppression and error contracts that pages ask: what the worker found; each by key or index and bounded."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, select
from sqlmodel import SQLModel

from dashboard.call_queries import CALL
from dashboard.filters import Filter
from dashboard.place_queries import placed
from schemas import suppression_tables
from schemas.contracts import ContractQuality, findings_in
from schemas.export import call_record
from schemas.rollups import OTHER_TOOLS
from schemas.suppression import EVALUATED, STANDS_NS, ByDesign, Suspect, signals_in

SUSPECT: Table = SQLModel.metadata.tables["suspect"]
CONTRACT: Table = SQLModel.metadata.tables["contract"]
BY_DESIGN: Table = SQLModel.metadata.tables["by_design"]
META: Table = SQLModel.metadata.tables["meta"]

MOST = 200
COUNTS = ("empty", "known", "failure", "completed")
# Calls with a failed span inside that the page lists.
INSIDE = 10

Tool = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """When the worker looked last, and in which range."""

    at_ns: int
    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class Found:
    """What the worker found that stood in the range of a question, the surest and the worst first.

    `evaluated` is None if it never looked, `marks` are what is by design, whether suspected or not, and `inside` the newest successes
    with a failed span inside, whatever their emptiness, as records (schemas/export.py).
    """

    evaluated: Evaluated | None = None
    suspects: tuple[Suspect, ...] = ()
    marks: tuple[ByDesign, ...] = ()
    contracts: tuple[ContractQuality, ...] = ()
    inside: tuple[dict[str, Any], ...] = ()


def found(connection: Connection, question: Filter, now_ns: int) -> Found:
    """What the worker found of the places that a question asks for, and what failed inside calls that went well."""
    marks = by_design(connection, now_ns)
    return Found(
        evaluated(connection),
        suspects(connection, question, marks),
        tuple(mark for mark in marks if question.server in (None, mark.server) and question.tool in (None, mark.tool)),
        contracts(connection, question),
        inside(connection, question),
    )


def evaluated(connection: Connection) -> Evaluated | None:
    """When the worker looked last."""
    said = connection.execute(select(META.c.value).where(META.c.name == EVALUATED)).scalar()
    return None if said is None else Evaluated(**json.loads(said))


def suspects(connection: Connection, question: Filter, marks: Iterable[ByDesign]) -> tuple[Suspect, ...]:
    """Suspects that stood at some time of the range, those that are by design too, with their mark."""
    marked = {(mark.server, mark.tool): mark for mark in marks}
    query = select(SUSPECT).where(*_standing(SUSPECT, question), SUSPECT.c.found_ns < question.to_ns).limit(MOST)
    rows = [
        Suspect(
            **{name: getattr(row, name) for name in ("environment", "server", "tool", "class_", "q", *COUNTS)},
            signals=signals_in(row.signals),
            by_design=marked.get((row.server, row.tool)),
        )
        for row in connection.execute(query)
    ]
    return tuple(sorted(rows, key=lambda suspect: suspect.order))


def contracts(connection: Connection, question: Filter) -> tuple[ContractQuality, ...]:
    """How much the failures of tools say that the worker looked at in the range or up to two hours before."""
    query = select(CONTRACT).where(*_standing(CONTRACT, question)).limit(MOST)
    rows = [
        ContractQuality(row.environment, row.server, row.tool, row.failures, findings_in(row.findings)) for row in connection.execute(query)
    ]
    return tuple(sorted(rows, key=lambda one: one.order))


def contracts_of(connection: Connection, question: Filter, tools: Iterable[Tool]) -> dict[Tool, ContractQuality]:
    """How much the failures of some tools say; of a tool in several environments where they say least."""
    wanted = set(tools)
    query = select(CONTRACT).where(*_standing(CONTRACT, question), CONTRACT.c.tool.in_(sorted({tool for _, tool in wanted})))
    found: dict[Tool, ContractQuality] = {}
    for row in connection.execute(query):
        place = (row.server, row.tool)
        if place in wanted:
            one = ContractQuality(row.environment, *place, row.failures, findings_in(row.findings))
            found[place] = min(found.get(place, one), one, key=lambda quality: 2.0 if quality.share is None else quality.share)
    return found


def by_design(connection: Connection, now_ns: int) -> tuple[ByDesign, ...]:
    """The tools that are by design at a moment, the first to expire first."""
    query = select(BY_DESIGN).where(BY_DESIGN.c.expires_ns > now_ns).order_by(BY_DESIGN.c.expires_ns).limit(MOST)
    return tuple(ByDesign(*row) for row in connection.execute(query))


def inside(connection: Connection, question: Filter) -> tuple[dict[str, Any], ...]:
    """The newest matching successes with a failed span inside."""
    within: list[Any] = [suppression_tables.CHILD_FAILED, CALL.c.start_ns >= question.from_ns, CALL.c.start_ns < question.to_ns]
    within += [CALL.c.outcome == "success", *placed(CALL, question)]
    if question.tool not in (None, OTHER_TOOLS):
        # The index of these calls has no tool: one that leads with the tool would find all its other calls too.
        within.append(CALL.c.tool.concat("") == question.tool)
    if question.emptiness is not None:
        within.append(CALL.c.emptiness == question.emptiness)
    query = select(CALL).where(*within).order_by(CALL.c.start_ns.desc()).limit(INSIDE)
    return tuple(call_record(row) for row in connection.execute(query))


def _standing(table: Table, question: Filter) -> Iterator[ColumnElement[bool]]:
    yield table.c.seen_ns >= question.from_ns - STANDS_NS
    for name in ("tool", "server", "environment"):
        if (value := getattr(question, name)) is not None:
            yield table.c[name] == value
