"""SQL for what is still open: operations whose last attempt failed and may yet be retried, which the counts take for closed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, case, func, not_, or_, select, text
from sqlmodel import SQLModel

from dashboard.filters import Filter
from dashboard.moments import DAY_NS
from dashboard.retrying import Part, Placed
from schemas import retry_tables, tables  # noqa: F401 - they declare the tables in the metadata
from schemas.operations import EXHAUSTED, MISSED, at_least
from schemas.rollups import OTHER_TOOLS

CHAIN: Table = SQLModel.metadata.tables["chain"]
RETRY: Table = SQLModel.metadata.tables["retry"]
SERIES: Table = SQLModel.metadata.tables["series"]

# Names that one statement looks up.
_AT_ONCE = 200
_NAME = ("day_ns", "server", "tool")
ShownName = Callable[[int, str, str], str]


def operations(connection: Connection, question: Filter, now_ns: int, strength: str, keys: Sequence[str], bar_ns: int) -> list[Placed]:
    """How many open operations begin in the range, in words of Counts; the start of a bar before the values of `keys` if asked for."""
    chain = CHAIN.c
    failed_first = and_(chain.first_outcome == "failure", not_(chain.headless))
    counts = {
        "open": func.count(),
        "open_failed_first": _count(failed_first),
        "open_failed_retried": _count(and_(failed_first, chain.attempts > 1)),
        "open_exhausted": _count(chain.ending == EXHAUSTED),
        "open_missed": _count(chain.ending == MISSED),
    }
    by = [*_names(CHAIN), *_places(CHAIN, keys), *([(chain.start_ns - chain.start_ns % bar_ns).label("bar_ns")] if bar_ns else [])]
    began = (_start() >= question.from_ns, _start() < question.to_ns)
    statement = select(*by, *(count.label(name) for name, count in counts.items())).where(
        *_open(now_ns, strength), *began, *_matching(CHAIN, question)
    )
    found = connection.execute(statement.group_by(*by)).all()
    shown = shown_names(connection, ((row.day_ns, row.server, row.tool) for row in found))
    placed = []
    for row in found:
        tool = shown(row.day_ns, row.server, row.tool)
        if question.tool in (None, tool):
            bar = (str(row.bar_ns),) if bar_ns else ()
            placed.append(((*bar, *_place(row, tool, keys)), Part({name: int(getattr(row, name)) for name in counts})))
    return placed


def retries(connection: Connection, question: Filter, now_ns: int, strength: str, keys: Sequence[str]) -> list[Placed]:
    """Of the retries in the range, those that count as futile only because their operation is taken for closed, and their time."""
    chain = CHAIN.c
    hopeless = (*_open(now_ns, strength), not_(chain.succeeded), or_(chain.attempts > 1, chain.headless))
    touching = (_start() < question.to_ns, chain.last_start_ns >= question.from_ns)
    one_day = chain.start_ns - chain.start_ns % DAY_NS == chain.last_start_ns - chain.last_start_ns % DAY_NS
    inside = and_(chain.uniform, one_day, _start() >= question.from_ns, chain.last_start_ns < question.to_ns)
    by = [*_names(CHAIN), *_places(CHAIN, keys)]
    many = func.sum(chain.attempts - case((chain.headless, 0), else_=1))
    whole = (
        select(*by, many.label("futile"), func.sum(chain.hopeful_us).label("lost_us"))
        .where(*hopeless, *touching, inside, *_matching(CHAIN, question))
        .group_by(*by)
    )
    found: list[_Futile] = [_Futile(row, row.day_ns, int(row.futile), int(row.lost_us)) for row in connection.execute(whole)]
    for row in connection.execute(select(CHAIN).where(*hopeless, *touching, not_(inside))):
        found += _by_day(connection, row, question) if row.uniform else _one_by_one(connection, row, question, keys)
    shown = shown_names(connection, ((one.day_ns, one.row.server, one.row.tool) for one in found))
    placed = []
    for one in found:
        tool = shown(one.day_ns, one.row.server, one.row.tool)
        if question.tool in (None, tool):
            placed.append((_place(one.row, tool, keys), Part({"open_futile": one.retries, "open_lost_us": one.lost_us})))
    return placed


class _Futile(NamedTuple):
    """Retries of one day; `row` has their places."""

    row: Any
    day_ns: int
    retries: int
    lost_us: int


def _by_day(connection: Connection, chain: Row[Any], question: Filter) -> list[_Futile]:
    """The retries of an operation that reaches beyond the range or midnight: each says how many there were up to it."""
    if any(getattr(question, name) not in (None, getattr(chain, name)) for name in ("environment", "server", "client")):
        return []

    def until(end_ns: int) -> tuple[int, int]:
        latest = (RETRY.c.start_ns.desc(), RETRY.c.place.desc())
        statement = select(RETRY.c.place, RETRY.c.hopeful_us_so_far).where(RETRY.c.chain_id == chain.chain_id, RETRY.c.start_ns < end_ns)
        found = connection.execute(statement.order_by(*latest).limit(1)).one_or_none()
        return (0, 0) if found is None else (found[0] - (0 if chain.headless else 1), found[1])

    first, end = max(question.from_ns, chain.start_ns), min(question.to_ns, chain.last_start_ns + 1)
    edges = [first, *range(first - first % DAY_NS + DAY_NS, end, DAY_NS), end]
    counts = [until(edge) for edge in edges]
    return [
        _Futile(chain, edge - edge % DAY_NS, after[0] - before[0], after[1] - before[1])
        for edge, before, after in zip(edges, counts, counts[1:], strict=False)
    ]


def _one_by_one(connection: Connection, chain: Row[Any], question: Filter, keys: Sequence[str]) -> list[_Futile]:
    """The retries of an operation whose attempts are of several environments, servers, clients or tools."""
    by = [*_names(RETRY), *_places(RETRY, keys)]
    lost_us = func.sum(case((RETRY.c.wasted, 0), else_=func.coalesce(RETRY.c.duration_ns, 0) // 1000))
    inside = (RETRY.c.chain_id == chain.chain_id, RETRY.c.start_ns >= question.from_ns, RETRY.c.start_ns < question.to_ns)
    statement = select(*by, func.count().label("retries"), lost_us.label("lost_us")).where(*inside, *_matching(RETRY, question))
    return [_Futile(row, row.day_ns, int(row.retries), int(row.lost_us)) for row in connection.execute(statement.group_by(*by))]


def shown_names(connection: Connection, names: Iterable[tuple[int, str, str]]) -> ShownName:
    """What counts call tools on the day of a time: (time, server, tool) to the tool's name, or `(other)` if it is folded."""
    # Where no name was ever folded, as nearly everywhere, nothing has to be looked up.
    ever = connection.execute(select(SERIES.c.id).where(SERIES.c.tool == OTHER_TOOLS).limit(1)).first()
    wanted = sorted({(at - at % DAY_NS, server, tool) for at, server, tool in names}) if ever else []
    folded: set[tuple[int, str, str]] = set()
    for start in range(0, len(wanted), _AT_ONCE):
        run = wanted[start : start + _AT_ONCE]
        given = ", ".join(f"(:day_ns_{at}, :server_{at}, :tool_{at})" for at in range(len(run)))
        asked = {f"{name}_{at}": value for at, one in enumerate(run) for name, value in zip(_NAME, one, strict=True)}
        statement = text(
            f"SELECT day_ns, server, tool FROM (VALUES {given}) AS given "
            "CROSS JOIN tool_name WHERE day_ns = column1 AND server = column2 AND tool = column3 AND NOT named"
        )
        folded |= {(row.day_ns, row.server, row.tool) for row in connection.execute(statement, asked)}
    return lambda at, server, tool: OTHER_TOOLS if (at - at % DAY_NS, server, tool) in folded else tool


def _open(now_ns: int, strength: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return CHAIN.c.closes_ns >= now_ns, CHAIN.c.strength.in_(at_least(strength))


def _start() -> ColumnElement[int]:
    # What is open is few, and has an index: plus nothing, so that the one by time is no choice.
    return CHAIN.c.start_ns + 0


def _matching(table: Table, question: Filter) -> list[ColumnElement[bool]]:
    return [table.c[name] == value for name in ("environment", "server", "client") if (value := getattr(question, name)) is not None]


def _names(table: Table) -> list[ColumnElement[Any]]:
    return [table.c.server, table.c.tool, (table.c.start_ns - table.c.start_ns % DAY_NS).label("day_ns")]


def _places(table: Table, keys: Sequence[str]) -> list[ColumnElement[Any]]:
    return [table.c[name] for name in keys if name not in ("server", "tool")]


def _place(row: Row[Any], tool: str, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(tool if name == "tool" else getattr(row, name) for name in keys)


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)
