"""The statements that remove what is too old, a few rows a transaction, found by index or in the order they were inserted."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, Engine, Table, bindparam, delete, exists, func, literal_column, select
from sqlmodel import SQLModel

from collector.statements import Inserting, chunks, insert_for, table
from schemas.retry_tables import ChainRow, RetryHistogramRow, RetryRollupRow, RetryRow
from schemas.rollups import DURATION_GRAINS, GRAINS, MINUTE_S, RETRY_GRAINS, SECOND_NS, WIDTHS_S
from schemas.tables import AncestryRow, CallRow, DurationRow, IntakeRow, MetaRow, RefusalRow, RollupRow, ToolNameRow, ToolSpanRow

# The tables of counts, with the grains that each has.
COUNTED: Sequence[tuple[type[SQLModel], Sequence[int]]] = (
    (RollupRow, range(len(GRAINS))),
    (DurationRow, DURATION_GRAINS),
    (RetryRollupRow, range(len(RETRY_GRAINS))),
    (RetryHistogramRow, range(len(RETRY_GRAINS))),
)


class Limits(NamedTuple):
    """The times before which rows go; those of calls and rollups are multiples of a quarter of an hour."""

    ancestry_ns: int
    span_ns: int
    call_ns: int
    minute_ns: int
    rollup_ns: int


class Old(NamedTuple):
    """What a table holds that would go, and what stays."""

    table: str
    rows: int
    going: int
    oldest_ns: int | None  # of those that stay


class PruneStore:
    """The database as pruning reads and writes it. Each method but `old` removes up to `limit` rows and returns how many."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._insert: Inserting = insert_for(engine)
        self._sqlite = engine.dialect.name == "sqlite"

    def spans(self, limits: Limits, limit: int) -> int:
        """Tool spans, and with the last of a trace the tree places that were kept for it."""
        spans, places = table(ToolSpanRow), table(AncestryRow)
        first = select(spans.c.trace_id, spans.c.span_id, spans.c.received_ns)
        if self._sqlite:
            # No index by time, since it would cost every insert: rows lie in the order they came.
            first = first.order_by(literal_column("tool_span.rowid"))
        else:
            # Here they do not, since new ones fill the gaps of old ones.
            first = first.where(spans.c.received_ns < limits.span_ns).order_by(spans.c.received_ns).with_for_update(skip_locked=True)
        with self._engine.begin() as connection:
            found = connection.execute(first.limit(limit)).all()
            old = [(row.trace_id, row.span_id) for row in found if row.received_ns < limits.span_ns]
            if not old:
                return 0
            _remove(connection, (spans.c.trace_id, spans.c.span_id), old)
            left = exists().where(spans.c.trace_id == places.c.trace_id)
            for traces in chunks(sorted({trace for trace, _ in old})):
                connection.execute(delete(places).where(places.c.trace_id.in_(traces), ~left))
            return len(old)

    def calls(self, limits: Limits, limit: int) -> int:
        """Calls. What was counted of them stays: from the first that goes, no bucket before the limit is computed anew."""
        calls = table(CallRow)
        old = select(calls.c.trace_id, calls.c.call_id).where(calls.c.start_ns < limits.call_ns).order_by(calls.c.start_ns)
        old = old.with_for_update(skip_locked=True)
        with self._engine.begin() as connection:
            keys = [tuple(row) for row in connection.execute(old.limit(limit))]
            if keys:
                self._reach(connection, "call_ns", limits.call_ns)
                _remove(connection, (calls.c.trace_id, calls.c.call_id), keys)
            return len(keys)

    def minutes(self, limits: Limits, limit: int) -> int:
        """Counts by the minute."""
        return self._buckets("minute_ns", limits.minute_ns, (MINUTE_S,), limit)

    def rollups(self, limits: Limits, limit: int) -> int:
        """All counts."""
        return self._buckets("rollup_ns", limits.rollup_ns, WIDTHS_S, limit)

    def others(self, limits: Limits, limit: int) -> int:
        """Retries and operations with their calls, tool names with the calls of their day; intake and refusals with the rollups."""
        removed = 0
        for old, _, key in self._others(limits):
            with self._engine.connect().execution_options(read_only=True) as reading:
                keys = [tuple(row) for row in reading.execute(select(*key).where(old).limit(limit))]
            if keys:
                with self._engine.begin() as connection:
                    removed += _remove(connection, key, keys, old)
        return removed

    def pages(self, limit: int) -> int:
        """Give up to `limit` free pages of a SQLite file back to the file system. Returns how many went."""
        before = self.free_pages()
        if not before:
            return 0
        raw = self._engine.raw_connection()
        try:
            # It frees a page a step, and of a statement that gives no rows the driver takes one step only, except of a script.
            driver: Any = raw.driver_connection
            driver.executescript(f"PRAGMA incremental_vacuum({limit})")
        finally:
            raw.close()
        # None where the file was made without incremental vacuum.
        return max(0, before - self.free_pages())

    def checkpoint(self) -> None:
        """Write what SQLite's log holds into its file, as far as nobody waits for it."""
        if self._sqlite:
            with self._engine.connect().execution_options(read_only=True) as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    def free_pages(self) -> int:
        """How many pages of a SQLite file hold nothing."""
        with self._engine.connect().execution_options(read_only=True) as reading:
            return int(reading.exec_driver_sql("PRAGMA freelist_count").scalar_one()) if self._sqlite else 0

    def old(self, limits: Limits) -> list[Old]:
        """What would go, by table; reads whole tables."""
        spans, calls, places = table(ToolSpanRow).c, table(CallRow).c, table(AncestryRow).c
        counted = [table(model) for model, _ in COUNTED]
        going: list[tuple[Table, ColumnElement[bool], ColumnElement[int]]] = [
            (table(AncestryRow), places.kept.is_(False) & (places.received_ns < limits.ancestry_ns), places.received_ns),
            (table(ToolSpanRow), spans.received_ns < limits.span_ns, spans.received_ns),
            (table(CallRow), calls.start_ns < limits.call_ns, calls.start_ns),
            *(
                (
                    one,
                    (one.c.bucket_ns < limits.rollup_ns) | (one.c.width_s == MINUTE_S) & (one.c.bucket_ns < limits.minute_ns),
                    one.c.bucket_ns,
                )
                for one in counted
            ),
            *((when.table, condition, when) for condition, when, _ in self._others(limits)),
        ]
        with self._engine.connect().execution_options(read_only=True) as reading:
            return [
                Old(
                    one.name,
                    reading.execute(select(func.count()).select_from(one)).scalar_one(),
                    reading.execute(select(func.count()).select_from(one).where(old)).scalar_one(),
                    reading.execute(select(func.min(when)).where(~old)).scalar_one(),
                )
                for one, old, when in going
            ]

    def _others(self, limits: Limits) -> list[tuple[ColumnElement[bool], Column[int], Sequence[Column[Any]]]]:
        """What else goes: the condition, the time that it goes by, and the key."""
        names, intake, refusals = table(ToolNameRow).c, table(IntakeRow).c, table(RefusalRow).c
        retries, chains = table(RetryRow).c, table(ChainRow).c
        day_ns = WIDTHS_S[-1] * SECOND_NS
        # An operation goes with the last of its calls; until then it says what it said when all were there.
        ended = (chains.start_ns < limits.call_ns) & (chains.last_start_ns < limits.call_ns)
        return [
            (retries.start_ns < limits.call_ns, retries.start_ns, (retries.trace_id, retries.call_id)),
            (ended, chains.last_start_ns, (chains.chain_id,)),
            (names.day_ns < limits.call_ns - day_ns, names.day_ns, (names.day_ns, names.server, names.tool)),
            (intake.hour_ns < limits.rollup_ns, intake.hour_ns, (intake.hour_ns, intake.service, intake.scope, intake.scope_version)),
            (refusals.last_ns < limits.rollup_ns, refusals.last_ns, (refusals.reason, refusals.service)),
        ]

    def _buckets(self, name: str, before_ns: int, widths_s: Sequence[int], limit: int) -> int:
        """Remove the oldest rows, bucket by bucket and series by series: a wide bucket of many tools alone has thousands of them."""
        for model, grains in COUNTED:
            counted = table(model)
            for grain in grains:
                for width_s in widths_s:
                    here = (counted.c.grain == grain, counted.c.width_s == width_s)
                    place = (counted.c.bucket_ns, counted.c.series_id)
                    old = select(*place).where(*here, counted.c.bucket_ns < before_ns).order_by(*place)
                    with self._engine.begin() as connection:
                        places = connection.execute(old.limit(limit)).all()
                        if not places:
                            continue
                        self._reach(connection, name, before_ns)
                        bucket_ns, series_id = places[-1]
                        whole = (counted.c.bucket_ns < bucket_ns,)
                        part = (counted.c.bucket_ns == bucket_ns, counted.c.series_id <= series_id)
                        return sum(connection.execute(delete(counted).where(*here, *which)).rowcount for which in (whole, part))
        return 0

    def _reach(self, connection: Connection, name: str, before_ns: int) -> None:
        """Keep in mind how far pruning has come (collector/rolling.py reads it); it never goes back."""
        meta = table(MetaRow)
        before = connection.execute(select(meta.c.value).where(meta.c.name == f"pruned_{name}")).scalar()
        if before is None or int(before) < before_ns:
            insert = self._insert(meta).values(name=f"pruned_{name}", value=str(before_ns))
            connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_={"value": str(before_ns)}))


def _remove(connection: Connection, key: Sequence[Column[Any]], keys: Sequence[Sequence[Any]], *conditions: ColumnElement[bool]) -> int:
    """Remove rows by key, one after the other: of a list of pairs SQLite makes a scan of the whole table."""
    wanted = delete(key[0].table).where(*(column == bindparam(f"key_{column.name}") for column in key), *conditions)
    names = [f"key_{column.name}" for column in key]
    return connection.execute(wanted, [dict(zip(names, values, strict=True)) for values in keys]).rowcount
