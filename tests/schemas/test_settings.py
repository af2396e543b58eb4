"""Settings: what cannot work is refused at start, by name."""

import pytest
from pydantic import ValidationError

from schemas.settings import Settings


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param({"aliases": {"tol": ("x",)}}, "no concept named tol", id="an alias of no concept"),
        pytest.param({"disabled_rules": ("timeout_wrod",)}, "no rule named timeout_wrod", id="a misspelt rule"),
        pytest.param({"zone": "Mars/Olympus"}, "is no time zone", id="a zone that does not exist"),
        pytest.param({"zone": "../etc"}, "is no time zone", id="a path instead of a zone"),
        pytest.param({"ingest_token": ""}, "set but empty", id="an empty token, which would let everyone in or no one"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(given: dict[str, object], says: str) -> None:
    """The message says what is wrong and what is known."""
    with pytest.raises(ValidationError, match=says):
        Settings(**given)


def test_what_is_known_is_taken() -> None:
    """Aliases of a concept, and the rules that can be switched off."""
    settings = Settings(aliases={"category": ("x.kind",)}, disabled_rules=("timeout_word",))
    assert (settings.aliases, settings.disabled_rules) == ({"category": ("x.kind",)}, ("timeout_word",))
