"""Tables of promises: each row is a sentence, and the values that show it."""

from collections.abc import Mapping
from typing import Any

import pytest


def sentences(names: str, rows: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Parametrize a test by rows whose ids are sentences."""
    return pytest.mark.parametrize(names, list(rows.values()), ids=list(rows))
