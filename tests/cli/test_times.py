"""Points in time as people write them."""

import pytest

from cli.times import moment_ns

NOW = 1_800_000_000_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("90s", NOW - 90 * 10**9),
        ("24h", NOW - 86_400 * 10**9),
        ("2w", NOW - 14 * 86_400 * 10**9),
        ("1970-01-02", 86_400 * 10**9),
        ("1970-01-01T00:00:01", 10**9),
        ("1970-01-01T01:00:01+01:00", 10**9),
        ("2026-11-30T12:00:00.123456Z", 1_796_040_000_123_456_000),
    ],
)
def test_time_is_understood(text: str, expected: int) -> None:
    assert moment_ns(text, NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "24", "h", "2026-13-01", ""])
def test_other_text_says_what_is_understood(text: str) -> None:
    with pytest.raises(ValueError, match="is no time: write 24h"):
        moment_ns(text, NOW)
