"""Every SQL statement that silent suppression and error contracts are looked for by; each by index and bounded; reads only."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Engine, bindparam, cast, func, select

from collector.series import GRAIN, Series, series_after
from collector.statements import table
from schemas.rollups import MINUTE_S, QUARTER_S, SECOND_NS, Piece
from schemas.spans import ToolSpan
from schemas.suppression_tables import ASKED_AGAIN, CHILD_FAILED, ByDesignRow
from schemas.tables import CallRow, DurationRow, RollupRow, SeriesRow, ToolSpanRow

STRETCH_NS, QUARTER_NS = 300 * SECOND_NS, QUARTER_S * SECOND_NS
# Of calls that are looked at one by one, the newest so many.
MOST_CALLS = 20_000
# Stretches of five minutes that examples are looked for in.
STRETCHES = 20
EXAMPLES = 3


class Inner(NamedTuple):
    """A success with failed spans inside; `failed_children` is a JSON array of schemas.calls.FailedChild."""

    trace_id: bytes
    call_id: bytes
    environment: str
    server: str
    tool: str
    session: str | None
    emptiness: str
    failed_children: str


class Again(NamedTuple):
    """A call that asks the same again; `before` is the emptiness of the answer before it."""

    trace_id: bytes
    call_id: bytes
    environment: str
    server: str
    tool: str
    before: str | None


class Answered(NamedTuple):
    """A success whose arguments and emptiness are known."""

    start_ns: int
    arguments_hash: int
    emptiness: str
    trace_id: bytes
    call_id: bytes


class Failed(NamedTuple):
    """A failed call as contracts look at it; `views` is a JSON array of schemas.calls.View."""

    trace_id: bytes
    call_id: bytes
    category: str | None
    category_decided_by: str | None
    retryable: bool | None
    channel: str | None
    error_type: str | None
    message: str | None
    retry_after_ms: int | None
    flags: str
    views: str


class SuppressionCounts:
    """The database as suppression is looked for in it. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def first_ns(self) -> int | None:
        """When the first call that is kept starts; None if there is none."""
        with self._reading() as connection:
            found: int | None = connection.execute(select(func.min(table(CallRow).c.start_ns))).scalar()
        return found

    def series(self) -> list[Series]:
        """All series, by id."""
        with self._reading() as connection:
            return series_after(connection, 0)

    def by_stretch(self, from_ns: int, to_ns: int) -> list[tuple[int, int, int]]:
        """(series, start of five minutes, calls) from the counts of minutes."""
        return self._by_bucket(MINUTE_S, STRETCH_NS, from_ns, to_ns, None)

    def failures_by_quarter(self, from_ns: int, to_ns: int) -> list[tuple[int, int, int]]:
        """(series, start of a quarter of an hour, failures)."""
        return self._by_bucket(QUARTER_S, QUARTER_NS, from_ns, to_ns, "failure")

    def _by_bucket(self, width_s: int, bar_ns: int, from_ns: int, to_ns: int, outcome: str | None) -> list[tuple[int, int, int]]:
        rows = table(RollupRow).c
        bar = rows.bucket_ns - rows.bucket_ns % bar_ns
        within = [rows.grain == GRAIN, rows.width_s == width_s, rows.bucket_ns >= from_ns, rows.bucket_ns < to_ns]
        if outcome is not None:
            series = table(SeriesRow).c
            within.append(rows.series_id.in_(select(series.id).where(series.grain == GRAIN, series.outcome == outcome).scalar_subquery()))
        query = select(rows.series_id, bar, cast(func.sum(rows.calls), BigInteger)).where(*within).group_by(rows.series_id, bar)
        with self._reading() as connection:
            return [(row[0], row[1], row[2]) for row in connection.execute(query).all()]

    def sums(self, pieces: Iterable[Piece]) -> list[tuple[int, int]]:
        """(series, calls) of some buckets; a series may come several times."""
        rows = table(RollupRow).c
        found: list[tuple[int, int]] = []
        with self._reading() as connection:
            for piece in pieces:
                query = select(rows.series_id, cast(func.sum(rows.calls), BigInteger)).where(*_within(rows, piece)).group_by(rows.series_id)
                found.extend((row[0], row[1]) for row in connection.execute(query))
        return found

    def durations(self, pieces: Iterable[Piece]) -> list[tuple[int, bytes]]:
        """(series, packed histogram) of some buckets; a series may come several times."""
        rows = table(DurationRow).c
        found: list[tuple[int, bytes]] = []
        with self._reading() as connection:
            for piece in pieces:
                query = select(rows.series_id, rows.packed).where(*_within(rows, piece))
                found.extend((row[0], row[1]) for row in connection.execute(query))
        return found

    def inner_failures(self, from_ns: int, to_ns: int) -> list[Inner]:
        """The newest successes with failed spans inside, a bounded number."""
        call = table(CallRow).c
        query = (
            select(*(call[name] for name in Inner._fields))
            .where(CHILD_FAILED, call.start_ns >= from_ns, call.start_ns < to_ns, call.outcome == "success")
            .order_by(call.start_ns.desc())
            .limit(MOST_CALLS)
        )
        with self._reading() as connection:
            return [Inner(*row) for row in connection.execute(query)]

    def repeats(self, from_ns: int, to_ns: int) -> list[Again]:
        """The newest calls that ask the same again in their session or trace, and what the answer before was; a bounded number."""
        call, earlier = table(CallRow), table(CallRow).alias("earlier")
        lately = (
            select(*(call.c[name] for name in (*Again._fields[:-1], "session", "arguments_hash", "start_ns")))
            .where(ASKED_AGAIN, call.c.start_ns >= from_ns, call.c.start_ns < to_ns)
            .order_by(call.c.start_ns.desc())
            .limit(MOST_CALLS)
            .subquery()
            .c
        )

        def before(shared: str) -> Any:
            same = [earlier.c[name] == lately[name] for name in (shared, "tool", "server", "arguments_hash")]
            answers = select(earlier.c.emptiness).where(*same, earlier.c.start_ns < lately.start_ns)
            return answers.order_by(earlier.c.start_ns.desc()).limit(1).scalar_subquery()

        # Many emitters name no session: what belongs together has one trace.
        query: Any = select(*(lately[name] for name in Again._fields[:-1]), func.coalesce(before("session"), before("trace_id")))
        with self._reading() as connection:
            return [Again(*row) for row in connection.execute(query)]

    def answers(self, server: str, tool: str, environment: str, stretches: Iterable[tuple[int, int]], most: int) -> list[Answered]:
        """Of each stretch the newest answers of a tool whose arguments are known, `most` of them."""
        call = table(CallRow).c
        found: list[Answered] = []
        # Written once: of thousands of short statements the writing is what takes time.
        within = (call.start_ns >= bindparam("from_ns"), call.start_ns < bindparam("to_ns"))
        query = (
            select(*(call[name] for name in Answered._fields), call.environment)
            .where(call.tool == tool, call.server == server, *within)
            .order_by(call.start_ns.desc())
            .limit(most)
        )
        with self._reading() as connection:
            for from_ns, to_ns in stretches:
                for row in connection.execute(query, {"from_ns": from_ns, "to_ns": to_ns}).all():
                    if row[-1] == environment and row[1] is not None and row[2] in ("empty", "data"):
                        found.append(Answered(*row[:-1]))
        return found

    def examples(
        self,
        place: tuple[str, str, str],
        stretches: Sequence[int],
        emptiness: str | None = "empty",
        durations: tuple[int, int] | None = None,
    ) -> tuple[str, ...]:
        """The newest successes of a tool (environment, server, name) in some stretches of five minutes, as addresses of pages name them."""
        environment, server, tool = place
        call = table(CallRow).c
        found: list[str] = []
        with self._reading() as connection:
            for start_ns in sorted(stretches, reverse=True)[:STRETCHES]:
                within = [call.tool == tool, call.server == server, call.start_ns >= start_ns, call.start_ns < start_ns + STRETCH_NS]
                within += [call.environment == environment, call.outcome == "success"]
                if emptiness is not None:
                    within.append(call.emptiness == emptiness)
                if durations is not None:
                    within += [call.duration_ns >= durations[0], call.duration_ns <= durations[1]]
                query = select(call.trace_id, call.call_id).where(*within).order_by(call.start_ns.desc()).limit(EXAMPLES - len(found))
                found.extend(call_name(row[0], row[1]) for row in connection.execute(query))
                if len(found) == EXAMPLES:
                    break
        return tuple(found)

    def failures(self, place: tuple[str, str, str], stretches: Iterable[tuple[int, int]], most: int) -> list[Failed]:
        """Of some stretches, the last one first, the newest failures of a tool (environment, server, name), `most` in all."""
        environment, server, tool = place
        call = table(CallRow).c
        found: list[Failed] = []
        within = (call.start_ns >= bindparam("from_ns"), call.start_ns < bindparam("to_ns"))
        failed = (call.tool == tool, call.server == server, *within, call.environment == environment, call.outcome == "failure")
        query = select(*(call[name] for name in Failed._fields)).where(*failed).order_by(call.start_ns.desc()).limit(bindparam("left"))
        with self._reading() as connection:
            for from_ns, to_ns in stretches:
                asked = {"from_ns": from_ns, "to_ns": to_ns, "left": most - len(found)}
                found.extend(Failed(*row) for row in connection.execute(query, asked))
                if len(found) >= most:
                    break
        return found

    def spans(self, keys: Iterable[tuple[bytes, bytes]]) -> dict[tuple[bytes, bytes], ToolSpan]:
        """Tool spans by trace and span id; those that have aged out are missing."""
        span = table(ToolSpanRow).c
        found: dict[tuple[bytes, bytes], ToolSpan] = {}
        # One by one: of lists of pairs SQLite makes a walk through the whole table.
        one = (span.trace_id == bindparam("trace"), span.span_id == bindparam("id"))
        query = select(*(span[name] for name in ToolSpan._fields)).where(*one)
        with self._reading() as connection:
            for trace_id, span_id in keys:
                row = connection.execute(query, {"trace": trace_id, "id": span_id}).first()
                if row is not None:
                    found[trace_id, span_id] = ToolSpan(*row)
        return found

    def marks(self, now_ns: int) -> list[tuple[Any, ...]]:
        """The rows of what is marked as by design and holds, in the order of the columns."""
        marks = table(ByDesignRow).c
        with self._reading() as connection:
            return [tuple(row) for row in connection.execute(select(table(ByDesignRow)).where(marks.expires_ns > now_ns))]

    def _reading(self) -> Connection:
        return self._engine.connect().execution_options(read_only=True)


def _within(rows: Any, piece: Piece) -> tuple[Any, ...]:
    return rows.grain == GRAIN, rows.width_s == piece.width_s, rows.bucket_ns >= piece.from_ns, rows.bucket_ns < piece.to_ns


def call_name(trace_id: bytes, call_id: bytes) -> str:
    """How a call is named in addresses of pages."""
    return f"{trace_id.hex()}/{call_id.hex()}"
