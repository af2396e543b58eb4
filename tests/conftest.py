"""What all tests share: a fresh migrated database, copied from one that is migrated once."""

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from schemas.database import migrate, open_database
from tests.database import Database, NewDatabase

# Two cores, shared: no deadline tells anything of the code. More examples by --hypothesis-profile=thorough.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty SQLite file of the newest schema."""
    path = tmp_path_factory.mktemp("migrated") / "empty.db"
    engine = open_database(f"sqlite:///{path}")
    migrate(engine)
    engine.dispose()
    assert not os.path.exists(f"{path}-wal")
    return path


@pytest.fixture
def new_database(migrated: Path, tmp_path: Path) -> Iterator[NewDatabase]:
    """Makes databases, each with its own file and settings."""
    numbers = itertools.count()
    made: list[Database] = []

    def new(**given: object) -> Database:
        path = tmp_path / f"{next(numbers)}.db"
        shutil.copy(migrated, path)
        made.append(Database(path, **given))
        return made[-1]

    yield new
    for one in made:
        one.close()


@pytest.fixture
def database(new_database: NewDatabase) -> Database:
    """A fresh database under the default settings."""
    return new_database()
