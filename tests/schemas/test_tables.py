"""Records and tables agree, and the migrations make exactly the tables that are declared."""

from collections.abc import Iterable
from dataclasses import fields

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlmodel import SQLModel

from schemas import tables  # noqa: F401 - declares the tables
from schemas.calls import Call
from schemas.spans import Ancestor, ToolSpan
from tests.database import Database


def columns(table: str) -> list[str]:
    return [column.name for column in SQLModel.metadata.tables[table].columns]


def names(record: type[Call]) -> Iterable[str]:
    return (field.name for field in fields(record))


def test_a_tool_span_has_the_columns_of_its_table_in_their_order() -> None:
    assert list(ToolSpan._fields) == columns("tool_span")


def test_a_place_has_the_columns_of_its_table_but_for_kept() -> None:
    assert [*Ancestor._fields, "kept"] == columns("ancestry")


def test_a_call_has_the_columns_of_its_table_in_their_order() -> None:
    # The last is made of the duration when the call is stored.
    assert [*names(Call), "duration_idx"] == columns("call")


def test_the_migrations_make_the_tables_that_are_declared(database: Database) -> None:
    with database.engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), SQLModel.metadata)
    assert found == []


def test_times_and_ids_are_named_by_their_suffix() -> None:
    for table in SQLModel.metadata.tables.values():
        for column in table.columns:
            assert (str(column.type) == "BIGINT") or not column.name.endswith("_ns"), f"{table.name}.{column.name}"
