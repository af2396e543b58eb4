"""What all tests share: a fresh migrated database on either engine, copied from one that is migrated, and filled, once."""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Engine

from schemas.database import migrate
from tests.alerting import ALERT_DELAYS
from tests.database import Database, Fill, NewDatabase, engine_of
from tests.postgres import Cluster, running

# Two cores, shared: no deadline tells anything of the code. More examples by --hypothesis-profile=thorough.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
# A change is judged by the same examples every time; whoever runs the tests by hand looks further.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")


# The tests that run on PostgreSQL too, unless all are asked for: those of statements, transactions and workers beside each other.
# What only reads the answers is the same on both engines, and filling PostgreSQL takes ten times as long.
ON_POSTGRESQL_TOO = frozenset(
    {
        *("test_store", "test_work_store", "test_settle", "test_leases", "test_extremes", "test_chaining", "test_writer", "test_app"),
        *("test_database", "test_tables", "test_plans_on_postgresql", "test_status", "test_export", "test_rebuild", "test_check"),
        *("test_review_counts", "test_reviewing", "test_keeping_reviews"),
    }
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the whole suite run on both engines."""
    parser.addoption("--all-on-postgresql", action="store_true", help="run every test that needs a database on PostgreSQL too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs on SQLite alone unless it is asked for."""
    if config.getoption("--all-on-postgresql"):
        return
    left_out = [item for item in items if _on_postgresql(item) and item.path.stem not in ON_POSTGRESQL_TOO]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        kept = set(items) - set(left_out)
        items[:] = [item for item in items if item in kept]


def _on_postgresql(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.callspec.params.get("new_url") == "postgresql"


def _fill(url: str, fill: Fill) -> None:
    engine = engine_of(url)
    fill(engine)
    engine.dispose()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server of the tests' own; skips where there is none."""
    with running() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def template(cluster: Cluster) -> Callable[[Fill], str]:
    """The name of the PostgreSQL database that was filled so; what `migrate` makes of an empty one is what the others start from."""

    @cache
    def template(fill: Fill) -> str:
        name = cluster.create() if fill is migrate else cluster.create(template(migrate))
        _fill(cluster.url(name), fill)
        return name

    return template


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Fill], Path]:
    """The SQLite file that was filled so, as `template` is for PostgreSQL."""
    folder, numbers = tmp_path_factory.mktemp("filled"), itertools.count()

    @cache
    def file(fill: Fill) -> Path:
        path = folder / f"{next(numbers)}.db"
        if fill is not migrate:
            shutil.copy(file(migrate), path)
        _fill(f"sqlite:///{path}", fill)
        assert not os.path.exists(f"{path}-wal")
        return path

    return file


@pytest.fixture
def fill() -> Fill:
    """What fills a fresh database: nothing, unless a module says that many of its tests begin with the same calls."""
    return migrate


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path, fill: Fill) -> Iterator[Callable[[], str]]:
    """Makes databases of the newest schema, each filled by `fill`; gives their URLs. Tests that need one can run on both engines."""
    if request.param == "sqlite":
        file, numbers = request.getfixturevalue("file")(fill), itertools.count()
        yield lambda: f"sqlite:///{shutil.copy(file, tmp_path / f'{next(numbers)}.db')}"
        return
    cluster, template = request.getfixturevalue("cluster"), request.getfixturevalue("template")(fill)
    made: list[str] = []

    def new() -> str:
        made.append(cluster.create(template))
        return cluster.url(made[-1])

    yield new
    for name in made:
        cluster.drop(name)


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """The URL of a fresh database."""
    return new_url()


@pytest.fixture
def new_database(new_url: Callable[[], str]) -> Iterator[NewDatabase]:
    """Makes databases, each with its own settings."""
    made: list[Database] = []

    def new(**given: object) -> Database:
        made.append(Database(new_url(), **given))
        return made[-1]

    yield new
    for one in made:
        one.close()


@pytest.fixture
def database(new_database: NewDatabase) -> Database:
    """A fresh database under the default settings."""
    return new_database()


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """A fresh database alone."""
    engine = engine_of(url)
    yield engine
    engine.dispose()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how soon the scenarios of alerting were told."""
    noted = {
        report.nodeid.rpartition("::")[2]: value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == ALERT_DELAYS
    }
    if noted:
        terminalreporter.section("how soon alerts were told")
        for test, delays in sorted(noted.items()):
            terminalreporter.write_line("\n".join([test, *(f"    {delay}" for delay in delays or ["nothing fired"])]))
