"""The statements of the one transaction that settles traces: calls in and out, links, and the notes taken off."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, select

from collector.statements import Inserting, Plain, adding, chunks, fresh_version, table
from schemas.tables import CallRow, PendingBucketRow, PendingTraceRow, RefusalRow

CallTuple = tuple[Any, ...]
Key = tuple[bytes, bytes]

# What linking reads of a call, in the order of core/chains.py's Attempt.
ATTEMPT_COLUMNS = (
    "trace_id", "call_id", "start_ns", "end_ns", "server", "tool", "session", "outcome", "category", "link", "link_strength",
    "attempt", "chain_id", "declared_attempt", "retry_of", "retry_after_ms", "arguments_hash", "parent_span_id",
)  # fmt: skip


class Settling:
    """An open transaction. `ours` are the traces it may settle: one whose note changed has news, or another worker."""

    def __init__(self, connection: Connection, plain: Plain, inserting: Inserting, versions: Mapping[bytes, int]) -> None:
        self._connection = connection
        self._plain = plain
        self._inserting = inserting
        # Thousands of look-ups a second: the driver's own connection, in the same transaction.
        self._driver: Any = connection.connection.driver_connection
        self._mark = plain.marks(1)[1:-1]
        pending = table(PendingTraceRow).c
        self.ours: list[bytes] = []
        for ids in chunks(sorted(versions)):
            query = select(pending.trace_id, pending.version).where(pending.trace_id.in_(ids)).with_for_update(skip_locked=True)
            self.ours += [row.trace_id for row in connection.execute(query) if row.version == versions[row.trace_id]]

    def lock_sessions(self, sessions: Iterable[str]) -> None:
        """Keep other workers from linking calls of these sessions until the transaction ends. SQLite has one writer anyhow."""
        if self._connection.dialect.name == "postgresql":
            for session in sorted(sessions):
                self._connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(session, 0))))

    def remove_calls(self, keys: Sequence[Key]) -> None:
        """Remove calls by trace and call id."""
        # One statement a key: SQLite reads the whole table for a list of pairs.
        if keys:
            self._connection.exec_driver_sql(f'DELETE FROM "call" WHERE trace_id = {self._mark} AND call_id = {self._mark}', list(keys))

    def insert_calls(self, rows: Sequence[CallTuple]) -> None:
        """Store calls, values in the order of the table's columns."""
        self._plain.insert(self._connection, CallRow, rows)

    def attempts_of(self, trace_id: bytes) -> list[CallTuple]:
        """What linking reads of all calls of a trace, in no order."""
        return self._attempts("trace_id = ?", (trace_id,))

    def attempts_before(
        self, session: str, tool: str, server: str, arguments_hash: int | None, start_ns: int, limit: int
    ) -> list[CallTuple]:
        """The latest calls of a session that start at or before a time, latest first; of one argument hash, or of any if None."""
        return self._beside(
            (session, tool), server, arguments_hash, f"start_ns <= ? AND server = ? ORDER BY start_ns DESC LIMIT {limit}", start_ns
        )

    def attempts_after(
        self, session: str, tool: str, server: str, arguments_hash: int | None, start_ns: int, limit: int
    ) -> list[CallTuple]:
        """The first calls of a session that start at or after a time, first first; of one argument hash, or of any if None."""
        return self._beside(
            (session, tool), server, arguments_hash, f"start_ns >= ? AND server = ? ORDER BY start_ns LIMIT {limit}", start_ns
        )

    def any_names(self) -> bool:
        """Whether any call says which one it repeats."""
        return bool(self._attempts("retry_of IS NOT NULL LIMIT 1", ()))

    def attempts_naming(self, call_id: bytes) -> list[CallTuple]:
        """The calls that say they repeat a call."""
        return self._attempts("retry_of = ?", (call_id,))

    def attempts_named(self, session: str, tool: str, call_id: bytes) -> list[CallTuple]:
        """The calls of a session with a call id: it is unique in its trace only."""
        return self._attempts("session = ? AND tool = ? AND call_id = ?", (session, tool, call_id))

    def _beside(self, named: tuple[str, str], server: str, arguments_hash: int | None, rest: str, start_ns: int) -> list[CallTuple]:
        if arguments_hash is None:
            return self._attempts(f"session = ? AND tool = ? AND {rest}", (*named, start_ns, server))
        return self._attempts(f"session = ? AND tool = ? AND arguments_hash = ? AND {rest}", (*named, arguments_hash, start_ns, server))

    def _attempts(self, where: str, values: tuple[Any, ...]) -> list[CallTuple]:
        sql = f'SELECT {", ".join(ATTEMPT_COLUMNS)} FROM "call" WHERE {where.replace("?", self._mark)}'
        found: list[CallTuple] = self._driver.execute(sql, values).fetchall()
        return found

    def update_links(self, links: Sequence[tuple[str | None, str | None, int | None, str | None, bytes, bytes]]) -> None:
        """Set link, strength, attempt and chain of calls (last: trace and call id)."""
        mark = self._mark
        sql = (
            f'UPDATE "call" SET link = {mark}, link_strength = {mark}, attempt = {mark}, chain_id = {mark} '
            f"WHERE trace_id = {mark} AND call_id = {mark}"
        )
        if links:
            self._connection.exec_driver_sql(sql, list(links))

    def keep_places(self, keys: Sequence[Key]) -> None:
        """Mark tree places that calls rest on, so that they are not pruned."""
        where = f"trace_id = {self._mark} AND span_id = {self._mark} AND NOT kept"
        if keys:
            self._connection.exec_driver_sql(f"UPDATE ancestry SET kept = TRUE WHERE {where}", list(keys))

    def note_buckets(self, buckets: Iterable[int], now_ns: int) -> None:
        """Note rollup buckets whose calls changed."""
        noted = [{"bucket_ns": bucket, "noted_ns": now_ns, "version": fresh_version()} for bucket in sorted(buckets)]
        if noted:
            self._connection.execute(adding(self._inserting, PendingBucketRow, ("bucket_ns",), ("version",)), noted)

    def note_refusal(self, reason: str, count: int, sample: str, now_ns: int) -> None:
        """Count spans that no call could be made of, where the health page shows what was refused."""
        row = {"reason": reason, "service": "", "count": count, "first_ns": now_ns, "last_ns": now_ns, "sample": sample}
        self._connection.execute(adding(self._inserting, RefusalRow, ("reason", "service"), ("count",)), [row])

    def finish(self) -> None:
        """Take the notes of `ours` off."""
        pending = table(PendingTraceRow)
        for ids in chunks(self.ours):
            self._connection.execute(delete(pending).where(pending.c.trace_id.in_(ids)))
