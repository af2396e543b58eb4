"""Opening a database, tuning it, and bringing it to the newest schema."""

from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from schemas.database import NewerSchema, migrate, newest_schema, open_database, schema_of
from tests.database import Database
from tests.tables import sentences


def test_the_folder_of_a_file_is_made(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'a' / 'b' / 'toolvitals.db'}")
    assert schema_of(engine) is None
    migrate(engine)
    assert schema_of(engine) == newest_schema()
    engine.dispose()


def test_a_database_of_the_newest_schema_is_left_as_it_is(database: Database) -> None:
    database.take()
    migrate(database.engine)
    assert schema_of(database.engine) == newest_schema()


def test_a_database_of_a_newer_program_is_refused_with_a_hint(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerSchema, match=r"has schema 9999.*install the newer version"):
        migrate(database.engine)


def test_a_database_in_memory_has_no_folder() -> None:
    engine = open_database("sqlite://")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1
    engine.dispose()


def test_a_postgresql_database_is_not_tuned_as_sqlite() -> None:
    engine = open_database("postgresql+psycopg://nobody@localhost:1/none")
    assert engine.dialect.name == "postgresql"
    engine.dispose()


@sentences(
    "pragma, value",
    {
        "readers and the writer do not block each other": ("journal_mode", "wal"),
        "freed pages can be given back": ("auto_vacuum", 2),
    },
)
def test_a_file_is_tuned(database: Database, pragma: str, value: object) -> None:
    with database.engine.connect() as connection:
        assert connection.execute(text(f"PRAGMA {pragma}")).scalar() == value


def test_an_answered_request_has_reached_the_disk(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'test.db'}")
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
    engine.dispose()


def test_a_transaction_that_may_write_takes_the_lock_at_once_and_a_reading_one_does_not(database: Database) -> None:
    other = open_database(str(database.engine.url), busy_timeout_s=0)
    assert schema_of(other) == newest_schema()
    with database.engine.begin() as writing:
        writing.execute(text("SELECT 1"))
        assert schema_of(other) == newest_schema()
        with pytest.raises(OperationalError, match="locked"):
            other.connect().execute(text("SELECT 1"))
    other.dispose()


def test_what_strangers_sent_stands_in_no_error_text(database: Database) -> None:
    with pytest.raises(OperationalError) as caught:
        database.rows("SELECT :secret FROM nowhere", secret="hunter2222")
    assert "hunter2222" not in str(caught.value)
