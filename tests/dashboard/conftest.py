"""A fresh database and a dashboard over it, at a fixed time."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, create_engine

from dashboard.app import create_app
from schemas.database import migrate, open_database
from schemas.settings import Settings
from tests.seeds import NOW_NS


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A migrated database: a SQLite file, or a fresh schema of the PostgreSQL that TEST_DATABASE_URL names."""
    url = os.environ.get("TEST_DATABASE_URL")
    if url is None:
        engine = open_database(f"sqlite:///{tmp_path / 'test.db'}")
    else:
        admin = create_engine(url)
        name = f"dashboard_{uuid.uuid4().hex}"
        with admin.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        engine = create_engine(url, connect_args={"options": f"-csearch_path={name}"})
    migrate(engine)
    yield engine
    engine.dispose()
    if url is not None:
        with admin.begin() as connection:
            connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
        admin.dispose()


@pytest.fixture
def client(engine: Engine) -> Iterator[TestClient]:
    """The dashboard over `engine`, at NOW_NS."""
    with TestClient(create_app(engine, Settings(), lambda: NOW_NS)) as client:
        yield client
