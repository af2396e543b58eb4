"""Open the database for a command: brought to the newest schema, or a clear message why not."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cli.options import fail
from schemas.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy import Engine


def unwritable(folder: Path) -> str | None:
    """None if files can be made in the folder (or the folder itself can), else the reason."""
    existing = folder.resolve()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        return f"{existing} is a file, not a folder"
    if not os.access(existing, os.W_OK | os.X_OK):
        return f"{existing} is not writable for this user"
    return None


@contextmanager
def opened(settings: Settings) -> Iterator["Engine"]:
    """The database of these settings, at the newest schema. Ends the program with a clear message if it cannot be had."""
    # Imported here: SQLAlchemy and Alembic take longer to load than `--help` takes to read.
    from sqlalchemy.exc import SQLAlchemyError

    from schemas.database import NewerSchema, migrate, open_database

    if settings.database_url is None and (reason := unwritable(settings.data)):
        raise fail(f"data folder {settings.data}: {reason}", "choose another with --data or TOOLVITALS_DATA")
    with ExitStack() as ending:
        try:
            engine = open_database(settings.sqlalchemy_url)
            ending.callback(engine.dispose)
            migrate(engine)
        except NewerSchema as error:
            raise fail(str(error)) from None
        except (SQLAlchemyError, OSError) as error:
            raise fail(f"the database cannot be opened: {first_line(error)}", "`toolvitals check` says more") from None
        yield engine


def first_line(error: Exception) -> str:
    """What an error says, without the statement and the links that follow."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0]
