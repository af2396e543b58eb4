"""The statements of operations and retries, in the transaction that settles their calls: rows in and out, and what they rest on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, select
from sqlmodel import SQLModel

from collector.statements import Plain, chunks, table
from schemas.retry_tables import ChainRow, RetryRow
from schemas.rollups import MINUTE_S, SECOND_NS

Row = tuple[Any, ...]
Key = tuple[bytes, bytes]
# Pairs that one statement carries as a table of its own.
PAIRS = 200


class Chaining:
    """Reads and writes rows as tuples in the order of their tables' columns; attempts as `columns` of call."""

    def __init__(self, connection: Connection, plain: Plain, columns: Sequence[str]) -> None:
        self._connection = connection
        self._plain = plain
        self._driver: Any = connection.connection.driver_connection
        self._mark = plain.marks(1)[1:-1]
        self._attempt = ", ".join(f'"call".{name}' for name in columns)

    def lock(self) -> None:
        """Keep other workers from changing operations until the transaction ends. SQLite has one writer anyhow."""
        # One lock for all: an operation may span traces and sessions, so no set of theirs covers it, and the work under it is short.
        if self._connection.dialect.name == "postgresql":
            self._connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended("chain", 0))))

    def chains(self, ids: Iterable[str]) -> list[Row]:
        """The stored operations of some names."""
        found: list[Row] = []
        for run in chunks(sorted(ids)):
            found += self._driver.execute(self._plain.select_where_in(ChainRow, "chain_id", len(run)), tuple(run)).fetchall()
        return found

    def chains_of_retries(self, trace_ids: Iterable[bytes]) -> dict[Key, tuple[str, int]]:
        """The operation that each stored retry of some traces belongs to, and the start that it has there."""
        found: dict[Key, tuple[str, int]] = {}
        columns = "trace_id, call_id, chain_id, start_ns"
        for run in chunks(sorted(trace_ids)):
            query = self._plain.select_where_in(RetryRow, "trace_id", len(run), columns)
            found |= {(row[0], row[1]): (row[2], row[3]) for row in self._driver.execute(query, tuple(run))}
        return found

    def lone(self, went_on: bool, sessions: Mapping[str, int]) -> list[tuple[str, int]]:
        """Lone failures (name and start) that say wrongly whether their session went on, each session with the start of its latest call.

        Of those that say that it did not, any call of the session will do.
        """
        found: list[tuple[str, int]] = []
        wrong = "went_on = TRUE AND closes_ns >= column2" if went_on else "went_on = FALSE AND closes_ns < column2"
        pairs = sorted(sessions.items())
        for start in range(0, len(pairs), PAIRS):
            run = pairs[start : start + PAIRS]
            given = ", ".join([self._plain.marks(2)] * len(run))
            # In the words of the partial index, else it is not used.
            where = f"session = column1 AND went_on IS NOT NULL AND {wrong}"
            query = f"SELECT chain_id, start_ns FROM (VALUES {given}) AS given CROSS JOIN chain WHERE {where}"
            found += self._driver.execute(query, tuple(value for pair in run for value in pair)).fetchall()
        return found

    def latest_start(self, session: str | None, trace_id: bytes) -> int:
        """The start of the last call of a session, or of a trace if there is none; 0 if it has no call."""
        where, value = ("session", session) if session is not None else ("trace_id", trace_id)
        row = self._driver.execute(f'SELECT MAX(start_ns) FROM "call" WHERE {where} = {self._mark}', (value,)).fetchone()
        return int(row[0] or 0)

    def attempt(self, key: Key) -> Row | None:
        """A call."""
        found: Row | None = self._driver.execute(
            self._marked(f'SELECT {self._attempt} FROM "call" WHERE trace_id = ? AND call_id = ?'), key
        ).fetchone()
        return found

    def retry_before(self, chain_id: str, start_ns: int) -> Row | None:
        """The last retry of an operation that starts before a time."""
        query = f"SELECT {self._plain.columns(RetryRow)} FROM retry WHERE chain_id = ? AND start_ns < ?"
        found: Row | None = self._driver.execute(
            self._marked(f"{query} ORDER BY start_ns DESC, place DESC LIMIT 1"), (chain_id, start_ns)
        ).fetchone()
        return found

    def retries_from(self, chain_id: str, start_ns: int) -> list[Row]:
        """The retries of an operation that start at a time or later, in no order."""
        query = f"SELECT {self._plain.columns(RetryRow)} FROM retry WHERE chain_id = ? AND start_ns >= ?"
        found: list[Row] = self._driver.execute(self._marked(query), (chain_id, start_ns)).fetchall()
        return found

    def attempts_from(self, chain_id: str, start_ns: int) -> list[Row]:
        """The calls of these retries, as they are now."""
        joined = 'retry JOIN "call" ON "call".trace_id = retry.trace_id AND "call".call_id = retry.call_id'
        query = f"SELECT {self._attempt} FROM {joined} WHERE retry.chain_id = ? AND retry.start_ns >= ?"
        found: list[Row] = self._driver.execute(self._marked(query), (chain_id, start_ns)).fetchall()
        return found

    def minutes_before(self, chain_id: str, start_ns: int) -> list[int]:
        """The minutes in which retries of an operation start, before a time."""
        # Not by %, which is a mark of parameters too.
        minute = f"start_ns / {MINUTE_S * SECOND_NS} * {MINUTE_S * SECOND_NS}"
        query = self._marked(f"SELECT DISTINCT {minute} FROM retry WHERE chain_id = ? AND start_ns < ?")
        return [row[0] for row in self._driver.execute(query, (chain_id, start_ns))]

    def remove_chains(self, ids: Sequence[str]) -> None:
        """Remove operations."""
        for run in chunks(ids):
            self._driver.execute(f"DELETE FROM chain WHERE chain_id IN {self._plain.marks(len(run))}", tuple(run))

    def remove_retries(self, keys: Sequence[tuple[bytes, bytes, str]]) -> None:
        """Remove retries (trace, call, name) from an operation, unless they have gone over to another."""
        if keys:
            where = self._marked("trace_id = ? AND call_id = ? AND chain_id = ?")
            self._connection.exec_driver_sql(f"DELETE FROM retry WHERE {where}", list(keys))

    def write_chains(self, rows: Sequence[Row]) -> None:
        """Store operations, replacing those of the same name."""
        self._plain.insert(self._connection, ChainRow, rows, _replacing(ChainRow, "chain_id"))

    def write_retries(self, rows: Sequence[Row]) -> None:
        """Store retries, replacing those of the same calls."""
        self._plain.insert(self._connection, RetryRow, rows, _replacing(RetryRow, "trace_id", "call_id"))

    def _marked(self, sql: str) -> str:
        return sql.replace("?", self._mark)


def _replacing(model: type[SQLModel], *key: str) -> str:
    changes = ", ".join(f"{column.name} = excluded.{column.name}" for column in table(model).columns if column.name not in key)
    return f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
