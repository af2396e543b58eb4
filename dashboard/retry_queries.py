"""SQL over the counts of retries: the numbers of all operations, by tool, client and time, with what is open at the moment of asking."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, Table, func, literal, select
from sqlmodel import SQLModel

from dashboard import open_queries
from dashboard.filters import Filter
from dashboard.moments import DAY_NS
from dashboard.queries import SERIES, rows
from dashboard.retry_values import Synchrony, Values, synchrony
from dashboard.retrying import COUNTED, Part, Placed, Retries, add_up
from dashboard.tally import Ratio
from dashboard.time_axis import bucket_width
from dashboard.words import SECOND_NS
from schemas import retry_tables  # noqa: F401 - declares the tables in the metadata
from schemas.operations import SAME_TOOL, STRENGTHS, at_least
from schemas.rollups import PLACES, RETRY_GRAINS, WIDTHS_S, grain_of, widest_in

ROLLUP: Table = SQLModel.metadata.tables["retry_rollup"]
HISTOGRAM: Table = SQLModel.metadata.tables["retry_histogram"]
RETRY: Table = SQLModel.metadata.tables["retry"]

# What the page of retries is asked by.
BY = ("server", "tool", "client")
# Retries that synchrony looks at, the latest of the range.
LATEST = 5_000
_BOUNDS = (("gap_min_ns", "gap_max_ns"), ("recovery_min_ns", "recovery_max_ns"), ("growth_min", "growth_max"))
_PACKED = ("gaps", "recoveries", "growths")


class RetryPage(NamedTuple):
    """The operations of a range: all of them, by (server, tool) and by client, most retries first."""

    total: Retries
    tools: tuple[tuple[tuple[str, str], Retries], ...]
    clients: tuple[tuple[str, Retries], ...]


@dataclass(frozen=True, slots=True)
class RetryBucket:
    """The operations and attempts that begin in one bucket of a chart; buckets without any are left out."""

    bucket_ns: int
    retries: Retries

    def record(self) -> dict[str, Any]:
        """As JSON: what can be told of a stretch of time without going through what is open attempt by attempt."""
        names = ("retry_ratio", "amplification", "attempt_success", "operation_success", "retry_success_rate")
        ratios: dict[str, Ratio] = {name: getattr(self.retries, name) for name in names}
        counts = {name: getattr(self.retries, name) for name in ("attempts", "operations", "open_operations", "retries")}
        parts = {name: [ratio.part, ratio.whole] for name, ratio in ratios.items()}
        return {"bucket_ns": self.bucket_ns, **counts, **{name: ratio.value for name, ratio in ratios.items()}, "of": parts}


def by_tool_and_client(connection: Connection, question: Filter, now_ns: int, strength: str = SAME_TOOL) -> RetryPage:
    """All numbers of the page of retries."""
    opened, latest = _opened(connection, question, now_ns, strength, BY), _latest(connection, question, now_ns, strength)
    total, tools, clients = (_grouped(connection, question, strength, names, opened, latest) for names in ((), BY[:2], BY[2:]))
    return RetryPage(
        total.get((), Retries()),
        tuple(sorted((((server, tool), one) for (server, tool), one in tools.items()), key=_most_retries)),
        tuple(sorted(((client, one) for (client,), one in clients.items()), key=_most_retries)),
    )


def by_tool(connection: Connection, question: Filter, now_ns: int, strength: str = SAME_TOOL) -> dict[tuple[str, str], Retries]:
    """The numbers of each (server, tool), without synchrony."""
    opened = _opened(connection, question, now_ns, strength, BY)
    return {(server, tool): one for (server, tool), one in _grouped(connection, question, strength, BY[:2], opened).items()}


def total(connection: Connection, question: Filter, now_ns: int, strength: str = SAME_TOOL) -> Retries:
    """The numbers of all operations that match, without synchrony."""
    opened = _opened(connection, question, now_ns, strength, BY)
    return _grouped(connection, question, strength, (), opened).get((), Retries())


def over_time(connection: Connection, question: Filter, now_ns: int, strength: str = SAME_TOOL) -> tuple[RetryBucket, ...]:
    """The matching operations by time, in buckets of `bucket_width`, in order. They have no values (gaps, times to recovery)."""
    width = bucket_width(question)
    counted = _counts(connection, question, strength, (), widest_in(width), width)
    opened = open_queries.operations(connection, question, now_ns, strength, (), width)
    found = {int(key[0]): add_up(parts) for key, parts in _apart([*counted, *opened]).items()}
    return tuple(RetryBucket(start, one) for start, one in sorted(found.items()) if one.attempts)


def _opened(connection: Connection, question: Filter, now_ns: int, strength: str, keys: Sequence[str]) -> list[Placed]:
    """What is open, by the values of `keys`."""
    operations = open_queries.operations(connection, question, now_ns, strength, keys, 0)
    return operations + open_queries.retries(connection, question, now_ns, strength, keys)


def _grouped(
    connection: Connection,
    question: Filter,
    strength: str,
    names: Sequence[str],
    opened: Sequence[Placed],
    latest: "_Latest | None" = None,
) -> dict[tuple[str, ...], Retries]:
    """The numbers by some of the names of BY; `opened` and `latest` have the values of all of them."""
    places = [BY.index(name) for name in names]

    def own(place: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(place[at] for at in places)

    parts = _counts(connection, question, strength, names, WIDTHS_S[-1], 0) + _values(connection, question, strength, names)
    evenness: Mapping[tuple[str, ...], Synchrony | None] = {} if latest is None else latest.of(own)
    found = _apart([*parts, *((own(place), part) for place, part in opened)])
    summed = {key: add_up(of_group, evenness.get(key)) for key, of_group in found.items()}
    return {key: one for key, one in summed.items() if one.attempts}


def _counts(connection: Connection, question: Filter, strength: str, keys: Sequence[str], widest_s: int, bar_ns: int) -> list[Placed]:
    """The counts of each series, the start of a bar as text before the values of `keys` if bars are asked for."""
    grain = grain_of({*keys, *_filtered(question)}, RETRY_GRAINS)
    bounds = [name for pair in _BOUNDS for name in pair]
    part = rows(ROLLUP, question, grain, widest_s, ("bucket_ns", *COUNTED, *bounds)).subquery().c
    by = [part.series_id, *([(part.bucket_ns - part.bucket_ns % bar_ns).label("bar_ns")] if bar_ns else [])]
    # Whole numbers first: to group texts is ten times as slow.
    sums = (
        select(
            *by,
            *(func.sum(part[name]).label(name) for name in COUNTED),
            *((func.min if "_min" in name else func.max)(part[name]).label(name) for name in bounds),
        )
        .group_by(*by)
        .subquery()
        .c
    )
    key = [*([sums.bar_ns] if bar_ns else []), *(SERIES.c[name] for name in keys)]
    statement = select(SERIES.c.strength, *key, *(sums[name] for name in (*COUNTED, *bounds))).where(SERIES.c.id == sums.series_id)
    found: list[Placed] = []
    first, wanted = 1 + len(key), at_least(strength)
    for row in connection.execute(statement):
        if row[0] in wanted:
            # PostgreSQL sums integers to decimals.
            counts = {name: int(value) for name, value in zip(COUNTED, row[first:], strict=False) if value}
            if row[0] in STRENGTHS:
                counts[row[0]] = counts.get("retries", 0)
            limits = row[first + len(COUNTED) :]
            spread = (Values(b"", *limits[at : at + 2]) for at in (0, 2, 4))
            found.append((tuple(str(value) for value in row[1:first]), Part(counts, *spread)))
    return found


def _values(connection: Connection, question: Filter, strength: str, keys: Sequence[str]) -> list[Placed]:
    """The histograms, by the values of `keys`."""
    grain = grain_of({*keys, *_filtered(question)}, RETRY_GRAINS)
    part = rows(HISTOGRAM, question, grain, WIDTHS_S[-1], _PACKED).subquery().c
    # Names are looked up once a series here: the database would repeat them on each of ten thousand rows.
    named = select(SERIES.c.id, *(SERIES.c[name] for name in keys))
    named = named.where(SERIES.c.grain == grain, SERIES.c.strength.in_(at_least(strength)))
    keys_of = {row[0]: tuple(row[1:]) for row in connection.execute(named).all()}
    packed: dict[tuple[str, ...], list[tuple[bytes, ...]]] = {}
    for series_id, *values in connection.execute(select(part.series_id, *(part[name] for name in _PACKED))).all():
        if (key := keys_of.get(series_id)) is not None:
            packed.setdefault(key, []).append(tuple(values))
    return [(key, Part({}, *(Values(b"".join(column)) for column in zip(*of_key, strict=True)))) for key, of_key in packed.items()]


class _Latest(NamedTuple):
    """The latest retries of a range, the seconds of their starts by (server, tool, client); all from `from_ns` to before `to_ns`."""

    seconds: Mapping[tuple[str, ...], Sequence[int]]
    from_ns: int
    to_ns: int

    def of(self, group: Callable[[tuple[str, ...]], tuple[str, ...]]) -> dict[tuple[str, ...], Synchrony | None]:
        """The synchrony of each group."""
        found: dict[tuple[str, ...], list[int]] = {}
        for place, seconds in self.seconds.items():
            found.setdefault(group(place), []).extend(seconds)
        return {key: synchrony(seconds, self.from_ns, self.to_ns) for key, seconds in found.items()}


def _latest(connection: Connection, question: Filter, now_ns: int, strength: str) -> _Latest:
    # Filters are applied to the latest of all retries: so the row of a tool says the same as the page that asks for that tool alone.
    columns = ("start_ns", "server", "tool", "client", "environment")
    latest: Select[Any] = (
        select(*(RETRY.c[name] for name in columns), RETRY.c.chain_id if strength != SAME_TOOL else literal(""))
        .where(RETRY.c.start_ns >= question.from_ns, RETRY.c.start_ns < question.to_ns)
        .order_by(RETRY.c.start_ns.desc())
        .limit(LATEST)
    )
    if strength != SAME_TOOL:
        part, chain = latest.subquery().c, open_queries.CHAIN.c
        held_by = select(*(part[name] for name in columns), chain.strength).where(chain.chain_id == part.chain_id)
        latest = held_by.order_by(part.start_ns.desc())
    found = connection.execute(latest).all()
    starts: dict[tuple[int, str, str, str, str, str], list[int]] = {}
    for start_ns, *place in found:
        starts.setdefault((start_ns // DAY_NS * DAY_NS, *place), []).append(start_ns // SECOND_NS)
    shown = open_queries.shown_names(connection, {place[:3] for place in starts})
    strong = at_least(strength)
    asked = [getattr(question, name) for name in ("server", "tool", "client", "environment")]
    seconds: dict[tuple[str, ...], list[int]] = {}
    for (day_ns, server, tool, client, environment, held), here in starts.items():
        name = shown(day_ns, server, tool)
        matches = all(one in (None, value) for one, value in zip(asked, (server, name, client, environment), strict=True))
        if matches and (strength == SAME_TOOL or held in strong):
            seconds.setdefault((server, name, client), []).extend(here)
    cut = len(found) >= LATEST
    return _Latest(seconds, found[-1].start_ns if cut else question.from_ns, min(question.to_ns, max(now_ns, question.from_ns + 1)))


def _apart(parts: Iterable[Placed]) -> dict[tuple[str, ...], list[Part]]:
    found: dict[tuple[str, ...], list[Part]] = {}
    for place, part in parts:
        found.setdefault(place, []).append(part)
    return found


def _filtered(question: Filter) -> set[str]:
    return {name for name in PLACES if getattr(question, name) is not None}


def _most_retries(pair: tuple[Any, Retries]) -> tuple[int, int, Any]:
    return -pair[1].retries, -pair[1].attempts, pair[0]
