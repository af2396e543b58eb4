"""Fill a database with calls and their counts directly, as the worker would have: a million in seconds, ten in minutes."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, Index, Select, Table, insert, select
from sqlmodel import SQLModel

from collector.core.histogram import index_of
from collector.counting import Group, Sum, at_every_grain, count
from collector.rolling import grouped
from schemas import histogram
from schemas.rollups import DAY_NS, DIMENSIONS, DURATION_GRAINS, SECOND_NS, WIDTHS_S

DAYS = 30
MINUTE_DAYS = 14
TOOLS, SERVERS, CLIENTS = 50, 5, 3
RUN = 20_000
MINUTE_NS = 60 * SECOND_NS

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

Key = tuple[str, ...]


@dataclass(frozen=True)
class Filled:
    """What a database was filled with: calls up to a time."""

    calls: int
    end_ns: int


def table(name: str) -> Table:
    """A table by name."""
    return SQLModel.metadata.tables[name]


def fill(engine: Engine, calls: int, end_ns: int) -> Filled:
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
    ids: dict[tuple[int, Key], int] = {}
    for day in range(DAYS):
        with engine.begin() as connection:
            _count_day(connection, end_ns - (DAYS - day) * DAY_NS, DAYS - day <= MINUTE_DAYS, ids)
    with engine.begin() as connection:
        connection.execute(insert(table("counter")), [{"name": "calls", "value": calls}, {"name": "tool_spans", "value": calls}])
        _create(connection, [index for index in indexes if index.name != "ix_call_start_ns"])
    return Filled(calls, end_ns)


def _create(connection: Connection, indexes: list[Index]) -> None:
    for index in indexes:
        index.create(connection)


def _calls(connection: Connection, chance: np.random.Generator, first: int, many: int, start_ns: int) -> None:
    """The calls of a day, most in its middle, in order of time; ids in order too, since it is pages that are measured."""
    columns = [column.name for column in table("call").columns]
    sql = f'INSERT INTO "call" ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))})'
    tails = _tails(columns)
    hours = np.clip(chance.normal(13, 5, many), 0, 23.999)
    starts = np.sort(start_ns + (hours * 3600 * SECOND_NS).astype(np.int64)).tolist()
    # A few tools have most of the calls.
    popularity = 1 / np.arange(1, TOOLS + 1) ** 0.7
    tools = chance.choice(TOOLS, many, p=popularity / popularity.sum())
    kinds = chance.choice(len(KINDS), many, p=[weight for weight, _ in KINDS])
    clients = chance.choice(CLIENTS, many, p=(0.6, 0.3, 0.1)).tolist()
    lengths = np.exp(chance.normal(np.log(5e7) + (tools % 10) * 0.35, 0.6)).astype(np.int64)
    lengths[kinds == 4] = 30 * SECOND_NS
    rows = (
        (number.to_bytes(16), number.to_bytes(8), start, start + length, length, None, *tails[tool][kind][client], index_of(length))
        for number, start, length, tool, kind, client in zip(
            range(first + 1, first + many + 1), starts, lengths.tolist(), tools.tolist(), kinds.tolist(), clients, strict=True
        )
    )
    driver: Any = connection.connection.driver_connection
    driver.executemany(sql, rows)


def _tails(columns: list[str]) -> list[list[list[tuple[Any, ...]]]]:
    """The columns between the durations and the bucket, by tool, kind and client."""
    views = '[{"span_id":"00f067aa0ba902b7","layer":"server","service":"docs","scope":"mcp","scope_version":"2.1","name":"tools/call"}]'

    def tail(tool: int, kind: int, client: int) -> tuple[Any, ...]:
        outcome, emptiness, category, retryable, channel, error = KINDS[kind][1]
        values = {
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
            "link": "new",
            "attempt": 1,
            "flags": "",
            "views": views,
            "failed_children": "[]",
        }
        return tuple(values.get(name) for name in columns[columns.index("environment") : columns.index("duration_idx")])

    return [[[tail(tool, kind, client) for client in range(CLIENTS)] for kind in range(len(KINDS))] for tool in range(TOOLS)]


def _count_day(connection: Connection, day_ns: int, minutes: bool, ids: dict[tuple[int, Key], int]) -> None:
    """Count the calls of a day by minutes, and those by wider buckets."""
    buckets: dict[tuple[int, int], list[dict[Key, Sum]]] = {}
    for minute_ns, groups in _minutes(connection, day_ns):
        grains = list(at_every_grain(count(groups), ()))
        buckets[WIDTHS_S[0], minute_ns] = grains
    for narrow_s, wide_s in pairwise(WIDTHS_S):
        for (width_s, start_ns), grains in list(buckets.items()):
            if width_s == narrow_s:
                at = (wide_s, start_ns - start_ns % (wide_s * SECOND_NS))
                for into, found in zip(buckets.setdefault(at, [defaultdict(Sum) for _ in grains]), grains, strict=True):
                    for key, one in found.items():
                        into[key].merge(one)
    if not minutes:
        buckets = {at: grains for at, grains in buckets.items() if at[0] != WIDTHS_S[0]}
    rollups, durations = [], []
    for (width_s, bucket_ns), grains in buckets.items():
        for grain, found in enumerate(grains):
            for key, one in found.items():
                series = ids.setdefault((grain, key), len(ids) + 1)
                rollups.append((grain, width_s, bucket_ns, series, *one.measures()))
                if grain in DURATION_GRAINS:
                    durations.append((grain, width_s, bucket_ns, series, histogram.pack(one.counts)))
    driver: Any = connection.connection.driver_connection
    names = ", ".join(("id", "grain", *DIMENSIONS))
    marks = ", ".join("?" * (len(DIMENSIONS) + 2))
    driver.executemany(
        f"INSERT INTO series ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING", [(one, *at[:1], *at[1]) for at, one in ids.items()]
    )
    driver.executemany("INSERT INTO rollup VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", sorted(rollups))
    driver.executemany("INSERT INTO duration VALUES (?, ?, ?, ?, ?)", sorted(durations))


def _minutes(connection: Connection, day_ns: int) -> Iterator[tuple[int, list[Group]]]:
    call = table("call").c
    day: Select[Any] = grouped(day_ns, WIDTHS_S[-1])
    minute = (call.start_ns - call.start_ns % MINUTE_NS).label("minute_ns")
    found: dict[int, list[Group]] = defaultdict(list)
    for *values, minute_ns in connection.execute(day.add_columns(minute).group_by(minute)):
        found[minute_ns].append(Group(*values))
    yield from sorted(found.items())


def total(engine: Engine) -> int:
    """How many calls the widest counts say."""
    with engine.connect().execution_options(read_only=True) as connection:
        rollup = table("rollup").c
        whole = select(rollup.calls).where(rollup.grain == 2, rollup.width_s == WIDTHS_S[-1])
        return sum(connection.execute(whole).scalars())
