"""Records and tables agree, and the migrations make exactly the tables that are declared."""

from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlmodel import SQLModel

from schemas import tables  # noqa: F401 - declares the tables
from schemas.calls import Call
from schemas.spans import Ancestor, ToolSpan
from tests.database import Database


def columns(table: str) -> list[str]:
    return [column.name for column in SQLModel.metadata.tables[table].columns]


def test_a_tool_span_has_the_columns_of_its_table_in_their_order() -> None:
    assert list(ToolSpan._fields) == columns("tool_span")


def test_a_place_has_the_columns_of_its_table_but_for_kept() -> None:
    assert [*Ancestor._fields, "kept"] == columns("ancestry")


def test_a_call_has_the_columns_of_its_table_in_their_order() -> None:
    # The last three are made of the others when the call is stored.
    assert [*Call._fields, "duration_idx", "minute_ns", "likeness"] == columns("call")


def test_the_migrations_make_the_tables_that_are_declared(database: Database) -> None:
    def of_this_engine(item: Any, _name: str | None, kind: str, *_: Any) -> bool:
        only = item._ddl_if if kind == "index" else None
        return only is None or only.dialect == database.engine.dialect.name

    options = {"compare_type": True, "include_object": of_this_engine}
    with database.engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts=options), SQLModel.metadata)
    assert found == []


def test_times_and_ids_are_named_by_their_suffix() -> None:
    for table in SQLModel.metadata.tables.values():
        for column in table.columns:
            assert (str(column.type) == "BIGINT") or not column.name.endswith("_ns"), f"{table.name}.{column.name}"
