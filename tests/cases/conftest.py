"""The inputs of the cases, as they are written down: OTLP/JSON, a lone span or a whole request."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.database import Database
from tests.spans import from_json

INPUTS = Path(__file__).parent / "inputs"


@pytest.fixture
def take(database: Database) -> Callable[[str], list[dict[str, Any]]]:
    """Receive the input of a case and settle it; the calls in order of start."""

    def take(case: str) -> list[dict[str, Any]]:
        return database.take(from_json((INPUTS / f"{case}.json").read_text()))

    return take
