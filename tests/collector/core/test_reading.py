"""A tool span's attributes read as concepts: any alias, any type on the wire."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.reading import Reading, attempt, read, whole
from schemas.spans import ToolSpan
from schemas.vocabulary import ALIASES, lexicon
from tests.spans import ERROR, LEXICON, exception, reading, result, stored, tool_span
from tests.tables import sentences

# What a concept of text is read into.
TEXTS = ("server", "server_address", "conversation", "mcp_session", "request_id", "tool_call_id", "category", "result_type",
         "retry_of", "error_type", "error_message", "exception_type", "exception_message")  # fmt: skip
NUMBERS = ("result_count", "content_count", "retry_after_ms", "http_status", "jsonrpc_code")
FLAGS = ("retryable", "result_empty")


def names(*concepts: str) -> list[tuple[str, str]]:
    return [(concept, name) for concept in concepts for name in ALIASES[concept]]


@pytest.mark.parametrize(("concept", "name"), names(*TEXTS))
def test_every_name_of_a_text_is_read(concept: str, name: str) -> None:
    assert reading({name: "said"}).text[concept] == "said"


@pytest.mark.parametrize(("concept", "name"), names(*NUMBERS))
@pytest.mark.parametrize("sent", [-32602, "-32602", -32602.0], ids=["int", "text", "double"])
def test_every_name_of_a_number_is_read_from_any_type(concept: str, name: str, sent: Any) -> None:
    assert getattr(reading({name: sent}), concept) == -32602


@pytest.mark.parametrize(("concept", "name"), names(*FLAGS))
@pytest.mark.parametrize(
    ("sent", "flag"), [(True, True), (False, False), ("True", True), ("FALSE", False), (1, True), ("perhaps", None)], ids=repr
)
def test_every_name_of_a_flag_is_read_from_any_type(concept: str, name: str, sent: Any, flag: bool | None) -> None:
    assert getattr(reading({name: sent}), concept) is flag


@pytest.mark.parametrize("name", ALIASES["is_error"])
@pytest.mark.parametrize("sent", [True, "true", "TRUE", "error", "ERROR", "failed", "failure"], ids=repr)
def test_every_name_and_word_of_an_error_is_read(name: str, sent: Any) -> None:
    assert reading({name: sent}).is_error


@pytest.mark.parametrize("name", ALIASES["is_error"])
@pytest.mark.parametrize("sent", [False, "false", "ok", "success", "DEFAULT", "WARNING", "", 7], ids=repr)
def test_other_words_are_no_error(name: str, sent: Any) -> None:
    assert not reading({name: sent}).is_error


@pytest.mark.parametrize("name", ALIASES["result"])
def test_every_name_of_a_result_is_read(name: str) -> None:
    [facts] = reading({name: "[]"}).results
    assert facts["emptiness"] == "empty"


@pytest.mark.parametrize("name", ALIASES["arguments"])
def test_arguments_hash_alike_under_every_name(name: str) -> None:
    assert reading({name: '{"q": "a"}'}).arguments_hash == reading({"gen_ai.tool.call.arguments": {"q": "a"}}).arguments_hash


@pytest.mark.parametrize("name", ALIASES["tool"])
def test_every_name_of_a_tool_is_read(name: str) -> None:
    found = stored(tool_span(attributes={"gen_ai.tool.name": None}))
    evidence = found.evidence.replace('"gen_ai.tool.name":null', f'"{name}":"tool:search@1"')
    assert read(found._replace(evidence=evidence), LEXICON).tool == "search"


@sentences(
    "attributes, field, value",
    {
        "success that is false is an error": ({"success": False}, "is_error", True),
        "success that is false as text is an error": ({"success": "False"}, "is_error", True),
        "success that is true is no error": ({"success": True}, "is_error", False),
        "isError false denies an error": ({"isError": False}, "denies_error", True),
        "any is-error attribute is enough": ({"isError": False, "tool.status": "error"}, "is_error", True),
        "the status ABORTED is a cancellation": ({"tool.status": "ABORTED"}, "aborted", True),
        "a number is text where text is asked for": ({"error.type": 504}, "text", {"error_type": "504", "tool": "search_docs"}),
        "a double is text without its fraction if it has none": ({"jsonrpc.request.id": 7.0}, "text", {"request_id": "7", "tool": "search_docs"}),
        "a double with a fraction is text": ({"jsonrpc.request.id": 7.5}, "text", {"request_id": "7.5", "tool": "search_docs"}),
        "a flag is no text": ({"error.type": True}, "text", {"tool": "search_docs"}),
        "a value that is empty is not present": ({"error.type": None}, "text", {"tool": "search_docs"}),
        "an error type of -32000 or less is a JSON-RPC code": ({"error.type": "-32602"}, "jsonrpc_code", -32602),
        "an error type above it is none": ({"error.type": "-31999"}, "jsonrpc_code", None),
        "a JSON-RPC code beats the error type": ({"error.type": "-32603", "rpc.response.status_code": "-32602"}, "jsonrpc_code", -32602),
        "an error type may be an HTTP status": ({"error.type": "503"}, "http_status", 503),
        "an HTTP status beats the error type": ({"error.type": "503", "http.response.status_code": 429}, "http_status", 429),
        "an error type of another number is neither": ({"error.type": "17"}, "http_status", None),
        "the stronger name wins": ({"errorCategory": "b", "toolvitals.error.category": "a"}, "text", {"category": "a", "tool": "search_docs"}),
    },
)  # fmt: skip
def test_reading(attributes: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(reading(attributes), field) == value


def test_exceptions_stand_in_events_and_in_attributes() -> None:
    found = reading({"exception.type": "B", "exception.message": "b"}, events=[exception("A", "a")], status=ERROR, message="m")
    assert found.exceptions == (("A", "a"), ("B", "b"))
    assert found.status_message == "m"


def test_results_that_other_spans_carry_come_after_the_spans_own() -> None:
    found = read(stored(tool_span(attributes=result("[]"))), LEXICON, ({"emptiness": "data"},))
    assert [facts["emptiness"] for facts in found.results] == ["empty", "data"]


def test_a_users_alias_is_tried_before_the_built_in_names() -> None:
    attributes = {"errorCategory": "theirs", "acme.class": "ours"}
    assert reading(attributes, {"category": ("acme.class",)}).text["category"] == "ours"
    assert reading({"errorCategory": "theirs"}, {"category": ("acme.class",)}).text["category"] == "theirs"


def test_a_users_alias_takes_a_name_from_the_concept_it_had() -> None:
    found = reading({"error.type": "transient"}, {"category": ("error.type",)})
    assert (found.text["category"], found.text.get("error_type")) == ("transient", None)


def test_an_alias_of_an_unknown_concept_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no concept named colour, shape; known are tool, server"):
        lexicon({"shape": ("x",), "colour": ("y",)})


def test_every_name_stands_for_one_concept() -> None:
    every = [name for concept in ALIASES for name in ALIASES[concept]]
    assert sorted(every) == sorted(LEXICON)


@pytest.mark.parametrize(
    ("sent", "number"),
    [
        (7, 7), ("7", 7), (" 7 ", 7), (7.9, 7), ("-32602", -32602), (True, None), (None, None), ("7.5", None), ("seven", None),
        (float("inf"), None), (float("nan"), None), (2**63, None), (-(2**63), -(2**63)), ("9" * 5000, None), ([], None),
    ],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_a_whole_number_may_have_any_type(sent: Any, number: int | None) -> None:
    assert whole(sent) == number


@pytest.mark.parametrize("name", ALIASES["attempt"])
@pytest.mark.parametrize("sent", [3, "3", 3.0], ids=["int", "text", "double"])
def test_every_name_of_the_attempt_is_read_from_any_type(name: str, sent: Any) -> None:
    assert reading({name: sent}).attempt == 3


@pytest.mark.parametrize(("sent", "number"), [(3, 3), ("3", 3), (0, 0), (10**6, 10**6), (10**6 + 1, None), (2**63 - 1, None), (-1, None)])
def test_an_attempt_is_a_number_that_one_counts_to(sent: Any, number: int | None) -> None:
    assert attempt(sent) == number


VALUE = st.text() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.none() | st.lists(st.integers(0, 9))


@given(st.dictionaries(st.sampled_from(sorted(LEXICON)), VALUE))
def test_any_attributes_can_be_read(attributes: dict[str, Any]) -> None:
    found = stored(tool_span(name="tools/call x", attributes={**attributes, "mcp.method.name": "tools/call"}))
    assert isinstance(found, ToolSpan)
    assert isinstance(read(found, LEXICON), Reading)
