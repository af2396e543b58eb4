"""Every SQL statement of the worker, for SQLite and PostgreSQL alike; each public method is one transaction, or reads only."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, func, literal_column, select, text, tuple_

from collector.rolling import Rolling, horizons, prepare
from collector.settling import CallTuple, Settling
from collector.statements import Plain, chunks, insert_for, table
from schemas.rollups import NAMES_A_DAY, SECOND_NS
from schemas.spans import Ancestor, ToolSpan
from schemas.tables import AncestryRow, CallRow, PendingBucketRow, PendingTraceRow, ToolSpanRow

MINUTE_NS = 60 * 10**9


class WorkStore:
    """The database as the worker reads and writes it. Safe to share between threads."""

    def __init__(self, engine: Engine, names_a_day: int = NAMES_A_DAY) -> None:
        self._engine = engine
        self._names_a_day = names_a_day
        self._insert = insert_for(engine)
        self._plain = Plain(engine)

    def pending_traces(self, limit: int) -> dict[bytes, int]:
        """Traces to settle, the longest waiting first, with the version of their note."""
        columns = table(PendingTraceRow).c
        # Every stored trace comes by here, so the order must not cost an index: SQLite numbers rows as they come.
        order: list[Any] = [literal_column("rowid")] if self._engine.dialect.name == "sqlite" else [columns.noted_ns, columns.trace_id]
        with self._reading() as connection:
            query = select(columns.trace_id, columns.version).order_by(*order).limit(limit)
            return {row.trace_id: row.version for row in connection.execute(query)}

    def spans_of(self, trace_ids: Sequence[bytes]) -> dict[bytes, tuple[list[ToolSpan], list[Ancestor]]]:
        """All tool spans and tree places of some traces; traces without a tool span are left out."""
        found: dict[bytes, tuple[list[ToolSpan], list[Ancestor]]] = {}
        with self._reading() as connection:
            for ids in chunks(trace_ids):
                query = self._plain.select_where_in(ToolSpanRow, "trace_id", len(ids))
                for row in connection.exec_driver_sql(query, tuple(ids)):
                    found.setdefault(row[0], ([], []))[0].append(ToolSpan(*row))
                wanted = tuple(trace_id for trace_id in ids if trace_id in found)
                if wanted:
                    query = self._plain.select_where_in(AncestryRow, "trace_id", len(wanted), ", ".join(Ancestor._fields))
                    for row in connection.exec_driver_sql(query, wanted):
                        found[row[0]][1].append(Ancestor(*row))
        return found

    def calls_of(self, trace_ids: Sequence[bytes]) -> dict[bytes, list[CallTuple]]:
        """The stored calls of some traces, as tuples in the order of the table's columns."""
        found: dict[bytes, list[CallTuple]] = {}
        with self._reading() as connection:
            for ids in chunks(trace_ids):
                for row in connection.exec_driver_sql(self._plain.select_where_in(CallRow, "trace_id", len(ids)), tuple(ids)):
                    found.setdefault(row[0], []).append(tuple(row))
        return found

    @contextmanager
    def settling(self, versions: Mapping[bytes, int]) -> Iterator["Settling"]:
        """One transaction that settles some traces, `versions` being what their notes had when their spans were read."""
        with self._engine.begin() as connection:
            yield Settling(connection, self._plain, self._insert, versions)

    def pending_buckets(self, limit: int) -> dict[int, int]:
        """Rollup buckets to compute, the longest waiting first, with the version of their note."""
        columns = table(PendingBucketRow).c
        with self._reading() as connection:
            query = select(columns.bucket_ns, columns.version).order_by(columns.noted_ns, columns.bucket_ns).limit(limit)
            return {row.bucket_ns: row.version for row in connection.execute(query)}

    def roll_up(self, bucket_ns: int, version: int) -> None:
        """Compute one bucket whole from its calls. Read outside the write transaction, so that writers wait for the rows alone."""
        pending = table(PendingBucketRow)
        with self._reading() as connection:
            reached = horizons(connection)
            width_s = reached.base_s(bucket_ns)
            start = bucket_ns - bucket_ns % (width_s * SECOND_NS)
            frozen = reached.frozen(start)
            prepared = None if frozen else prepare(connection, self._plain, start, width_s)
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                # Two minutes of one hour at once would each miss the other in its sum.
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended("rollup", 0))))
            noted = connection.execute(select(pending.c.noted_ns).where(pending.c.bucket_ns == bucket_ns).with_for_update()).scalar()
            if noted is None or horizons(connection) != reached:
                return  # another worker was faster, or calls went: what was read here may be older
            if prepared is not None:
                Rolling(connection, self._plain, self._insert, self._names_a_day).write(start, width_s, prepared, noted)
            connection.execute(delete(pending).where(pending.c.bucket_ns == bucket_ns, pending.c.version == version))

    def prune_ancestry(self, before_ns: int, limit: int) -> int:
        """Remove up to `limit` tree places received before a time that no call rests on. Returns how many."""
        places = table(AncestryRow)
        with self._engine.begin() as connection:
            # In the words of the partial index, else it is not used.
            old = select(places.c.trace_id, places.c.span_id).where(text("NOT kept"), places.c.received_ns < before_ns).limit(limit)
            return connection.execute(delete(places).where(tuple_(places.c.trace_id, places.c.span_id).in_(old))).rowcount

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

    def _reading(self) -> Connection:
        return self._engine.connect().execution_options(read_only=True)
