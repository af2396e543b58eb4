"""The page of empties: suspects with their evidence, what is by design, what errors say; and the page of a call that hides a failure."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from collector.leases import Leases
from collector.suppression_counts import SuppressionCounts
from collector.suppression_store import SuppressionStore
from collector.work.suppressing import Suppression
from dashboard.forgery import COOKIE, FIELD
from dashboard.inside import meaning
from dashboard.words import percent
from schemas.suppression import BY_DESIGN_NS
from tests import plans, seeds
from tests.dashboard.reading import Page
from tests.database import on_sqlite
from tests.seeds import NOW_NS
from tests.suppressed import END_NS, SECOND_NS, Calls, child, inside
from tests.tables import sentences

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def looked_at(engine: Engine) -> Engine:
    """Calls of the last hour that hide failures, and failures that say nothing, looked at by the worker."""
    calls = Calls()
    for number in range(60):
        start, swallowed = END_NS - number * 20 * SECOND_NS - SECOND_NS, number % 4 == 0
        calls.add(
            start,
            session=f"s{number}",
            emptiness="empty" if swallowed else "data",
            failed_children=inside(child(name=HOSTILE)) if swallowed else "[]",
        )
        if number % 5 == 0:
            calls.add(start, outcome="failure", category="business", retryable=False, message=f"{HOSTILE} is locked", channel="tool")
    seeds.put_calls(engine, calls.rows)
    assert Suppression(SuppressionCounts(engine), SuppressionStore(engine), Leases(engine, "w"), lambda: NOW_NS).step()
    return engine


def empties(client: TestClient, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/v1/empties{query}").json()
    return found


def posted(client: TestClient, path: str, **fields: str) -> Any:
    """Post a form of our own page."""
    client.get("/empties")
    return client.post(path, data={FIELD: client.cookies[COOKIE], **fields}, follow_redirects=False)


def rows(engine: Engine, query: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


@pytest.mark.usefixtures("looked_at")
def test_the_api_names_suspects_with_signals_and_class(client: TestClient) -> None:
    found = empties(client)
    [suspect] = found["suspects"]
    assert (suspect["server"], suspect["tool"], suspect["class"], suspect["by_design"]) == ("docs-mcp", "search_docs", "confirmed", None)
    [signal] = [one for one in suspect["signals"] if one["id"] == "Q1"]
    assert (signal["k"], signal["n"], signal["detail"]["sessions"]) == (15, 15, 15)
    assert "hedged requests" in signal["false_positives"]
    assert client.get(f"/calls/{signal['examples'][0]}").status_code == 200
    [tool] = found["tools"]
    assert (tool["empty"], tool["data"], tool["unknown"], tool["failure"]) == (15, 45, 0, 12)
    assert tool["empty_interval"][0] < tool["empty_ratio"] < tool["empty_interval"][1]
    assert sum(bucket["empty"] for bucket in found["buckets"]) == found["total"]["empty"] == 15
    assert found["evaluated"]["at_ns"] == NOW_NS


@pytest.mark.usefixtures("looked_at")
def test_the_page_says_in_words_why_and_what_else_it_could_be(client: TestClient) -> None:
    answer = client.get("/empties")
    page = Page(answer.text)
    for words in (
        "search_docs on docs-mcp, production",
        "confirmed",
        "15 of 15 empty answers (100.0 %) hide a failed span",
        "of answers with data 0 of 45 do",
        "Could also be: a fallback that was meant to take over, a cache that answered",
        "Open an example, find where the tool catches the error",
        "15 empty of 60 known successes, 12 failures of 72 completed calls",
        "Failed inside, answered all the same",
        "12 of 12 failures lack: retryable",
        "Mark as by design for 90 days",
        "Over time",
    ):
        assert words in page.text, words
    assert HOSTILE not in answer.text
    assert sum(link.startswith("/calls/0000") for link in page.links) >= 3


@pytest.mark.usefixtures("looked_at")
def test_the_chart_has_an_interval_at_each_share(client: TestClient) -> None:
    lines = Page(client.get("/empties").text).charts["shares"]["data"]
    assert [line["name"] for line in lines] == ["known-empty share", "failure share", "unknown share"]
    for line in lines:
        for at, value in enumerate(line["y"]):
            ends = line["error_y"]["arrayminus"][at], line["error_y"]["array"][at]
            assert (None in ends) is (value is None)
            if value is not None:
                assert 0 <= value - ends[0] <= value <= value + ends[1] <= 1
    assert any(value for value in lines[0]["y"])


@pytest.mark.parametrize("path", ["/empties", "/empties?range=30d", "/tools/docs-mcp/search_docs"])
def test_before_the_first_look_the_pages_say_so(client: TestClient, engine: Engine, path: str) -> None:
    seeds.put_calls(engine, [seeds.call(1)])
    text_ = Page(client.get(path).text).text
    assert ("has not yet" in text_) or "has been looked at in this range" in text_
    assert empties(client)["suspects"] == []
    assert empties(client)["evaluated"] is None


@pytest.mark.usefixtures("looked_at")
@sentences(
    "query, suspects",
    {
        "of its server": ("?server=docs-mcp", 1),
        "not of another": ("?server=bank", 0),
        "of its tool": ("?tool=search_docs", 1),
        "not of another tool": ("?tool=other", 0),
        "not of another environment": ("?environment=staging", 0),
        "not before it was found": ("?from=2026-11-20T00:00Z&to=2026-11-21T00:00Z", 0),
    },
)
def test_filters_hold_for_suspects_and_contracts(client: TestClient, query: str, suspects: int) -> None:
    found = empties(client, query)
    assert len(found["suspects"]) == suspects
    if "from" not in query:
        assert len(found["contract"]) == suspects
    assert client.get(f"/empties{query}").status_code == 200


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize("table", ["tools", "buckets", "marked", "suspects", "contract"])
def test_each_table_is_there_as_csv(client: TestClient, table: str) -> None:
    answer = client.get(f"/api/v1/empties?format=csv&table={table}")
    assert answer.status_code == 200
    lines = answer.text.splitlines()
    assert len(lines) >= (1 if table != "marked" else 0)
    if table == "suspects":
        assert lines[0].startswith("environment,server,tool,class,q,empty")
        assert lines[1].startswith("production,docs-mcp,search_docs,confirmed")


def test_a_tool_is_marked_as_by_design_and_the_mark_ends(client: TestClient, looked_at: Engine) -> None:
    place = {"server": "docs-mcp", "tool": "search_docs"}
    answer = posted(client, "/empties/by-design", **place, note="empty at <night>", who="kim")
    assert (answer.status_code, answer.headers["location"]) == (303, "/empties#card-suspects")
    [suspect] = empties(client)["suspects"]
    mark = {**place, "note": "empty at <night>", "who": "kim", "marked_ns": NOW_NS, "expires_ns": NOW_NS + BY_DESIGN_NS}
    assert suspect["by_design"] == mark
    assert client.get("/api/v1/by-design").json() == {"by_design": [mark]}
    page = Page(client.get("/empties").text)
    assert "empty at <night> (kim, until" in page.text
    assert "would be confirmed" in page.text
    assert "It is meant to be so" not in page.text
    # Marked again, it is the newest mark that holds.
    assert posted(client, "/empties/by-design", **place, note="still", who="lee").status_code == 303
    assert [one["note"] for one in client.get("/api/v1/by-design").json()["by_design"]] == ["still"]
    assert posted(client, "/empties/by-design/end", **place, who="lee").status_code == 303
    assert empties(client)["suspects"][0]["by_design"] is None
    assert [line["what"] for line in rows(looked_at, "SELECT * FROM audit ORDER BY what")] == ["mark as by design"] * 2 + [
        "no longer by design"
    ]


def test_a_mark_that_ran_out_marks_nothing(client: TestClient, looked_at: Engine) -> None:
    seeds.put(
        looked_at,
        "by_design",
        [{"server": "docs-mcp", "tool": "search_docs", "note": "n", "who": "w", "marked_ns": 1, "expires_ns": NOW_NS}],
    )
    assert empties(client)["suspects"][0]["by_design"] is None
    assert posted(client, "/empties/by-design/end", server="docs-mcp", tool="search_docs", who="kim").status_code == 404


def test_a_mark_of_a_tool_that_is_no_suspect_can_be_taken_off(client: TestClient, engine: Engine) -> None:
    posted(client, "/empties/by-design", server="bank", tool="quiet", note="seasonal", who="kim")
    text_ = Page(client.get("/empties").text).text
    assert "By design, and no suspects now" in text_
    assert "quiet on bank: seasonal" in text_
    assert posted(client, "/empties/by-design/end", server="bank", tool="quiet", who="kim").status_code == 303
    assert rows(engine, "SELECT * FROM by_design") == []


@sentences(
    "path, fields, status",
    {
        "nobody": ("/empties/by-design", {"tool": "t", "note": "x", "who": " "}, 400),
        "without a reason": ("/empties/by-design", {"tool": "t", "who": "kim"}, 400),
        "no tool": ("/empties/by-design", {"note": "x", "who": "kim"}, 400),
        "a name longer than any": ("/empties/by-design", {"tool": "t" * 2_000, "note": "x", "who": "kim"}, 400),
        "the end of none": ("/empties/by-design/end", {"tool": "t", "who": "kim"}, 404),
        "the end by nobody": ("/empties/by-design/end", {"tool": "t"}, 400),
    },
)
def test_marks_that_are_refused_leave_no_trace(client: TestClient, engine: Engine, path: str, fields: dict[str, str], status: int) -> None:
    assert posted(client, path, **fields).status_code == status
    assert rows(engine, "SELECT * FROM audit") == rows(engine, "SELECT * FROM by_design") == []


@pytest.mark.parametrize("path", ["/empties/by-design", "/empties/by-design/end"])
def test_another_site_marks_nothing(client: TestClient, engine: Engine, path: str) -> None:
    fields = {"server": "s", "tool": "t", "note": "x", "who": "eve"}
    assert client.post(path, data=fields).status_code == 403
    client.get("/empties")
    whole = {FIELD: client.cookies[COOKIE], **fields}
    assert client.post(path, data=whole, headers={"origin": "https://evil.example"}).status_code == 403
    assert rows(engine, "SELECT * FROM by_design") == []


@sentences(
    "headers, status",
    {
        "from a program": ({"content-type": "application/json"}, 201),
        "from another site": ({"content-type": "application/json", "origin": "https://evil.example"}, 403),
        "as a form of another site could": ({"content-type": "text/plain"}, 403),
    },
)
def test_marks_by_the_api(client: TestClient, engine: Engine, headers: dict[str, str], status: int) -> None:
    body = {"server": "bank", "tool": "quiet", "note": "seasonal", "who": "ops"}
    answer = client.post("/api/v1/by-design", content=json.dumps(body), headers=headers)
    assert answer.status_code in (status, 422 if status == 403 else status)
    assert len(rows(engine, "SELECT * FROM by_design")) == (status == 201)
    if status == 201:
        assert answer.json()["expires_ns"] == NOW_NS + BY_DESIGN_NS


@pytest.mark.usefixtures("looked_at")
def test_the_page_of_a_tool_says_what_its_errors_lack(client: TestClient) -> None:
    answer = client.get("/tools/docs-mcp/search_docs")
    page = Page(answer.text)
    assert "12 of 12 failures lack: customer message" in page.text
    assert '"customerMessage": "<what the customer may be told>"' in page.text
    assert HOSTILE not in answer.text
    [contract] = client.get("/api/v1/tools/docs-mcp/search_docs").json()["contract"]
    assert contract["failures"] == 12
    assert {one["id"]: one["k"] for one in contract["findings"]}["message"] == 12


HIDDEN = {"recovered": False, "http_status": 503}


@sentences(
    "call, says",
    {
        "a failed span under an empty answer": (("success", "empty", [HIDDEN]), "may be hidden in an empty result"),
        "two of them": (("success", "empty", [HIDDEN, HIDDEN]), "2 spans inside"),
        "under an answer that cannot be told": (("success", "unknown", [HIDDEN]), "nobody can tell whether the answer held data"),
        "under data": (("success", "data", [HIDDEN]), "something may be missing"),
        "under a partial answer": (("partial", "data", [HIDDEN]), "something may be missing"),
        "one that went well later": (("success", "empty", [HIDDEN | {"recovered": True}]), "went well later"),
        "a 404": (("success", "empty", [HIDDEN | {"http_status": 404}]), "404"),
        "under a failure that says so": (("failure", None, [HIDDEN]), None),
        "nothing failed": (("success", "empty", []), None),
    },
)
def test_what_a_failed_span_may_mean(call: tuple[str, str | None, list[Any]], says: str | None) -> None:
    found = meaning(dict(zip(("outcome", "emptiness", "failed_children"), call, strict=True)))
    assert found is None if says is None else says in (found or "")


def test_one_failed_child_under_one_empty_call_is_shown_at_once(client: TestClient, engine: Engine) -> None:
    seeds.put_calls(engine, [row := seeds.call(1, emptiness="empty", failed_children=inside(child()))])
    page = Page(client.get(f"/calls/{row['trace_id'].hex()}/{row['call_id'].hex()}").text)
    assert "A span inside this call failed, and it answered that there is nothing" in page.text
    assert "Could also be: a fallback" in page.text
    [inner] = empties(client)["failed_inside"]
    assert inner["call_id"] == row["call_id"].hex()
    assert "GET /orders to db:80" in Page(client.get("/empties").text).text


@on_sqlite
@pytest.mark.parametrize("query", ["", "?range=30d", "?tool=search_docs&server=docs-mcp", "?environment=production", "?tool=(other)"])
def test_the_page_reads_by_index(client: TestClient, looked_at: Engine, query: str) -> None:
    with plans.statements_of(looked_at) as seen:
        assert client.get(f"/empties{query}").status_code == 200
    inner = [(statement, parameters) for statement, parameters in seen if "failed_children <> '[]'" in statement]
    assert len(inner) == 1
    assert "ix_call_child_failed (start_ns>? AND start_ns<?)" in plans.plan(looked_at, *inner[0])


@pytest.mark.usefixtures("looked_at")
def test_the_list_of_tools_flags_suspects_and_says_how_much_their_errors_say(client: TestClient, engine: Engine) -> None:
    seeds.put_calls(engine, [seeds.call(9000 + number, tool="good_tool", outcome="success") for number in range(3)])
    search_docs, good_tool = [line for line in client.get("/tools?sort=contract").text.split("<tr>") if 'scope="row"' in line]
    assert (">search_docs<" in search_docs, ">suspect</a>" in search_docs, ">suspect</a>" in good_tool) == (True, True, False)
    assert f">{percent(empties(client)['contract'][0]['share'])}</a><small>12 failures".replace(" %", "\u00a0%") in search_docs
    assert posted(client, "/empties/by-design", server="docs-mcp", tool="search_docs", who="A", note="so it is").status_code == 303
    assert "suspect</a>" not in client.get("/tools").text
