"""Whether a result holds data, told by its value alone."""

from typing import Any

from collector.core.bodies import emptiness_of_seen, see
from collector.core.emptiness import emptiness_of, item_count
from tests.tables import sentences


def seen(value: Any) -> str:
    return emptiness_of_seen(see(value))[0]


@sentences(
    "value",
    {
        "an empty list": [],
        "an empty list as text": "[]",
        "an empty object": {},
        "an empty object as text": "{}",
        "an empty text": "",
        "a quoted empty text": '""',
        "null": None,
        "null as text": "null",
        "blank text": " \n\t",
        "an MCP result without content": {"content": [], "isError": False},
        "an MCP result without content, as text": '{"content": [], "isError": false}',
        "one blank text block": {"content": [{"type": "text", "text": ""}]},
        "one blank text block of white space": {"content": [{"type": "text", "text": " \n"}]},
        "two blank text blocks": {"content": [{"type": "text", "text": ""}, {"type": "text", "text": " "}]},
        "a text block that is itself empty JSON": {"content": [{"type": "text", "text": "[]"}]},
        "a text block that is an object around an empty list": {"content": [{"type": "text", "text": '{"result": []}'}]},
        "structured content that is empty": {"content": [{"type": "text", "text": "none"}], "structuredContent": {}},
        "structured content around an empty list": {"content": [], "structuredContent": {"result": []}},
        "structured content in an artifact": {"content": "", "type": "tool", "artifact": {"structured_content": {"result": []}}},
        **{
            f"an object whose only key is {key} and empty": {key: []}
            for key in ("result", "results", "items", "data", "rows", "records", "matches", "content")
        },
        "an empty object within the only key": {"data": {"items": []}},
        "an empty text within the only key": {"result": ""},
        "an empty list as text within the only key": {"items": "[]"},
        "a count of 0 beside an empty list": {"items": [], "total": 0},
        "counts of 0 as text beside an empty list": {"results": [], "count": "0", "totalCount": 0},
        **{
            f"the whole text {text!r}": text
            for text in ("no results", "No results found", "No results found.", " no matches ", "Nothing found!", "0 results")
        },
        "a Python result that shows an empty list": "meta=None content=[] structuredContent={'result': []} isError=False",
        "an empty Python list of text blocks": "[TextContent(type='text', text='')]",
        "an enveloped empty output": {"output": "[]", "kwargs": {}},
    },
)
def test_empty(value: Any) -> None:
    assert seen(value) == "empty"


@sentences(
    "value",
    {
        "zero": 0,
        "zero as text": "0",
        "false": False,
        "false as text": "false",
        "a list of one": [1],
        "a list of an empty list": [[]],
        "a text": "found 3 documents",
        "a text that only mentions no results": "no results found in the first shard, trying the second",
        "a text about an error is a text": "missing required parameter: owner",
        "an object of the tool's own": {"job": 7, "status": "error"},
        "an empty list beside other data": {"items": [], "next": "abc"},
        "an empty list beside a count that is not 0": {"items": [], "total": 3},
        "an empty list beside a flag": {"items": [], "count": False},
        "two lists, both empty, say more than nothing": {"items": [], "rows": []},
        "an unknown key that is empty": {"documents": []},
        "a count alone": {"count": 0},
        "one text block of text": {"content": [{"type": "text", "text": "hello"}]},
        "a blank block beside an image": {"content": [{"type": "text", "text": ""}, {"type": "image", "data": "aGk="}]},
        "structured content beside blank text": {"content": [], "structuredContent": {"result": [1]}},
        "a resource link": {"content": [{"type": "resource_link", "uri": "file:///a"}]},
        "text that is no JSON although it begins like one": "[see below] three documents",
        "an object too deep to look at": '{"data":' * 30 + "[]" + "}" * 30,
    },
)
def test_data(value: Any) -> None:
    assert seen(value) == "data"


@sentences(
    "value",
    {
        "a bare object repr": "<mcp.types.CallToolResult object at 0x7f0000000000>",
        "several bare object reprs": "[<a.B object at 0x1>, <a.B object at 0x2>]",
        "JavaScript's placeholder": "[object Object]",
        "JavaScript's placeholders, joined": "[object Object],[object Object]",
        "an envelope without its result key": {"kwargs": {}, "tags": []},
        "a JSON-RPC answer without a result": {"jsonrpc": "2.0", "id": 1},
        "JSON that the emitter cut short": '{"result": [{"id": 1, "tit',
        "a placeholder of a redacting emitter": "[REDACTED]",
        "brackets without end": "[[" * 5000,
    },
)
def test_unknown(value: Any) -> None:
    assert seen(value) == "unknown"


@sentences(
    "value, rule",
    {
        "a list by its length": ([], "list"),
        "a phrase by the list of phrases": ("No results found", "phrase"),
        "an only key by its name": ({"items": []}, "key:items"),
        "blank text as blank": (" ", "blank"),
        "no value as null": (None, "null"),
        "a number as a scalar": (0, "scalar"),
    },
)
def test_the_rule_is_named(value: Any, rule: str) -> None:
    assert emptiness_of(value)[1] == rule


@sentences(
    "value, count",
    {
        "a list": ([1, 2, 3], 3),
        "an empty list": ([], 0),
        "an object around one list": ({"items": [1, 2], "next": 3}, 2),
        "an object around two lists": ({"items": [1], "rows": [2]}, None),
        "an object around none": ({"a": 1}, None),
        "a text": ("[1]", None),
    },
)
def test_items_are_counted_where_the_shape_tells(value: Any, count: int | None) -> None:
    assert item_count(value) == count
