"""Open the database, bring it to the newest schema, tune it; says why for each pragma."""

import sqlite3
import time
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event, func, make_url, select

MIGRATIONS = Path(__file__).parent / "migrations"
# The advisory lock of PostgreSQL that a migration has; a number without a meaning of its own.
MIGRATING = 7_206_290
# SQLite's own waiting for so long is two looks, a millisecond and two apart.
LOOK_EVERY_S = 0.003
# The first start on a slow disk, or a new index over a large table: who comes meanwhile waits for it, and does not give up.
MIGRATION_S = 600.0


def open_database(url: str, *, busy_timeout_s: float = 5.0) -> Engine:
    """Open the database at a SQLAlchemy URL; makes the folder of a SQLite file. Errors come on first use, as SQLAlchemy's."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, pool_pre_ping=True, hide_parameters=True)
    # For every value that is no number or text the driver looks for an adapter, at five times the price of one that it finds.
    nothing: dict[None, None] = {}
    sqlite3.register_adapter(bytes, bytearray)
    sqlite3.register_adapter(type(None), nothing.get)
    sqlite3.register_adapter(bool, int)
    if parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    # Parameters are what strangers sent: they do not belong into error texts, hence not into logs.
    engine = create_engine(parsed, hide_parameters=True, connect_args={"timeout": MIGRATION_S, "check_same_thread": False})
    event.listen(engine, "connect", lambda connection, _record: _tune_sqlite(connection, busy_timeout_s))
    event.listen(engine, "begin", lambda connection: _begin(connection, busy_timeout_s))
    return engine


def _tune_sqlite(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    # SQLAlchemy's own BEGIN (below) instead of the driver's implicit one, which starts too late to hold a snapshot.
    connection.isolation_level = None
    # Freed pages can be given back to the file system in small steps. First: it holds only for a file that is still empty.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    # Readers and the one writer do not block each other.
    connection.execute("PRAGMA journal_mode = WAL")
    # An answered request has reached the disk, whatever happens to the machine.
    connection.execute("PRAGMA synchronous = FULL")
    # 64 MiB of pages: the upper levels of the unique index stay in memory.
    connection.execute("PRAGMA cache_size = -65536")
    # Sorting and grouping for pages never touches the disk.
    connection.execute("PRAGMA temp_store = MEMORY")
    # A checkpoint writes a page once, however often it changed since the last: one every 128 MiB saves most of the random writes.
    connection.execute("PRAGMA wal_autocheckpoint = 32000")
    # The write-ahead log shrinks back after a burst.
    connection.execute("PRAGMA journal_size_limit = 67108864")
    # Of the above, only what an empty file is told waits for a lock, and then for the first migration.
    _wait(connection, busy_timeout_s)


def _wait(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")


def _begin(connection: Any, busy_timeout_s: float) -> None:
    # A transaction that will write takes the write lock at once: it waits (busy timeout) instead of failing half way.
    if connection.get_execution_options().get("read_only", False):
        connection.exec_driver_sql("BEGIN")
        return
    driver = connection.connection.driver_connection
    until = time.monotonic() + connection.get_execution_options().get("wait_s", busy_timeout_s)
    # SQLite waits ever longer between its looks, up to a tenth of a second: among busy writers it would miss every short gap.
    _wait(driver, LOOK_EVERY_S)
    try:
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                # The low byte says what kind of error it is: a log that another process recovers is busy as well.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    # Once more, for an error as all others are.
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                    return
            else:
                return
    finally:
        _wait(driver, busy_timeout_s)


def newest_schema() -> str:
    """The schema version that this program writes."""
    head = ScriptDirectory(str(MIGRATIONS)).get_current_head()
    assert head is not None
    return head


def schema_of(engine: Engine) -> str | None:
    """The schema version that the database has; None if it is empty."""
    with engine.connect().execution_options(read_only=True) as connection:
        return MigrationContext.configure(connection).get_current_revision()


class NewerSchema(Exception):
    """The database was written by a newer version of this program."""


def migrate(engine: Engine) -> None:
    """Bring the database to the newest schema, in one transaction. Raises NewerSchema, with a hint, if a newer program wrote it.

    Any number of processes may do this at once: one of them does it, and the others wait for it.
    """
    if schema_of(engine) == newest_schema():
        return
    with engine.connect().execution_options(wait_s=MIGRATION_S) as connection, connection.begin():
        # On SQLite the transaction has the write lock already.
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(MIGRATING)))
        current = MigrationContext.configure(connection).get_current_revision()
        known = {script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}
        if current is not None and current not in known:
            raise NewerSchema(
                f"the database has schema {current}, this program knows {newest_schema()}: install the newer version of toolvitals"
            )
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
