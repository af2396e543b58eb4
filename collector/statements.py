"""What the statements of collector and worker share: tables, chunks, and inserts that add to what is there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite

from schemas.tables import PendingTraceRow, SQLModel

# Keys that one statement may carry, well below what either database allows.
CHUNK = 400

Item = TypeVar("Item")
Inserting = Callable[[Table], Any]


def table(model: type[SQLModel]) -> Table:
    """The table of a model."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


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


def note_traces(connection: Connection, inserting: Inserting, trace_ids: Iterable[bytes], now_ns: int) -> None:
    """Note traces as to be settled; the note of one that is waiting already gets a new version."""
    # Sorted: concurrent writers take row locks in one order, so none waits for the other in a circle.
    rows = [{"trace_id": trace_id, "noted_ns": now_ns, "version": 1} for trace_id in sorted(trace_ids)]
    if rows:
        connection.execute(adding(inserting, PendingTraceRow, ("trace_id",), ("version",)), rows)
