"""B26 to B42: values that are wrong, hostile, or secret."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cases.conftest import INPUTS
from tests.database import Database, NewDatabase
from tests.spans import ERROR, exception, from_json, request, span, tool_span

Take = Callable[[str], list[dict[str, Any]]]


def test_b26_hex_in_upper_case_is_the_same_id_as_by_protobuf(database: Database) -> None:
    upper = from_json((INPUTS / "b26-1.json").read_text())
    [call] = database.take(upper)
    assert call["trace_id"].hex() == "5b8efff798038103d269b633813fc60c"
    assert call["call_id"].hex() == "eee19b7ec3c1b174"
    assert database.take(type(upper).FromString(upper.SerializeToString())) == [call]


def test_b26_base64_ids_make_no_call(take: Take, database: Database) -> None:
    assert take("b26-2") == []
    assert database.rows("SELECT * FROM tool_span") == []


def test_b26_ids_of_zeros_are_refused_and_their_neighbours_stored(database: Database) -> None:
    bad = tool_span()
    bad.trace_id = bytes(16)
    assert len(database.take(request(bad, tool_span(number=2)))) == 1
    [refusal] = database.rows("SELECT reason, count FROM refusal")
    assert refusal == {"reason": "trace id is not 16 bytes, or all zeros", "count": 1}


def test_b32_nul_and_lone_surrogates_are_stored_and_the_neighbours_unharmed(take: Take, database: Database) -> None:
    calls = take("b32")
    assert [(call["outcome"], call["emptiness"]) for call in calls] == [("success", "data")] * 2
    assert all("\0" not in row["evidence"] for row in database.rows("SELECT evidence FROM tool_span"))


@pytest.mark.parametrize("payloads", ["never", "always"])
def test_b32_a_nul_anywhere_reaches_no_column(new_database: NewDatabase, payloads: str) -> None:
    database = new_database(store_payloads=payloads)
    nasty = "a\0b"
    escaped = json.dumps({"isError": True, "message": nasty, "errorCategory": nasty})
    said = {"error.type": nasty, "session.id": nasty, "mcp.server.name": nasty, nasty: nasty, "gen_ai.tool.call.result": escaped}
    writer = span("ResponseStreamWriter", 2, parent=1, attributes={"mcp.response.value": escaped})
    child = span(nasty, 3, parent=1, status=ERROR, attributes={"error.type": nasty, "peer.service": nasty})
    given = tool_span(nasty, status=ERROR, message=nasty, attributes=said, events=[exception(nasty, nasty)])
    database.take(request(given, writer, child, service=nasty, scope=nasty, version=nasty, environment=nasty))
    assert database.take(tool_span(number=9))
    for table in ("tool_span", "ancestry", "call", "intake", "refusal"):
        for row in database.rows(f'SELECT * FROM "{table}"'):
            for name, value in row.items():
                as_json = name in ("evidence", "views", "failed_children") and value
                assert not holds_nul(json.loads(value) if as_json else value), f"{table}.{name}"


def holds_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any(holds_nul(key) or holds_nul(inner) for key, inner in value.items())
    return any(map(holds_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\0" in value


@pytest.mark.parametrize("surrogate", ["\\ud800", "\\udfff"])
def test_b32_a_lone_surrogate_inside_a_result_is_no_trouble(database: Database, surrogate: str) -> None:
    printed = f"[TextContent(type='text', text='bad {surrogate} half')]"
    given = tool_span(status=ERROR, attributes={"gen_ai.tool.call.result": printed, "gen_ai.tool.call.arguments": printed})
    [call] = database.take(given)
    assert call["message"] == "bad \ufffd half"


def test_b34_an_end_before_the_start_and_an_end_of_zero_have_no_duration(take: Take, database: Database) -> None:
    calls = take("b34")
    assert [(call["duration_ns"], call["end_ns"]) for call in calls] == [(None, None)] * 2
    rows = [row for row in database.rollup() if (row["grain"], row["width_s"]) == (0, 60)]
    assert [(row["calls"], row["timed"]) for row in rows] == [(2, 0)]
    raw = database.rows("SELECT start_ns, end_ns FROM tool_span ORDER BY start_ns DESC")
    assert [row["end_ns"] for row in raw] == [1795428004000000000, 0]


HOSTILE = ["", "x" * 300_000, "../../etc/passwd", "a\nb", "\u202egnp.exe"]


def test_b38_spans_and_calls_keep_the_raw_names(database: Database) -> None:
    calls = database.take(request(*(tool_span(name, number, start=number) for number, name in enumerate(HOSTILE, 1))))
    assert [call["tool"] for call in calls] == [
        "(unnamed)",
        "x" * 256 + "… [cut, 300000 characters]",
        "../../etc/passwd",
        "a\nb",
        "\u202egnp.exe",
    ]


def test_b38_an_invented_tool_is_a_validation_failure(database: Database) -> None:
    given = tool_span("tool_5f3a", attributes={"error.type": "-32602"}, status=ERROR, message="Unknown tool")
    [call] = database.take(given)
    assert (call["category"], call["channel"], call["retryable"]) == ("validation", "protocol", 0)


def test_b38_five_thousand_invented_names_leave_the_real_one_in_sight(database: Database) -> None:
    def bad(number: int) -> Any:
        said = {"error.type": "-32602"}
        return tool_span(f"tool_{number:06x}", number, trace=f"{number:032x}", attributes=said, status=ERROR, message="Unknown tool")

    database.insert_together(
        [
            request(*(bad(number) for number in range(1, 5001))),
            request(*(tool_span(number=number, start=1, trace=f"{number:032x}") for number in range(6001, 6101))),
        ]
    )
    database.settle()
    assert database.rows('SELECT count(DISTINCT tool) AS names FROM "call"') == [{"names": 5001}]
    rows = [row for row in database.rollup() if (row["grain"], row["width_s"]) == (0, 60)]
    assert [row["calls"] for row in rows if row["tool"] == "search_docs"] == [100]
    assert sum(row["calls"] for row in rows if row["category"] == "validation") == 5000
    assert len({row["tool"] for row in rows}) <= 2002


def test_b42_secrets_are_masked_before_they_are_stored(take: Take, database: Database) -> None:
    [call] = take("b42")
    assert call["message"] == "AuthError: Invalid key [redacted]; Authorization: Bearer [redacted]"
    assert call["category"] == "permission"
    everything = json.dumps(
        [list(map(str, row.values())) for table in ("tool_span", "call") for row in database.rows(f'SELECT * FROM "{table}"')]
    )
    for secret in ("sk_live_EXAMPLE000", "abc.def.ghi"):
        assert secret not in everything
    assert "total_tokens" not in everything  # arguments are stored only if switched on


def test_b42_of_stored_arguments_the_secrets_are_masked_and_nothing_else(new_database: NewDatabase) -> None:
    database = new_database(store_payloads="always")
    database.take(from_json((INPUTS / "b42.json").read_text()))
    [row] = database.rows("SELECT evidence FROM tool_span")
    arguments = json.loads(json.loads(row["evidence"])["payloads"]["arguments"])
    assert arguments == {"api_key": "[redacted]", "total_tokens": 1234, "tokenizer": "cl100k"}
    assert "sk_live" not in row["evidence"]


def test_b42_a_secret_is_masked_in_the_text_of_an_event_and_in_json_inside_text(database: Database) -> None:
    inner = json.dumps({"request": json.dumps({"api_key": "plainword1"})})
    said = {"gen_ai.tool.call.arguments": {"api_key": "plainword2"}, "error.message": inner}
    database.take(tool_span(attributes=said, status=ERROR, events=[exception("AuthError", "refused plainword2")]))
    [row] = database.rows("SELECT evidence FROM tool_span")
    assert "plainword" not in row["evidence"]
