"""A dashboard over a fresh database, at a fixed time."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from dashboard.app import create_app
from schemas.settings import Settings
from tests.seeds import NOW_NS


@pytest.fixture
def client(engine: Engine) -> Iterator[TestClient]:
    """The dashboard over `engine`, at NOW_NS."""
    with TestClient(create_app(engine, Settings(), lambda: NOW_NS)) as client:
        yield client
