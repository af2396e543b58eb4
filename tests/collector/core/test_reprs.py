"""What Python programs write instead of JSON."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collector.core.reprs import opaque, value_in
from tests.tables import sentences


@sentences(
    "text, value",
    {
        "a dict": ("{'a': 1, 'b': [True, None, 2.5]}", {"a": 1, "b": [True, None, 2.5]}),
        "a tuple and a set are lists": ("[(1, 2), {3}]", [[1, 2], [3]]),
        "negative numbers": ("[-1, -2.5]", [-1, -2.5]),
        "bytes are text": ("[b'abc', b'\\xff']", ["abc", "\ufffd"]),
        "keys are text": ("{1: 'a', None: 'b'}", {"1": "a", "None": "b"}),
        "an object is the dict of its fields": ("TextContent(type='text', text='hi')", {"type": "text", "text": "hi"}),
        "an object of a module": ("mcp.types.TextContent(type='text')", {"type": "text"}),
        "an object within a list": ("[TextContent(text='hi')]", [{"text": "hi"}]),
        "pydantic's print without the class": (
            "meta=None content=[TextContent(type='text', text='hi')] structuredContent=None isError=True",
            {"meta": None, "content": [{"type": "text", "text": "hi"}], "structuredContent": None, "isError": True},
        ),
        "a message of an agent framework": (
            "content='hi' name='search' tool_call_id='c1'",
            {"content": "hi", "name": "search", "tool_call_id": "c1"},
        ),
        "an ellipsis is nothing": ("{'a': ...}", {"a": None}),
        "an escape that Python does not know stands for itself": ("['\\d']", ["\\d"]),
        "escapes that Python knows": ("['\\\\d\\n\\x41']", ["\\d\nA"]),
        "surrogates that make a pair": ("['\\ud83d\\ude00']", ["\U0001f600"]),
        "a lone surrogate is replaced": ("['a\\ud800b']", ["a\ufffdb"]),
    },
)
def test_reprs_are_read(text: str, value: Any) -> None:
    assert value_in(text) == value


@sentences(
    "text",
    {
        "plain text": "hello",
        "an empty text": "",
        "blank text": "  ",
        "a number": "7",
        "a text in brackets": "[see below]",
        "an operator": "[1 + 2]",
        "a call with positional arguments": "Result(1, 2)",
        "a call of unpacked arguments": "f(a=1, **b)",
        "a dict that unpacks another": "{**a}",
        "a name": "[a]",
        "a minus before a text": "[-'a']",
        "a complex number": "[1j]",
        "a number beyond 64 bits": "[99999999999999999999]",
        "a text that begins like an object and is none": "f(x=",
        "brackets without end": "[" * 1999,
        "brackets beyond counting": "[" * 5000,
        "nesting beyond reason": "[" * 50 + "]" * 50,
        "a text with a NUL": "['a\0b']",
        "a long text": "[" + "1," * 40_000 + "]",
    },
)
def test_anything_else_stays_text(text: str) -> None:
    assert value_in(text) is text


@sentences(
    "text",
    {
        "an object's address": "<mcp.types.CallToolResult object at 0x7f00>",
        "in a list": "[<a.B object at 0x1>]",
        "in a tuple of one": "(<a.B object at 0x1>,)",
        "several": "[<a.B object at 0x1>,  <a.B object at 0x2>]",
        "JavaScript's": "[object Object]",
        "JavaScript's in a list": "[[object Object], [object Object]]",
        "with white space around": "\n <a.B object at 0x1> \n",
        "redacted": "[REDACTED]",
        "redacted in Pythonic underscores": "__redacted__",
        "starred out": "*****",
    },
)
def test_a_placeholder_stands_for_a_value_that_was_not_written(text: str) -> None:
    assert opaque(text)


@sentences(
    "text",
    {
        "an empty text": "",
        "an empty list": "[]",
        "text after a placeholder": "<a.B object at 0x1> and more",
        "text": "hello",
        "a tag with text": "<b>bold</b>",
        "white space without end": " " * 50_000 + "x",
        "white space after a placeholder": "<a>" + " " * 50_000 + "x",
        "white space in a bracket": "[" + " " * 50_000 + "x",
        "placeholders without end": "<a> , " * 10_000 + "x",
    },
)
def test_no_placeholder_and_told_at_once(text: str) -> None:
    assert not opaque(text)


LITERAL = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 2**63, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(LITERAL, max_size=5) | st.dictionaries(st.text(max_size=5), LITERAL, max_size=5))
def test_what_repr_writes_is_read_back(value: Any) -> None:
    assert value_in(repr(value)) == value


@given(st.text(alphabet="[](){}'\"\\,:=-.abjxud0189 \n\0#@*"))
def test_reading_never_raises(text: str) -> None:
    value_in(text)
    opaque(text)
