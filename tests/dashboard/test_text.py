"""Text from outside stays text: visible, harmless, and the same after a round trip."""

import orjson
import pytest

from dashboard.text import block, finalized, json_for_html, name_of_segment, path_segment, plotly_text, visible
from tests.seeds import HOSTILE_NAMES


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain é 工具 🛠", "plain é 工具 🛠", id="letters of all scripts stay"),
        pytest.param("\u202egnp.exe", "\\u202egnp.exe", id="an override of direction is spelled out"),
        pytest.param("a\nb\tc\r", "a\\nb\\tc\\r", id="line breaks and tabs are spelled out"),
        pytest.param("a\x1b[31m\x00", "a\\u001b[31m\\u0000", id="controls are spelled out"),
        pytest.param("a\u200bb\u2066c\ufeff", "a\\u200bb\\u2066c\\ufeff", id="characters without width are spelled out"),
        pytest.param("\U000e0041", "\\U000e0041", id="tag characters are spelled out"),
    ],
)
def test_hidden_characters_become_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert finalized(text) == shown


def test_a_block_keeps_its_lines_and_escapes_the_rest() -> None:
    assert block("a\r\n\t<b>\u202e") == "a\n\t&lt;b&gt;\\u202e"
    assert block(None) == ""


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_embedded_json_cannot_leave_its_element(name: str) -> None:
    made = str(json_for_html({name: [name, "\u2028"]}))
    assert not set("<>&\u2028\u2029") & set(made)
    assert orjson.loads(made) == {name: [name, "\u2028"]}


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_plotly_has_nothing_to_interpret(name: str) -> None:
    made = plotly_text(name)
    assert not set("<>${") & set(made)
    assert made.count("&") == sum(made.count(entity) for entity in ("&amp;", "&lt;", "&gt;", "&#36;", "&#123;"))


def test_long_names_are_cut_in_the_middle() -> None:
    made = plotly_text("start_" + "x" * 300_000 + "_end", 20)
    assert len(made) == 20
    assert made.startswith("start_")
    assert made.endswith("_end")


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "", "~41", ".", "..", "a~", "x" * 300])
def test_a_name_survives_the_path(name: str) -> None:
    segment = path_segment(name)
    assert set(segment) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~")
    assert segment
    assert name_of_segment(segment) == name


def test_bytes_that_are_no_text_are_no_name() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        name_of_segment("~FF")
