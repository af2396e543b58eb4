"""Every SQL statement of the worker, for SQLite and PostgreSQL alike; each public method is one transaction, or reads only."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, delete, func, select, text, tuple_

from collector.rolling import Rolling, horizons, prepare
from collector.settling import CallTuple, Settling
from collector.statements import Plain, chunks, insert_for, table
from schemas.rollups import NAMES_A_DAY, SECOND_NS
from schemas.spans import Ancestor, ToolSpan
from schemas.tables import AncestryRow, CallRow, MetaRow, PendingBucketRow, PendingTraceRow, ToolSpanRow

MINUTE_NS = 60 * 10**9
REBUILT_TO = "rebuilt_to"
# Traces that a step has to itself on PostgreSQL: collectors with news of them wait until it ends.
MOST_TAKEN = 250
DIGITS = "0123456789ABCDEF"
# The advisory lock of PostgreSQL that one worker at a time has to roll up; a number without a meaning of its own.
ROLLING_UP = 7_206_291


class Lane(NamedTuple):
    """One of so many equal shares of all traces, by the last digit of their ids."""

    number: int
    of: int


ALL = Lane(0, 1)


class WorkStore:
    """The database as the worker reads and writes it. Safe to share between threads."""

    def __init__(self, engine: Engine, names_a_day: int = NAMES_A_DAY, within: Connection | None = None) -> None:
        self._engine = engine
        self._names_a_day = names_a_day
        self._insert = insert_for(engine)
        self._plain = Plain(engine)
        self._within = within

    @contextmanager
    def step(self) -> Iterator["WorkStore"]:
        """The store for one step of work.

        PostgreSQL: all of it is one transaction, so that what it takes stays taken until it ends, whatever ends it. SQLite has one
        writer, whom a step must not hold up while it reads: there each part of it is on its own, and looks whether there are news.
        """
        if self._engine.dialect.name == "sqlite":
            yield self
        else:
            with self._engine.begin() as connection:
                yield WorkStore(self._engine, self._names_a_day, connection)

    def pending_traces(self, limit: int, lane: Lane = ALL) -> dict[bytes, int]:
        """Traces to settle, the longest waiting first, with the version of their note.

        None that another worker has: PostgreSQL says which these are, on SQLite each keeps to its lane.
        """
        if self._within is not None:
            limit = min(limit, MOST_TAKEN)
        # Every stored trace comes by here, so SQLite pays no index for the order: it numbers rows as they come.
        order = "rowid" if self._engine.dialect.name == "sqlite" else "noted_ns"
        lock = "FOR UPDATE SKIP LOCKED" if self._within is not None else ""
        ours = ""
        if self._within is None and lane.of > 1:
            ours = f"WHERE instr('{DIGITS}', substr(hex(trace_id), -1)) % {lane.of} = {lane.number}"
        with self._reading() as connection:
            query = f"SELECT trace_id, version FROM pending_trace {ours} ORDER BY {order} LIMIT {limit} {lock}"
            return dict(self._rows(connection, query, ()))

    def spans_of(self, trace_ids: Sequence[bytes]) -> dict[bytes, tuple[list[ToolSpan], list[Ancestor]]]:
        """All tool spans and tree places of some traces; traces without a tool span are left out."""
        found: dict[bytes, tuple[list[ToolSpan], list[Ancestor]]] = {}
        with self._reading() as connection:
            for ids in chunks(trace_ids):
                query = self._plain.select_where_in(ToolSpanRow, "trace_id", len(ids))
                for span in map(ToolSpan._make, self._rows(connection, query, tuple(ids))):
                    found.setdefault(span.trace_id, ([], []))[0].append(span)
                wanted = tuple(trace_id for trace_id in ids if trace_id in found)
                if wanted:
                    query = self._plain.select_where_in(AncestryRow, "trace_id", len(wanted), ", ".join(Ancestor._fields))
                    for place in map(Ancestor._make, self._rows(connection, query, wanted)):
                        found[place.trace_id][1].append(place)
        return found

    def calls_of(self, trace_ids: Sequence[bytes]) -> dict[bytes, list[CallTuple]]:
        """The stored calls of some traces, as tuples in the order of the table's columns."""
        found: dict[bytes, list[CallTuple]] = {}
        with self._reading() as connection:
            for ids in chunks(trace_ids):
                for row in self._rows(connection, self._plain.select_where_in(CallRow, "trace_id", len(ids)), tuple(ids)):
                    found.setdefault(row[0], []).append(row)
        return found

    @contextmanager
    def settling(self, versions: Mapping[bytes, int]) -> Iterator["Settling"]:
        """One transaction that settles some traces, `versions` being what their notes had when their spans were read."""
        with self._writing() as connection:
            yield Settling(connection, self._plain, self._insert, versions)

    def pending_buckets(self, limit: int) -> dict[int, int]:
        """Rollup buckets to compute, the longest waiting first, with the version of their note."""
        columns = table(PendingBucketRow).c
        with self._reading() as connection:
            query = select(columns.bucket_ns, columns.version).order_by(columns.noted_ns, columns.bucket_ns).limit(limit)
            return {row.bucket_ns: row.version for row in connection.execute(query)}

    def roll_up(self, bucket_ns: int, version: int) -> bool:
        """Compute one bucket whole from its calls. Returns False if another worker is rolling up: then it is at this one soon."""
        with self.step() as step:
            return step._roll_up(bucket_ns, version)

    def _roll_up(self, bucket_ns: int, version: int) -> bool:
        pending = table(PendingBucketRow)
        with self._reading() as connection:
            # Two minutes of one day at once would each miss the other in its sum.
            if self._within is not None and not connection.execute(select(func.pg_try_advisory_xact_lock(ROLLING_UP))).scalar_one():
                return False
            reached = horizons(connection)
            width_s = reached.base_s(bucket_ns)
            start = bucket_ns - bucket_ns % (width_s * SECOND_NS)
            frozen = reached.frozen(start)
            prepared = None if frozen else prepare(connection, self._plain, start, width_s)
        with self._writing() as connection:
            noted = connection.execute(select(pending.c.noted_ns).where(pending.c.bucket_ns == bucket_ns)).scalar()
            if noted is None or horizons(connection) != reached:
                return True  # another worker was faster, or calls went: what was read here may be older
            if prepared is not None:
                Rolling(connection, self._plain, self._insert, self._names_a_day).write(start, width_s, prepared, noted)
            connection.execute(delete(pending).where(pending.c.bucket_ns == bucket_ns, pending.c.version == version))
        return True

    def prune_ancestry(self, before_ns: int, limit: int) -> int:
        """Remove up to `limit` tree places received before a time that no call rests on. Returns how many."""
        # In the words of the partial index, else it is not used.
        old = "FROM ancestry WHERE NOT kept AND received_ns < :before_ns LIMIT :limit"
        where = f"(trace_id, span_id) IN (SELECT trace_id, span_id {old})"
        if self._engine.dialect.name == "postgresql":
            # By place, else it reads the whole table beside them. What a collector is changing is no loss to anybody.
            where = f"ctid = ANY (ARRAY (SELECT ctid {old} FOR UPDATE SKIP LOCKED))"
        with self._engine.begin() as connection:
            return connection.execute(text(f"DELETE FROM ancestry WHERE {where}"), {"before_ns": before_ns, "limit": limit}).rowcount

    def pending_count(self) -> int:
        """How many traces and buckets are still to be worked on."""
        with self._reading() as connection:
            tables = (table(PendingTraceRow), table(PendingBucketRow))
            return sum(connection.execute(select(func.count()).select_from(one)).scalar_one() for one in tables)

    def mark_all_pending(self, after: bytes | None, limit: int, now_ns: int) -> tuple[bytes | None, int]:
        """Note up to `limit` traces with tool spans, in order of id, for settling anew. Returns the last and how many."""
        columns = table(ToolSpanRow).c
        query = select(columns.trace_id).distinct().order_by(columns.trace_id).limit(limit)
        with self._engine.begin() as connection:
            found = list(connection.execute(query if after is None else query.where(columns.trace_id > after)).scalars())
            self._plain.note_traces(connection, found, now_ns)
        return (found[-1] if found else None), len(found)

    def rebuilt_to(self) -> bytes | None:
        """The last trace of a rebuild that did not come to its end; None if there is none."""
        meta = table(MetaRow).c
        with self._reading() as connection:
            found = connection.execute(select(meta.value).where(meta.name == REBUILT_TO)).scalar()
        return None if found is None else bytes.fromhex(found)

    def note_rebuilt(self, last: bytes | None) -> None:
        """Keep in mind how far a rebuild has come; None: it is at its end."""
        meta = table(MetaRow)
        with self._engine.begin() as connection:
            if last is None:
                connection.execute(delete(meta).where(meta.c.name == REBUILT_TO))
            else:
                insert = self._insert(meta).values(name=REBUILT_TO, value=last.hex())
                connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_={"value": last.hex()}))

    def calls_after(
        self, cursor: tuple[int, bytes, bytes] | None, limit: int, tool: str | None = None, server: str | None = None
    ) -> Sequence[Row[Any]]:
        """Calls in order of (start, trace id, call id), strictly after such a cursor; of one tool or server if given."""
        call = table(CallRow)
        order = (call.c.start_ns, call.c.trace_id, call.c.call_id)
        query = select(call).order_by(*order).limit(limit)
        if cursor is not None:
            query = query.where(tuple_(*order) > tuple_(*cursor))
        for column, wanted in ((call.c.tool, tool), (call.c.server, server)):
            query = query if wanted is None else query.where(column == wanted)
        with self._reading() as connection:
            return connection.execute(query).all()

    @staticmethod
    def _rows(connection: Connection, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """All rows of a query as plain tuples, by the driver's own connection: every span and call comes by here."""
        driver: Any = connection.connection.driver_connection
        found: list[tuple[Any, ...]] = driver.execute(query, values).fetchall()
        return found

    def _reading(self) -> AbstractContextManager[Connection]:
        return nullcontext(self._within) if self._within is not None else self._engine.connect().execution_options(read_only=True)

    def _writing(self) -> AbstractContextManager[Connection]:
        return nullcontext(self._within) if self._within is not None else self._engine.begin()
