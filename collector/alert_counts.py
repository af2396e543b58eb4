"""Every SQL statement that alerting measures by: sums of rollups, and what is behind a suspicion, each by index and bounded; reads only."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import BigInteger, Connection, Engine, Select, bindparam, cast, func, select

from collector.series import GRAIN, Series, series_after
from collector.statements import chunks, table
from schemas.retry_tables import ChainRow, RetryRollupRow
from schemas.rollups import MINUTE_S, SECOND_NS, Piece
from schemas.suppression import EVALUATED, STANDS_NS, signals_in
from schemas.suppression import Suspect as Suspected
from schemas.suppression_tables import ByDesignRow, SuspectRow
from schemas.tables import CallRow, MetaRow, RollupRow

MINUTE_NS = MINUTE_S * SECOND_NS
RETRY_SUMS = ("attempts", "failures", "retries", "wasted", "failed_last", "headless")
# How many calls are looked at behind one suspicion, and how many suspicions at once.
CALLS_BEHIND = 1_000
SUSPECTS = 200
# Of a session, the last so many calls: a loop that is longer is long enough.
STEPS = 200

# Rows of (series, *counts).
Table = npt.NDArray[np.int64]


class Behind(NamedTuple):
    """One call behind a suspicion."""

    trace_id: bytes
    call_id: bytes
    start_ns: int
    session: str | None
    outcome: str
    category: str | None
    channel: str | None
    link: str | None


class SessionCall(NamedTuple):
    """One call of a session; `call` names it as addresses of pages do."""

    start_ns: int
    server: str
    tool: str
    arguments_hash: int | None
    outcome: str
    result_hash: int | None
    call: str


class Suspect(NamedTuple):
    """A session that may go round in circles."""

    session: str
    server: str
    tool: str


class AlertCounts:
    """The database as alerting measures it. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Made once: what is asked often costs more to write than to answer.
        self._retry_sums = _summing(table(RetryRollupRow).c, RETRY_SUMS)
        self._call_sums = _summing(table(RollupRow).c, ("calls",))
        self._behind, self._first_failure, self._last_call = _of_a_tool()
        self._failing, self._repeating = _looping()

    def series_after(self, last: int) -> list[Series]:
        """The series that came after one, by id: they never change."""
        with self._reading() as connection:
            return series_after(connection, last)

    def retry_sums(self, pieces: Iterable[Piece]) -> list[tuple[int, ...]]:
        """(series, *RETRY_SUMS) of some buckets; a series may come several times."""
        return self._sums(self._retry_sums, pieces)

    def call_sums(self, pieces: Iterable[Piece]) -> list[tuple[int, ...]]:
        """(series, calls) of some buckets; a series may come several times."""
        return self._sums(self._call_sums, pieces)

    def retry_table(self, pieces: Iterable[Piece]) -> Table:
        """As `retry_sums`, for sums over many series."""
        return np.array(self.retry_sums(pieces), dtype=np.int64).reshape(-1, 1 + len(RETRY_SUMS))

    def call_table(self, pieces: Iterable[Piece]) -> Table:
        """As `call_sums`, for sums over many series."""
        return np.array(self.call_sums(pieces), dtype=np.int64).reshape(-1, 2)

    def retried_minutes(self, from_ns: int, to_ns: int) -> list[tuple[int, ...]]:
        """(bucket, series, *RETRY_SUMS) of every minute of a range."""
        return self._minutes(table(RetryRollupRow).c, RETRY_SUMS, from_ns, to_ns)

    def called_minutes(self, from_ns: int, to_ns: int) -> list[tuple[int, ...]]:
        """(bucket, series, calls) of every minute of a range."""
        return self._minutes(table(RollupRow).c, ("calls",), from_ns, to_ns)

    def first_minute(self, default_ns: int) -> int:
        """The first minute that is still counted by itself; the default if there is none."""
        rows = table(RetryRollupRow).c
        query = select(func.min(rows.bucket_ns)).where(rows.grain == GRAIN, rows.width_s == MINUTE_S)
        with self._reading() as connection:
            found: int | None = connection.execute(query).scalar()
        return default_ns if found is None else found

    def _minutes(self, rows: Any, names: Sequence[str], from_ns: int, to_ns: int) -> list[tuple[int, ...]]:
        within = (rows.grain == GRAIN, rows.width_s == MINUTE_S, rows.bucket_ns >= from_ns, rows.bucket_ns < to_ns)
        query = select(rows.bucket_ns, rows.series_id, *(rows[name] for name in names)).where(*within)
        with self._reading() as connection:
            return list(map(tuple, connection.execute(query)))

    def _sums(self, query: Select[Any], pieces: Iterable[Piece]) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = []
        with self._reading() as connection:
            for piece in pieces:
                found.extend(map(tuple, connection.execute(query, piece._asdict())))
        return found

    def retry_minutes(self, series_ids: Sequence[int], from_ns: int, to_ns: int) -> list[tuple[int, int, int]]:
        """(bucket, retries, attempts) of some series by minute, in order; minutes without calls are left out."""
        rows = table(RetryRollupRow).c
        sums: dict[int, tuple[int, int]] = {}
        # By the key, minute for minute: the rows of all other series lie between them.
        buckets = range(from_ns - from_ns % MINUTE_NS, to_ns, MINUTE_NS)
        with self._reading() as connection:
            for some in chunks(buckets):
                for ids in chunks(series_ids):
                    query = select(rows.bucket_ns, func.sum(rows.retries), func.sum(rows.attempts)).where(
                        rows.grain == GRAIN, rows.width_s == MINUTE_S, rows.bucket_ns.in_(list(some)), rows.series_id.in_(list(ids))
                    )
                    for bucket_ns, retries, attempts in connection.execute(query.group_by(rows.bucket_ns)):
                        known = sums.get(bucket_ns, (0, 0))
                        sums[bucket_ns] = known[0] + int(retries), known[1] + int(attempts)
        return [(bucket_ns, *sums[bucket_ns]) for bucket_ns in sorted(sums)]

    def behind(self, server: str, tools: Sequence[str], from_ns: int, to_ns: int) -> list[Behind]:
        """The last calls of some tools of a server in a range, the newest first; a bounded number."""
        found: list[Behind] = []
        with self._reading() as connection:
            for tool in tools:
                given = {"server": server, "tool": tool, "from_ns": from_ns, "to_ns": to_ns}
                found.extend(Behind(*row) for row in connection.execute(self._behind, given))
        return found

    def first_failure(self, server: str, tool: str, from_ns: int, to_ns: int) -> int | None:
        """When the first call of a tool failed in a range."""
        given = {"server": server, "tool": tool, "from_ns": from_ns, "to_ns": to_ns}
        with self._reading() as connection:
            found: int | None = connection.execute(self._first_failure, given).scalar()
        return found

    def last_call(self, server: str, tools: Sequence[str], to_ns: int) -> int | None:
        """When one of some tools was called last."""
        last: list[int] = []
        with self._reading() as connection:
            for tool in tools:
                found = connection.execute(self._last_call, {"server": server, "tool": tool, "to_ns": to_ns}).scalar()
                last.extend([] if found is None else [found])
        return max(last, default=None)

    def looping(self, from_ns: int, now_ns: int, attempts: int) -> set[Suspect]:
        """Sessions that may loop: their operations failed so often and may go on, or they lately asked what they knew already."""
        given = {"from_ns": from_ns, "now_ns": now_ns}
        with self._reading() as connection:
            found = [*connection.execute(self._failing, {**given, "attempts": attempts}), *connection.execute(self._repeating, given)]
        return {Suspect(*row) for row in found}

    def steps(self, session: str, now_ns: int) -> list[SessionCall]:
        """The last calls of a session, in order of start."""
        call = table(CallRow).c
        names = (*SessionCall._fields[:-1], "trace_id", "call_id")
        query = select(*(call[name] for name in names)).where(call.session == session, call.start_ns <= now_ns)
        with self._reading() as connection:
            rows = connection.execute(query.order_by(call.start_ns.desc(), call.call_id.desc()).limit(STEPS)).all()
        return [SessionCall(row[0], row[1], row[2], row[3], row[4], row[5], call_name(row.trace_id, row.call_id)) for row in reversed(rows)]

    def suspects(self, now_ns: int) -> list[Suspected]:
        """Suspects of silent suppression that stood at a time, but for those that are by design."""
        suspect, mark = table(SuspectRow).c, table(ByDesignRow).c
        marked = select(mark.tool).where(mark.server == suspect.server, mark.tool == suspect.tool, mark.expires_ns > now_ns).exists()
        standing = (suspect.found_ns <= now_ns, suspect.seen_ns >= now_ns - STANDS_NS)
        names = ("environment", "server", "tool", "class_", "q", "empty", "known", "failure", "completed")
        query = select(*(suspect[name] for name in names), suspect.signals).where(*standing, ~marked).limit(SUSPECTS)
        with self._reading() as connection:
            rows = connection.execute(query).all()
        return [Suspected(*row[:4], signals_in(row.signals), *row[4:-1]) for row in rows]

    def looked_for_suspects(self, now_ns: int) -> bool:
        """Whether silent suppression was looked for lately."""
        meta = table(MetaRow).c
        with self._reading() as connection:
            said = connection.execute(select(meta.value).where(meta.name == EVALUATED)).scalar()
        return said is not None and json.loads(said)["at_ns"] >= now_ns - STANDS_NS

    def heard(self, series_ids: Sequence[int], from_ns: int, to_ns: int) -> list[int]:
        """The minutes in which some series have calls, in order."""
        return [bucket_ns for bucket_ns, _, attempts in self.retry_minutes(series_ids, from_ns, to_ns) if attempts]

    def _reading(self) -> Connection:
        return self._engine.connect().execution_options(read_only=True)


def _summing(rows: Any, names: Sequence[str]) -> Select[Any]:
    """The sums of every series in some buckets of one width."""
    within = (
        *(rows.grain == GRAIN, rows.width_s == bindparam("width_s")),
        *(rows.bucket_ns >= bindparam("from_ns"), rows.bucket_ns < bindparam("to_ns")),
    )
    # A sum of PostgreSQL is a Decimal unless it is told otherwise.
    sums = (cast(func.sum(rows[name]), BigInteger) for name in names)
    return select(rows.series_id, *sums).where(*within).group_by(rows.series_id)


def _of_a_tool() -> tuple[Select[Any], Select[Any], Select[Any]]:
    """The last calls of a tool in a range, the first of them that failed, and when it was called last."""
    call = table(CallRow).c
    named = (call.tool == bindparam("tool"), call.server == bindparam("server"), call.start_ns <= bindparam("to_ns"))
    within = (*named, call.start_ns >= bindparam("from_ns"))
    behind = select(*(call[name] for name in Behind._fields)).where(*within).order_by(call.start_ns.desc()).limit(CALLS_BEHIND)
    first = select(call.start_ns).where(*within, call.outcome == "failure").order_by(call.start_ns).limit(1)
    last = select(call.start_ns).where(*named).order_by(call.start_ns.desc()).limit(1)
    return behind, first, last


def _looping() -> tuple[Select[Any], Select[Any]]:
    """Sessions whose operations failed often and may go on, and those that lately asked what they knew already."""
    chain, call = table(ChainRow).c, table(CallRow).c
    failing = select(chain.session, chain.server, chain.tool).where(
        *(chain.closes_ns >= bindparam("from_ns"), chain.attempts >= bindparam("attempts")),
        *(chain.session.is_not(None), chain.start_ns <= bindparam("now_ns")),
    )
    # Repeats are rare, but what they lie among is not: a busy fleet is looked at in part.
    lately = (
        select(call.session, call.server, call.tool, call.link)
        .where(call.start_ns >= bindparam("from_ns"), call.start_ns <= bindparam("now_ns"))
        .order_by(call.start_ns.desc())
        .limit(20 * CALLS_BEHIND)
        .subquery()
        .c
    )
    repeating = select(lately.session, lately.server, lately.tool).where(lately.link == "repeat", lately.session.is_not(None)).distinct()
    return failing.distinct().limit(SUSPECTS), repeating.limit(SUSPECTS)


def call_name(trace_id: bytes, call_id: bytes) -> str:
    """How a call is named in addresses of pages."""
    return f"{trace_id.hex()}/{call_id.hex()}"
