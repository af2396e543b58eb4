"""The statements of the one transaction that settles traces: calls in and out, links, and the notes taken off."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from collector.chaining import Chaining
from collector.statements import Inserting, Plain, adding, chunks, fresh_version
from schemas.tables import CallRow, PendingBucketRow, PendingTraceRow, RefusalRow

CallTuple = tuple[Any, ...]
Key = tuple[bytes, bytes]
SessionLine = tuple[str, str, str, int | None]
LATEST_NS = 2**63 - 1

# What linking reads of a call, in the order of core/chains.py's Attempt.
ATTEMPT_COLUMNS = (
    "trace_id", "call_id", "start_ns", "end_ns", "server", "tool", "session", "outcome", "category", "link", "link_strength",
    "attempt", "chain_id", "declared_attempt", "retry_of", "retry_after_ms", "arguments_hash", "parent_span_id",
    "duration_ns", "environment", "client", "retryable",
)  # fmt: skip
LINK_COLUMNS = ("link", "link_strength", "attempt", "chain_id")


class Settling:
    """An open transaction. `ours` are the traces it may settle: one whose note changed has news, or another worker."""

    def __init__(self, connection: Connection, plain: Plain, inserting: Inserting, versions: Mapping[bytes, int]) -> None:
        self._connection = connection
        self._plain = plain
        self._inserting = inserting
        # Thousands of look-ups a second: the driver's own connection, in the same transaction.
        driver: Any = connection.connection.driver_connection
        self._driver = driver
        self._mark = plain.marks(1)[1:-1]
        self.ours: list[bytes] = []
        lock = " FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
        for ids in chunks(sorted(versions)):
            query = plain.select_where_in(PendingTraceRow, "trace_id", len(ids), "trace_id, version") + lock
            self.ours += [trace_id for trace_id, version in driver.execute(query, tuple(ids)) if version == versions[trace_id]]

    def lock_sessions(self, sessions: Iterable[str]) -> None:
        """Keep other workers from linking calls of these sessions until the transaction ends. SQLite has one writer anyhow."""
        if self._connection.dialect.name == "postgresql":
            # In one order, so that no two workers wait for each other.
            locks = "SELECT count(pg_advisory_xact_lock(hashtextextended(session, 0))) FROM unnest(%s::text[]) AS session"
            self._driver.execute(locks, (sorted(sessions),))

    def links_of(self, trace_ids: Iterable[bytes]) -> dict[Key, CallTuple]:
        """Link, strength, attempt and chain of all calls of some traces, by trace and call id."""
        found: dict[Key, CallTuple] = {}
        for ids in chunks(sorted(trace_ids)):
            query = self._plain.select_where_in(CallRow, "trace_id", len(ids), f"trace_id, call_id, {', '.join(LINK_COLUMNS)}")
            found |= {(row[0], row[1]): tuple(row[2:]) for row in self._driver.execute(query, tuple(ids))}
        return found

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

    def ends_of_lines(self, limits: Mapping[SessionLine, int]) -> dict[SessionLine, list[CallTuple]]:
        """The latest calls of each (session, tool, server, arguments hash or None for any), at most so many of each.

        Of none on SQLite, where a look-up costs so little that each is made when it is needed; on PostgreSQL the way to the server
        costs more than what is done there.
        """
        ends: dict[SessionLine, list[CallTuple]] = {}
        if self._connection.dialect.name != "postgresql":
            return ends
        for hashed, same in ((False, ""), (True, " AND arguments_hash = line.arguments_hash")):
            wanted = {line: limit for line, limit in limits.items() if (line[3] is not None) is hashed}
            where = f"session = line.session AND tool = line.tool AND server = line.server{same}"
            latest = f'SELECT {", ".join(ATTEMPT_COLUMNS)} FROM "call" WHERE {where} ORDER BY start_ns DESC LIMIT line.most'
            lines = "unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[]) WITH ORDINALITY"
            query = (
                f"SELECT line.nth, latest.* FROM {lines} AS line (session, tool, server, arguments_hash, most, nth) "
                f"CROSS JOIN LATERAL ({latest}) AS latest"
            )
            order = list(wanted)
            columns = ([line[place] for line in order] for place in range(4))
            for nth, *row in self._driver.execute(query, (*columns, list(wanted.values()))):
                ends.setdefault(order[nth - 1], []).append(tuple(row))
        return ends

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

    def operations(self) -> Chaining:
        """The operations and retries of these calls."""
        return Chaining(self._connection, self._plain, ATTEMPT_COLUMNS)

    def keep_places(self, keys: Sequence[Key]) -> None:
        """Mark tree places that calls rest on, so that they are not pruned."""
        where = f"trace_id = {self._mark} AND span_id = {self._mark} AND NOT kept"
        if self._connection.dialect.name == "postgresql":
            # A collector that holds one waits for this transaction to note news of its trace, so it is marked the next time.
            where = f"(trace_id, span_id) IN (SELECT trace_id, span_id FROM ancestry WHERE {where} FOR UPDATE SKIP LOCKED)"
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
        for ids in chunks(self.ours):
            self._driver.execute(f"DELETE FROM pending_trace WHERE trace_id IN {self._plain.marks(len(ids))}", tuple(ids))
