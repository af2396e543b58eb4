"""Opening a database, tuning it, and bringing it to the newest schema."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import event, inspect, text
from sqlalchemy.exc import DBAPIError, OperationalError

from schemas.database import NewerSchema, migrate, newest_schema, open_database, schema_of
from tests.database import Database, engine_of, on_sqlite
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


STARTING = """
import sys
from schemas.database import migrate, open_database
engine = open_database(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
migrate(engine)
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_processes_that_start_at_once_on_an_empty_database_all_come_up(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    if kind == "postgresql":
        cluster = request.getfixturevalue("cluster")
        url = cluster.url(cluster.create())
    engine = engine_of(url)
    command = [sys.executable, "-c", STARTING, engine.url.render_as_string(hide_password=False)]
    pipe = subprocess.PIPE
    starting = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    assert [one.stdout.readline() for one in starting] == ["ready\n"] * 4  # type: ignore[union-attr]
    for one in starting:
        one.stdin.write("go\n")  # type: ignore[union-attr]
        one.stdin.flush()  # type: ignore[union-attr]
    assert [(one.communicate()[1], one.returncode) for one in starting] == [("", 0)] * 4
    assert schema_of(engine) == newest_schema()
    engine.dispose()


def test_a_process_that_starts_during_a_long_migration_waits_for_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'busy.db'}"
    migrating, starting = open_database(url), open_database(url, busy_timeout_s=0)
    looks = []

    def release(statement: str) -> None:
        looks.append(statement)
        if looks.count("BEGIN IMMEDIATE") == 3:
            holder.rollback()

    event.listen(starting, "connect", lambda connection, _record: connection.set_trace_callback(release))
    assert schema_of(starting) is None
    holder = migrating.connect()
    holder.begin()
    migrate(starting)
    assert looks.count("BEGIN IMMEDIATE") >= 3
    assert schema_of(migrating) == newest_schema()
    holder.close()
    migrating.dispose()
    starting.dispose()


def test_a_migration_that_fails_leaves_the_database_as_it_was(new_url: Callable[[], str]) -> None:
    engine = engine_of(new_url())
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001_2026_11_30_first_tables'"))
        connection.execute(text("DROP TABLE lease"))
    before = inspect(engine).get_table_names()
    with pytest.raises(DBAPIError):
        migrate(engine)  # what the later migrations make is there already
    assert schema_of(engine) == "0001_2026_11_30_first_tables"
    assert inspect(engine).get_table_names() == before
    engine.dispose()


def test_a_database_in_memory_has_no_folder() -> None:
    engine = open_database("sqlite://")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1
    engine.dispose()


def test_a_postgresql_database_is_not_tuned_as_sqlite() -> None:
    engine = open_database("postgresql+psycopg://nobody@localhost:1/none")
    assert engine.dialect.name == "postgresql"
    engine.dispose()


@on_sqlite
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


@on_sqlite
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
    with pytest.raises(DBAPIError) as caught:
        database.rows("SELECT :secret FROM nowhere", secret="hunter2222")
    assert "hunter2222" not in str(caught.value)
