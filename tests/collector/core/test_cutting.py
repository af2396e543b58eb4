"""Cutting: long values are cut with a marker, and never in the middle of a secret."""

from collector.core.texts import short

SECRET = "sk_live_" + "A1b2C3d4" * 4


def test_a_secret_that_the_cut_would_break_is_masked_before() -> None:
    """The first half of a key is a secret too."""
    text = "x" * 90 + " " + SECRET + " and more" * 10
    cut = short(text, 100)
    assert "sk_live" not in cut
    assert cut.endswith(f"… [cut, {len(text)} characters]")


def test_cutting_twice_keeps_the_original_size() -> None:
    """The marker tells what was sent, not what the first cut left."""
    once = short("y" * 500, 100)
    assert short(once, 100) == once
