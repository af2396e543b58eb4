"""What the statements of collector and worker share: tables, chunks, and inserts that add to what is there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from secrets import randbits
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import SQLModel

from schemas.tables import PendingTraceRow

# Keys that one statement may carry, well below what either database allows.
CHUNK = 400

Item = TypeVar("Item")
Inserting = Callable[[Table], Any]


def table(model: type[SQLModel]) -> Table:
    """The table of a model."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


def fresh_version() -> int:
    """The first version of a note. Not 1: a note that was taken off and made anew must not look like the one before."""
    # Small enough to be added to for ever: each further news adds as much again.
    return randbits(40)


def insert_for(engine: Engine) -> Inserting:
    """The dialect's insert, which knows ON CONFLICT."""
    return postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Items in runs that one statement can carry."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def adding(inserting: Inserting, model: type[SQLModel], keys: tuple[str, ...], sums: tuple[str, ...]) -> Any:
    """An insert that adds the `sums` to the row that is there already."""
    statement = inserting(table(model))
    added = {name: table(model).c[name] + statement.excluded[name] for name in sums}
    return statement.on_conflict_do_update(index_elements=list(keys), set_=added)


# How many rows one INSERT of SQLite carries: the driver lets other threads run once a statement, not once a row, and a large
# statement costs a third less than single rows. Few sizes, so that the prepared statements stay few.
RUNS = (512, 128, 32, 8, 2, 1)
# From so many rows on, PostgreSQL takes them faster by COPY: 1.6 times as fast by 500, four times by 4,000.
COPIED = 100


class Plain:
    """Plain SQL text for the driver: on the hot paths an expression tree and typed rows cost more than the database itself."""

    def __init__(self, engine: Engine) -> None:
        self._dialect = engine.dialect
        self._in_runs = engine.dialect.name == "sqlite"
        self._mark = "%s" if engine.dialect.name == "postgresql" else "?"

    def marks(self, count: int) -> str:
        """So many parameters in parentheses."""
        return f"({', '.join([self._mark] * count)})"

    def insert(self, connection: Connection, model: type[SQLModel], rows: Sequence[tuple[Any, ...]], conflict: str = "") -> int:
        """Insert rows, values in the order of the table's columns, with an ON CONFLICT clause. Returns how many rows changed."""
        head, marks = f"INSERT INTO {self._name(model)} ({self.columns(model)}) VALUES", self.marks(len(table(model).columns))
        if not self._in_runs:
            # In the order of the key, so that concurrent writers take row locks in one order and never wait in a circle.
            rows = sorted(rows, key=itemgetter(*_places_of_key(model)))
            if len(rows) >= COPIED:
                return self._copy(connection, model, rows, conflict)
            return connection.exec_driver_sql(f"{head} {marks} {conflict}", rows).rowcount if rows else 0
        changed = start = 0
        for size in RUNS:
            sql = f"{head} {', '.join([marks] * size)} {conflict}" if len(rows) - start >= size else ""
            while len(rows) - start >= size:
                values = tuple(chain.from_iterable(rows[start : start + size]))
                changed += connection.exec_driver_sql(sql, values).rowcount
                start += size
        return changed

    def _copy(self, connection: Connection, model: type[SQLModel], rows: Sequence[tuple[Any, ...]], conflict: str) -> int:
        """The same by way of a table that the connection has for itself, empty outside of transactions."""
        columns, incoming = self.columns(model), f"incoming_{model.__tablename__}"
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor:
            cursor.execute(
                f"CREATE TEMPORARY TABLE IF NOT EXISTS {incoming} (LIKE {self._name(model)}) ON COMMIT DELETE ROWS; DELETE FROM {incoming}"
            )
            with cursor.copy(f"COPY {incoming} ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types([column.type.compile(self._dialect).lower() for column in table(model).columns])
                for row in rows:
                    copy.write_row(row)
            cursor.execute(f"INSERT INTO {self._name(model)} ({columns}) SELECT {columns} FROM {incoming} {conflict}")
            changed: int = cursor.rowcount
        return changed

    def select_where_in(self, model: type[SQLModel], key: str, count: int, columns: str | None = None) -> str:
        """Select rows whose key is one of so many parameters."""
        return f"SELECT {columns or self.columns(model)} FROM {self._name(model)} WHERE {key} IN {self.marks(count)}"

    def note_traces(self, connection: Connection, trace_ids: Iterable[bytes], now_ns: int) -> None:
        """Note traces as to be settled; the note of one that is waiting already gets a new version."""
        # Sorted, so that concurrent writers take row locks in one order and never wait in a circle.
        version = fresh_version()
        rows = [(trace_id, now_ns, version) for trace_id in sorted(trace_ids)]
        conflict = "ON CONFLICT (trace_id) DO UPDATE SET version = pending_trace.version + 1"
        self.insert(connection, PendingTraceRow, rows, conflict)

    @staticmethod
    def columns(model: type[SQLModel]) -> str:
        """The columns of a table, in their order."""
        return ", ".join(column.name for column in table(model).columns)

    @staticmethod
    def _name(model: type[SQLModel]) -> str:
        # `call` is a word of SQL.
        return f'"{model.__tablename__}"'


def _places_of_key(model: type[SQLModel]) -> list[int]:
    """Where the columns of the primary key stand in a row."""
    return [place for place, column in enumerate(table(model).columns) if column.primary_key]
