"""Pages answer for no data, wrong questions and a broken database, each in its own way."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from dashboard.app import create_app
from schemas.database import open_database
from schemas.settings import Settings
from tests import seeds
from tests.dashboard.reading import Page

PAGES = ("/", "/tools", "/calls", "/health")


def test_a_call_says_who_decided_and_what_each_view_saw(client: TestClient, engine: Engine) -> None:
    row = seeds.call(1, outcome="failure", category="transient", decided_by="error_type", category_decided_by="http:503")
    server = seeds.view(row, span_id="bb" * 8, layer="server", outcome="success", emptiness="data", decided_by="no_failure")
    row = seeds.call(1, **row | {"views": [seeds.view(row), server], "flags": "salvaged server_finished"})
    seeds.put_calls(engine, [row])
    seeds.put(engine, "tool_span", [seeds.span(row), seeds.span(row, bytes([187] * 8), parent_span_id=row["call_id"], status=0)])
    path = f"/calls/{row['trace_id'].hex()}/{row['call_id'].hex()}"
    text = Page(client.get(path).text).text
    assert "The span carries error.type." in text
    assert "The HTTP status decides the category. (503)" in text
    assert "the server finished its work" in text
    assert "2 spans told of this one execution" in text
    assert "Showing 1 to 2 of 2" in text
    twin = client.get(f"/api/v1{path}").json()
    assert [view["outcome"] for view in twin["call"]["views"]] == ["failure", "success"]
    assert [line["span_id"] for line in twin["spans"]["lines"]] == [row["call_id"].hex(), "bb" * 8]
    assert Page(client.get(f"{path}?spans=failed").text).text.count("attributes") == 1
    [evidence] = {link for link in Page(client.get(f"{path}?spans=failed").text).links if link.startswith("/api/v1/spans/")}
    assert client.get(evidence).json()["attributes"] == {"mcp.method.name": "tools/call"}


def test_an_unknown_rule_is_still_explained(client: TestClient, engine: Engine) -> None:
    row = seeds.call(1, decided_by="brand_new")
    seeds.put_calls(engine, [row])
    assert "Rule “brand_new” decided." in Page(client.get(f"/calls/{row['trace_id'].hex()}/{row['call_id'].hex()}").text).text


def test_a_trace_of_many_spans_comes_in_pages_without_payloads(client: TestClient, engine: Engine) -> None:
    row = seeds.call(1)
    seeds.put_calls(engine, [row])
    big = '{"attributes": {"x": "' + "y" * 5000 + '"}}'
    spans = [
        seeds.span(row, n.to_bytes(8, "big"), start_ns=row["start_ns"] + n, status=2 if n == 1100 else 0, evidence=big)
        for n in range(1, 1201)
    ]
    seeds.put(engine, "tool_span", spans)
    path = f"/calls/{row['trace_id'].hex()}/{row['call_id'].hex()}"
    assert "Showing 501 to 1,000 of 1,200" in Page(client.get(f"{path}?page=2").text).text
    assert len(client.get(path).content) < 1_000_000
    failed = Page(client.get(f"{path}?spans=failed").text)
    assert "Showing 1 to 1 of 1 failed" in failed.text
    assert [link for link in failed.links if link.endswith((1100).to_bytes(8, "big").hex())]


def test_thousands_of_names_are_folded_and_the_rest_has_a_list(client: TestClient, engine: Engine) -> None:
    rows = [seeds.call(n, tool=f"tool_{n:04x}", outcome="failure", start_ns=seeds.NOW_NS - n) for n in range(1, 701)]
    rows += [seeds.call(n, start_ns=seeds.NOW_NS - n) for n in range(1000, 1100)]
    seeds.put_calls(engine, rows)
    page = Page(client.get("/tools?sort=calls").text)
    assert "search_docs" in page.text
    assert "other (651 names)" in page.text
    [rest] = [link for link in page.links if "all=1" in link and "page" not in link and "sort=calls" in link]
    listed = Page(client.get(f"/tools{rest}&page=4").text)
    assert "601 to 701 of 701" in listed.text
    assert len(client.get("/tools").content) < 200_000
    assert [link for link in Page(client.get("/").text).links if link.startswith("/tools?")]


def test_a_tool_known_earlier_reads_no_calls_and_never_zero_percent(client: TestClient, engine: Engine) -> None:
    earlier = seeds.NOW_NS - 3 * 60 * seeds.MINUTE_NS
    seeds.put_calls(engine, [seeds.call(1), seeds.call(2, tool="sleeper", start_ns=earlier)])
    page = Page(client.get("/tools").text)
    assert "Quiet tools" in page.text
    assert "no calls" in page.text
    tool = Page(client.get("/tools/docs-mcp/sleeper").text).text
    assert "No calls of this tool in this range" in tool
    assert "0 %" not in tool


def test_without_any_span_the_landing_page_says_how_to_connect(engine: Engine) -> None:
    settings = Settings(host="127.0.0.1", otlp_http_port=14318, otlp_grpc_port=14317)
    with TestClient(create_app(engine, settings, lambda: seeds.NOW_NS)) as client:
        text = Page(client.get("/").text).text
        assert "Waiting for the first span" in text
        assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:14318" in text
        assert "http://127.0.0.1:14317" in text
        for path in PAGES[1:]:
            assert client.get(path).status_code == 200


def test_spans_that_are_no_tool_calls_are_named(client: TestClient, engine: Engine) -> None:
    seeds.put(engine, "counter", [{"name": "received_spans", "value": 12}, {"name": "ignored_spans", "value": 12}])
    intake = {
        "hour_ns": seeds.NOW_NS - seeds.NOW_NS % (60 * seeds.MINUTE_NS),
        "service": "shop",
        "scope": "flask",
        "scope_version": "1",
    }
    intake |= {"tool_spans": 0, "ignored_spans": 12, "skewed_spans": 0, "last_ns": 1, "ignored_sample": "GET /cart"}
    seeds.put(engine, "intake", [intake])
    text = Page(client.get("/").text).text
    assert "12 spans arrived, but none describes a tool call" in text
    assert "shop" in text
    assert "GET /cart" in text


def test_an_empty_range_is_no_data_and_not_zero(client: TestClient, engine: Engine) -> None:
    seeds.put_calls(engine, [seeds.call(1, start_ns=seeds.NOW_NS - 5 * 60 * seeds.MINUTE_NS)])
    for path in ("/", "/tools", "/calls"):
        text = Page(client.get(path).text).text
        assert "No calls" in text
        assert "0 %" not in text
    total = client.get("/api/v1/overview").json()["total"]
    assert (total["calls"], total["failure_ratio"], total["mean_ns"]) == (0, None, None)


@pytest.mark.parametrize("path", ["/?range=9h", "/tools?sort=x", "/calls?cursor=1.2.3", "/calls?outcome=x", "/health?x=1", "/tools?page=0"])
def test_a_wrong_question_is_answered_in_words(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 400
    assert "asks no valid question" in Page(answer.text).text
    twin = client.get("/api/v1" + path.replace("/?", "/overview?"))
    assert twin.status_code == 400 or path == "/tools?page=0"
    assert twin.headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", ["/nothing", "/calls/zz/zz", f"/calls/{'0' * 32}/{'0' * 16}", "/tools/a/~FF", "/static/1/nothing.js"])
def test_what_is_not_there_is_a_page_that_says_so(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "There is nothing here" in Page(answer.text).text


def test_a_database_that_was_never_made_is_an_error_page_and_not_ready(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'empty.db'}")
    with TestClient(create_app(engine, Settings(), lambda: seeds.NOW_NS)) as client:
        assert client.get("/").status_code == 503
        assert client.get("/api/v1/status").json()["error"] == "The database does not answer"
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").json() == {"status": "ok"}
    engine.dispose()


def test_ready_with_the_newest_schema_only(client: TestClient, engine: Engine) -> None:
    assert client.get("/readyz").status_code == 200
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0000_older'")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "0000_older" in answer.json()["reason"]


def test_every_answer_forbids_foreign_scripts(client: TestClient) -> None:
    for path in (*PAGES, "/api/v1/status", "/nothing", "/?range=9h"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "script-src 'self';" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_files_are_kept_for_ever_under_their_version(client: TestClient) -> None:
    page = Page(client.get("/").text)
    files = {link for link in page.links if link.startswith("/static/")}
    [plotly] = [attributes["data-plotly"] for _, attributes in page.elements if "data-plotly" in attributes]
    for path in [*files, plotly]:
        answer = client.get(path)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip"
    old = client.get("/static/older/app.css")
    assert old.headers["cache-control"] == "no-cache"
    assert client.get("/favicon.ico").headers["content-type"] == "image/svg+xml"


def test_without_gzip_files_come_plain(client: TestClient) -> None:
    answer = client.get("/static/x/app.css", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in answer.headers
    assert answer.text.startswith("/* The look")


def test_the_theme_can_be_in_the_address(client: TestClient) -> None:
    assert '<html lang="en" data-theme="dark">' in client.get("/tools?theme=dark").text
    assert '<html lang="en" data-theme="auto">' in client.get("/tools?theme=" + quote('"><x')).text


def test_the_api_describes_itself(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert {"/api/v1/status", "/api/v1/tools", "/api/v1/calls", "/api/v1/overview", "/api/v1/health"} <= set(paths)


def test_what_broke_is_named_first(client: TestClient, engine: Engine) -> None:
    hour = 60 * seeds.MINUTE_NS
    failed = {"outcome": "failure", "category": "business"}
    before = [seeds.call(n, start_ns=seeds.NOW_NS - 2 * hour + n, **({} if n % 20 else failed)) for n in range(1, 201)]
    now = [seeds.call(1000 + n, start_ns=seeds.NOW_NS - n, **({} if n % 2 else failed)) for n in range(1, 201)]
    seeds.put_calls(engine, [*before, *now])
    text = Page(client.get("/?from=-1h&to=now").text).text
    assert "search_docs on docs-mcp fails 50.0 % (100 of 200), up from 5.0 % (10 of 200), mostly business" in text


def test_tools_are_sorted_by_how_their_failures_go_on(client: TestClient, engine: Engine) -> None:
    def failed(tool: str, *minutes: int) -> list[dict[str, Any]]:
        return [
            seeds.call(number, tool=tool, start_ns=seeds.NOW_NS - ago * 60 * 10**9 - number, outcome="failure", category="transient")
            for number, ago in enumerate(minutes, start=1000 * len(tool))
        ]

    seeds.put_calls(engine, [*failed("rises", 50, 5, 6, 7), *failed("as_ever", 50, 10), *failed("sinks_now", 50, 51, 52, 5)])
    tools = [row["tool"] for row in client.get("/api/v1/tools?range=1h&sort=trend").json()["tools"]]
    assert tools == ["rises", "as_ever", "sinks_now"]
    assert [row["tool"] for row in client.get("/api/v1/tools?range=1h&sort=-trend").json()["tools"]] == tools[::-1]
