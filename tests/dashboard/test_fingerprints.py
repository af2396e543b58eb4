"""Failures that differ only in what is one call's own are one."""

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from dashboard import fingerprints
from dashboard.fingerprints import Failure, code_of, fingerprint, grouped, pattern
from schemas.honest_empties import says_nothing_found
from tests import seeds
from tests.dashboard.reading import Page


@pytest.mark.parametrize(
    ("message", "said"),
    [
        pytest.param(None, "", id="no message"),
        pytest.param("timed out after 30.5 s", "timed out after # s", id="numbers"),
        pytest.param("no order 'A-17' for \"Jane\"", "no order … for …", id="quoted text"),
        pytest.param("trace 0af7651916cd43dd8448eb211c80319c at 0x7f12", "trace <id> at <id>", id="ids and addresses"),
        pytest.param("id 123e4567-e89b-12d3-a456-426614174000", "id <id>", id="a UUID"),
        pytest.param("a\n\n  b\tc", "a b c", id="white space"),
        pytest.param("internationalization failed", "internationalization failed", id="a long word is no id"),
        pytest.param("don't", "don't", id="an apostrophe quotes nothing"),
    ],
)
def test_what_is_one_calls_own_is_left_out(message: str | None, said: str) -> None:
    assert pattern(message) == said


def test_alike_means_category_type_and_wording() -> None:
    one = fingerprint("transient", "TimeoutError", "no answer in 3 s")
    assert one == fingerprint("transient", "TimeoutError", "no answer in 47 s")
    others = {fingerprint("transient", None, "no answer in 3 s"), fingerprint("business", "TimeoutError", "no answer in 3 s")}
    assert one not in others | {fingerprint("transient", "TimeoutError", "no answer")}
    assert fingerprint(None, None, None) == fingerprint("unclassified", "", "")


@given(st.text(max_size=3000))
def test_any_text_has_a_fingerprint_of_twelve_digits(message: str) -> None:
    made = fingerprint("business", message[:9], message)
    assert len(made) == 12
    assert set(made) <= set("0123456789abcdef")


def test_groups_say_when_the_first_and_the_last_were() -> None:
    some = [Failure(at, "transient", "T", f"after {at} s", None) for at in (5, 9, 7)] + [Failure(1, "business", None, "no", None)]
    first, second = grouped(some)
    assert (first.calls, first.first_ns, first.last_ns, first.sample, first.pattern) == (3, 5, 9, "after 9 s", "after # s")
    assert second.calls == 1


@pytest.mark.parametrize(
    ("error_type", "rule", "code"),
    [
        ("-32602", None, "-32602"),
        ("tool_error", "jsonrpc:-32001", "-32001"),
        ("503", "http:503", None),
        ("-5", None, None),
        (None, None, None),
    ],
)
def test_codes_of_json_rpc(error_type: str | None, rule: str | None, code: str | None) -> None:
    assert code_of(Failure(1, "validation", error_type, None, rule)) == code
    assert fingerprints.types([Failure(1, "validation", error_type, None, rule)]) == (("validation", error_type, code, 1),)


@pytest.mark.parametrize(
    ("message", "rule", "empty"),
    [
        pytest.param("No results found.", None, True, id="the phrase alone"),
        pytest.param("Error executing tool search: no matches", None, True, id="behind what a framework puts before it"),
        pytest.param("MCP error -32001: ToolError: not found", None, True, id="behind several prefixes"),
        pytest.param("HTTP 404 Not Found", None, True, id="a bare 404"),
        pytest.param(None, "http:404", True, id="a 404 without a word"),
        pytest.param(None, "http:500", False, id="another status without a word"),
        pytest.param("", None, False, id="no word at all"),
        pytest.param("Customer not found in region eu", None, False, id="it says more than that"),
        pytest.param("No results because the index is down", None, False, id="a reason behind the phrase"),
        pytest.param("not found", "http:500", True, id="the words count more than the status"),
    ],
)
def test_a_failure_that_says_nothing_was_found_and_nothing_else(message: str | None, rule: str | None, empty: bool) -> None:
    assert says_nothing_found(message, rule) is empty


def test_a_fingerprint_lists_exactly_the_failures_that_it_counts(client: TestClient, engine: Engine) -> None:
    rows = [
        seeds.call(n, outcome="failure", category="transient", error_type="T", message=f"no answer in {n} s" if n % 3 else "refused")
        for n in range(1, 91)
    ] + [seeds.call(200, message="no answer in 5 s")]
    seeds.put_calls(engine, rows)
    twin = client.get("/api/v1/tools/docs-mcp/search_docs").json()
    assert [one["calls"] for one in twin["fingerprints"]] == [60, 30]
    page = Page(client.get("/tools/docs-mcp/search_docs").text)
    for one in twin["fingerprints"]:
        [link] = {link for link in page.links if f"fingerprint={one['fingerprint']}" in link}
        listed = client.get(f"/api/v1{link}&limit=1000").json()
        assert len(listed["calls"]) == one["calls"]
        assert (one["first_ns"], one["last_ns"]) == (listed["calls"][-1]["start_ns"], listed["calls"][0]["start_ns"])
    short = client.get(f"/api/v1/calls?fingerprint={twin['fingerprints'][0]['fingerprint']}&limit=7").json()
    more = client.get(f"/api/v1/calls?fingerprint={twin['fingerprints'][0]['fingerprint']}&cursor={short['next']}").json()
    assert (len(short["calls"]), len(more["calls"]), more["next"]) == (7, 53, None)


def test_honest_empties_are_listed_with_the_calls_behind_them(client: TestClient, engine: Engine) -> None:
    said = ["No results", "no results", "Upstream broke"]
    rows = [seeds.call(n, outcome="failure", category="business", message=said[n % 3], tool=f"t{n % 2}") for n in range(1, 61)]
    seeds.put_calls(engine, rows)
    marked = client.get("/api/v1/empties").json()["marked_as_errors"]
    assert sum(one["calls"] for one in marked["found"]) == 40
    assert (marked["looked_at"], marked["all"]) == (60, True)
    page = Page(client.get("/empties").text)
    links = {link for link in page.links if "fingerprint=" in link}
    assert sum(len(client.get(f"/api/v1{link}&limit=1000").json()["calls"]) for link in links) == 40
