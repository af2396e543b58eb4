"""Fill a database with calls, their operations and their counts directly, as the worker would have: a million in a minute."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Index, Select, Table, insert, select
from sqlmodel import SQLModel

from collector.core.chains import Attempt
from collector.core.histogram import index_of
from collector.core.operations import begun
from collector.counting import Group, Summed, count, likeness
from collector.grouping import grouped, grouped_operations, grouped_retries
from collector.retry_counting import OperationGroup, RetryGroup, count_retries
from collector.rolling import Layer, layers
from schemas.operations import DECLARED, SAME_ARGUMENTS, SAME_TOOL
from schemas.rollups import DAY_NS, DIMENSIONS, SECOND_NS, WIDTHS_S

DAYS = 30
MINUTE_DAYS = 14
TOOLS, SERVERS = 50, 5
MINUTE_NS = 60 * SECOND_NS
# A session lasts so long and holds so many first attempts.
SESSION_NS, SESSION_CALLS = 10 * MINUTE_NS, 25

# Outcomes of calls with their weights: (outcome, emptiness, category, retryable, channel, error type).
KINDS = (
    (0.800, ("success", "data", None, None, None, None)),
    (0.070, ("success", "empty", None, None, None, None)),
    (0.060, ("success", "unknown", None, None, None, None)),
    (0.005, ("partial", "data", None, None, None, None)),
    (0.025, ("failure", None, "transient", True, "transport", "timeout")),
    (0.015, ("failure", None, "validation", False, "protocol", "-32602")),
    (0.010, ("failure", None, "business", False, "tool", "tool_error")),
    (0.004, ("failure", None, "permission", False, "tool", "403")),
    (0.006, ("failure", None, "unclassified", None, "tool", "tool_error")),
    (0.005, ("cancelled", None, None, None, None, None)),
)
FAILING = [number for number, (_, kind) in enumerate(KINDS) if kind[0] == "failure"]
CLIENTS = (0.6, 0.3, 0.1)
# What retries are known by is a matter of how a server is instrumented.
STRENGTHS = (SAME_ARGUMENTS, SAME_ARGUMENTS, SAME_TOOL, SAME_TOOL, DECLARED)
# How often a call that failed is tried again, and how often the last time does it.
RETRIES = ((0, 0.55), (1, 0.25), (2, 0.12), (3, 0.06), (6, 0.02))
RECOVERS = 0.5
VIEWS = '[{"span_id":"00f067aa0ba902b7","layer":"server","service":"docs","scope":"mcp","scope_version":"2.1","name":"tools/call"}]'

Numbers = NDArray[np.int64]
# A kind of counts, by grain and series.
Counts = tuple[Layer, list[dict[Any, Any]]]


def table(name: str) -> Table:
    """A table by name."""
    return SQLModel.metadata.tables[name]


def fill(engine: Engine, calls: int, end_ns: int) -> None:
    """Put calls of 30 days before `end_ns` (a start of a day) into an empty SQLite database, with their counts at every width."""
    chance = np.random.default_rng(7)
    indexes = sorted(table("call").indexes, key=lambda index: str(index.name))
    with engine.begin() as connection:
        for index in indexes:
            index.drop(connection)
        made = 0
        for day in range(DAYS):
            start_ns, until = end_ns - (DAYS - day) * DAY_NS, calls * (day + 1) // DAYS
            _calls(connection, chance, made, until - made, start_ns)
            made = until
        _create(connection, [index for index in indexes if index.name == "ix_call_start_ns"])
    ids: dict[tuple[Any, ...], int] = {}
    for day in range(DAYS):
        with engine.begin() as connection:
            _count_day(connection, end_ns - (DAYS - day) * DAY_NS, DAYS - day <= MINUTE_DAYS, ids)
    with engine.begin() as connection:
        connection.execute(insert(table("counter")), [{"name": "calls", "value": calls}, {"name": "tool_spans", "value": calls}])
        _create(connection, [index for index in indexes if index.name != "ix_call_start_ns"])


def _create(connection: Connection, indexes: list[Index]) -> None:
    for index in indexes:
        index.create(connection)


@dataclass(frozen=True)
class Day:
    """The calls of a day in order of time: what each is, which operation it belongs to, and which of its attempts it is."""

    start_ns: Numbers
    length_ns: Numbers
    tool: Numbers
    kind: Numbers
    client: Numbers
    operation: Numbers
    place: Numbers


def _day(chance: np.random.Generator, many: int, start_ns: int) -> Day:
    """So many calls, most in the middle of the day."""
    first = many - round(many * 0.045)
    hours = np.clip(chance.normal(13, 5, first), 0, 23.9)
    starts = np.sort(start_ns + (hours * 3600 * SECOND_NS).astype(np.int64))
    # A few tools have most of the calls.
    popularity = 1 / np.arange(1, TOOLS + 1) ** 0.7
    tools = chance.choice(TOOLS, first, p=popularity / popularity.sum())
    kinds = chance.choice(len(KINDS), first, p=[weight for weight, _ in KINDS])
    clients = chance.choice(len(CLIENTS), first, p=CLIENTS)
    failed = np.flatnonzero(np.isin(kinds, FAILING))
    again = np.zeros(first, dtype=np.int64)
    again[failed] = chance.choice([n for n, _ in RETRIES], len(failed), p=[weight for _, weight in RETRIES])
    # Exactly as many calls as are asked for.
    while (missing := many - first - int(again.sum())) != 0:
        chosen = failed if missing > 0 else np.flatnonzero(again)
        again[chance.permutation(chosen)[: abs(missing)]] += np.sign(missing)
    operations = np.repeat(np.arange(first), again + 1)
    places = np.arange(many) - np.repeat(np.cumsum(again + 1) - again - 1, again + 1) + 1
    last = places == np.repeat(again + 1, again + 1)
    attempts = kinds[operations]
    attempts[last & (places > 1) & (chance.random(many) < RECOVERS)] = 0
    lengths = np.exp(chance.normal(np.log(5e7) + (tools[operations] % 10) * 0.35, 0.6)).astype(np.int64)
    lengths[attempts == FAILING[0]] = 30 * SECOND_NS
    # Most clients wait twice as long each time, those of the second kind as long as before.
    waits = (chance.uniform(0.5, 2, many) * np.where(clients[operations] == 1, 1.0, 2.0 ** np.minimum(places, 6)) * SECOND_NS).astype(
        np.int64
    )
    steps = np.where(places == 1, 0, waits + np.concatenate([[0], lengths[:-1]]))
    summed = np.cumsum(steps)
    offsets = summed - np.repeat(summed[places == 1], again + 1)
    begins = np.minimum(starts[operations] + offsets, start_ns + DAY_NS - 1)
    order = np.argsort(begins, kind="stable")
    return Day(*(one[order] for one in (begins, lengths, tools[operations], attempts, clients[operations], operations, places)))


def _calls(connection: Connection, chance: np.random.Generator, first: int, many: int, start_ns: int) -> None:
    """The calls of a day with their operations; ids in order of time too, since it is pages that are measured."""
    day = _day(chance, many, start_ns)
    columns = [column.name for column in table("call").columns]
    operations: dict[int, list[Attempt]] = defaultdict(list)
    latest: dict[str, int] = {}
    rows = _rows(day, first + 1, start_ns, columns, operations, latest)
    driver: Any = connection.connection.driver_connection
    driver.executemany(f'INSERT INTO "call" ({", ".join(columns)}) VALUES ({_marks(columns)})', rows)
    chains, retries = [], []
    for attempts in operations.values():
        progress = begun(attempts[0].own_chain, attempts)
        assert progress is not None
        chain = progress.chain(latest.get(progress.first.session or "", 0) > (progress.closes_ns or 0))
        chains += [] if chain is None else [chain]
        retries += progress.retries
    for name, found in (("chain", chains), ("retry", retries)):
        driver.executemany(f"INSERT INTO {name} VALUES ({_marks(list(table(name).columns))})", found)


def _rows(
    day: Day, number: int, start_ns: int, columns: Sequence[str], operations: dict[int, list[Attempt]], latest: dict[str, int]
) -> Iterator[tuple[Any, ...]]:
    """The rows of a day's calls. Notes the attempts of operations that failed, and the last start of each session."""
    a_session = max(1, round(len(day.start_ns) / (DAY_NS / SESSION_NS) / SESSION_CALLS))
    names: dict[int, str] = {}
    for start, length, tool, kind, client, operation, place in zip(
        *(one.tolist() for one in (day.start_ns, day.length_ns, day.tool, day.kind, day.client, day.operation, day.place)), strict=True
    ):
        trace_id, call_id = number.to_bytes(16), number.to_bytes(8)
        if place == 1:
            names[operation] = f"{trace_id.hex()}-{call_id.hex()}"
        strength, bucket = STRENGTHS[tool % SERVERS], index_of(length)
        session = None if strength == SAME_TOOL else f"{start_ns // DAY_NS}-{(start - start_ns) // SESSION_NS}-{operation % a_session}"
        said = _said(tool, kind, client) | {
            "trace_id": trace_id,
            "call_id": call_id,
            "start_ns": start,
            "end_ns": start + length,
            "duration_ns": length,
            "session": session,
            "arguments_hash": operation if strength == SAME_ARGUMENTS else None,
            "parent_span_id": operation.to_bytes(8) if strength == SAME_TOOL else None,
            "declared_attempt": place if strength == DECLARED and place > 1 else None,
            "link": "new" if place == 1 else "retry",
            "link_strength": None if place == 1 else strength,
            "attempt": place,
            "chain_id": names[operation],
            "duration_idx": bucket,
            "minute_ns": start - start % MINUTE_NS,
            "likeness": _likeness(tool, kind, client, bucket),
        }
        if session is not None:
            latest[session] = max(start, latest.get(session, 0))
        if place > 1 or kind in FAILING:
            operations[operation].append(Attempt(*(said.get(name) for name in _ATTEMPT)))  # type: ignore[arg-type]
        yield tuple(said.get(name) for name in columns)
        number += 1


_ATTEMPT = ["declared_attempt" if name == "declared" else name for name in Attempt._fields]


@cache
def _said(tool: int, kind: int, client: int) -> dict[str, Any]:
    """What calls of one kind have in common."""
    outcome, emptiness, category, retryable, channel, error = KINDS[kind][1]
    return {
        "environment": "production",
        "server": f"server-{tool % SERVERS}",
        "client": f"agent-{client}",
        "tool": f"tool_{tool:02d}",
        "outcome": outcome,
        "emptiness": emptiness,
        "category": category,
        "retryable": retryable,
        "channel": channel,
        "error_type": error,
        "message": "the upstream did not answer in time" if outcome == "failure" else None,
        "decided_by": "is_error" if outcome == "failure" else "no_failure",
        "flags": "",
        "views": VIEWS,
        "failed_children": "[]",
    }


@cache
def _likeness(tool: int, kind: int, client: int, bucket: int) -> int:
    said = _said(tool, kind, client)
    return likeness(*(said[name] for name in DIMENSIONS), bucket)


def _count_day(connection: Connection, day_ns: int, minutes: bool, ids: dict[tuple[Any, ...], int]) -> None:
    """Count the calls of a day by minutes, and those by wider buckets."""
    buckets: dict[tuple[int, int], list[Counts]] = {}
    day = (day_ns, WIDTHS_S[-1])
    groups: dict[int, list[Group]] = _by_minute(connection, "call", grouped(*day), Group)
    retries: dict[int, list[RetryGroup]] = _by_minute(connection, "retry", grouped_retries(*day), RetryGroup)
    operations: dict[int, list[OperationGroup]] = _by_minute(connection, "chain", grouped_operations(*day), OperationGroup)
    for minute_ns, of_minute in groups.items():
        sums = count(of_minute).sums
        found = layers(sums, count_retries(sums, retries.get(minute_ns, ()), operations.get(minute_ns, ())))
        buckets[WIDTHS_S[0], minute_ns] = [(layer, [dict(grain) for grain in grains]) for layer, grains in found]
    for narrow_s, wide_s in pairwise(WIDTHS_S):
        for (width_s, start_ns), found in list(buckets.items()):
            if width_s == narrow_s:
                at = (wide_s, start_ns - start_ns % (wide_s * SECOND_NS))
                into = buckets.setdefault(at, [(layer, [{} for _ in grains]) for layer, grains in found])
                for (_, wide), (_, narrow) in zip(into, found, strict=True):
                    _merge(wide, narrow)
    kept = {at: found for at, found in buckets.items() if minutes or at[0] != WIDTHS_S[0]}
    _write(connection, kept, ids)


def _merge(wide: list[dict[Any, Any]], narrow: Sequence[Mapping[Any, Summed]]) -> None:
    for into, found in zip(wide, narrow, strict=True):
        for key, one in found.items():
            into.setdefault(key, type(one)()).merge(one)


def _write(connection: Connection, buckets: Mapping[tuple[int, int], Iterable[Counts]], ids: dict[tuple[Any, ...], int]) -> None:
    """Store the counts of some buckets (by width and start), and the series that are new."""
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for (width_s, bucket_ns), found in buckets.items():
        for layer, grains in found:
            for grain, of_grain in enumerate(grains):
                for key, one in of_grain.items():
                    place = (grain, width_s, bucket_ns, ids.setdefault((grain, *key), len(ids) + 1))
                    rows[str(layer.measures.__tablename__)].append((*place, *one.measures()))
                    if grain in layer.grains and any(packed := one.packed()):
                        rows[str(layer.histograms.__tablename__)].append((*place, *packed))
    driver: Any = connection.connection.driver_connection
    names = ("id", "grain", *DIMENSIONS, "strength")
    series = f"INSERT INTO series ({', '.join(names)}) VALUES ({_marks(names)}) ON CONFLICT DO NOTHING"
    driver.executemany(series, [(one, *key) for key, one in ids.items()])
    for name, of_table in rows.items():
        driver.executemany(f"INSERT INTO {name} VALUES ({_marks(list(table(name).columns))})", sorted(of_table, key=lambda row: row[:4]))


def _by_minute(connection: Connection, name: str, query: Select[Any], kind: Any) -> dict[int, list[Any]]:
    """The groups of a day by the minute that rows of a table start in."""
    start_ns = table(name).c.start_ns
    minute = (start_ns - start_ns % MINUTE_NS).label("minute_ns")
    found: dict[int, list[Any]] = defaultdict(list)
    for *values, minute_ns in connection.execute(query.add_columns(minute).group_by(minute)):
        found[minute_ns].append(kind(*values))
    return dict(sorted(found.items()))


def _marks(columns: Sequence[Any]) -> str:
    return ", ".join("?" * len(columns))


def total(engine: Engine) -> int:
    """How many calls the widest counts say."""
    with engine.connect().execution_options(read_only=True) as connection:
        rollup = table("rollup").c
        whole = select(rollup.calls).where(rollup.grain == 2, rollup.width_s == WIDTHS_S[-1])
        return sum(connection.execute(whole).scalars())
